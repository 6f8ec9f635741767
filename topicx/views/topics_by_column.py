"""Topics by what documents have: the mean θ of the documents of each label, collection, span of time or value of a
column, with intervals.

θ is drawn under a prior that knows the groups (`topicx.regression.group_shares`). The plug-in takes the θ that `infer`
gives, under the model's own prior, which shrinks differences between groups by about N / (N + Σα) for documents of N
tokens. Of it: the documents of a group are taken as a sample: the mean of θ_dk over n of them has the standard error
s / √n, and the interval is Student's t. Shares are skewed, so the spread of a handful of documents is mostly far too
small (none of five has the topic): s² is therefore shrunk toward what it is within all groups, which counts as LENT
documents more (the moderated t of Smyth 2004, doi:10.2202/1544-6115.1027, with a fixed prior). A group of one document
has no interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.corpus.corpus import Corpus
from topicx.corpus.periods import period_slices
from topicx.corpus.slices import UNITS, column_slices, times_of
from topicx.corpus.table import SNIPPET, Table, Times
from topicx.design.covariates import levels_of
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.estimate import theta_rows
from topicx.estimate.topic_edits import follow_model_edits
from topicx.model import Model
from topicx.predict.topic_rows import match_vocabulary
from topicx.regression.group_shares import LENT, Membership, group_shares
from topicx.state import State
from topicx.tables.theta_reader import read_theta
from topicx.views.group_mixtures import Mixtures

METHODS = ("effects", "plug-in")
NONE = "(none)"
"""The group of documents that carry nothing there."""


@dataclass(frozen=True, repr=False)
class Groups(Summarized):
    """The documents of each group, in pairs: a document may be in several (by its labels)."""

    names: list[str]
    documents: NDArray[np.int64]
    groups: NDArray[np.int64]
    times: NDArray[np.float64]
    """The middle of each, where they are spans of time; else NaN."""
    ordered: bool
    """Whether they are one after another, so that topics can rise and fall."""
    dates: bool = False
    """Whether the times are years, from dates."""
    whole: bool = True
    """Whether all shares of the documents are known; else the largest, and the others count as nothing."""


def _hint_for(by: str, table: Table) -> str:
    """What may have been meant by a column that documents do not carry."""
    renamed = [name for name in ("label", "collection") if name in table]
    if by == "time":
        return " (--bins takes years from any of them; import has --time-field)" if table else ""
    if by in UNITS and "time" in table:
        return f" (--by time --bins {by} makes such groups)"
    return f" (what --{renamed[0]}-field named is called {renamed[0]})" if renamed else ""


def groups_of(
    table: Table, by: str, unit: str | None = None, every: int | None = None, periods: Sequence[str] = ()
) -> Groups:
    """The groups by one of the columns; documents that carry nothing there are a group of their own. With periods,
    these are the groups, and documents of none are left out."""
    if by not in table:
        known = ", ".join(table.without(SNIPPET)) or "nothing beside their words"
        raise InputError(f"--by {by}: the documents do not carry it; they carry {known}{_hint_for(by, table)}")
    column = table[by]
    if periods:
        if unit or every:
            raise InputError("--periods: bins (--bins, --every) are other groups of the same times")
        named = period_slices(times_of(column, f"--by {by}"), periods)
        return Groups(named.names, named.documents, named.slices, np.full(len(named.names), np.nan), False)
    column = times_of(column, f"--by {by}") if by == "time" else column
    found = column_slices(column, f"--by {by}", unit, every)
    names, documents, members = found.names, found.documents, found.slices
    times = found.middles if found.ordered else np.full(len(names), np.nan)
    others = np.setdiff1d(np.arange(len(column)), documents)
    if len(others):
        last = names.index(NONE) if NONE in names else len(names)
        names = names if NONE in names else [*names, NONE]
        times = np.append(times, [np.nan] * (len(names) - len(times)))
        members = np.append(members, np.full(len(others), last))
        order = np.argsort(documents := np.append(documents, others), kind="stable")
        documents, members = documents[order], members[order]
    dates = found.ordered and (unit is not None or (isinstance(column, Times) and column.dates))
    return Groups(names, documents, members, times, found.ordered, dates)


class MixtureSums:
    """Sums of θ by group, batch by batch. Documents without words count for none: their θ is the prior's."""

    def __init__(self, groups: Groups, lengths: NDArray[np.int64]) -> None:
        kept = lengths[groups.documents] > 0
        self.groups, self.lengths = groups, lengths
        self.documents, self.members = groups.documents[kept], groups.groups[kept]
        self.total: NDArray[np.float64] = np.zeros((len(groups.names), 1))
        self.square: NDArray[np.float64] = np.zeros((len(groups.names), 1))

    def add(self, begin: int, rows: NDArray[Any]) -> None:
        """Add θ of the documents from number `begin` on."""
        first, last = np.searchsorted(self.documents, [begin, begin + len(rows)])
        members, places = self.members[first:last], self.documents[first:last] - begin
        shape = (len(self.groups.names), len(rows))
        take = scipy.sparse.csr_array((np.ones(len(members)), (members, places)), shape=shape)
        exact = rows.astype(np.float64)
        self.total, self.square = self.total + take @ exact, self.square + take @ (exact * exact)

    def result(self, share: float = 0.9) -> Mixtures:
        """The means and their errors."""
        number = len(self.groups.names)
        counts = np.bincount(self.members, minlength=number)
        n = counts[:, None].astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = self.total / np.where(n > 0, n, np.nan)
            squares = np.nan_to_num(np.maximum(self.square - n * mean**2, 0))
            own = np.maximum(n - 1, 0)
            lent = np.minimum(own.sum() - own, LENT)  # what the others have
            within = squares.sum(axis=0) / max(float(own.sum()), 1.0)
            freedom = np.where(n > 1, own + lent, np.nan)
            errors = np.sqrt((squares + lent * within) / freedom / n)
        tokens = np.bincount(self.members, self.lengths[self.documents], number).astype(np.int64)
        idle = self.groups.names[-1:] == [NONE] and not counts[-1]  # all documents without a value have no words
        some = slice(number - 1 if idle else number)
        return Mixtures(
            self.groups.names[some], counts[some], self.groups.times[some], mean[some],
            np.zeros((0, *mean[some].shape), np.float32), share, tokens[some], errors[some], freedom[some, 0],
        )  # fmt: skip


