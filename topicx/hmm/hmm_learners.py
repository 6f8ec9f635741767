"""One start of a training run: HmmGibbs sampling or Baum-Welch, from its own random beginning.

A learner is all that a restart is: it makes sweeps, tells its parameters, and says what a checkpoint must keep. Its
random numbers come from streams derived from (seed, restart, sweep, path).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.hmm import hmm as kernel
from topicx.engines.threads import Engine
from topicx.files.schema import require_consistent
from topicx.hmm.hmm_model import Parameters, Sequences
from topicx.hmm.hmm_options import HmmOptions
from topicx.sampling import random_streams
from topicx.sampling.special_functions import log
from topicx.sampling.updates.table_counts import draw_dirichlet


class Layout:
    """What every restart shares: the sequences, and what the kernel for two states needs of them."""

    def __init__(self, data: Sequences, symbols: int, options: HmmOptions) -> None:
        self.data, self.symbols, self.options = data, symbols, options
        self.two: tuple[NDArray[Any], ...] | None = None
        if options.states == 2 and options.sampler != "baum-welch" and symbols:
            self.two = kernel.layout_two(data.words, data.offsets, symbols)


class HmmLearner(ABC):
    """A restart of a run."""

    done = False
    """Whether further sweeps would change nothing."""

    def __init__(self, layout: Layout, restart: int, engine: Engine) -> None:
        self.layout, self.data, self.options = layout, layout.data, layout.options
        self.restart, self.engine = restart, engine

    def key(self, use: int, *parts: int) -> int:
        return random_streams.stream_key(use, self.options.seed, self.restart, *parts)

    def generator(self, use: int, *parts: int) -> np.random.Generator:
        return random_streams.make_generator(use, self.options.seed, self.restart, *parts)

    @abstractmethod
    def sweep(self, number: int) -> None:
        """Sweep `number`, counted from 0."""

    @abstractmethod
    def parameters(self) -> Parameters:
        """The parameters as they are estimated now."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that the next sweep depends on, beside the data and the options."""

    @abstractmethod
    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Continue from `arrays()`."""


class HmmGibbs(HmmLearner):
    """M paths that share their counts (Kozdoba & Mannor, Algorithms 1 and 2); one path is the plain sampler."""

    def __init__(self, layout: Layout, restart: int, engine: Engine) -> None:
        super().__init__(layout, restart, engine)
        shape = (self.options.paths, self.data.n_symbols)
        self.z = self.generator(random_streams.START).integers(0, self.options.states, shape, np.uint8, endpoint=False)
        self._count()

    def _count(self) -> None:
        """The paths' pooled counts; for two states and `partial` also those of each path, which its sweeps keep."""
        M, S, V = len(self.z), self.options.states, self.layout.symbols
        self.each = self.options.sampler == "partial" and self.layout.two is not None
        own = M if self.each else 1
        self.counts = np.zeros((own, S), np.int64), np.zeros((own, S, S), np.int64), np.zeros((own, V, S), np.int64)
        for j, path in enumerate(self.z):
            kernel.count_path(self.data.words, self.data.offsets, path, *(counts[j % own] for counts in self.counts))
        self._pool()

    def _pool(self) -> None:
        self.start, self.trans, self.emit = (c.sum(axis=0) if self.each else c[0] for c in self.counts)

    def sweep(self, number: int) -> None:
        keys = [
            random_streams.stream_key(random_streams.CELL, self.options.seed, self.restart, number, j)
            for j in range(len(self.z))
        ]
        if self.options.sampler == "collapsed":
            for path, key in zip(self.z, keys):  # one after another: each site sees all others of all paths
                self._collapsed(path, key)
        else:
            drawn = self._draw(number)
            self.engine.map(lambda j: self._partial(j, keys[j], drawn), range(len(self.z)))
            if self.each:
                self._pool()
            else:
                self._count()

    def _collapsed(self, path: NDArray[np.uint8], key: int) -> None:
        o, counts = self.options, (self.start, self.trans, self.emit)
        if self.layout.two is not None:
            data = (self.data.words, *self.layout.two)
            kernel.sweep_two_collapsed(*data, path, *counts, o.start_prior, o.alpha, o.beta, key)
        else:
            kernel.sweep_collapsed(
                self.data.words, self.data.offsets, path, *counts, o.start_prior, o.alpha, o.beta, key
            )

    def _partial(self, j: int, key: int, p: Parameters) -> None:
        parameters = (p.start, p.trans, p.emit)
        if self.layout.two is not None:
            firsts, lasts, _ = self.layout.two
            own = (counts[j] for counts in self.counts)
            kernel.sweep_two_partial(self.data.words, firsts, lasts, self.z[j], *own, *parameters, key)
        else:
            kernel.sweep_partial(self.data.words, self.data.offsets, self.z[j], *parameters, key)

    def _draw(self, number: int) -> Parameters:
        """Parameters from their posterior given all paths together."""
        o, key = self.options, self.key(random_streams.PHI, number)
        start = draw_dirichlet(self.start[None] + o.start_prior, random_streams.stream_key(key, 0))[0]
        trans = draw_dirichlet(self.trans + o.alpha, random_streams.stream_key(key, 1))
        emit = draw_dirichlet(self.emit.T + o.beta, random_streams.stream_key(key, 2))
        return Parameters(start, trans, np.ascontiguousarray(emit.T))

    def parameters(self) -> Parameters:
        """The posterior means given the paths' pooled counts."""
        o = self.options
        start, trans, emit = self.start + o.start_prior, self.trans + o.alpha, self.emit + o.beta
        return Parameters(start / start.sum(), trans / trans.sum(axis=1, keepdims=True), emit / emit.sum(axis=0))

    def agreement(self) -> float:
        """The share of sites, averaged over pairs of paths, that have one state in both; 1 for a single path."""
        if len(self.z) == 1 or not self.data.n_symbols:
            return 1.0
        pairs = [(a, b) for a in range(len(self.z)) for b in range(a)]
        return float(np.mean([(self.z[a] == self.z[b]).mean() for a, b in pairs]))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"z": self.z}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        z = arrays["z"]
        require_consistent(z.shape == self.z.shape, f"paths of shape {z.shape}, not {self.z.shape}")
        require_consistent(
            not z.size or int(z.max()) < self.options.states, f"a state beyond the {self.options.states} states"
        )
        self.z = z
        self._count()


