"""Everything that decides a training run's result, checked in one place. Threads are not here: they decide nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.state import MAX_TOPICS

OPTIONS_OF = {
    "mh_steps": ("alias", "light", "warp"),
    "sparse_phi": ("partial",),
    **dict.fromkeys(("batch_documents", "document_passes", "rate_scale", "rate_delay", "rate_power"), ("scvb0",)),
}
"""Options that only some samplers have: with another they are refused, not ignored."""

STARTS = ("auto", "growing", "progressive", "random")


@dataclass(frozen=True)
class Options:
    """The options of a training run, as the command line and the Python API name them."""

    topics: int
    sampler: str = "auto"
    iterations: int = 1000
    seed: int = 1
    partitions: int = 0
    """Shards and blocks of the schedule (0: by the size of the corpus)."""
    start: str = "auto"
    alpha: float | Sequence[float] | None = None
    """α of each topic: one number for all, or one each. Default 0.1."""
    alpha_sum: float | None = None
    """Σ_k α, spread evenly: another way to say alpha."""
    beta: float = 0.01
    optimize_interval: int = 0
    """Sweeps between re-estimations of the priors (0: they stay as given)."""
    optimize_burn_in: int = 50
    optimize: str = "alpha+beta"
    """What is re-estimated: alpha (a weight for each topic), symmetric-alpha, beta, joined by +."""
    mh_steps: int = 2
    """Metropolis-Hastings steps a token (alias, light, warp)."""
    sparse_phi: bool = False
    """Draw φ sparsely, by Poisson variables (partial)."""
    icm: int = 0
    """Sweeps of iterated conditional modes at the end: each token takes its most probable topic."""
    samples: int = 1
    """States of the chain over which the model (and θ) are averaged: the last one and those before it."""
    lag: int = 10
    """Sweeps from one of these states to the next."""
    trace_interval: int = 10
    """Sweeps between records of the likelihood in the trace."""
    batch_documents: int = 256
    """Documents in a minibatch (scvb0)."""
    document_passes: int = 2
    """Passes over a document's words in a minibatch (scvb0)."""
    rate_scale: float = 1.0
    """The learning rate of minibatch t is rate_scale · (rate_delay + t)^-rate_power (scvb0)."""
    rate_delay: float = 4.0
    rate_power: float = 0.6
    chain: int = 0
    """Which of several chains with the same seed."""

    def __post_init__(self) -> None:
        whole = {
            "topics": (1, MAX_TOPICS), "iterations": (0, 1_000_000), "seed": (0, None), "partitions": (0, 1024),
            "optimize_interval": (0, None), "optimize_burn_in": (0, None), "mh_steps": (1, 64), "icm": (0, None),
            "samples": (1, 1000), "lag": (1, None), "trace_interval": (1, None), "batch_documents": (1, None),
            "chain": (0, None),
        }  # fmt: skip
        for name, (low, high) in whole.items():
            check_whole(name, getattr(self, name), low, high)
        check_whole("document_passes", self.document_passes, 1, 1000)
        if self.samples > 1 and (self.samples - 1) * self.lag >= self.iterations:
            raise InputError(
                f"{self.samples} samples {self.lag} sweeps apart need more than {(self.samples - 1) * self.lag} "
                f"iterations, not {self.iterations}"
            )
        if self.samples > 1 and self.icm:
            raise InputError("samples: an average of samples and the mode that icm seeks do not go together")
        for name in ("beta", "rate_scale", "rate_delay", "rate_power"):
            check_positive(name, getattr(self, name))
        if self.rate_power > 1:
            raise InputError(f"rate_power must be at most 1, or learning stops early; not {self.rate_power}")
        if self.alpha is not None and self.alpha_sum is not None:
            raise InputError("alpha and alpha_sum say the same thing in two ways: give one of them")
        if self.alpha_sum is not None:
            check_positive("alpha_sum", self.alpha_sum)
        if isinstance(self.alpha, Sequence | np.ndarray):
            object.__setattr__(self, "alpha", tuple(float(a) for a in self.alpha))
            if len(self.alpha) != self.topics:
                raise InputError(f"alpha has {len(self.alpha)} values for {self.topics} topics")
        for value in self.alpha_vector():
            check_positive("alpha", value)
        if self.start not in STARTS:
            raise InputError(f"start must be one of {', '.join(STARTS)}, not {self.start!r}")
        unknown = set(self.optimize.split("+")) - {"alpha", "symmetric-alpha", "beta"}
        if unknown:
            raise InputError(f"optimize: {', '.join(sorted(unknown))!r} is not alpha, symmetric-alpha or beta")

    def sample_sweeps(self) -> list[int]:
        """The sweeps after which the samples but the last are taken."""
        return [self.iterations - back * self.lag for back in range(self.samples - 1, 0, -1)]

    def check_sampler(self, sampler: str) -> None:
        """InputError if an option was set that only other samplers have."""
        for name, samplers in OPTIONS_OF.items():
            if sampler not in samplers and getattr(self, name) != type(self).__dataclass_fields__[name].default:
                raise InputError(f"{name} is for the sampler {' or '.join(samplers)}, not for {sampler}")

    def alpha_vector(self) -> NDArray[np.float64]:
        """α as one number a topic."""
        if isinstance(self.alpha, tuple):
            return np.array(self.alpha, np.float64)
        if self.alpha_sum is not None:
            return np.full(self.topics, self.alpha_sum / self.topics)
        return np.full(self.topics, 0.1 if self.alpha is None else float(self.alpha))  # type: ignore[arg-type]

    def to_meta(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_meta(cls, meta: dict[str, Any]) -> Options:
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in meta.items() if name in known})


def check_whole(name: str, value: Any, low: int, high: int | None) -> None:
    """`value` is a whole number within the limits, or InputError names it."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number, not {value!r}")
    if value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise InputError(f"{name} must be {limits}, not {value}")


def check_positive(name: str, value: Any) -> None:
    """`value` is a number above zero that single precision holds with room to spare, or InputError names it."""
    try:
        good = math.isfinite(value) and value > 0
    except TypeError:
        good = False
    if not good:
        raise InputError(f"{name} must be a finite number greater than 0, not {value}")
    if not 1e-30 <= value <= 1e30:
        raise InputError(f"{name} must be from 1e-30 to 1e30, not {value}")
