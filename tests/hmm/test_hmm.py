"""Hidden Markov models: kernels against twins, samplers against enumeration and Geweke's test, passes against sums."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from tests.harness import LEVEL, chi_square_p
from tests.twins import hmm as twin
from topicx import HMM
from topicx._kernels.hmm import hmm as kernel
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.hmm.hmm_learners import BaumWelch, HmmGibbs, Layout
from topicx.hmm.hmm_model import Parameters, Sequences
from topicx.hmm.hmm_options import HmmOptions


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def counts_of(words, offsets, paths, S, V):
    found = np.zeros(S, np.int64), np.zeros((S, S), np.int64), np.zeros((V, S), np.int64)
    for path in paths:
        kernel.count_path(words, offsets, path, *found)
    return found


def random_case(seed, S, V, lengths, paths=2, skew=1.0):
    rng = np.random.default_rng(seed)
    offsets = offsets_of(lengths)
    words = rng.choice(V, offsets[-1], p=rng.dirichlet(np.full(V, skew))).astype(np.uint32)
    z = rng.integers(0, S, (paths, len(words))).astype(np.uint8)
    return words, offsets, z


def random_parameters(seed, S, V, zeros=0):
    rng = np.random.default_rng(seed)
    emit = np.ascontiguousarray(rng.dirichlet(np.full(V, 0.3), S).T)
    emit[:zeros, 0] = 0
    return rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(S), S), emit


LENGTHS = {
    "one": [1], "one sequence": [130], "a block": [64], "a block and one": [65], "several": [3, 0, 1, 70, 2, 64, 9],
    "nothing": [0, 0], "long": [1000],
}  # fmt: skip


# -- kernels and twins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("S", [1, 2, 3, 7])
@pytest.mark.parametrize("name", LENGTHS)
def test_twins_of_the_sweeps(S, name):
    V = 4
    words, offsets, z = random_case(S, S, V, LENGTHS[name])
    other = z.copy()
    counts, twins = counts_of(words, offsets, z, S, V), counts_of(words, offsets, z, S, V)
    for sweep, path in product(range(2), range(2)):
        key = 1000 * sweep + path + 2**63
        changed = kernel.sweep_collapsed(words, offsets, z[path], *counts, 0.7, 0.4, 0.3, key)
        assert changed == twin.sweep_collapsed(words, offsets, other[path], *twins, 0.7, 0.4, 0.3, key)
    np.testing.assert_array_equal(z, other)
    for have, want in zip(counts, counts_of(words, offsets, z, S, V), strict=True):
        np.testing.assert_array_equal(have, want)
    parameters = random_parameters(S, S, V)
    changed = kernel.sweep_partial(words, offsets, z[0], *parameters, 5)
    assert changed == twin.sweep_partial(words, offsets, other[0], *parameters, 5)
    np.testing.assert_array_equal(z, other)


TWO = {
    **{name: (3, lengths, 1.0) for name, lengths in LENGTHS.items()},
    "short sequences": (10, [1 + i % 7 for i in range(700)], 1.0),
    "rare symbols": (500, [3000, 5000], 0.1),
    "the paper's": (10, [40_000], 50.0),
    "few symbols": (2, [20_000, 1, 300], 1.0),
}


@pytest.mark.parametrize("name", TWO)
def test_sixty_four_sites_at_once_are_sites_one_by_one(name):
    V, lengths, skew = TWO[name]
    words, offsets, z = random_case(1, 2, V, lengths, skew=skew)
    other = z.copy()
    counts, others = counts_of(words, offsets, z, 2, V), counts_of(words, offsets, z, 2, V)
    firsts, lasts, most = kernel.layout_two(words, offsets, V)
    for sweep, path in product(range(6), range(2)):
        priors, key = (1.0, 0.7, 0.3), 77 * sweep + path
        changed = kernel.sweep_collapsed(words, offsets, z[path], *counts, *priors, key)
        assert changed == kernel.sweep_two_collapsed(words, firsts, lasts, most, other[path], *others, *priors, key)
        np.testing.assert_array_equal(z, other)
        for have, want in zip(others, counts, strict=True):
            np.testing.assert_array_equal(have, want)
    for seed in range(4):
        parameters = random_parameters(seed, 2, V, zeros=V // 2 if seed == 3 else 0)
        own = counts_of(words, offsets, other[:1], 2, V)
        changed = kernel.sweep_partial(words, offsets, z[0], *parameters, seed)
        assert changed == kernel.sweep_two_partial(words, firsts, lasts, other[0], *own, *parameters, seed)
        np.testing.assert_array_equal(z, other)
        for have, want in zip(own, counts_of(words, offsets, z[:1], 2, V), strict=True):
            np.testing.assert_array_equal(have, want)


def test_one_lopsided_state():
    """Counts near zero: nothing is certain by the tables, everything by the exact counts."""
    words, offsets, z = random_case(5, 2, 6, [5000])
    z[:] = 0
    z[0, 100:105] = 1
    other = z.copy()
    counts, others = counts_of(words, offsets, z, 2, 6), counts_of(words, offsets, z, 2, 6)
    layout = kernel.layout_two(words, offsets, 6)
    for sweep in range(8):
        kernel.sweep_collapsed(words, offsets, z[sweep % 2], *counts, 0.1, 0.01, 0.01, sweep)
        kernel.sweep_two_collapsed(words, *layout, other[sweep % 2], *others, 0.1, 0.01, 0.01, sweep)
        np.testing.assert_array_equal(z, other)


# -- exactness: enumeration ----------------------------------------------------------------------------------

PRIORS = {"start_prior": 0.6, "alpha": 0.8, "beta": 0.5}
FORMS = [(sampler, S, M) for sampler in ("collapsed", "partial") for S, M in ((2, 1), (2, 2), (3, 1))] + [
    ("collapsed", 3, 2),
    ("partial", 3, 2),
]
WORDS = {2: ([0, 1, 1, 0, 0], [3, 2]), 3: ([0, 1, 1], [3])}


def learner_of(sampler, S, M, words, lengths, seed=1, symbols=2):
    data = Sequences(np.array(words, np.uint32), offsets_of(lengths))
    options = HmmOptions(states=S, sampler=sampler, paths=M, seed=seed, **PRIORS)
    return HmmGibbs(Layout(data, symbols, options), 0, Threads(1))


def log_dirichlet(counts, prior):
    counts = np.atleast_2d(counts)
    total = gammaln(counts + prior).sum(axis=-1) - gammaln(counts.sum(axis=-1) + prior * counts.shape[-1])
    return float(total.sum())


def posterior_of(learner):
    """All assignments of all paths and their probabilities: equation 5 with the parameters integrated out."""
    M, N = learner.z.shape
    S = learner.options.states
    z = np.array(list(product(range(S), repeat=M * N)), np.uint8).reshape(-1, M, N)
    logs = np.empty(len(z))
    for row, paths in enumerate(z):
        start, trans, emit = counts_of(learner.data.words, learner.data.offsets, paths, S, learner.layout.symbols)
        logs[row] = log_dirichlet(start, 0.6) + log_dirichlet(trans, 0.8) + log_dirichlet(emit.T, 0.5)
    p = np.exp(logs - logs.max())
    return z, p / p.sum()


def code(z, S):
    return int(np.dot(z.ravel().astype(np.int64), S ** np.arange(z.size - 1, -1, -1)))


@pytest.mark.parametrize(("sampler", "S", "M"), FORMS)
def test_a_sweep_leaves_the_posterior(sampler, S, M):
    learner = learner_of(sampler, S, M, *WORDS[S])
    z, p = posterior_of(learner)
    rng = np.random.default_rng(11)
    seen, moved, replicates = np.zeros(len(p)), 0, 6000
    for number, draw in enumerate(rng.choice(len(p), replicates, p=p)):
        learner.restore({"z": z[draw].copy()})
        learner.sweep(number)
        seen[code(learner.z, S)] += 1
        moved += code(learner.z, S) != draw
    assert moved > replicates / 4
    assert chi_square_p(seen, replicates * p) > LEVEL / (2 * len(FORMS))


@pytest.mark.parametrize(("sampler", "S", "M"), FORMS)
def test_a_chain_gets_to_the_posterior(sampler, S, M):
    learner = learner_of(sampler, S, M, *WORDS[S], seed=3)
    _, p = posterior_of(learner)
    learner.restore({"z": np.zeros_like(learner.z)})
    seen, samples, thin = np.zeros(len(p)), 1000, 8
    for number in range(samples * thin):
        learner.sweep(number)
        if number % thin == thin - 1:
            seen[code(learner.z, S)] += 1
    assert chi_square_p(seen, samples * p) > LEVEL / (2 * len(FORMS))


# -- exactness: Geweke ---------------------------------------------------------------------------------------


def draw_joint(rng, S, M, V, lengths):
    """Parameters, paths and symbols of the multipath model: all paths must have produced the same symbols."""
    offsets = offsets_of(lengths)
    while True:
        start = rng.dirichlet(np.full(S, 0.6))
        trans, emit = rng.dirichlet(np.full(S, 0.8), S), rng.dirichlet(np.full(V, 0.5), S)
        z, words = np.zeros((M, offsets[-1]), np.uint8), np.zeros((M, offsets[-1]), np.uint32)
        for m in range(M):
            for first, end in zip(offsets[:-1], offsets[1:]):
                for i in range(first, end):
                    z[m, i] = rng.choice(S, p=start if i == first else trans[z[m, i - 1]])
                    words[m, i] = rng.choice(V, p=emit[z[m, i]])
        if (words == words[0]).all():
            return words[0], z


def figures(learner):
    """What the test compares: concentration of transitions and emissions, one state's share, first states, changes."""
    S = learner.options.states
    return np.array([
        (learner.trans**2).sum(), (learner.emit**2).sum(), (learner.start**2).sum(), learner.emit[:, 0].sum(),
        learner.start[0], learner.trans[0, S - 1], learner.emit[0, 0], np.count_nonzero(learner.emit),
    ], np.float64)  # fmt: skip


