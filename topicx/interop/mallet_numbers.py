"""Numbers as Java writes them: MALLET's files are compared, sorted and cut by programs that know no other notation.

    text(x)      Double.toString: 0.05, 7.042253521126761E-4, 1.0E7 (the shortest digits that read back)
    short(x, n)  NumberFormat with at most n decimals, halves to even, no grouping: 1, 0.02995
    fixed(x, n)  Formatter's %.nf: n decimals, halves of the shortest digits away from zero

`java_doubles` does the first for whole arrays.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray


def java_double(value: float) -> str:
    """A double as Java's Double.toString writes it."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    shortest = repr(float(value))
    size = abs(value)
    if value == 0 or (1e-3 <= size < 1e7):
        return shortest
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    number = "".join(map(str, digits)).rstrip("0")
    power = exponent + len(digits) - 1
    return f"{'-' if sign else ''}{number[0]}.{number[1:] or '0'}E{power}"


def java_doubles(values: Any) -> NDArray[np.object_]:
    """An array of doubles as Java writes them: each different one is written once."""
    numbers = np.asarray(values, dtype=np.float64)
    different, places = np.unique(numbers, return_inverse=True)
    written = np.array([java_double(value) for value in different.tolist()], dtype=object)
    return np.asarray(written[places.reshape(numbers.shape)] if len(written) else numbers.astype(object))


def short_decimal(value: float, decimals: int = 5) -> str:
    """At most so many decimals, without zeros at the end."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "∞" if value > 0 else "-∞"
    shown = f"{value:.{decimals}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def fixed_decimals(value: float, decimals: int) -> str:
    """So many decimals, halves away from zero."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"{Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"
