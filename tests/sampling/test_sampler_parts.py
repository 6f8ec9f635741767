"""The parts that the further samplers are made of, and what holds for single ones of them."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from tests import harness
from tests.twins import samplers as twin
from topicx._kernels.gibbs import alias as alias_kernel
from topicx._kernels.gibbs import partial as partial_kernel
from topicx.sampling.samplers import partially_collapsed


@pytest.mark.parametrize("n", [1, 2, 7, 100, 1000])
def test_a_walker_table_stands_for_its_weights(n: int) -> None:
    random = np.random.default_rng(n)
    for weights in (random.random(n), random.random(n) ** 20, np.ones(n), np.arange(n) == n // 2):
        keep, other, total = alias_kernel.make_alias_table(weights.astype(np.float32))
        exact = weights.astype(np.float32).astype(float)
        assert total == pytest.approx(exact.sum())
        assert np.allclose(twin.probabilities(keep, other), exact / exact.sum(), atol=2e-7 / n, rtol=2e-6)
        assert np.allclose(twin.probabilities(*twin.walker(exact)), exact / exact.sum())


def test_draws_from_a_walker_table() -> None:
    weights = np.array([1, 0, 5, 0.5, 3], np.float32)
    keep, other, _ = alias_kernel.make_alias_table(weights)
    u = (np.arange(20_000) + 0.5) / 20_000
    counts = np.bincount([alias_kernel.draw_from_alias_table(keep, other, x) for x in u], minlength=5)
    assert np.allclose(counts / 20_000, weights / weights.sum(), atol=1e-3)


def test_a_table_of_no_weight_is_uniform() -> None:
    keep, other, total = alias_kernel.make_alias_table(np.zeros(4, np.float32))
    assert total == 0
    assert np.allclose(twin.probabilities(keep, other), 0.25)


def test_the_twins_steps_leave_the_conditional_as_it_is() -> None:
    random = np.random.default_rng(2)
    counts = random.integers(0, 9, (5, 6))
    alpha = random.random(6)
    p = twin.conditional(*counts[:3], alpha, 0.1, 2.0)
    assert np.allclose(p @ twin.light_step(*counts[:3], alpha, 0.1, 2.0), p)
    assert np.allclose(p @ twin.alias_step(*counts, alpha, 0.1, 2.0), p)


SHAPES = (0.01, 0.3, 1.0, 2.5, 40.0, 3000.0)
MEANS = (0.01, 0.7, 5.0, 11.9, 12.0, 30.0, 1000.0)


@pytest.mark.parametrize("shape", SHAPES)
def test_gamma_variates(shape: float) -> None:
    x = partial_kernel.draw_gammas(shape, 20_000, 5)
    x = x[x > 1e-40]  # the smallest are zero; below shape 1 they are compared with the part above
    below = stats.gamma.cdf(1e-40, shape)
    uniform = (stats.gamma.cdf(x, shape) - below) / (1 - below)
    assert stats.kstest(uniform, "uniform").pvalue > harness.LEVEL / len(SHAPES + MEANS)


@pytest.mark.parametrize("mean", MEANS)
def test_poisson_variates(mean: float) -> None:
    x = partial_kernel.draw_poissons(mean, 20_000, 7)
    support = np.arange(int(mean + 40 + 20 * np.sqrt(mean)))
    p = harness.chi_square_p(
        np.bincount(x, minlength=len(support)), 20_000 * stats.poisson.pmf(support, mean), at_least=8
    )
    assert p > harness.LEVEL / len(SHAPES + MEANS)


def test_partial_is_exact_with_phi_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """φ block by block changes the order of tokens within documents, and nothing else."""
    monkeypatch.setattr(partially_collapsed, "PHI_BYTES", 100)
    monkeypatch.setattr(partially_collapsed, "TOKEN_BYTES", 0)
    monkeypatch.setattr(partially_collapsed, "CHUNK_TOKENS", 2)
    state = harness.PROBLEMS[0].make()
    assert harness.make_method("partial", state).schedule.partitions == 2  # type: ignore[attr-defined]
    assert harness.invariance_p_value("partial", state) > harness.LEVEL


def test_partial_matches_its_twin() -> None:
    state = harness.make_state([[0, 1, 1, 2], [0, 2, 2]], [0.4, 0.9], [0.5, 0.5, 0.5])
    docs = np.repeat(np.arange(2), state.lengths)
    begin = np.array([0, 1, 0, 1, 0, 1, 1])
    random = np.random.default_rng(1)
    method = harness.make_method("partial", state)
    mine, theirs = np.zeros(128, int), np.zeros(128, int)
    for step in range(3000):
        state.z = begin.astype(np.uint16)
        method.start(random=True)
        method.sweep(step)
        mine[int("".join(map(str, method.sync().z)), 2)] += 1
        after = twin.partial_sweep(state.words.astype(int), docs, begin, state.alpha[0], 0.5, 3, random)
        theirs[int("".join(map(str, after)), 2)] += 1
    table = np.stack([mine, theirs])[:, mine + theirs > 10]
    assert stats.chi2_contingency(table).pvalue > harness.LEVEL


@pytest.mark.parametrize("blocks", [1, 2])
def test_the_phi_of_an_empty_topic_under_a_small_beta(blocks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gamma variates of shape 0.0005 are 0 in single precision: their ratios must still be those of a Dirichlet."""
    if blocks > 1:
        monkeypatch.setattr(partially_collapsed, "PHI_BYTES", 100)
        monkeypatch.setattr(partially_collapsed, "TOKEN_BYTES", 0)
    beta = np.array([0.0005, 0.001, 0.002, 0.0005])
    state = harness.make_state([[0, 1], [2, 3, 0]], [0.3, 0.3], beta)
    state.z[:] = 0
    method = harness.make_method("partial", state)
    assert method.schedule.partitions == blocks  # type: ignore[attr-defined]
    method.start(random=True)
    counts, draws, shares = method.word_topics(), 4000, np.zeros((4000, 4))
    for step in range(draws):
        _, sums, lift = method._draw_sums(step, counts)  # type: ignore[attr-defined]
        for block in range(blocks):
            phi = method._draw(step, block, counts, True, lift)[0]  # type: ignore[attr-defined]
            shares[step, method._block_words(block)] = phi[:, 1] / sums[1]  # type: ignore[attr-defined]
    assert np.allclose(shares.sum(axis=1), 1, atol=1e-6)
    # Nearly all mass is on one word: which one is a draw from β, and two share it as rarely as in the Dirichlet.
    p = stats.chisquare(np.bincount(shares.argmax(axis=1), minlength=4), draws * beta / beta.sum()).pvalue
    shared = np.sum(shares.max(axis=1) < 0.99)
    reference = np.random.default_rng(3).dirichlet(beta, 200_000)
    expected = np.mean(reference.max(axis=1) < 0.99)
    assert p > harness.LEVEL / 4
    assert stats.binomtest(int(shared), draws, float(expected)).pvalue > harness.LEVEL / 4