GEWEKE = [(sampler, S, M, lengths) for sampler in ("collapsed", "partial")
          for S, M, lengths in ((2, 1, [30, 1, 40, 12]), (3, 1, [30, 1, 20]), (2, 2, [3, 1]), (3, 2, [4]))]  # fmt: skip


@pytest.mark.parametrize(("sampler", "S", "M", "lengths"), GEWEKE)
def test_geweke(sampler, S, M, lengths):
    rng = np.random.default_rng(21)
    V = 2 if M > 1 else 5
    differences = []
    for replicate in range(800 if M > 1 else 250):
        words, z = draw_joint(rng, S, M, V, lengths)
        learner = learner_of(sampler, S, M, words, lengths, seed=replicate, symbols=V)
        learner.restore({"z": z})
        before = figures(learner)
        for number in range(2):
            learner.sweep(number)
        differences.append(figures(learner) - before)
    found = np.array(differences)
    spread = found.std(axis=0, ddof=1)
    assert (spread > 0).sum() > 4
    t = found.mean(axis=0)[spread > 0] / (spread[spread > 0] / math.sqrt(len(found)))
    p = 2 * stats.t.sf(np.abs(t), len(found) - 1)
    assert p.min() * len(p) > LEVEL / len(GEWEKE)


# -- one path is the plain sampler ---------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["collapsed", "partial"])
@pytest.mark.parametrize("S", [2, 3])
def test_one_path_gives_the_plain_samplers_bits(sampler, S):
    """The textbook sampler, which knows nothing of paths, from the same start and streams."""
    from topicx.sampling import random_streams
    from topicx.sampling.updates.table_counts import draw_dirichlet

    words, offsets, _ = random_case(9, S, 5, [200, 3, 90])
    learner = learner_of(sampler, S, 1, words, [200, 3, 90], symbols=5)
    z = learner.z[0].copy()
    for number in range(3):
        counts = counts_of(words, offsets, [z], S, 5)
        key = random_streams.stream_key(random_streams.CELL, 1, 0, number, 0)
        if sampler == "collapsed":
            twin.sweep_collapsed(words, offsets, z, *counts, 0.6, 0.8, 0.5, key)
        else:
            own = random_streams.stream_key(random_streams.PHI, 1, 0, number)
            start = draw_dirichlet(counts[0][None] + 0.6, random_streams.stream_key(own, 0))[0]
            trans = draw_dirichlet(counts[1] + 0.8, random_streams.stream_key(own, 1))
            emit = np.ascontiguousarray(draw_dirichlet(counts[2].T + 0.5, random_streams.stream_key(own, 2)).T)
            twin.sweep_partial(words, offsets, z, start, trans, emit, key)
        learner.sweep(number)
        np.testing.assert_array_equal(learner.z[0], z)