class BaumWelch(HmmLearner):
    """Expectation-maximisation: the most probable parameters under the priors; maximum likelihood where all are 1."""

    def __init__(self, layout: Layout, restart: int, engine: Engine) -> None:
        super().__init__(layout, restart, engine)
        S, key = self.options.states, self.key(random_streams.START)
        start = draw_dirichlet(np.ones((1, S)), random_streams.stream_key(key, 0))[0]
        trans = draw_dirichlet(np.ones((S, S)), random_streams.stream_key(key, 1))
        emit = draw_dirichlet(np.ones((S, layout.symbols)), random_streams.stream_key(key, 2))
        self.current = Parameters(start, trans, np.ascontiguousarray(emit.T))
        self.last = -np.inf
        """The objective of the round before: log-likelihood, and the priors' part."""

    def sweep(self, number: int) -> None:
        if self.done:
            return
        p, o = self.current, self.options
        logs = np.zeros(len(self.data.offsets) - 1)
        nothing = np.zeros((0, o.states))

        def expect(cell: tuple[int, int]) -> tuple[NDArray[np.float64], ...]:
            counts = np.zeros_like(p.start), np.zeros_like(p.trans), np.zeros_like(p.emit)
            kernel.expected_counts(
                self.data.words, self.data.offsets, *cell, p.start, p.trans, p.emit, logs, *counts, nothing
            )
            return counts

        parts = self.engine.map(expect, self.data.cells())
        start, trans, emit = (sum(arrays) for arrays in zip(*parts))
        objective = float(logs.sum()) + self._prior(p)
        self.current = Parameters(
            _most_probable_rows(start, o.start_prior, p.start), _most_probable_rows(trans, o.alpha, p.trans),
            np.ascontiguousarray(_most_probable_rows(emit.T, o.beta, p.emit.T).T),
        )  # fmt: skip
        self.done = bool(objective - self.last < o.tolerance)
        self.last = objective

    def _prior(self, p: Parameters) -> float:
        """Logarithm of the priors' density, without its constant."""
        o, total = self.options, 0.0
        for prior, values in ((o.start_prior, p.start), (o.alpha, p.trans), (o.beta, p.emit)):
            if prior != 1:
                total += (prior - 1) * float(log(np.maximum(values, 1e-300)).sum())
        return total

    def parameters(self) -> Parameters:
        return self.current

    def arrays(self) -> dict[str, NDArray[Any]]:
        p = self.current
        return {"start": p.start, "trans": p.trans, "emit": p.emit, "last": np.array([self.last, float(self.done)])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        p = self.current
        shapes = {"start": p.start.shape, "trans": p.trans.shape, "emit": p.emit.shape, "last": (2,)}
        for name, shape in shapes.items():
            require_consistent(arrays[name].shape == shape, f"{name!r} of shape {arrays[name].shape}, not {shape}")
        self.current = Parameters(arrays["start"], arrays["trans"], arrays["emit"])
        self.last, self.done = float(arrays["last"][0]), bool(arrays["last"][1])


def _most_probable_rows(counts: NDArray[np.float64], prior: float, old: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of the most probable distributions given these expected counts; a row without any stays as it was."""
    rows = np.maximum(counts + (prior - 1), 0)
    sums = rows.sum(axis=-1, keepdims=True)
    return np.where(sums > 0, rows / np.where(sums > 0, sums, 1), old)