def test_sparse_phi_comes_near() -> None:
    exact = harness.make_method("partial", harness.synthetic())
    sparse = harness.make_method("partial", harness.synthetic(), sparse_phi=True)
    for method in (exact, sparse):
        method.start(random=True)
        for step in range(150):
            method.sweep(step)
    assert abs(exact.score() - sparse.score()) < 0.15


@pytest.mark.parametrize("threads", [1, 3])
def test_sparse_phi_does_not_depend_on_threads(threads: int) -> None:
    def run(threads: int) -> np.ndarray:
        method = harness.make_method("partial", harness.synthetic(), threads, sparse_phi=True)
        method.start(random=False)
        for step, share in enumerate((0.2, 0.6, 1, 1)):
            method.sweep(step, share)
        return method.sync().z

    assert np.array_equal(run(1), run(threads))


def test_warp_comes_near_the_posterior_but_is_not_exact() -> None:
    """Many tokens a topic: the marginals are nearly those of the dense sampler; a tiny corpus shows the difference."""
    state = harness.synthetic(documents=40, length=30, words=20, topics=3, alpha=0.5, beta=0.5)
    squares = {}
    for name in ("dense", "warp"):
        method = harness.make_method(name, state)
        state.z[:] = harness.NONE
        method.start(random=True)
        found = []
        for step in range(600):
            method.sweep(step)
            if step >= 100:
                found.append(method.score())
        squares[name] = np.mean(found)
    assert squares["warp"] == pytest.approx(squares["dense"], abs=0.05)
    assert harness.invariance_p_value("warp", harness.PROBLEMS[0].make()) < harness.LEVEL


