"""Topic coherence: do a topic's top words occur together in documents or windows of a reference corpus?

    umass   Σ_{m>l} log (D(v_m, v_l) + 1) / D(v_l), D = documents (Mimno et al. 2011); near 0 is good
    uci     mean over pairs of PMI, in windows of 10 words (Newman et al. 2010)
    npmi    mean over pairs of PMI / -log p(v_m, v_l), in windows of 10 words (Aletras & Stevenson 2013); from -1 to 1
    cv      mean over words of the cosine of its NPMI vector with the sum of all of them, in windows of 110 words
            (Röder et al. 2015)

ε = 1e-12 is added to joint probabilities before logarithms, as Röder et al. and gensim do. A word that never occurs in
the reference corpus has no probability: its pairs are left out.

gensim departs from this in three ways, which `convention="gensim"` follows, number for number: u_mass is the mean over
pairs of log (D(v_m, v_l)/D + ε) / (D(v_l)/D); a word stops counting in a window as soon as one token of it leaves, even
if another is still there; and an empty document is a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.text.windows import count_windows
from topicx.common_methods import Summarized
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.model import Model

__all__ = ["Coherence", "coherence"]

MEASURES = ("umass", "uci", "npmi", "cv")
WINDOWS = {"umass": 0, "uci": 10, "npmi": 10, "cv": 110}
EPSILON = 1e-12


@dataclass(repr=False)
class Coherence(Summarized):
    """A measure of each topic, and their mean."""

    measure: str
    """Name of the measure."""
    window: int
    """0: whole documents."""
    topics: list[float]
    """Coherence of each topic."""
    missing: list[str]
    """Top words that never occur in the reference corpus."""

    @property
    def mean(self) -> float:
        values = [value for value in self.topics if not np.isnan(value)]
        return float(np.mean(values)) if values else float("nan")


def coherence(
    topics: Model | Sequence[Sequence[str]],
    corpus: Corpus,
    measure: str = "npmi",
    *,
    top: int = 10,
    window: int | None = None,
    convention: str = "standard",
) -> Coherence:
    """Coherence of topics in a reference corpus: how often their top words occur together.

    Parameters
    ----------
    topics : Model or sequence of sequences of str
        A model, or lists of words.
    corpus : Corpus
        Documents in which words are counted. It may be the training corpus.
    measure : str, default "npmi"
        Name of the measure: "npmi", "uci", "umass", "cv" …
    top : int, default 10
        Words of each topic that count.
    window : int, optional
        Words in a window; 0: whole documents. By default as the measure has it.
    convention : str, default "standard"
        Details in which programs differ: "standard" or the name of a program.

    Returns
    -------
    Coherence
        A number a topic, and their mean.
    """
    if measure not in MEASURES:
        raise InputError(f"coherence: {measure!r} is not a measure; there are {', '.join(MEASURES)}")
    if convention not in ("standard", "gensim"):
        raise InputError(f"convention: {convention!r} is not one of standard, gensim")
    if top < 2:
        raise InputError(f"top: {top} words make no pair; at least 2 are needed")
    size = WINDOWS[measure] if window is None else window
    if size < 0:
        raise InputError(f"window: {size} must be at least 0")
    if isinstance(topics, Model):
        listed = [[word for word, _ in words] for words in topics.top_words(top)]
    else:
        listed = [list(dict.fromkeys(words))[:top] for words in topics]
    counts = WindowCounts(listed, corpus, size, forgetful=convention == "gensim")
    if not counts.occurrences.any():
        raise InputError("the topics' top words and the reference corpus have no word in common")
    values = [_of_topic(counts, words, measure, convention) for words in listed]
    missing = [word for word, number in counts.numbers.items() if not counts.occurrences[number]]
    return Coherence(measure, size, values, missing)


class WindowCounts:
    """How many windows hold each word, and each pair of words of a topic."""

    def __init__(self, topics: list[list[str]], corpus: Corpus, size: int, *, forgetful: bool = False) -> None:
        self.numbers: dict[str, int] = {}
        for words in topics:
            for word in words:
                self.numbers.setdefault(word, len(self.numbers))
        n = len(self.numbers)
        wanted = [np.array([self.numbers[word] for word in words], np.int64) for words in topics]
        parts = [np.sort(words)[np.array(np.triu_indices(len(words), 1))] for words in wanted if len(words) > 1]
        keys = np.unique(np.concatenate([part[0] * n + part[1] for part in parts])) if parts else np.zeros(0, np.int64)
        self._keys = keys
        starts = np.searchsorted(keys, np.arange(n + 1, dtype=np.int64) * n)
        to_number = np.array([self.numbers.get(word, -1) for word in corpus.vocabulary] or [-1], np.int32)
        self.occurrences = np.zeros(n, np.int64)
        self._pairs = np.zeros(len(keys), np.int64)
        self.windows = 0
        partners = (keys % max(n, 1)).astype(np.int32)
        from topicx.predict.documents import runs_of_documents

        for begin, end in runs_of_documents(corpus.offsets, 1 << 22, 1 << 20):
            first, last = corpus.offsets[begin], corpus.offsets[end]
            self.windows += count_windows(
                to_number[corpus.words[first:last]], corpus.offsets[begin : end + 1] - first, size, forgetful,
                starts.astype(np.int64), partners, self.occurrences, self._pairs,
            )  # fmt: skip
        if forgetful:
            self.windows += int(np.count_nonzero(corpus.lengths == 0))

    def matrix(self, words: list[str]) -> NDArray[np.float64]:
        """Joint counts of these words; the diagonal has their own."""
        numbers = np.array([self.numbers[word] for word in words], np.int64)
        n = len(self.numbers)
        low, high = np.minimum.outer(numbers, numbers), np.maximum.outer(numbers, numbers)
        found = np.searchsorted(self._keys, low * n + high)
        joint = np.append(self._pairs, 0)[np.minimum(found, len(self._pairs))].astype(np.float64)
        np.fill_diagonal(joint, self.occurrences[numbers])
        return joint


def _of_topic(counts: WindowCounts, words: list[str], measure: str, convention: str) -> float:
    known = [word for word in words if counts.occurrences[counts.numbers[word]]]
    if len(known) < 2:
        return float("nan")
    joint = counts.matrix(known)
    alone = np.diag(joint).copy()
    total = float(counts.windows)
    if measure == "umass":
        later, earlier = np.tril_indices(len(known), -1)
        if convention == "gensim":
            values = np.log((joint[later, earlier] / total + EPSILON) / (alone[earlier] / total))
            return float(values.mean())
        return float(np.log((joint[later, earlier] + 1) / alone[earlier]).sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log((joint / total + EPSILON) / np.outer(alone / total, alone / total))
        npmi = pmi / -np.log(joint / total + EPSILON)
    if convention == "standard":
        npmi[joint == total] = 0.0  # in every window, both: they say nothing of each other
    upper = np.triu_indices(len(known), 1)
    if measure == "uci":
        return float(pmi[upper].mean())
    if measure == "npmi":
        return float(npmi[upper].mean())
    whole = npmi.sum(axis=0)
    norms = np.linalg.norm(npmi, axis=1) * np.linalg.norm(whole)
    if not np.all(norms > 0):
        return 0.0
    return float(np.mean(npmi @ whole / norms))
