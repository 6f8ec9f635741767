"""How MALLET learns priors: Minka's fixed points, with its own prior, number of rounds and remedies.

topicx's own rules are another matter (`topicx.sampling.updates.prior_fixed_points`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from topicx.models.lda import LatentDirichletAllocation
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.updates.prior_fixed_points import round_to_float32
from topicx.state import Csr, State

SHAPE, SCALE = 1.001, 1.0
"""The Gamma prior of each α."""
ROUNDS = 200
SMALLEST = 1e-6


class MalletLDA(LatentDirichletAllocation):
    """LDA whose priors are learnt as MALLET learns them."""

    def __init__(self, priors: MalletPriors) -> None:
        super().__init__()
        self.priors = priors

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        return [self.priors]


@dataclass
class MalletPriors:
    """New priors after every `interval` sweeps beyond the burn-in, as MALLET finds them.

    α: one round of the fixed point on the histograms of n_dk under a Gamma prior; with `symmetric` Σα by 200 rounds.
    β, the same for all words: 200 rounds. MALLET adds up the histograms of all sweeps since the last time; here those
    of the present sweep stand for as many, so that nothing has to be remembered between sweeps.
    """

    interval: int
    burn_in: int
    symmetric: bool
    told: Callable[[float, bool], None]
    """Called with the new β, and whether α had to be set back."""
    name: str = "mallet-priors"

    def due(self, sweep: int) -> bool:
        return self.interval > 0 and sweep > self.burn_in and sweep % self.interval == 0

    def __call__(self, method: Any, key: int) -> dict[str, float]:
        state = method.state
        alpha, stable = state.alpha[0], True
        if self.symmetric:
            total = symmetric_alpha_sum(method.document_topics(), float(alpha.sum()), state.n_topics)
            alpha = np.full(state.n_topics, total / state.n_topics)
        else:
            alpha = gamma_prior_alpha(method.document_topics(), alpha, self.interval)
            stable = bool(np.all(np.isfinite(alpha)) and np.all(alpha > 0))
            if not stable:  # known of very small corpora
                alpha = np.ones(state.n_topics)
        beta = symmetric_beta(method.word_topics(), float(state.beta[0]), state.n_words, state.n_topics)
        new = np.maximum(round_to_float32(alpha), SMALLEST)
        method.set_priors(new[None, :], np.full(state.n_words, max(float(round_to_float32(np.array(beta))), SMALLEST)))
        self.told(float(method.state.beta[0]), not stable)
        return {}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        """There is nothing to remember."""


def gamma_prior_alpha(counts: Csr, alpha: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """α_k (times · g_k + shape) / (times · h - 1 / scale), with g_k and h the sums of digammas' differences over the
    documents' n_dk and N_d: Minka's fixed point (2000, eq. 55) with the Gamma prior as MALLET has it."""
    indptr, topics, values = counts
    running = np.concatenate([[0], np.cumsum(values)])
    lengths = running[indptr[1:]] - running[indptr[:-1]]
    gain = np.bincount(topics, digamma(values + alpha[topics]) - digamma(alpha[topics]), len(alpha))
    total = float(alpha.sum())
    cost = float(np.sum(digamma(lengths + total) - digamma(total)))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(alpha * (gain * times + SHAPE) / (cost * times - 1 / SCALE))


def symmetric_alpha_sum(counts: Csr, total: float, topics: int) -> float:
    """Σα, alike for all topics, from n_dk and N_d."""
    indptr, _, values = counts
    running = np.concatenate([[0], np.cumsum(values)])
    return symmetric_concentration(values, running[indptr[1:]] - running[indptr[:-1]], topics, total)


def symmetric_beta(counts: Csr, beta: float, words: int, topics: int) -> float:
    """β, alike for all words, from n_kw and n_k."""
    _, column, values = counts
    totals = np.bincount(column, values, topics).astype(np.int64)
    return symmetric_concentration(values, totals, words, beta * words) / words


def symmetric_concentration(values: NDArray[Any], lengths: NDArray[Any], size: int, total: float) -> float:
    """The sum of a symmetric Dirichlet's parameters, by 200 rounds of Minka's fixed point."""
    count, times = np.unique(values[values > 0], return_counts=True)
    length, length_times = np.unique(lengths[lengths > 0], return_counts=True)
    for _ in range(ROUNDS):
        one = total / size
        gain = float(np.sum(times * (digamma(count + one) - digamma(one))))
        cost = float(np.sum(length_times * (digamma(length + total) - digamma(total))))
        if not (gain > 0 and cost > 0):
            break
        total = one * gain / cost
    return total
