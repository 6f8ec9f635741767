"""The topics of documents' words, and a prior that knows what the documents carry, drawn one after another:

    z ~ p(z | w, φ, α),  α_gk = exp(o_k + x_g·λ_k)         λ ~ p(λ | z)         (φ is fixed; θ is integrated out)

A draw of θ under a prior that does not know the documents' groups makes them more alike than they are; one under this
prior does not. λ is drawn, not fitted: where documents are short, how sure λ is is most of how sure their means are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.infer import infer as kernel
from topicx.engines.threads import Engine
from topicx.predict.topic_rows import FixedTopics
from topicx.regression.cell_sums import by_number
from topicx.regression.drawn_priors import DrawnPrior
from topicx.sampling import random_streams
from topicx.sampling.updates.table_counts import Occupancy, log_betas
from topicx.splitmix import GOLDEN, MASK
from topicx.state import Csr, document_batches, document_topics

Floats = NDArray[np.float64]

BATCH_TOKENS = 1 << 16
SWEEP, PRIOR = 101, 102
"""What streams are for."""


@dataclass(frozen=True)
class Draw:
    """One state of the chain."""

    counts: Csr
    """n_dk."""
    alpha: Floats
    """Groups × topics."""


@dataclass
class TopicChain:
    """Documents whose words' topics, and whose prior, are drawn. Documents are in any order; all have a word."""

    fixed: FixedTopics
    words: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    prior: DrawnPrior
    groups: NDArray[np.uint32]
    """The group of each document."""
    engine: Engine
    seed: int
    learns: bool = True
    """Whether the prior is drawn; else it is the model's own, which knows nothing of the documents."""
    every: int = 1
    """Sweeps between draws of the prior, which is as right and slower: for priors that cost more than sweeps."""
    accepted: list[float] = field(default_factory=list)
    """The share of proposals of λ that were accepted, draw after draw."""

    def __post_init__(self) -> None:
        self.z = np.zeros(len(self.words), np.uint16)
        self.lengths = np.diff(self.offsets)
        self.steps = 0
        cuts = [begin for begin, _ in document_batches(self.offsets, BATCH_TOKENS)]
        self.batches = list(pairwise([*cuts, len(self.lengths)]))
        if self.fixed.fits:
            self.fixed.rows_for(np.zeros(0, np.uint32))  # made once, before threads start

    @property
    def alpha(self) -> Floats:
        """Groups × topics, as single precision holds them."""
        return self.prior.alpha().astype(np.float32).astype(np.float64)

    def step(self) -> None:
        """A sweep over all words, and a draw of λ."""
        self._sweep()
        if self.learns and (self.steps + 1) % self.every == 0:
            self._draw_prior()
        self.steps += 1

    def run(self, burn_in: int, draws: int, lag: int) -> Iterator[Draw]:
        """`draws` states that are `lag` sweeps apart, after `burn_in` sweeps."""
        for _ in range(burn_in - lag):
            self.step()
        for _ in range(draws):
            for _ in range(lag):
                self.step()
            yield Draw(self.counts, self.alpha)

    @property
    def counts(self) -> Csr:
        """n_dk."""
        return document_topics(self.z, self.offsets, self.fixed.n_topics)

    def _sweep(self) -> None:
        alpha = self.alpha.astype(np.float32)
        keys = document_streams(random_streams.stream_key(self.seed, SWEEP, self.steps), len(self.lengths))

        def work(batch: tuple[int, int]) -> None:
            begin, end = batch
            part = slice(int(self.offsets[begin]), int(self.offsets[end]))
            numbers, rows, _ = self.fixed.rows_for(self.words[part])
            kernel.advance(
                numbers, self.offsets[begin : end + 1] - self.offsets[begin], keys[begin:end], rows, alpha,
                self.groups[begin:end], 1, self.steps == 0, self.z[part],
            )  # fmt: skip

        self.engine.map(work, self.batches)

    def _draw_prior(self) -> None:
        key = random_streams.stream_key(self.seed, PRIOR, self.steps)
        alpha = self.alpha
        tables = Occupancy(self.counts, self.groups, alpha.shape).tables(alpha, key, self.engine)
        sums = alpha.sum(axis=1)
        shares = log_betas(sums[self.groups], self.lengths.astype(np.float64), random_streams.stream_key(key, 1))
        exposures = -by_number(self.groups, shares, len(alpha))[:, None]
        self.accepted.append(
            self.prior.draw(tables.astype(np.float64), exposures, random_streams.make_generator(key, 2))
        )


def document_streams(key: int, documents: int) -> NDArray[np.uint64]:
    """A stream of random numbers for each document, by its place: documents of equal words have different ones."""
    x = np.uint64(key & MASK) + np.arange(1, documents + 1, dtype=np.uint64) * np.uint64(GOLDEN & MASK)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
