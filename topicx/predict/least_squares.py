"""Least squares with a quadratic penalty, for sparse features (LSQR: Paige & Saunders 1982).

The steps and the rule of when to stop are those of `scipy.sparse.linalg.lsqr`. All sums are NumPy's, in a fixed order:
a linear algebra library's depend on the processor and on how many threads it takes, which also spin while they wait.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
TOLERANCE = 1e-5
MOST_CONDITION = 1e8
"""The estimated condition of the features at which the steps end."""


def inner_product(a: Vector, b: Vector) -> float:
    """Σ a·b in a fixed order."""
    return float(np.add.reduce(a * b))


def unit_vector(vector: Vector) -> tuple[float, Vector]:
    """The length of a vector, and the vector of length 1 (0 stays 0)."""
    length = sqrt(inner_product(vector, vector))
    return length, (1 / length) * vector if length > 0 else vector


def damped_least_squares(
    times: Callable[[Vector], Vector], transposed: Callable[[Vector], Vector], wanted: Vector, damp: float, steps: int
) -> Vector:
    """The x that makes |A x - wanted|² + damp² |x|² least, nearly: A is given by what it makes of a vector, and its
    transpose of one."""
    beta, u = unit_vector(wanted)
    whole = beta
    alfa, v = unit_vector(transposed(u))
    x, w = np.zeros(len(v)), v
    if alfa * beta == 0:
        return x
    rhobar, phibar = alfa, beta
    size = lengths = spilt = norm = z = sn2 = 0.0
    cs2 = -1.0
    for _ in range(steps):
        beta, u = unit_vector(times(v) - alfa * u)
        if beta > 0:
            size = sqrt(size**2 + alfa**2 + beta**2 + damp**2)
            alfa, v = unit_vector(transposed(u) - beta * v)
        rhobar1 = sqrt(rhobar**2 + damp**2)
        psi, phibar = damp / rhobar1 * phibar, rhobar / rhobar1 * phibar
        rho = sqrt(rhobar1**2 + beta**2)
        cs, sn = rhobar1 / rho, beta / rho
        theta, rhobar = sn * alfa, -cs * alfa
        phi, phibar = cs * phibar, sn * phibar
        step = (1 / rho) * w
        x = x + (phi / rho) * w
        w = v - (theta / rho) * w
        lengths += inner_product(step, step)
        # The length of x, by a rotation from the right.
        delta, gambar = sn2 * rho, -cs2 * rho
        rhs = phi - delta * z
        length = sqrt(norm + (rhs / gambar) ** 2)
        gamma = sqrt(gambar**2 + theta**2)
        cs2, sn2, z = gambar / gamma, theta / gamma, rhs / gamma
        norm += z**2
        spilt += psi**2
        error = sqrt(phibar**2 + spilt)
        slope = alfa * abs(sn * phi) / (size * error + np.finfo(float).eps)
        enough = TOLERANCE + TOLERANCE * size * length / whole
        if error / whole <= enough or slope <= TOLERANCE or size * sqrt(lengths) >= MOST_CONDITION:
            break
    return x