# -- passes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("S", [1, 2, 4])
def test_passes_equal_sums_over_all_paths(S):
    V, lengths = 3, [4, 1, 0, 3]
    words, offsets, _ = random_case(2, S, V, lengths)
    start, trans, emit = random_parameters(7, S, V)
    D = len(lengths)
    logs, best = np.zeros(D), np.zeros(D)
    starts, pairs, emits = np.zeros(S), np.zeros((S, S)), np.zeros((V, S))
    gamma, path = np.zeros((len(words), S)), np.zeros(len(words), np.uint8)
    kernel.expected_counts(words, offsets, 0, D, start, trans, emit, logs, starts, pairs, emits, gamma)
    kernel.viterbi_paths(words, offsets, 0, D, np.log(start), np.log(trans), np.log(emit), best, path)
    want = np.zeros(S), np.zeros((S, S)), np.zeros((V, S))
    for d in range(D):
        own = words[offsets[d] : offsets[d + 1]]
        if not len(own):
            assert logs[d] == best[d] == 0
            continue
        paths = list(product(range(S), repeat=len(own)))
        p = np.array([
            start[z[0]] * math.prod(trans[z[:-1], z[1:]]) * math.prod(emit[own, z])
            for z in map(list, paths)
        ])  # fmt: skip
        assert logs[d] == pytest.approx(math.log(p.sum()), abs=1e-12)
        assert best[d] == pytest.approx(math.log(p.max()), abs=1e-12)
        assert tuple(path[offsets[d] : offsets[d + 1]]) == paths[int(p.argmax())]
        for z, weight in zip(paths, p / p.sum()):
            want[0][z[0]] += weight
            for a, b in zip(z, z[1:]):
                want[1][a, b] += weight
            for w, s in zip(own, z):
                want[2][w, s] += weight
    for have, expected in zip((starts, pairs, emits), want, strict=True):
        np.testing.assert_allclose(have, expected, atol=1e-12)
    np.testing.assert_allclose(gamma.sum(axis=1), 1, atol=1e-12)
    apart = np.zeros(D)
    kernel.forward_likelihoods(words, offsets, 0, D, start, trans, emit, apart)
    np.testing.assert_allclose(apart, logs, atol=1e-12)


