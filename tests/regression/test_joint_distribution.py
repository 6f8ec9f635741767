"""Geweke's test of the chain over words' topics and their prior: what is drawn from the model stays a draw of it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from tests import harness
from topicx.engines.threads import Threads
from topicx.predict.topic_rows import FixedTopics
from topicx.regression.drawn_priors import SPREAD_SCALE, SPREAD_SHAPE, HierarchicalPrior, LogLinearPrior
from topicx.regression.topic_chain import TopicChain

PHI = np.array([[0.7, 0.2, 0.1, 0.0], [0.1, 0.4, 0.3, 0.2], [0.05, 0.05, 0.1, 0.8]])
LEVEL = np.array([0.5, 1.0, 0.3])
ROWS = np.array([[1.0, -1.2], [1.0, 0.2], [1.0, 1.0]])
LENGTHS, GROUPS = np.array([6, 1, 9, 4, 12]), np.array([0, 0, 1, 2, 2], np.uint32)
VARIANCES = np.array([0.6, 0.5])
KINDS = ("log-linear", "spread drawn", "spread known")
REPLICATES = 400


def drawn(kind: str, random: np.random.Generator) -> LogLinearPrior | HierarchicalPrior:
    """The prior's coefficients, from their own prior."""
    if kind == "log-linear":
        found: LogLinearPrior | HierarchicalPrior = LogLinearPrior(ROWS, np.log(LEVEL))
    else:
        found = HierarchicalPrior(ROWS, np.log(LEVEL), 0.6 if kind == "spread known" else None)
        if kind == "spread drawn":
            found.spread = float(np.sqrt(SPREAD_SCALE / random.standard_gamma(SPREAD_SHAPE)))
        found.departures = found.spread * random.standard_normal((3, 3))
    found.variances = VARIANCES.copy()
    found.coefficients = np.sqrt(VARIANCES) * random.standard_normal((3, 2))
    return found


def figures(chain: TopicChain) -> NDArray[np.float64]:
    prior = chain.prior
    assert isinstance(prior, LogLinearPrior | HierarchicalPrior)
    z = np.bincount(chain.z, minlength=3)[:2]
    last = np.bincount(chain.z[chain.offsets[3] :], minlength=3)[:2]
    found = [*prior.coefficients.ravel(), *(prior.coefficients**2).sum(axis=0), *z, *last, z[0] * z[1]]
    found += list(prior.coefficients[:2, 1] * last)
    if isinstance(prior, HierarchicalPrior):
        found += [*prior.departures[:2].ravel(), min(prior.spread, 2.0), np.minimum(prior.departures**2, 1).sum()]
    return np.array(found, np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_a_draw_of_the_model_stays_one(kind: str) -> None:
    """λ, topics and words from the model; two steps of the chain given the words change no mean (paired t tests,
    Bonferroni)."""
    random = np.random.Generator(np.random.Philox(KINDS.index(kind) + 11))
    offsets = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    fixed, engine, difference = FixedTopics(PHI, LEVEL), Threads(1), []
    for replicate in range(REPLICATES):
        prior = drawn(kind, random)
        theta = random.standard_gamma(prior.alpha()[GROUPS]) + 1e-300
        theta /= theta.sum(axis=1, keepdims=True)
        z = np.concatenate([random.choice(3, n, p=row) for n, row in zip(LENGTHS, theta)])
        words = np.array([random.choice(4, p=PHI[k]) for k in z], np.uint32)
        chain = TopicChain(fixed, words, offsets, prior, GROUPS, engine, replicate + 1)
        chain.z[:], chain.steps = z, 1  # it goes on, and does not begin
        before = figures(chain)
        for _ in range(2):
            chain.step()
        assert (chain.z != z).any() or replicate
        difference.append(figures(chain) - before)
    spread = np.std(difference, axis=0, ddof=1)
    t = np.mean(difference, axis=0)[spread > 0] / (spread[spread > 0] / np.sqrt(REPLICATES))
    p = 2 * stats.t.sf(np.abs(t), REPLICATES - 1)
    assert len(p) > 14 and p.min() * len(p) > harness.LEVEL / len(KINDS)