def mixtures_of(
    groups: Groups, theta: Iterable[tuple[int, NDArray[Any]]], lengths: NDArray[np.int64], share: float = 0.9
) -> Mixtures:
    """Means of θ by group, from batches (the first document's number, and rows)."""
    sums = MixtureSums(groups, lengths)
    for begin, rows in theta:
        sums.add(begin, rows)
    return sums.result(share)


def by_documents(
    model: Model, by: str, *, corpus: str | Corpus | None = None, state: str | State | None = None,
    theta: str | None = None, unit: str | None = None, every: int | None = None, share: float = 0.9, seed: int = 1,
    threads: int | Engine = 0, method: str = "effects", periods: Sequence[str] = (),
) -> tuple[Mixtures, Groups, int]:  # fmt: skip
    """Topic proportions of groups of documents by a column.

    Parameters
    ----------
    model : Model
        The model.
    by : str
        Column: "time", "label", "collection" or a further one.
    corpus : str or Corpus, optional
        Documents, whose θ is inferred.
    state : str or State, optional
        The state that the model was made of, which gives θ.
    theta : str, optional
        A table of θ that `infer` or `train` has written.
    unit : str, optional
        Unit of the calendar, for times: "year", "decade", "month" …
    every : int, optional
        So many units a group.
    share : float, default 0.9
        Mass of the intervals.
    seed : int, default 1
        Seed of the inference.
    threads : int or Engine, default 0
        Threads; 0: all cores. No result depends on it.
    method : {"effects", "plug-in"}, default "effects"
        effects draws θ under a prior that knows the groups. plug-in takes inferred θ (of a corpus), CGS_p's (of a
        state) or the table's, which makes groups more alike than they are. A table is always plugged in.
    periods : sequence of str, optional
        Spans of time that are the groups, instead of bins: "1800-1849", "1990-05/1992-12". `differences` of what is
        returned compares them.

    Returns
    -------
    Mixtures, Groups, int
        Means and intervals, the groups, and the number of documents without a word that the model knows.
    """
    if method not in METHODS:
        raise InputError(f"method: {method!r} must be effects or plug-in")
    if method == "effects" and theta is None:
        return _drawn_shares(model, by, corpus, state, unit, every, share, seed, threads, periods)
    if corpus is not None:
        loaded = corpus if isinstance(corpus, Corpus) else Corpus.load(corpus)
        groups = groups_of(loaded.table, by, unit, every, periods)
        shares: Iterable[tuple[int, NDArray[Any]]]
        shares, lengths = inferred_rows(model, loaded, seed, threads)
    elif theta is not None:
        table = read_theta(theta, model.called or [str(k) for k in range(model.n_topics)])
        groups = replace(groups_of(table.columns, by, unit, every, periods), whole=table.whole)
        shares, lengths = [(0, table.theta)], table.lengths
    else:
        held = _state_of_run(model, state)
        groups = groups_of(held.table, by, unit, every, periods)
        shares, lengths = theta_rows(held, threads=threads), held.lengths
    found = mixtures_of(groups, shares, lengths, share)
    return found, groups, int((lengths == 0).sum())


