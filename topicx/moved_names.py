"""Modules under the names that they had before: they work, with a DeprecationWarning that has the new name.

Only what a page once named is here. The finder stands last in `sys.meta_path`, so a module that exists never meets it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MODULES = {
    "topicx.corpus.read": "topicx.corpus.formats.document_reader",
    "topicx.corpus.tokenize": "topicx.corpus.text.tokenizer",
    "topicx.estimate.edit": "topicx.estimate.topic_edits",
    "topicx.evaluate.agreement": "topicx.evaluate.path_agreement",
    "topicx.evaluate.clusters": "topicx.evaluate.silhouettes",
    "topicx.evaluate.heldout": "topicx.evaluate.held_out",
    "topicx.evaluate.infer": "topicx.predict.inference",
    "topicx.evaluate.labels": "topicx.evaluate.label_measures",
    "topicx.evaluate.likelihood": "topicx.evaluate.model_likelihood",
    "topicx.evaluate.prediction": "topicx.evaluate.prediction_measures",
    "topicx.evaluate.time": "topicx.evaluate.time_concentration",
    "topicx.interop.export": "topicx.interop.model_export",
    "topicx.labeled": "topicx.classes.labeled_class",
    "topicx.lda": "topicx.classes.lda_class",
    "topicx.medlda": "topicx.classes.medlda_class",
    "topicx.report.bench": "topicx.bench.bench_runs",
    "topicx.report.collections": "topicx.views.group_mixtures",
    "topicx.report.concentration": "topicx.views.time_concentration_view",
    "topicx.report.groups": "topicx.views.topics_by_column",
    "topicx.sampling.options": "topicx.sampling.run_options",
}
"""Where the module of each old name is."""
NAMES = {
    "topicx.corpus.tokenize": {"stopwords": "load_stopwords"},
    "topicx.estimate.edit": {
        "edited": "edit_topics", "follow": "follow_model_edits", "hidden": "hide_topics", "merged": "merge_topics",
        "named": "name_topics",
    },
    "topicx.evaluate.agreement": {"agreement": "measure_agreement"},
    "topicx.evaluate.clusters": {"silhouettes": "measure_silhouettes"},
    "topicx.evaluate.prediction": {"predictions": "measure_predictions"},
    "topicx.interop.export": {"pyldavis": "write_pyldavis"},
    "topicx.report.bench": {"compare": "compare_programs"},
    "topicx.report.collections": {
        "contrasts": "contrast_words", "describe": "describe_mixtures", "mixtures": "mixtures_of_model",
        "plot": "plot_mixtures",
    },
    "topicx.report.concentration": {"describe": "describe_concentration", "plot": "plot_concentration"},
}  # fmt: skip
"""Functions that have another name in the module that is there now."""
PACKAGES = {name.rpartition(".")[0] for name in MODULES}


class MovedModules:
    """Finder and loader of old module names."""

    @classmethod
    def find_spec(cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        """Say that this module can be loaded, if it is an old name."""
        if name in MODULES or name in PACKAGES:
            return ModuleSpec(name, cls(), is_package=name in PACKAGES)  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to make an empty module."""

    def exec_module(self, module: ModuleType) -> None:
        """Warn, and let the module give what the one with the new name has."""
        old = module.__name__
        if old not in MODULES:  # a package that is gone: only its modules are asked for
            return
        new, renamed = MODULES[old], NAMES.get(old, {})
        warnings.warn(f"{old} is {new} now; the old name goes in topicx 2.0", DeprecationWarning, stacklevel=2)

        def __getattr__(name: str) -> Any:
            return getattr(import_module(new), renamed.get(name, name))

        vars(module)["__getattr__"] = __getattr__


def install_finder() -> None:
    """Let imports find old names, once."""
    if not any(finder is MovedModules for finder in sys.meta_path):
        sys.meta_path.append(MovedModules)