@pytest.mark.parametrize("name", ["light", "alias", "warp"])
def test_acceptance_rates_are_reported(name: str) -> None:
    method = harness.make_method(name, harness.synthetic())
    method.start(random=True)
    method.sweep(0)
    rates = {key: value for key, value in method.sweep(1).items() if key.startswith("accept_")}
    assert rates and all(0 < rate <= 1 for rate in rates.values())


@pytest.mark.parametrize("name", ["light", "alias", "tree"])
def test_icm_raises_the_likelihood(name: str) -> None:
    method = harness.make_method(name, harness.synthetic(model_topics=30))
    method.start(random=True)
    for step in range(30):
        method.sweep(step)
    before = method.score()
    for step in range(30, 33):
        method.maximise(step)
    assert method.score() > before


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize("name", ["dense", "sparse", "light", "alias", "tree", "partial", "partial:sparse_phi=1"])
def test_paths_are_documents_that_are_there_more_than_once(name: str, partitions: int) -> None:
    """Three paths over a corpus: the bits of a run over the corpus three times, whose exactness other tests show."""
    random = np.random.default_rng(4)
    docs = [random.integers(0, 30, 1 + random.poisson(12)).tolist() for _ in range(20)]
    alpha, groups = random.uniform(0.05, 0.5, (2, 14)), random.integers(0, 2, 20).tolist()
    seeds = [(0, 3, 2), (5, 0, 4)]
    beta = np.full(30, 0.1)
    runs = []
    for times, paths in ((1, 3), (3, 1)):
        state = harness.make_state(docs * times, alpha, beta, groups * times, seeds)
        state.paths = paths
        state.z = np.full(3 * sum(map(len, docs)), harness.NONE, np.uint16)
        method = harness.make_method(name, state, threads=2, partitions=partitions)
        method.start(random=False)
        figures = [method.sweep(step, share) for step, share in enumerate((0.3, 1.0, 1.0, 1.0))]
        if hasattr(method, "verify"):
            method.verify()
        runs.append((method.sync().z, figures, method.score(), method.word_topics(), method.document_topics()))
    (z, figures, score, words, documents), (z3, figures3, score3, words3, documents3) = runs
    assert np.array_equal(z, z3)
    assert (figures, score) == (figures3, score3)
    for mine, theirs in zip((*words, *documents), (*words3, *documents3), strict=True):
        assert np.array_equal(mine, theirs)


SCRIPT = """
import sys, hashlib
from tests import harness
for name in sys.argv[1:]:
    method = harness.make_method(name, harness.synthetic(model_topics=70))
    method.start(random=True)
    for step in range(4):
        method.sweep(step)
    print(hashlib.sha256(method.sync().z.tobytes()).hexdigest())
"""


def test_bits_do_not_depend_on_the_cpu() -> None:
    """Plain C gives the bits of the wide instruction sets."""
    found = set()
    for lanes in ("plain", "avx2", "avx512"):
        result = subprocess.run(
            [sys.executable, "-c", SCRIPT, "tree", "alias", "partial", "partial:sparse_phi=1", "warp", "light"],
            env={**os.environ, "TOPICX_INSTRUCTIONS": lanes}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.add(result.stdout)
    assert len(found) == 1


def test_alias_tables_know_nothing_of_the_tokens_they_move() -> None:
    """With tables made from all counts this p-value is below 1e-15; fewer replicates would not see it."""
    assert harness.invariance_p_value("alias", harness.PROBLEMS[1].make(), 30_000) > harness.LEVEL