def _state_of_run(model: Model, state: str | State | None) -> State:
    """The state that the model was made of, with the model's edits."""
    assert state is not None
    held = state if isinstance(state, State) else State.load(state)
    why = model.unlike(held)
    if why is not None:
        raise InputError(f"the state: it is not of the model's run: {why}")
    return follow_model_edits(held, model)


def _drawn_shares(
    model: Model, by: str, corpus: str | Corpus | None, state: str | State | None, unit: str | None,
    every: int | None, share: float, seed: int, threads: int | Engine, periods: Sequence[str],
) -> tuple[Mixtures, Groups, int]:  # fmt: skip
    bag: Corpus | State
    if corpus is not None:
        bag = corpus if isinstance(corpus, Corpus) else Corpus.load(corpus)
    else:
        bag = _state_of_run(model, state)
    groups = groups_of(bag.table, by, unit, every, periods)
    mixtures = drawn_mixtures(model, bag, groups, by, share=share, seed=seed, threads=threads)
    known = np.concatenate([[0], np.cumsum(match_vocabulary(model.vocabulary, bag.vocabulary)[bag.words] >= 0)])
    return mixtures, groups, int((np.diff(known[bag.offsets]) == 0).sum())


def drawn_mixtures(
    model: Model, bag: Corpus | State, groups: Groups, by: str, *, share: float = 0.9, seed: int = 1,
    threads: int | Engine = 0, quick: bool = False,
) -> Mixtures:  # fmt: skip
    """Topic proportions of groups of documents, drawn under a prior that knows the groups.

    Parameters
    ----------
    model : Model
        The model.
    bag : Corpus or State
        The documents; a state that has followed the model's edits.
    groups : Groups
        The groups of these documents, by `groups_of`.
    by : str
        The column that they are by. Chunks of a text are one text's, unless it is `document` or `chunk`.
    share : float, default 0.9
        Confidence of the intervals.
    seed : int, default 1
        Seed of the draws.
    threads : int or Engine, default 0
        Threads; 0: all cores. No result depends on it.
    quick : bool, default False
        96 sweeps instead of 240, and 8 draws instead of 20; intervals are a little wider for it.

    Returns
    -------
    Mixtures
        Means, intervals and trends.
    """
    clusters = None
    if {"document", "chunk"} <= set(bag.table) and by not in ("document", "chunk"):
        codes = levels_of(bag.table, "document").codes
        # A chunk of no text is on its own.
        clusters = np.where(codes >= 0, codes, codes.max(initial=0) + 1 + np.arange(len(codes)))
    membership = Membership(groups.names, groups.documents, groups.groups, groups.times, groups.ordered)
    found = group_shares(model, bag, membership, seed, threads, clusters, quick)
    idle = groups.names[-1:] == [NONE] and not found.documents[-1]  # all documents without a value have no words
    some = slice(len(groups.names) - 1 if idle else len(groups.names))
    return Mixtures(
        groups.names[some], found.documents[some], groups.times[some], found.mean[some],
        np.zeros((0, *found.mean[some].shape), np.float32), share, found.tokens[some], found.errors[some],
        found.freedom[some], found.drawn[:, some], found.sampling[some],
    )  # fmt: skip


def inferred_rows(
    model: Model, corpus: Corpus, seed: int, threads: int | Engine
) -> tuple[Iterable[tuple[int, NDArray[Any]]], NDArray[np.int64]]:  # fmt: skip
    """θ in batches, and how many words of each document the model knows."""
    from topicx.predict.inference import Inference

    inference = Inference(model, seed=seed, threads=threads)
    match = match_vocabulary(model.vocabulary, corpus.vocabulary)
    known = np.concatenate([[0], np.cumsum(match[corpus.words] >= 0)])[corpus.offsets]

    def batches() -> Iterator[tuple[int, NDArray[Any]]]:
        begin = 0
        for part in inference.stream(inference.corpus(corpus)):
            yield begin, part.theta
            begin += len(part.documents)

    return batches(), np.diff(known)
