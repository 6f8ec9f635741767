"""Slow, readable twins of the supervised samplers: Zheng, Yu & Xing 2015, eq. 15-24, a token and a weight at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.twins.samplers import Floats, Ints, metropolis_hastings


def log_loss(loss: str, weight: float, score: Floats, target: Floats, epsilon: float = 0.0) -> Floats:
    """log of what a loss makes of the posterior: -2 λ max(0, ...) or -λ log(1 + exp(-y s))."""
    if loss == "hinge":
        return np.asarray(-2 * weight * np.maximum(0, 1 - target * score))
    if loss == "epsilon":
        return np.asarray(-2 * weight * np.maximum(0, np.abs(target - score) - epsilon))
    return np.asarray(-weight * np.logaddexp(0, -target * score))


def log_factor(counts: Ints, eta: Floats, bias: Floats, linear: Floats, curve: Floats) -> float:
    """Σ_c b_c s_c - curve_c s_c² / 2 of a document with these topic counts; eta: topics × tasks."""
    score = counts @ eta / counts.sum() + bias
    return float((linear * score - curve * score**2 / 2).sum())


def conditional(
    others: Ints, n_w: Ints, n: Ints, alpha: Floats, beta: float, beta_sum: float, eta: Floats, bias: Floats,
    linear: Floats, curve: Floats,
) -> Floats:  # fmt: skip
    """p(z = k) of a token that no count includes (eq. 15)."""
    logs = np.array(
        [log_factor(others + np.eye(len(others), dtype=int)[k], eta, bias, linear, curve) for k in range(len(others))]
    )
    p = (others + alpha) * (n_w + beta) / (n + beta_sum) * np.exp(logs - logs.max())
    return np.asarray(p / p.sum())


def proposals(
    others: Ints, n_w: Ints, outside: Ints, alpha: Floats, beta: float, eta: Floats, bias: Floats, linear: Floats,
    curve: Floats,
) -> dict[str, Floats]:  # fmt: skip
    """What each proposal draws from. `outside`: the counts of the tokens that the exp-proposal's table knows."""
    length = others.sum() + 1
    score = bias + (outside @ eta / outside.sum() if outside.sum() else 0 * bias)
    pull = linear - curve * score
    logs = (eta * pull / length - curve * eta**2 / (2 * length**2)).sum(axis=1)
    weights = {
        "doc": others + alpha,
        "word": n_w + beta,
        "exp": np.exp(np.maximum(logs - logs.max(), -40)),
    }
    return {name: np.asarray(w / w.sum()) for name, w in weights.items()}


def transitions(p: Floats, q: dict[str, Floats], mode: str, steps: int) -> Floats:
    """The transition matrix of one token's steps: rows are the topic it had."""
    each = {name: metropolis_hastings(p, weights) for name, weights in q.items()}
    order = [each["doc"], each["word"], each["exp"]]
    matrix = np.eye(len(p))
    for step in range(steps):
        if mode == "mixture":
            matrix = matrix @ (sum(order) / 3)
        elif mode == "cycle":
            matrix = matrix @ order[step % 3]
        else:
            matrix = matrix @ each[mode]
    return matrix


def weight_moments(
    shares: Floats, linear: Floats, curve: Floats, eta: Floats, nu: float, k: int
) -> tuple[float, float]:
    """Mean and precision of η_k given the others (eq. 23, 24), one task."""
    rest = shares @ eta - shares[:, k] * eta[k]
    precision = nu + float((curve * shares[:, k] ** 2).sum())
    return float((shares[:, k] * (linear - curve * rest)).sum()) / precision, precision


def joint_moments(shares: Floats, linear: Floats, curve: Floats, nu: float) -> tuple[Floats, NDArray[np.float64]]:
    """Mean and precision of all of η (eq. 22), one task."""
    precision = nu * np.eye(shares.shape[1]) + shares.T @ (curve[:, None] * shares)
    return np.linalg.solve(precision, shares.T @ linear), precision
