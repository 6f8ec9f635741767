"""topicx: topic models from text; fast, exact, and the same answer every time.

>>> import topicx
>>> corpus = topicx.Corpus.from_texts(["the cat sat on the mat", "stocks fell as rates rose"])
>>> model = topicx.LDA(topics=2, iterations=50, seed=1).fit(corpus)
>>> model.topic_word.shape[0]
2
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from topicx.moved_names import install_finder

__version__ = "0.1.0"

if TYPE_CHECKING:
    from topicx import datasets as datasets
    from topicx import engines as engines
    from topicx import evaluate as evaluate
    from topicx import interop as interop
    from topicx import plots as plots
    from topicx.classes.dmr_class import DMR as DMR
    from topicx.classes.keyword_class import KeywordLDA as KeywordLDA
    from topicx.classes.labeled_class import LabeledLDA as LabeledLDA
    from topicx.classes.lda_class import LDA as LDA
    from topicx.classes.medlda_class import MedLDA as MedLDA
    from topicx.classes.mixture_class import MixtureLDA as MixtureLDA
    from topicx.classes.slices_class import SlicedLDA as SlicedLDA
    from topicx.corpus.corpus import Corpus as Corpus
    from topicx.errors import InputError as InputError
    from topicx.errors import TopicxError as TopicxError
    from topicx.evaluate.search import search as search
    from topicx.hmm.hmm_class import HMM as HMM
    from topicx.model import Model as Model
    from topicx.regression.effects import effects as effects
    from topicx.state import State as State

# Names are resolved on first use, so that `topicx --help` does not pay for numpy and scipy.
_HOME = {
    "Corpus": "topicx.corpus.corpus",
    "DMR": "topicx.classes.dmr_class",
    "HMM": "topicx.hmm.hmm_class",
    "InputError": "topicx.errors",
    "KeywordLDA": "topicx.classes.keyword_class",
    "LDA": "topicx.classes.lda_class",
    "LabeledLDA": "topicx.classes.labeled_class",
    "MedLDA": "topicx.classes.medlda_class",
    "MixtureLDA": "topicx.classes.mixture_class",
    "Model": "topicx.model",
    "SlicedLDA": "topicx.classes.slices_class",
    "State": "topicx.state",
    "TopicxError": "topicx.errors",
    "effects": "topicx.regression.effects",
    "search": "topicx.evaluate.search",
}

# Packages that are imported on first use.
_PACKAGES = ("datasets", "engines", "evaluate", "interop", "plots")
_EXTRAS = ("sklearn",)  # what it needs may be missing, and then it says so

_ELSEWHERE = {
    "load": "Model.load(path), Corpus.load(path) or State.load(path)",
    "HDP": "LDA(topics, model='hdp')",
    "STM": "DMR(topics, formula)",
    "LdaModel": "LDA(topics)",
    "LatentDirichletAllocation": "LDA(topics) or topicx.sklearn.TopicModel(topics)",
}

__all__ = [*_HOME, *_PACKAGES, "__version__"]


install_finder()


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _PACKAGES or name in _EXTRAS:
        return import_module(f"topicx.{name}")
    hint = f"; {_ELSEWHERE[name]} is it here" if name in _ELSEWHERE else ""
    raise AttributeError(f"module 'topicx' has no attribute {name!r}{hint}")
