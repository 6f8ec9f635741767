"""How concentrated topics are in time (Kozdoba & Mannor, "Interdependent Gibbs Samplers", section 4.2.2, appendix A).

θ_d(k) is the share of a document's tokens that topic k has, and θ_y(k) its mean over the documents of a span of time
(a year): the topic's weight there. From these come

    the entropy of each span        -Σ_k θ_y(k) log θ_y(k): low where few topics make up a span
    a topic's whole weight          w_k = Σ_y θ_y(k)                                                     (eq. 7)
    a topic's buckets               consecutive intervals that have the share γ of w_k each: short where it is dense

The buckets of a topic cover all of the time, so that their mean length is γ times the number of spans, whatever the
topic does: what tells is how they are spread about it. Within a span a topic's weight is taken as even. Spans without
documents are no time at all: they have no length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.corpus.corpus import Corpus
from topicx.corpus.slices import UNITS, DocumentSlices, time_slices, times_of, width_slices
from topicx.corpus.table import Times
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.inference import Inference
from topicx.state import NONE, State

__all__ = ["TimeConcentration", "time_concentration"]

Floats = NDArray[np.float64]
Shares = tuple[int, Any, NDArray[np.int64]]
"""The number of the first of some documents, their θ_d as rows, and their lengths."""


@dataclass(repr=False)
class TimeConcentration(Summarized):
    """Spans in the order of time, topics in the model's order."""

    begins: Floats
    """When each span begins, in the corpus's unit (years as numbers, say, or days since 1970)."""
    names: list[str]
    """The spans as people write them."""
    documents: NDArray[np.int64]
    """Documents of each span that have a token."""
    weights: Floats
    """θ_y(k): spans × topics; each row sums to 1."""
    entropy: Floats
    """Entropy of each span, in nats."""
    edges: Floats
    """Topics × (buckets + 1): where the buckets begin and end, counted in spans from the first one's beginning; NaN for
    topics without weight."""
    untimed: int
    """Documents without a time, or without a token: they are left out."""
    dates: bool = False
    """Whether the unit is days since 1970."""

    @property
    def totals(self) -> Floats:
        """w_k of each topic."""
        whole: Floats = self.weights.sum(axis=0)
        return whole

    @property
    def lengths(self) -> Floats:
        """Topics × buckets: how many spans each bucket is long."""
        return np.diff(self.edges, axis=1)

    def densest(self, share: float = 0.5) -> tuple[Floats, Floats]:
        """The shortest run of buckets of each topic that has this share of its weight: where it begins, and ends."""
        buckets, edges = self.edges.shape[1] - 1, self.edges
        parts = next((m for m in range(1, 101) if abs(share * buckets * m - round(share * buckets * m)) < 1e-9), 100)
        if parts > 1:  # of 5 buckets there is no half: of their halves there is
            edges = weight_quantiles(self.weights, parts * buckets)
        width = max(round(share * parts * buckets), 1)
        lengths = edges[:, width:] - edges[:, :-width]
        best = np.argmin(lengths, axis=1)[:, None]
        begin, end = (np.take_along_axis(edges, at, axis=1)[:, 0] for at in (best, best + width))
        return begin, end

    def between(self, begin: float, end: float) -> tuple[str, str]:
        """The first and the last span of an interval on the edges' scale."""
        return self.names[min(int(begin), len(self.names) - 1)], self.names[max(int(np.ceil(end)) - 1, int(begin))]

    def quartiles(self, weighted: bool = False) -> list[float]:
        """Quartiles of the lengths of all buckets; weighted: each counts as much as its topic weighs."""
        lengths = self.lengths
        some = self.totals > 0
        if not some.any() or not lengths.shape[1]:
            return []
        weight = np.repeat(self.totals[some] if weighted else np.ones(some.sum()), lengths.shape[1])
        values = lengths[some].reshape(-1)
        order = np.argsort(values, kind="stable")
        sums = np.cumsum(weight[order])
        at = np.searchsorted(sums, sums[-1] * np.array([0.25, 0.5, 0.75]))
        found: list[float] = values[order][at].tolist()
        return found


