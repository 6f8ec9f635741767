"""Everything that decides what a training run of a hidden Markov model finds, checked in one place."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from topicx.errors import InputError

SAMPLERS = ("collapsed", "partial", "baum-welch")
MAX_STATES = 256
MAX_INDEX = 2**63 - 1
MAX_SWEEPS = 1_000_000_000


@dataclass(frozen=True)
class HmmOptions:
    """The options of `topicx hmm train`, by the same names."""

    states: int
    sampler: str = "collapsed"
    paths: int = 1
    """State sequences of the corpus that share their counts (Kozdoba & Mannor); 1: the plain sampler."""
    iterations: int = 1000
    restarts: int = 1
    """Independent starts; the one with the highest likelihood is kept."""
    seed: int = 1
    start_prior: float = 1.0
    """The Dirichlet prior of the first state, for each state."""
    alpha: float = 1.0
    """The Dirichlet prior of each transition."""
    beta: float = 1.0
    """The Dirichlet prior of each symbol in a state."""
    tolerance: float = 1e-4
    """For `baum-welch`: a restart ends when a round gains less log-likelihood than this."""
    trace_interval: int = 10
    """Sweeps between records of the log-likelihood."""

    def __post_init__(self) -> None:
        if self.sampler not in SAMPLERS:
            raise InputError(f"sampler must be one of {', '.join(SAMPLERS)}, not {self.sampler!r}")
        limits = {
            "states": (1, MAX_STATES), "paths": (1, 10_000), "iterations": (0, MAX_SWEEPS), "restarts": (1, 1_000_000),
            "seed": (0, MAX_INDEX), "trace_interval": (1, MAX_INDEX),
        }  # fmt: skip
        for name, (low, high) in limits.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
                raise InputError(f"{name} must be a whole number from {low} to {high}, not {value!r}")
        for name in ("start_prior", "alpha", "beta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not (isinstance(value, int | float) and 1e-30 <= value <= 1e30):
                raise InputError(f"{name} must be a number from 1e-30 to 1e30, not {value!r}")
            object.__setattr__(self, name, float(value))  # counts and a whole number would make whole numbers
        if not (isinstance(self.tolerance, int | float) and math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InputError(f"tolerance must be a number of at least 0, not {self.tolerance!r}")
        if self.sampler == "baum-welch" and self.paths > 1:
            raise InputError("paths: is for the samplers collapsed and partial; baum-welch has none")

    def to_meta(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_meta(cls, meta: dict[str, Any]) -> HmmOptions:
        return cls(**{field.name: meta[field.name] for field in fields(cls)})
