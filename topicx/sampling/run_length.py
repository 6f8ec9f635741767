"""How long a run is that ends by itself: decided at a few looks at its own likelihood, the same on every machine.

After a start the joint log-likelihood rises about as the logarithm of the sweeps does. So a look tells what is still to
come: the rise since the look before, for each doubling of the sweeps. Where that is little, the run ends,
after so many more sweeps as the states that are averaged need. The likelihood of topics and tokens together rises by
more than the perplexity of other documents falls (docs/explanation/performance.md has the measurement).

A run is planned up to the next look that can end it; a look that finds too much still to come moves the end. So the
plan is a list of steps at every time, and a checkpoint a place in it. The states that are averaged come after the look
before that: then all of them are known to be kept when they come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from topicx.files.schema import is_finite_number, is_whole_number, require_consistent

AUTO_INTERVAL = 2
"""Sweeps from one re-estimation of the priors to the next."""
AUTO_BURN_IN = 0
"""Sweeps, hot ones included, before the first. α is learnt in the sweeps of cvb0 already."""
SOFT_TOPICS = 300
"""Topics up to which a soft start has them all: its sweeps cost as many numbers a pair as there are topics. Beyond,
each of few is divided, and the parts take long to become topics of their own."""
MANY_TOPICS = 250
"""Those of a run that ends by itself, where documents are not long: there divided topics are soon better."""
AUTO_SAMPLES, AUTO_LAG, MANY_LAG = 5, 4, 8
"""States that are averaged at the end, and the sweeps between two of them; with more topics than `SOFT_TOPICS`."""
AUTO_SOFT_SWEEPS, AUTO_HOT_SWEEPS = 5, 20
"""The sweeps of cvb0 with which such a run starts, and the hot ones after them (`topicx.sampling.starts`). Priors are
learnt in both."""
AUTO_MANY_HOT_SWEEPS, AUTO_RARE_HOT_SWEEPS = 80, 120
"""The hot ones with more topics than `MANY_TOPICS`; and with more words than `FEW_WORDS`, too."""
LOOKS: tuple[int, ...] = (5, 10, 20, 30, 40, 50, 60, 75, 100, 150, 225, 340, 500, 750)
"""The sweeps after which a run is looked at; the first has nothing to compare with."""
LOOKS_FROM_RANDOM = LOOKS[LOOKS.index(20) :]
"""Those of a run that began with random topics, of all documents or of a part."""
MANY_LOOKS = LOOKS[LOOKS.index(30) :]
"""Those of a run with so many topics that they begin divided. On long documents, which have no hot sweeps, they are
`LONG_LOOKS`."""
FEW_WORDS = 10_000
"""Words above which too many are rare."""
LONG_LOOKS = LOOKS[LOOKS.index(100) :]
"""Those of a run on long documents from random topics: its likelihood rises slowly at first, and faster after some
fifty sweeps. Many topics take as long to become coherent there."""
AFTER_LOOK = 8
"""The sweeps after the last look where the averaged states may come before it: after a soft or a hot start the first
sweeps are as good as later ones (docs/explanation/performance.md)."""
MOST_SWEEPS = 1000
"""Where a run ends though it has not settled."""
ENOUGH, ENOUGH_SCVB0, ENOUGH_MANY, ENOUGH_GROWN, ENOUGH_FROM_RANDOM = 0.05, 0.15, 0.1, 0.09, 0.015
"""The rise of the joint log-likelihood per token, for each doubling of the sweeps, below which a run has settled:

- after a soft or a hot start;
- after a soft one on short documents: where words are seen very often, the likelihood rises for long;
- after one with many topics: their likelihood rises for long. Perplexity hardly falls meanwhile where words are seen
  often; where most are rare it does, as fast as the likelihood rises elsewhere;
- after it grew: then the likelihood rises for long after perplexity hardly falls;
- after a random start: then as much of a rise is more of a gain in perplexity, by two or three.
"""


class RunLength:
    """Where a run that ends by itself is to end, as far as its looks have said."""

    def __init__(
        self, tail: int, enough: float = ENOUGH, looks: Sequence[int] = LOOKS, spread: int | None = None
    ) -> None:
        """`tail`: the sweeps after the last look; `enough`: the rise that ends it; `looks`: the sweeps after which it
        is looked at; `spread`: the sweeps from the first to the last of the averaged states, if not the `tail`."""
        self.tail, self.enough, self._planned_looks = tail, enough, looks
        self.spread = tail if spread is None else spread
        self.looks: list[tuple[int, float]] = []
        """Sweep and likelihood, look by look."""
        self.settled = False
        """Whether a look has found that there is little to come."""

    @classmethod
    def after(
        cls, start: str, spread: int, *, many: bool, long: bool, scvb0: bool = False
    ) -> RunLength:  # fmt: skip
        """That of a run with this start; `many`: with so many topics that they begin divided; `long`: on long
        documents; `scvb0`: SCVB0 begins it."""
        if start in ("soft", "hot"):
            looks, enough = LOOKS, ENOUGH_SCVB0 if scvb0 else ENOUGH
            if many:
                looks, enough = LONG_LOOKS if long else MANY_LOOKS, ENOUGH_MANY
            return cls(min(AFTER_LOOK, spread), enough, looks, spread)
        enough = ENOUGH_GROWN if start == "growing" else ENOUGH_FROM_RANDOM
        return cls(spread, enough, LONG_LOOKS if long else LOOKS_FROM_RANDOM)

    @property
    def planned(self) -> int:
        """The sweeps of the plan, as it is now."""
        able = self._planned_looks[1:]  # to end it: the first look has nothing to compare with
        sweep = self.looks[-1][0] if self.looks else 0
        last = sweep if self.settled else next((look for look in able if look > sweep), MOST_SWEEPS)
        before = max((look for look in able if look < last), default=0)
        return min(max(last + self.tail, before + self.spread + 1), MOST_SWEEPS)

    def due(self, sweep: int) -> bool:
        """Whether there is to be a look after this sweep."""
        return not self.settled and sweep in self._planned_looks

    def look(self, sweep: int, likelihood: float) -> None:
        """Take what a look has found, and decide."""
        if self.looks:
            before, known = self.looks[-1]
            self.settled = (likelihood - known) / math.log2(sweep / before) < self.enough
        self.looks.append((sweep, likelihood))

    def to_meta(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {"looks": [list(one) for one in self.looks], "settled": self.settled}

    def restore(self, meta: Mapping[str, Any]) -> None:
        """Go on from what a checkpoint has kept."""
        looks = meta.get("looks")
        good = isinstance(looks, list) and all(
            isinstance(one, list) and len(one) == 2 and is_whole_number(one[0], 1) and is_finite_number(one[1])
            for one in looks
        )
        require_consistent(good and isinstance(meta.get("settled"), bool), "looks at its likelihood that are none")
        self.looks = [(int(sweep), float(likelihood)) for sweep, likelihood in looks or ()]
        self.settled = bool(meta["settled"])
