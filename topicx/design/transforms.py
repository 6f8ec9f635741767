"""The functions of formulas: what each makes of a column of numbers, and what it keeps of the documents that it was
made from (knots, means, norms), so that new documents get the same columns.

The results are formulaic's (`bs`, `poly`, `scale`, `center`, `log` …) to the last digits but one. Sums are exact
(`math.fsum`), so that they do not depend on the processor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.soft import bounds
from topicx.errors import InputError

Floats = NDArray[np.float64]
Options = Mapping[str, Any]
State = dict[str, Any]
"""What JSON holds."""
USUAL, MOST = 10, 500
"""Columns of a spline if nobody says how many; and at most."""


@dataclass(frozen=True)
class Transform:
    """A function of numbers: `fit` makes its state, `apply` a column or several."""

    options: dict[str, Any]
    """Names of what follows the column, in order, and what they are if they are not given."""
    fit: Callable[[str, Floats, Options], State]
    """From a name for messages, finite numbers, and options."""
    apply: Callable[[Floats, Options, State], Floats]
    """Numbers × columns (an array of one dimension: one column, without a number in its name)."""


def spline_basis(x: Floats, knots: Floats, degree: int) -> Floats:
    """B-splines over these knots (the ends repeated `degree` times more), without the first, by Cox and de Boor."""
    basis = [((x >= a) & (x < b)).astype(np.float64) for a, b in zip(knots[:-1], knots[1:])]
    last = len(knots) - degree - 2
    basis[last] = ((x >= knots[last]) & (x <= knots[last + 1])).astype(np.float64)
    for d in range(1, degree + 1):
        left = [_ramp_between(x, knots[i], knots[i + d]) for i in range(len(knots) - d)]
        basis = [left[i] * basis[i] + (1 - left[i + 1]) * basis[i + 1] for i in range(len(basis) - 1)]
    return np.column_stack(basis[1:])


def _ramp_between(x: Floats, begin: float, end: float) -> Floats:
    return (x - begin) / (end - begin) if end != begin else np.zeros(len(x))


def _fit_spline(name: str, x: Floats, options: Options) -> State:
    degree, df = _whole_option(name, "degree", options["degree"], 1, 10), options["df"]
    different = len(np.unique(x))
    if different < 2:
        raise InputError(f"formula: {name}: all documents have the same value there")
    if df is None:
        df = degree if options["plain"] else min(USUAL, different - 1)
        degree = min(degree, df)
    df = _whole_option(name, "df", df, degree, MOST)
    inner = np.quantile(x, np.linspace(0, 1, df - degree + 2))[1:-1]
    low, high = float(x.min()), float(x.max())
    return {"knots": [low, *inner.tolist(), high], "degree": degree}


def _apply_spline(x: Floats, options: Options, state: State) -> Floats:
    inside, degree = np.array(state["knots"], np.float64), int(state["degree"])
    clipped = np.clip(x, inside[0], inside[-1])
    return spline_basis(clipped, np.pad(inside, degree, mode="edge"), degree)


def _fit_poly(name: str, x: Floats, options: Options) -> State:
    degree = _whole_option(name, "degree", options["degree"], 1, 20)
    if degree >= len(np.unique(x)):
        raise InputError(f"formula: {name}: a degree of {degree} needs {degree + 1} different values")
    alphas: list[float] = []
    norms = [float(len(x))]
    before, now = np.zeros(len(x)), np.ones(len(x))
    for i in range(degree):
        square = now * now
        alphas.append(math.fsum(x * square) / norms[i])
        before, now = now, (x - alphas[i]) * now - (norms[i] / norms[i - 1] * before if i else 0)
        norms.append(math.fsum(now * now))
    return {"degree": degree, "alpha": alphas, "norms": norms}


def _apply_poly(x: Floats, options: Options, state: State) -> Floats:
    norms, columns = state["norms"], []
    before, now = np.zeros(len(x)), np.ones(len(x))
    for i, alpha in enumerate(state["alpha"]):
        before, now = now, (x - alpha) * now - (norms[i] / norms[i - 1] * before if i else 0)
        columns.append(now / math.sqrt(norms[i + 1]))
    return np.column_stack(columns)


def _fit_scale(name: str, x: Floats, options: Options) -> State:
    centre = math.fsum(x) / len(x) if options["center"] else 0.0
    spread = 1.0
    if options["scale"]:
        spread = math.sqrt(math.fsum((x - centre) ** 2) / max(len(x) - 1, 1))
        if not spread > 0:
            raise InputError(f"formula: {name}: all documents have the same value there")
    return {"center": centre, "scale": spread}


def _apply_scale(x: Floats, options: Options, state: State) -> Floats:
    return (x - float(state["center"])) / float(state["scale"])


def _learn_nothing(name: str, x: Floats, options: Options) -> State:
    return {}


def _make_logarithm(divisor: float) -> Callable[[Floats, Options, State], Floats]:
    def apply(x: Floats, options: Options, state: State) -> Floats:
        found = np.full(len(x), np.nan)
        found[x > 0] = bounds.special_function("log", x[x > 0])
        return found / divisor

    return apply


def _apply_exponential(x: Floats, options: Options, state: State) -> Floats:
    small = np.abs(x) <= 700
    found = np.full(len(x), np.nan)
    found[small] = bounds.special_function("exp", x[small])
    return found


def _apply_square_root(x: Floats, options: Options, state: State) -> Floats:
    return np.sqrt(np.where(x >= 0, x, np.nan))


def _whole_option(name: str, option: str, value: Any, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise InputError(f"formula: {name}: {option} must be a whole number from {least} to {most}, not {value!r}")
    return value


TRANSFORMS: dict[str, Transform] = {
    "s": Transform({"df": None, "degree": 3, "plain": False}, _fit_spline, _apply_spline),
    "bs": Transform({"df": None, "degree": 3, "plain": True}, _fit_spline, _apply_spline),
    "poly": Transform({"degree": 1}, _fit_poly, _apply_poly),
    "scale": Transform({"center": True, "scale": True}, _fit_scale, _apply_scale),
    "center": Transform({"center": True, "scale": False}, _fit_scale, _apply_scale),
    "log": Transform({}, _learn_nothing, _make_logarithm(1.0)),
    "log2": Transform({}, _learn_nothing, _make_logarithm(math.log(2))),
    "log10": Transform({}, _learn_nothing, _make_logarithm(math.log(10))),
    "exp": Transform({}, _learn_nothing, _apply_exponential),
    "sqrt": Transform({}, _learn_nothing, _apply_square_root),
}
HIDDEN = {"plain"}
"""Options that are a function's own, not a formula's."""