def time_concentration(
    model: Model, fit: Corpus | State, times: Corpus | None = None, *, span: str | float | None = None,
    buckets: int = 20, path: int | None = None, **sampling: Any,
) -> TimeConcentration:  # fmt: skip
    """Measure how narrowly in time the tokens of each topic lie.

    Parameters
    ----------
    model : Model
        The model.
    fit : Corpus or State
        Documents: a corpus, whose topics are inferred, or a state.
    times : Corpus, optional
        A corpus with the times of the state's documents, if the state has none.
    span : str or float, optional
        A unit of the calendar ("day", "month", "decade" …) where times are dates, else a width. By default a year, or
        1.
    buckets : int, default 20
        Buckets of equal weight into which each topic is cut.
    path : int, optional
        Coupled chain of a state that is used, counted from 0. By default all.
    **sampling
        Options of `topicx.predict.Inference`, for a corpus.

    Returns
    -------
    TimeConcentration
        Weights by span, entropies of spans, and buckets of topics.
    """
    if buckets < 2:
        raise InputError(f"buckets: {buckets} must be at least 2")
    if isinstance(fit, State):
        _check_fit(model, fit, times)
    time = _times_of_documents(fit, times)
    found = spans_of_times(time, span)
    begins, names, of_document = found.begins, found.names, found.of_documents(len(time))
    rows: Iterable[Shares] = (
        [_of_state(fit, path)] if isinstance(fit, State) else _inferred_shares(model, fit, **sampling)
    )
    weights, documents = np.zeros((len(begins), model.n_topics)), np.zeros(len(begins), np.int64)
    for first, shares, lengths in rows:
        at = of_document[first : first + len(lengths)]
        used = np.flatnonzero((at >= 0) & (lengths > 0))
        documents += np.bincount(at[used], minlength=len(begins))
        chosen = (np.ones(len(used)), (at[used], used))
        weights += scipy.sparse.csr_array(chosen, shape=(len(begins), len(lengths))) @ shares
    some = documents > 0
    if not some.any():
        raise InputError("time: no document has a time and a token that the model knows")
    weights = weights[some] / documents[some, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = -np.where(weights > 0, weights * np.log(weights), 0.0).sum(axis=1)
    return TimeConcentration(
        begins[some], [name for name, there in zip(names, some) if there], documents[some], weights, entropy,
        weight_quantiles(weights, buckets), len(time) - int(documents.sum()), time.dates,
    )  # fmt: skip


def _check_fit(model: Model, state: State, times: Corpus | None) -> None:
    """InputError unless the state is one of the model's topics, and the corpus the one that it is of."""
    if state.n_topics != model.n_topics:
        raise InputError(f"the model has {model.n_topics} topics, but the state has {state.n_topics}")
    if times is not None and list(times.ids) != list(state.ids):
        raise InputError("time: the documents of the corpus with the times are not those of the state")


def _times_of_documents(fit: Corpus | State, other: Corpus | None) -> Times:
    """The time of each document."""
    source = other if other is not None else fit
    column = source.table.get("time")
    if column is None and isinstance(source, State):
        raise InputError("time: the state holds no times; name the corpus that has them")
    if column is None:
        raise InputError("time: no document of the corpus has a time: import it with --time-field")
    return times_of(column, "time")


def spans_of_times(times: Times, span: str | float | None) -> DocumentSlices:
    """The spans that have documents."""
    span = ("year" if times.dates else 1.0) if span is None else span
    if isinstance(span, str):
        if span not in UNITS:
            raise InputError(f"span: {span!r} is neither a width nor one of {', '.join(UNITS)}")
        if not times.dates:
            raise InputError(f"span: {span} is for dates, and the corpus has numbers; give a width")
        return time_slices(times, "span", span, filled=True)
    if not (np.isfinite(span) and span > 0):
        raise InputError(f"span: {span} must be above 0")
    return width_slices(times, span, "span")


def weight_quantiles(weights: Floats, buckets: int) -> Floats:
    """Where each topic's weight, summed over time, reaches 0, 1/buckets, 2/buckets …: topics × (buckets + 1). The first
    is the beginning of all and the last its end, so that the buckets cover all spans."""
    length, topics = weights.shape
    total = weights.sum(axis=0)
    edges = np.full((topics, buckets + 1), np.nan)
    for k in np.flatnonzero(total > 0):
        sums = np.concatenate([[0.0], np.cumsum(weights[:, k])])
        wanted = sums[-1] * np.arange(1, buckets) / buckets
        at = np.searchsorted(sums, wanted, side="left")  # sums[at - 1] < wanted <= sums[at]
        edges[k, 1:-1] = at - 1 + (wanted - sums[at - 1]) / (sums[at] - sums[at - 1])
        edges[k, 0], edges[k, -1] = 0, length
    return edges


def _of_state(state: State, path: int | None) -> Shares:
    """θ_d: the shares of each document's tokens, over all paths together or one."""
    chosen = state if path is None else state.path(path)
    if np.any(chosen.z == NONE):
        raise InputError("time: some tokens have no topic yet")
    indptr, topics, counts = chosen.document_topics()
    shares = counts / np.repeat(chosen.paths * state.lengths, np.diff(indptr))
    shape = (state.n_documents, state.n_topics)
    return 0, scipy.sparse.csr_array((shares, topics.astype(np.int32), indptr), shape=shape), state.lengths


def _inferred_shares(model: Model, corpus: Corpus, **sampling: Any) -> Iterator[Shares]:
    """Shares by inference: θ without its prior, (θ (N + Σα) - α) / N, where N is the number of known words."""
    inference = Inference(model, **sampling)
    begin = 0
    for part in inference.stream(inference.corpus(corpus)):
        lengths, counts = np.diff(part.documents.offsets), inference.reader.token_counts(part)
        yield begin, counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300), lengths
        begin += len(lengths)
