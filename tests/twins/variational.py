"""The variational updates in plain NumPy, double precision, a pair at a time; and exact CVB.

Pairs are in the order in which they are visited: `document[i]`, `word[i]`, `count[i]`; gamma is pairs × topics. Exact
CVB (Teh, Newman & Welling 2006, Appendix A) takes E[log(α + n)] over the distribution of n itself, a convolution of the
tokens' indicators, in place of its Gaussian approximation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln

Array = NDArray[np.float64]


@dataclass
class Corpus:
    """Pairs, priors (α per group), and what belongs to them."""

    document: NDArray[np.int64]
    word: NDArray[np.int64]
    count: NDArray[np.int64]
    alpha: Array
    beta: Array
    documents: int
    groups: NDArray[np.int64] | None = None
    seeds: Array | None = None
    """Pseudo-counts, words × topics."""

    @property
    def topics(self) -> int:
        return self.alpha.shape[1]

    def prior(self, d: int) -> Array:
        return self.alpha[0 if self.groups is None else self.groups[d]]

    def counts(self, gamma: Array) -> tuple[Array, Array]:
        """E n_dk and E n_kw (words × topics, seeds included)."""
        nd, nw = np.zeros((self.documents, self.topics)), np.zeros((len(self.beta), self.topics))
        np.add.at(nd, self.document, self.count[:, None] * gamma)
        np.add.at(nw, self.word, self.count[:, None] * gamma)
        return nd, nw + (0 if self.seeds is None else self.seeds)

    def variances(self, gamma: Array) -> tuple[Array, Array]:
        vd, vw = np.zeros((self.documents, self.topics)), np.zeros((len(self.beta), self.topics))
        np.add.at(vd, self.document, self.count[:, None] * gamma * (1 - gamma))
        np.add.at(vw, self.word, self.count[:, None] * gamma * (1 - gamma))
        return vd, vw


def cvb0_sweep(corpus: Corpus, gamma: Array, order: NDArray[np.int64]) -> Array:
    """Papanikolaou et al. 2017, eq. 6, pair after pair."""
    gamma = gamma.copy()
    nd, nw = corpus.counts(gamma)
    nk, total = nw.sum(axis=0), corpus.beta.sum()
    for i in order:
        d, w, c, old = corpus.document[i], corpus.word[i], corpus.count[i], gamma[i].copy()
        new = (corpus.prior(d) + nd[d] - old) * (corpus.beta[w] + nw[w] - old) / (total + nk - old)
        new /= new.sum()
        gamma[i] = new
        for row in (nd[d], nw[w], nk):
            row += c * (new - old)
    return gamma


def cvb_sweep(corpus: Corpus, gamma: Array, order: NDArray[np.int64]) -> Array:
    """Teh, Newman & Welling 2006, eq. 16-18, pair after pair."""
    gamma = gamma.copy()
    nd, nw = corpus.counts(gamma)
    vd, vw = corpus.variances(gamma)
    nk, vk, total = nw.sum(axis=0), vw.sum(axis=0), corpus.beta.sum()
    for i in order:
        d, w, c, old = corpus.document[i], corpus.word[i], corpus.count[i], gamma[i].copy()
        one = old * (1 - old)
        a, b, t = corpus.prior(d) + nd[d] - old, corpus.beta[w] + nw[w] - old, total + nk - old
        power = -(vd[d] - one) / (2 * a**2) - (vw[w] - one) / (2 * b**2) + (vk - one) / (2 * t**2)
        new = a * b / t * np.exp(power - power.max())
        new /= new.sum()
        gamma[i] = new
        for row in (nd[d], nw[w], nk):
            row += c * (new - old)
        for row in (vd[d], vw[w], vk):
            row += c * (new * (1 - new) - one)
    return gamma


def vb_gamma(corpus: Corpus, nd: Array, nw: Array) -> Array:
    """Eq. 6 given eq. 4 and 5."""
    theta = np.stack([digamma(corpus.prior(d) + nd[d]) for d in range(corpus.documents)])
    phi = digamma(corpus.beta[:, None] + nw) - digamma(corpus.beta.sum() + nw.sum(axis=0))
    power = theta[corpus.document] + phi[corpus.word]
    gamma = np.exp(power - power.max(axis=1, keepdims=True))
    return gamma / gamma.sum(axis=1, keepdims=True)


def vb_bound(corpus: Corpus, gamma: Array) -> float:
    """Eq. 2, term by term, at these assignments and the parameters of eq. 4 and 5 (no seeds)."""
    nd, nw = corpus.counts(gamma)
    bound = 0.0
    elog_theta = np.zeros_like(nd)
    for d in range(corpus.documents):
        prior, post = corpus.prior(d), corpus.prior(d) + nd[d]
        elog_theta[d] = digamma(post) - digamma(post.sum())
        bound += _dirichlet(prior, elog_theta[d]) - _dirichlet(post, elog_theta[d])
    elog_phi = np.zeros_like(nw)
    for k in range(corpus.topics):
        post = corpus.beta + nw[:, k]
        elog_phi[:, k] = digamma(post) - digamma(post.sum())
        bound += _dirichlet(corpus.beta, elog_phi[:, k]) - _dirichlet(post, elog_phi[:, k])
    inner = elog_theta[corpus.document] + elog_phi[corpus.word]
    return float(bound + np.sum(corpus.count[:, None] * gamma * inner) + entropy(corpus, gamma))


def _dirichlet(parameters: Array, elog: Array) -> float:
    """E log of a Dirichlet density, given E log of its argument."""
    return float(gammaln(parameters.sum()) - gammaln(parameters).sum() + np.sum((parameters - 1) * elog))


def entropy(corpus: Corpus, gamma: Array) -> float:
    safe = np.where(gamma > 0, gamma, 1)
    return -float(np.sum(corpus.count[:, None] * gamma * np.log(safe)))


# ---- exact CVB -----------------------------------------------------------------------------------------------------


def distribution(probabilities: Array) -> Array:
    """P(n = 0, 1, …) of a sum of independent indicators: their convolution."""
    result = np.ones(1)
    for p in probabilities:
        result = np.convolve(result, [1 - p, p])
    return result


def expected_log(prior: float, probabilities: Array) -> float:
    weights = distribution(probabilities)
    return float(weights @ np.log(prior + np.arange(len(weights))))


def expected_rising(prior: float, probabilities: Array) -> float:
    """E[log Γ(prior + n)] - log Γ(prior)."""
    weights = distribution(probabilities)
    return float(weights @ gammaln(prior + np.arange(len(weights))) - gammaln(prior))


def _tokens(corpus: Corpus, gamma: Array, chosen: NDArray[np.bool_], k: int, without: int = -1) -> Array:
    """γ of topic k of every token of the chosen pairs, one of pair `without` left out."""
    count = corpus.count.copy()
    if without >= 0:
        count[without] -= 1
    return np.repeat(gamma[chosen, k], count[chosen])


def exact_cvb_sweep(corpus: Corpus, gamma: Array, order: NDArray[np.int64]) -> Array:
    """Eq. 15 with exact expectations, pair after pair."""
    gamma = gamma.copy()
    total = corpus.beta.sum()
    everything = np.ones(len(gamma), bool)
    for i in order:
        d, w = corpus.document[i], corpus.word[i]
        power = np.zeros(corpus.topics)
        for k in range(corpus.topics):
            power[k] = expected_log(corpus.prior(d)[k], _tokens(corpus, gamma, corpus.document == d, k, i))
            power[k] += expected_log(corpus.beta[w], _tokens(corpus, gamma, corpus.word == w, k, i))
            power[k] -= expected_log(total, _tokens(corpus, gamma, everything, k, i))
        new = np.exp(power - power.max())
        gamma[i] = new / new.sum()
    return gamma


def exact_cvb_bound(corpus: Corpus, gamma: Array) -> float:
    """-F of eq. 12 with exact expectations (no seeds)."""
    bound = entropy(corpus, gamma)
    for d in range(corpus.documents):
        mine = corpus.document == d
        length, prior = corpus.count[mine].sum(), corpus.prior(d)
        bound -= float(gammaln(prior.sum() + length) - gammaln(prior.sum()))
        bound += sum(expected_rising(prior[k], _tokens(corpus, gamma, mine, k)) for k in range(corpus.topics))
    total = corpus.beta.sum()
    everything = np.ones(len(gamma), bool)
    for k in range(corpus.topics):
        for w in range(len(corpus.beta)):
            bound += expected_rising(corpus.beta[w], _tokens(corpus, gamma, corpus.word == w, k))
        bound -= expected_rising(total, _tokens(corpus, gamma, everything, k))
    return bound


# ---- SCVB0 ---------------------------------------------------------------------------------------------------------


def scvb0_document(
    words: NDArray[np.int64],
    counts: NDArray[np.int64],
    alpha: Array,
    beta: Array,
    nw: Array,
    totals: Array,
    passes: int,
) -> tuple[Array, Array, float]:
    """Foulds et al. 2013, Algorithm 1, of one document: assignments, counts, log p of its words in the last pass."""
    length, topics = counts.sum(), len(alpha)
    nd, position = np.full(topics, length / topics), 0
    gamma = np.zeros((len(words), topics))
    for _ in range(passes):
        fit = 0.0
        for i, (w, c) in enumerate(zip(words, counts, strict=True)):
            p = (alpha + nd) * (beta[w] + nw[w]) / (totals + beta.sum())
            gamma[i] = p / p.sum()
            fit += c * np.log(p.sum() / (alpha.sum() + length))
            left = (1 - (10.0 + position) ** -0.9) ** c
            nd = left * nd + (1 - left) * length * gamma[i]
            position += 1
    return gamma, nd, fit
