"""The finaliser of splitmix64 (Steele, Lea & Flood 2014), for whole numbers and for arrays of uint64; the kernels have
theirs in rng.h."""

from __future__ import annotations

from typing import Any

GOLDEN = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def mix_bits(x: Any) -> Any:
    """Every bit of x, of 64, reaches every bit of the result."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)
