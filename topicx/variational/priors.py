"""Learning α and β from expected counts: Minka's fixed point (Minka 2000, eq. 55) with soft counts.

For VB this climbs the bound itself: with the Dirichlet parameters at their optimum α + E n (eq. 4, 5), the bound
depends on the priors by Σ log Γ(α + E n) - log Γ(α) (and the sums), the Dirichlet-multinomial form that the fixed point
maximises. For CVB0 and CVB it is the same with E[log Γ(α + n)] taken at the mean.

The arithmetic is the kernels' own, so learnt priors have the same bits on every machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels import soft
from topicx.state import Seeds

ROUNDS = 20
TOLERANCE = 1e-4
SMALLEST = 1e-6


def learn_alpha(
    nd: NDArray[np.float32], lengths: NDArray[np.int64], alpha: NDArray[np.float64], groups: NDArray[np.uint32],
    symmetric: bool, rounds: int = ROUNDS,
) -> NDArray[np.float64]:  # fmt: skip
    """α of each group given the expected n_dk."""
    topics = alpha.shape[1]
    group_of = groups if len(groups) else np.zeros(len(lengths), np.uint32)
    for _ in range(rounds):
        gain = soft.digamma_gain(nd, np.ascontiguousarray(alpha), groups, topics)
        updated = step_alpha(alpha, gain, document_cost(alpha, lengths, group_of), symmetric)
        settled = np.max(np.abs(updated - alpha) / alpha) < TOLERANCE
        alpha = updated
        if settled:
            break
    return rounded(alpha)


def document_cost(
    alpha: NDArray[np.float64], lengths: NDArray[np.int64], group_of: NDArray[np.uint32]
) -> NDArray[np.float64]:
    """Σ_d ψ(Σα + n_d) - ψ(Σα) of each group."""
    sums = alpha.sum(axis=1)[group_of]
    costs: NDArray[np.float64] = soft.special("digamma", sums + lengths) - soft.special("digamma", sums)
    result: NDArray[np.float64] = np.bincount(group_of, costs, len(alpha)).astype(np.float64)
    return result


def step_alpha(
    alpha: NDArray[np.float64], gain: NDArray[np.float64], cost: NDArray[np.float64], symmetric: bool
) -> NDArray[np.float64]:
    """One round: α gain / cost. gain: Σ_d ψ(α_k + n_dk) - ψ(α_k), a row a group."""
    if symmetric:
        gain = np.repeat(gain.mean(axis=1, keepdims=True), gain.shape[1], axis=1)
    safe = np.where(cost > 0, cost, 1.0)[:, None]
    result: NDArray[np.float64] = np.where(cost[:, None] > 0, np.maximum(alpha * gain / safe, SMALLEST), alpha)
    return result


def learn_beta(
    nw: NDArray[np.float32], totals: NDArray[np.float64], beta: NDArray[np.float64], seeds: Seeds, rounds: int = ROUNDS
) -> NDArray[np.float64]:
    """β times the best factor given the expected n_kw (seeds included, which belong to the prior)."""
    topics = len(totals)
    before: NDArray[Any] = np.bincount(seeds.topics, seeds.counts, topics) if len(seeds) else np.zeros(topics)
    distinct, which = np.unique(beta, return_inverse=True)
    grouped = len(distinct) <= 64  # usually one value: then its digamma is taken once
    index = which.astype(np.uint32) if grouped else np.arange(len(beta), dtype=np.uint32)
    weights = distinct if grouped else beta
    factor, total = 1.0, float(beta.sum())
    for _ in range(rounds):
        prior = np.repeat((factor * weights)[:, None], topics, axis=1)
        gain = float(np.sum(weights * soft.digamma_gain(nw, prior, index, topics).sum(axis=1)))
        if len(seeds):
            seeded = factor * beta[seeds.words]
            gain -= float(np.sum(beta[seeds.words] * (_psi(seeds.counts + seeded) - _psi(seeded))))
        cost = total * float(np.sum(_psi(totals + factor * total) - _psi(before + factor * total)))
        if not (gain > 0 and cost > 0):
            break
        updated = float(np.clip(factor * gain / cost, factor / 10, factor * 10))
        settled = abs(updated - factor) < TOLERANCE * factor
        factor = updated
        if settled:
            break
    return rounded(np.maximum(beta * factor, SMALLEST))


def rounded(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """To single precision, as the samplers' learnt priors are."""
    return prior.astype(np.float32).astype(np.float64)


def _psi(x: NDArray[Any]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = soft.special("digamma", x)
    return result
