"""Numbers as plain data shows them."""

from __future__ import annotations

from typing import Any


def six_digits(value: Any) -> float:
    """A number with six significant digits: more say nothing of a draw, and make files longer."""
    return float(f"{float(value):.6g}")