@pytest.mark.parametrize("S", [2, 5])
def test_passes_are_safe_where_products_vanish(S):
    """Emissions down to 1e-250, and a million symbols."""
    V, N = 6, 600
    words, offsets, _ = random_case(4, S, V, [N])
    start, trans, emit = random_parameters(3, S, V)
    emit[2] *= 1e-250
    emit[3] *= 1e-30
    logs, counts = np.zeros(1), (np.zeros(S), np.zeros((S, S)), np.zeros((V, S)))
    gamma = np.zeros((N, S))
    kernel.expected_counts(words, offsets, 0, 1, start, trans, emit, logs, *counts, gamma)
    total, expected, pairs = twin.forward_backward(words, start, trans, emit)
    assert logs[0] == pytest.approx(total, rel=1e-12)
    np.testing.assert_allclose(gamma, expected, atol=1e-9)
    np.testing.assert_allclose(counts[1], pairs, rtol=1e-8, atol=1e-9)
    path, best = np.zeros(N, np.uint8), np.zeros(1)
    kernel.viterbi_paths(words, offsets, 0, 1, np.log(start), np.log(trans), np.log(emit), best, path)
    want, score = twin.viterbi(words, np.log(start), np.log(trans), np.log(emit))
    np.testing.assert_array_equal(path, want)
    assert best[0] == pytest.approx(score, rel=1e-14)
    long = np.tile(words, 2000)[:1_000_000]
    kernel.forward_likelihoods(long, offsets_of([len(long)]), 0, 1, start, trans, emit, logs)
    assert np.isfinite(logs[0])
    again, each = np.zeros(1), np.zeros((0, S))
    kernel.expected_counts(long, offsets_of([len(long)]), 0, 1, start, trans, emit, again, *counts, each)
    assert again[0] == logs[0]


def test_a_sequence_that_cannot_be_is_minus_infinity():
    words = np.array([0, 1, 0], np.uint32)
    emit = np.array([[1.0, 1.0], [0.0, 0.0]])
    logs = np.zeros(1)
    kernel.forward_likelihoods(words, offsets_of([3]), 0, 1, np.full(2, 0.5), np.full((2, 2), 0.5), emit, logs)
    assert logs[0] == -np.inf


# -- Baum-Welch ----------------------------------------------------------------------------------------------


