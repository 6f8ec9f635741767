"""How new documents are sampled: sweeps, samples, chains, the estimator of θ, and the streams of random numbers.

The stream of a document is made of its words (those that the model knows, in order) and the seed: what is found for it
depends neither on the documents beside it nor on their order, the batches, the threads or the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.infer import infer as kernel
from topicx.errors import InputError
from topicx.splitmix import GOLDEN, MASK

ESTIMATORS = ("cgs", "cgsp", "cvb0")


@dataclass(frozen=True)
class UsualSampling:
    """How a model's documents are sampled unless the caller says otherwise."""

    burn_in: int = 10
    """Sweeps over a new document before samples are taken."""
    chains: int = 1
    """Chains that are averaged."""
    soft_sweeps: int = 50
    """Sweeps of CVB0 over a new document, where nothing is drawn."""
    theta: str | None = None
    """The estimator that is used if nobody asks for an estimator, for samples or for chains; None: the model's own."""


@dataclass(frozen=True)
class Sampling:
    """How documents are sampled in one call."""

    theta: str = "cgsp"
    """The estimator: cgs, cgsp, or cvb0, which draws nothing."""
    burn_in: int = 10
    """Sweeps before the first sample; of cvb0 all sweeps."""
    samples: int = 10
    """Samples that are averaged, of each chain."""
    lag: int = 1
    """Sweeps from one sample to the next."""
    chains: int = 1
    """Chains whose θ is averaged."""
    seed: int = 1

    @classmethod
    def of(
        cls, usual: UsualSampling, known: str | None, *, iterations: int | None = None, burn_in: int | None = None,
        samples: int | None = None, lag: int = 1, chains: int | None = None, theta: str | None = None, seed: int = 1,
    ) -> Sampling:  # fmt: skip
        """What the caller's options mean, of which None are left open; or InputError.

        Parameters
        ----------
        usual
            What the model's documents are sampled by where nothing is said.
        known
            The estimator that the model was made with.
        iterations
            The number of all sweeps, which settles one of the others.
        """
        if chains is not None and chains < 1:
            raise InputError(f"chains: {chains} must be at least 1")
        drawn = samples is not None or lag > 1 or (chains is not None and (chains, usual.chains) != (1, 1))
        theta = estimator_of(usual, known, theta, drawn)
        averaged = chains or (1 if theta == "cvb0" else usual.chains)
        first, number, lag = plan_sweeps(iterations, burn_in, samples, lag, usual.burn_in)
        if theta == "cvb0":
            if averaged > 1 or samples not in (None, 1) or lag > 1:
                raise InputError("theta: cvb0 draws nothing, so there are no samples and no chains to average")
            first, number = (iterations or burn_in or usual.soft_sweeps), 1
        if not 0 <= seed < 2**63:
            raise InputError(f"seed: {seed} must be from 0 to 2^63 - 1")
        return cls(theta, first, number, lag, averaged, seed)

    @property
    def iterations(self) -> int:
        """All sweeps of a chain."""
        return self.burn_in + (self.samples - 1) * self.lag


@dataclass(frozen=True)
class Streams:
    """The streams of random numbers of some documents: a key each, for every chain."""

    words: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    seed: int
    first: int = 0
    """The number of the first chain."""

    def of_chain(self, chain: int) -> NDArray[np.uint64]:
        """The keys of one of several chains."""
        return document_keys(self.words, self.offsets, chain_seed(self.seed, self.first + chain))

    def after(self, chains: int) -> Streams:
        """Streams without the first chains, which something else uses."""
        return Streams(self.words, self.offsets, self.seed, self.first + chains)


def document_keys(tokens: NDArray[np.uint32], offsets: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """The key of each document's stream of random numbers: made of its words in order, and the seed."""
    keys = np.zeros(len(offsets) - 1, np.uint64)
    kernel.document_keys(tokens, offsets, seed, keys)
    return keys


def further_keys(keys: NDArray[np.uint64], number: int) -> NDArray[np.uint64]:
    """Streams of the same documents for another use, by its number."""
    step = np.uint64(GOLDEN * (2 * number + 3) & MASK)
    return keys ^ step


def chain_seed(seed: int, chain: int) -> int:
    """The seed of one of several chains; the first has the seed itself."""
    return (seed + chain * GOLDEN) % 2**63


def estimator_of(usual: UsualSampling, known: str | None, theta: str | None, drawn: bool) -> str:
    """The estimator of new documents' θ, or InputError. `drawn`: whether samples or chains were asked for."""
    if theta is None and not drawn:
        theta = usual.theta
    if theta is None:
        theta = known if known in ("cgs", "cgsp") else "cgsp"
    if theta not in ESTIMATORS:
        raise InputError(f"theta: {theta!r} is not an estimator; there are cgs, cgsp and cvb0")
    return theta


def plan_sweeps(
    iterations: int | None, burn_in: int | None, samples: int | None, lag: int, usual: int = 10
) -> tuple[int, int, int]:
    """Burn-in, samples and lag, from whichever of them and of `iterations` (all sweeps) are given; `usual`: the burn-in
    of the model's kind."""
    for name, value in (("iterations", iterations), ("burn-in", burn_in), ("samples", samples), ("lag", lag)):
        if value is not None and value < 1:
            raise InputError(f"{name}: {value} must be at least 1")
    if iterations is None:
        return burn_in or usual, samples or 10, lag
    if burn_in is None:
        number = samples or max(min(10, (iterations - 1) // lag), 1)
        burn_in = iterations - (number - 1) * lag
        if burn_in < 1:
            raise InputError(f"iterations: {iterations} sweeps are too few for {number} samples {lag} apart")
        return burn_in, number, lag
    if burn_in > iterations:
        raise InputError(f"burn-in: {burn_in} is more than the {iterations} iterations")
    number = samples or (iterations - burn_in) // lag + 1
    if burn_in + (number - 1) * lag != iterations and samples is not None:
        raise InputError(
            f"iterations: {iterations} is not burn-in {burn_in} + {number - 1} × lag {lag}; leave one of them out"
        )
    return burn_in, number, lag
