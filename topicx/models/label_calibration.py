"""Scores of labels that can be compared: what the training documents say of them when they are read as new ones.

A classifier of a rare label hardly ever says yes: "no" is right nearly everywhere, and topics are shared by all labels.
Its score still ranks documents. So each label's scores become log odds by a logistic regression (Platt 1999), and where
they are cut is the same for all labels: there as many labels are predicted for the training documents as they have.
Both are a factor and a term of the score, so that the weights themselves take them up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import restricted_soft
from topicx.sampling.special_functions import exp, log
from topicx.strings import take_rows

if TYPE_CHECKING:
    from topicx.model import Model
    from topicx.state import State

ENTRIES = 1 << 24
"""Scores that are looked at: of more documents × labels than these, documents from all over the corpus."""
BATCH = 1 << 22
"""Numbers of φ at a time."""
ROUNDS = 12
NARROW = 1e-3
"""Scores that differ by less than this tell nothing apart."""
COLUMNS = 64


def chosen_documents(known: NDArray[Any], labels: int) -> NDArray[np.int64]:
    """The documents with targets, or so many of them that there are not too many scores."""
    documents = np.flatnonzero(known)
    most = max(ENTRIES // max(labels, 1), 1)
    return documents if len(documents) <= most else documents[np.arange(most) * len(documents) // most]


def shares_as_new(state: State, model: Model, chosen: NDArray[np.int64], sweeps: int) -> NDArray[np.float32]:
    """θ of documents of the training, found as that of new ones: by CVB0 with φ fixed."""
    words, offsets = take_rows(state.words, state.offsets, chosen)
    alpha = np.ascontiguousarray(model.alpha[:1], np.float32)
    theta = np.zeros((len(chosen), model.n_topics), np.float32)
    step = max(BATCH // model.n_topics, 1)
    begin = 0
    while begin < len(chosen):
        end = max(int(np.searchsorted(offsets, offsets[begin] + step, side="right")) - 1, begin + 1)
        some, numbers = np.unique(words[offsets[begin] : offsets[end]], return_inverse=True)
        rows = np.ascontiguousarray(model.phi_of(some), np.float32)
        bounds = np.ascontiguousarray(offsets[begin : end + 1] - offsets[begin])
        groups, z = np.zeros(end - begin, np.uint32), np.zeros(len(numbers), np.uint16)
        numbers = np.ascontiguousarray(numbers.reshape(-1), np.uint32)
        restricted_soft.fold_in(numbers, bounds, rows, alpha, groups, sweeps, theta[begin:end], z)
        begin = end
    return theta


def make_scores_comparable(
    scores: NDArray[np.float64], has: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The factor and the term of each column that make its scores log odds, less what they are cut at.

    scores: documents × labels; has: which labels they have.
    """
    factor, term = np.empty(scores.shape[1]), np.empty(scores.shape[1])
    for begin in range(0, scores.shape[1], COLUMNS):
        part = slice(begin, begin + COLUMNS)
        factor[part], term[part] = _log_odds(np.ascontiguousarray(scores[:, part]), has[:, part])
    return factor, term - _cut_between(factor * scores + term, int(has.sum()))


def _log_odds(s: NDArray[np.float64], has: NDArray[np.bool_]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logistic regressions by Newton's steps, none longer than 1; scores have spread 1, their weight the prior N(0, 1),
    and the share of documents with the label is that of one in two documents more."""
    middle, spread = s.mean(axis=0), np.maximum(s.std(axis=0), NARROW)
    x, y = (s - middle) / spread, has.astype(np.float64)
    share = (y.sum(axis=0) + 0.5) / (len(y) + 1)
    start, weight = log(share / (1 - share)), np.zeros(s.shape[1])
    for _ in range(ROUNDS):
        q = 1 / (1 + exp(-(start + weight * x)))
        r, left = q * (1 - q), y - q
        down, along = left.sum(axis=0), (left * x).sum(axis=0) - weight
        aa, ab, bb = r.sum(axis=0) + 1e-6, (r * x).sum(axis=0), (r * x * x).sum(axis=0) + 1
        area = aa * bb - ab * ab
        start = start + np.clip((bb * down - ab * along) / area, -1, 1)
        weight = weight + np.clip((aa * along - ab * down) / area, -1, 1)
    return weight / spread, start - weight / spread * middle


def _cut_between(scores: NDArray[np.float64], number: int) -> float:
    """Between the so many largest scores and the others."""
    flat = np.sort(scores, axis=None)
    below, above = flat[max(len(flat) - number - 1, 0)], flat[min(len(flat) - number, len(flat) - 1)]
    return float((below + above) / 2)
