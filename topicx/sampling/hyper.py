"""Learning the priors between sweeps: Minka's fixed points for the Dirichlet-multinomial (Minka 2000, eq. 55), which
climb the likelihood of the counts at hand (Gibbs-EM, Wallach 2006).

Learnt values are rounded to single precision: the last bits of digamma may differ between machines, the samples
drawn from the rounded values do not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from topicx.sampling.method import Method
from topicx.sampling.options import Options
from topicx.state import Csr, Seeds

_ROUNDS = 20
_TOLERANCE = 1e-4
_SMALLEST = 1e-6


@dataclass(frozen=True)
class LearnPriors:
    """The update between sweeps: every `interval` sweeps after `burn_in`, the priors named in `what`."""

    interval: int
    burn_in: int
    what: frozenset[str]

    @classmethod
    def of(cls, options: Options) -> LearnPriors:
        return cls(options.optimize_interval, options.optimize_burn_in, frozenset(options.optimize.split("+")))

    def due(self, sweep: int) -> bool:
        return self.interval > 0 and sweep > self.burn_in and sweep % self.interval == 0

    def __call__(self, method: Method) -> None:
        state = method.state
        if method.learn(self.what):
            return
        alpha, beta = state.alpha, state.beta
        if self.what & {"alpha", "symmetric-alpha"}:
            alpha = learn_alpha(method.document_topics(), alpha, state.groups, "symmetric-alpha" in self.what)
        if "beta" in self.what:
            beta = learn_beta(method.word_topics(), beta, state.n_topics, state.seeds)
        method.set_priors(rounded(alpha), rounded(beta))


def rounded(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    return prior.astype(np.float32).astype(np.float64)


def learn_alpha(
    document_topics: Csr, alpha: NDArray[np.float64], groups: NDArray[np.uint32], symmetric: bool
) -> NDArray[np.float64]:
    """α of each group given n_dk. Only distinct counts are looked at, so a round costs little."""
    indptr, topics, counts = document_topics
    per_document = np.diff(indptr)
    group_of = groups if len(groups) else np.zeros(len(per_document), np.uint32)
    new = alpha.copy()
    n_topics = alpha.shape[1]
    running = np.concatenate([[0], np.cumsum(counts)])
    lengths = running[indptr[1:]] - running[indptr[:-1]]
    for group in range(len(alpha)):
        member = (group_of == group) & (lengths > 0)
        if not member.any():
            continue
        entries = np.repeat(member, per_document)
        width = int(counts.max()) + 1
        pairs, times = np.unique(topics[entries].astype(np.int64) * width + counts[entries], return_counts=True)
        topic, count = pairs // width, pairs % width
        length, length_times = np.unique(lengths[member], return_counts=True)
        row = new[group]
        for _ in range(_ROUNDS):
            gain = np.bincount(topic, times * (digamma(count + row[topic]) - digamma(row[topic])), n_topics)
            total = row.sum()
            cost = float(np.sum(length_times * (digamma(length + total) - digamma(total))))
            if symmetric:
                gain = np.full(n_topics, gain.mean())
            updated = np.maximum(row * gain / cost, _SMALLEST)
            settled = np.max(np.abs(updated - row) / row) < _TOLERANCE
            row = updated
            if settled:
                break
        new[group] = row
    return new


def learn_beta(word_topics: Csr, beta: NDArray[np.float64], n_topics: int, seeds: Seeds) -> NDArray[np.float64]:
    """β · s for the best factor s given n_kw; the proportions between words stay. Seeds' pseudo-counts are prior."""
    indptr, topics, counts = word_topics
    words = np.repeat(np.arange(len(beta)), np.diff(indptr))
    weight = beta[words]
    totals = np.bincount(topics, counts, n_topics)
    prior_totals = np.bincount(seeds.topics, seeds.counts, n_topics) if len(seeds) else np.zeros(n_topics)
    # Equal (weight, count) pairs are computed once.
    pairs, times = np.unique(np.stack([weight, counts.astype(np.float64)]), axis=1, return_counts=True)
    distinct, count = pairs
    factor, total = 1.0, float(beta.sum())
    for _ in range(_ROUNDS):
        gain = np.sum(times * distinct * (digamma(count + factor * distinct) - digamma(factor * distinct)))
        if len(seeds):
            seeded = factor * beta[seeds.words]
            gain -= np.sum(beta[seeds.words] * (digamma(seeds.counts + seeded) - digamma(seeded)))
        cost = total * np.sum(digamma(totals + factor * total) - digamma(prior_totals + factor * total))
        if not (gain > 0 and cost > 0):
            break
        updated = float(np.clip(factor * gain / cost, factor / 10, factor * 10))
        settled = abs(updated - factor) < _TOLERANCE * factor
        factor = updated
        if settled:
            break
    return np.maximum(beta * factor, _SMALLEST)