def test_a_round_of_baum_welch_is_the_twins():
    words, offsets, _ = random_case(6, 3, 4, [50, 1, 20])
    options = HmmOptions(states=3, sampler="baum-welch")
    learner = BaumWelch(Layout(Sequences(words, offsets), 4, options), 0, Threads(1))
    p = learner.current
    counts = np.zeros(3), np.zeros((3, 3)), np.zeros((4, 3))
    for first, end in zip(offsets[:-1], offsets[1:]):
        _, gamma, pairs = twin.forward_backward(words[first:end], p.start, p.trans, p.emit)
        counts[0][:] += gamma[0]
        counts[1][:] += pairs
        np.add.at(counts[2], words[first:end], gamma)
    learner.sweep(0)
    np.testing.assert_allclose(learner.current.start, counts[0] / counts[0].sum(), atol=1e-12)
    np.testing.assert_allclose(learner.current.trans, counts[1] / counts[1].sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(learner.current.emit, counts[2] / counts[2].sum(axis=0), atol=1e-12)


@pytest.mark.parametrize("prior", [1.0, 2.5])
def test_baum_welch_never_falls_and_ends(prior):
    words, offsets, _ = random_case(8, 2, 4, [300, 40], skew=2.0)
    data = Sequences(words, offsets)
    options = HmmOptions(states=2, sampler="baum-welch", alpha=prior, beta=prior, start_prior=prior, tolerance=1e-6)
    learner = BaumWelch(Layout(data, 4, options), 0, Threads(1))
    objectives = []
    for number in range(3000):
        learner.sweep(number)
        objectives.append(learner.last)
        if learner.done:
            break
    assert learner.done
    assert np.diff(objectives).min() > -1e-9
    # At the end the objective is flat: no small step within the simplex gains what a round would not.
    p, rng = learner.parameters(), np.random.default_rng(1)
    top = p.log_likelihood(data, Threads(1)) + learner._prior(p)
    for _ in range(20):
        trans = p.trans * np.exp(0.01 * rng.normal(size=p.trans.shape))
        other = Parameters(p.start, trans / trans.sum(axis=1, keepdims=True), p.emit)
        assert other.log_likelihood(data, Threads(1)) + learner._prior(other) < top + 1e-3


# -- hmmlearn's names ------------------------------------------------------------------------------------------------


def known_model() -> HMM:
    model = HMM(2, sampler="baum-welch", n_features=3)
    model.startprob_ = np.array([0.3, 0.7])
    model.transmat_ = np.array([[0.9, 0.1], [0.2, 0.8]])
    model.emissionprob_ = np.array([[0.7, 0.2, 0.1], [0.0, 0.3, 0.7]])
    return model


def test_decoding_by_symbols() -> None:
    model, X = known_model(), np.array([0, 1, 2, 2, 1, 0, 2])
    gamma = model.predict_proba(X, [4, 3])
    right, states = model.decode(X, [4, 3], algorithm="map")
    assert np.array_equal(states, gamma.argmax(axis=1)) and right == pytest.approx(gamma.max(axis=1).sum())
    model.algorithm = "map"
    assert np.array_equal(model.predict(X, [4, 3]), states)
    assert model.decode(X, [4, 3], algorithm="viterbi")[0] < 0
    for call in (lambda: HMM(2, algorithm="best"), lambda: model.decode(X, algorithm="best")):
        with pytest.raises(InputError, match="neither viterbi nor map"):
            call()


def test_sequences_from_a_model_are_its_own() -> None:
    """Frequencies of pairs of states, and of symbols given the state, are those of the parameters (chi-square)."""
    model, number = known_model(), 20_000
    X, states = model.sample(number, random_state=4)
    assert X.shape == (number, 1) and np.array_equal(X, model.sample(number, random_state=4)[0])
    found = [np.bincount(states[1:][states[:-1] == s], minlength=2) for s in range(2)]
    found += [np.bincount(X[states == s, 0], minlength=3) for s in range(2)]
    expected = [*model.transmat_, *model.emissionprob_]
    for counts, p in zip(found, expected):
        assert (counts[p == 0] == 0).all()
        assert stats.chisquare(counts[p > 0], counts.sum() * p[p > 0]).pvalue > 1e-4 / 4
    first = [int(known_model().sample(1, random_state=seed)[1][0]) for seed in range(2000)]
    assert stats.binomtest(sum(first), 2000, 0.7).pvalue > 1e-4
    with pytest.raises(InputError, match="n_samples"):
        model.sample(0)
