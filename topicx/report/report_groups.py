"""The columns by which a report shows topics, and how the mean shares of their groups are found.

Where that takes no longer than a report may, topics are drawn anew under a prior that knows the groups
(`topicx.regression.group_shares`). Else the shares that documents have anyway are averaged, which makes groups more
alike than they are: the report says which it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Column, Numbers, Table, Times
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.model import Model
from topicx.state import State
from topicx.views.group_mixtures import Mixtures
from topicx.views.topics_by_column import Groups, MixtureSums, drawn_mixtures, groups_of

FEW_GROUPS = 30
"""Values up to which a column of documents is shown though nobody asked for it."""
ONE_TOPIC = "each document has one topic, as a mixture has it"
SLICED = "each document is read by the words of its own slice"
LABELLED = "each document has the topics of its labels alone"
MOST_GROUPS = 500
"""Groups or spans that a report shows at most."""
WORK = 1_200_000_000
"""Words times (topics + 100), over all columns, up to which topics are drawn anew though nobody asked for it."""
SECOND = 37_000_000
"""So much of that work is about a second of one core."""
Floats = NDArray[np.float64]


@dataclass
class GroupedShares:
    """Topics by one column of the documents."""

    column: str
    groups: Groups
    found: Mixtures
    way: str = "plug-in"
    """How shares were found, as report_options.SHARES names it: effects, if topics were drawn under a prior that knows
    the groups."""
    note: str = ""
    """Why it was the other way, in a sentence."""
    predicted: tuple[Floats, Floats, Floats] | None = None
    """Means, low and high ends (groups × topics) that a regression predicts; they stand instead of what was found."""

    @property
    def mean(self) -> Floats:
        """Mean shares: groups × topics."""
        return self.predicted[0] if self.predicted else self.found.mean

    def intervals(self) -> tuple[Floats, Floats]:
        """Low and high ends: groups × topics."""
        return self.predicted[1:] if self.predicted else self.found.intervals()


@dataclass
class GroupPlan:
    """The columns of a report, and how the shares of their groups will be found."""

    columns: list[tuple[str, Groups]]
    way: str
    note: str = ""
    sums: list[MixtureSums] = field(default_factory=list)
    """Sums of plugged-in shares, a column each; empty where topics are drawn."""

    def begin(self, lengths: NDArray[np.int64]) -> None:
        """Make ready for the shares of documents of these lengths."""
        if self.way == "plug-in":
            self.sums = [MixtureSums(one, lengths) for _, one in self.columns]

    def result(self, model: Model, bag: Corpus | State | None, seed: int, threads: int | Engine) -> list[GroupedShares]:
        """Shares of the groups of all columns."""
        if self.sums or bag is None:
            return [
                GroupedShares(name, groups, sums.result(), "plug-in", self.note)
                for (name, groups), sums in zip(self.columns, self.sums, strict=True)
            ]
        return [
            GroupedShares(
                name, groups, drawn_mixtures(model, bag, groups, name, seed=seed, threads=threads, quick=True),
                "effects",
            )
            for name, groups in self.columns
        ]  # fmt: skip


SHRUNK = "Shares are those that documents have by themselves, so that differences look smaller than they are."


def plan_groups(
    columns: Table, by: Sequence[str], unit: str | None, shares: str | None, model: Model, bag: Corpus | State | None,
    lengths: NDArray[np.int64],
) -> GroupPlan:  # fmt: skip
    """What to show topics by, and how. bag: the documents' words; None: they are not known."""
    chosen = _choose_columns(columns, by, unit)
    if not chosen:
        return GroupPlan([], "plug-in")
    why = _why_not_drawn(model, bag)
    if shares == "effects" and why:
        raise InputError(f"--shares effects: {why}")
    work = int(lengths.sum()) * (model.n_topics + 100) * len(chosen)
    if shares is None and not why and work > WORK:
        minutes = max(round(work / SECOND / 60), 1)
        why = (
            "Drawing topics anew for the groups, which shows differences in full, takes about "
            f"{minutes} minute{'s' if minutes > 1 else ''} of one core here (--shares effects)"
        )
        return GroupPlan(chosen, "plug-in", f"{SHRUNK} {why}.")
    # What is plugged in shrinks nothing here, or what would be drawn is another thing.
    if why in (ONE_TOPIC, LABELLED, SLICED):
        return GroupPlan(chosen, "plug-in", f"{why[0].upper()}{why[1:]}.")
    if why or shares == "plug-in":
        return GroupPlan(chosen, "plug-in", SHRUNK)
    return GroupPlan(chosen, "effects")


def _why_not_drawn(model: Model, bag: Corpus | State | None) -> str:
    """Why topics cannot be drawn under a prior that knows groups; empty: they can."""
    if bag is None:
        return "the documents' words are not known, their shares alone"
    if model.meta.get("model") == "mixture":
        return ONE_TOPIC
    if model.meta.get("model") == "slices":
        return SLICED
    if isinstance(bag, State) and bag.allowed is not None:
        return LABELLED
    if not np.any(np.diff(bag.offsets) > 0):
        return "no document has words"
    return ""


def _choose_columns(columns: Table, by: Sequence[str], unit: str | None) -> list[tuple[str, Groups]]:
    """The columns that are asked for; if none is: time, collection and label, where they have few values."""
    found: list[tuple[str, Groups]] = []
    for name in dict.fromkeys(by):
        found.append((name, _group_column(columns, name, unit)))
    if by:
        return found
    if "time" in columns and _has_values(columns["time"]):
        found.append(("time", _group_column(columns, "time", unit)))
    for name in ("collection", "label"):
        if name in columns and _has_values(columns[name]):
            one = groups_of(columns, name)
            if 1 < len(one.names) <= FEW_GROUPS:
                found.append((name, one))
    return found


def _group_column(columns: Table, name: str, unit: str | None) -> Groups:
    """Spans of a column of times or of many numbers, each value of another."""
    spans = unit if name in columns and (name == "time" or isinstance(columns[name], Numbers)) else None
    found = groups_of(columns, name, spans)
    if len(found.names) > MOST_GROUPS:
        raise InputError(f"--by {name}: {len(found.names):,} groups are too many for a report: --bins makes them wider")
    return found


def _has_values(column: Column) -> bool:
    """Whether any document has a value there."""
    if isinstance(column, Numbers | Times):
        return bool(np.isfinite(column.values).any())
    return any(value not in (None, []) for value in column.told())
