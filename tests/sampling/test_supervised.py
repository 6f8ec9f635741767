"""Supervised samplers leave the posterior as it is; proposals, weights and draws are those of their twins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from tests import harness
from tests.twins import supervised as twin
from topicx._kernels.gibbs import dense, factor
from topicx._kernels.gibbs.cell import Cell
from topicx._kernels.updates import classifier as kernel
from topicx.engines.threads import Threads
from topicx.sampling import random_streams
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.supervised import LightSupervised, Supervised
from topicx.sampling.updates import polya_gamma
from topicx.sampling.updates.classifier_draws import Classifier, Tasks
from topicx.sampling.updates.medlda_state import padded_columns
from topicx.state import State

LEVEL = harness.LEVEL


# -- draws ------------------------------------------------------------


@pytest.mark.parametrize("a", [0.0, 0.01, 0.7, 40.0])
def test_inverse_gaussian_variates(a: float) -> None:
    draws = np.empty(20_000)
    kernel.draw_inverse_gaussians(a, len(draws), 5, draws)
    if a == 0:
        p = stats.kstest(draws, stats.levy.cdf).pvalue
    else:  # mean 1 / a, shape 1
        p = stats.kstest(draws, stats.invgauss(1 / a).cdf).pvalue
    assert p > LEVEL / 4


SHAPES = [(1.0, 0.0), (1.0, 3.0), (1.7, 0.4), (6.5, 1.0), (204.8, 0.0), (204.8, 2.5), (30.0, 60.0)]


def test_the_polya_gamma_density_is_that_of_its_series() -> None:
    for shape in (1.0, 2.3, 6.0):
        for x in (0.03, 0.1, 0.3, 0.55):
            by_integral, by_series = polya_gamma.log_density(shape, shape * x), polya_gamma.log_series(shape, shape * x)
            assert by_integral == pytest.approx(by_series, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("z", [1e4, 1e7, 9e8, 1.1e9, 1e15, 1e30])
def test_polya_gamma_variates_far_out(z: float) -> None:
    """Found by fuzzing: where a margin is so large that the density is a spike, the rejection had no end."""
    draws = np.empty(20_000)
    kernel.draw_polya_gammas(
        1.5, z, polya_gamma.log_density_table(1.5), polya_gamma.SMALLEST, polya_gamma.LARGEST, 7, draws
    )
    mean, spread = 1.5 / (2 * z), np.sqrt(1.5 / (2 * z**3))
    assert abs(draws.mean() - mean) < 5 * spread / np.sqrt(len(draws)) + 1e-12 * mean
    assert z > 1e20 or abs(draws.std() / spread - 1) < 0.05


@pytest.mark.parametrize(("shape", "z"), SHAPES)
def test_polya_gamma_variates(shape: float, z: float) -> None:
    """Against sums of their gammas (Polson, Scott & Windle 2013, eq. 2), and the moments."""
    draws = np.empty(20_000)
    kernel.draw_polya_gammas(
        shape, z, polya_gamma.log_density_table(shape), polya_gamma.SMALLEST, polya_gamma.LARGEST, 7, draws
    )
    mean = shape / 4 if z == 0 else shape / (2 * z) * np.tanh(z / 2)
    spread = np.sqrt(shape / 24 if z == 0 else shape / (4 * z**3) * (np.sinh(z) - z) / np.cosh(z / 2) ** 2)
    assert abs(draws.mean() - mean) < 5 * spread / np.sqrt(len(draws))
    assert abs(draws.std() / spread - 1) < 0.05
    random, terms = np.random.default_rng(1), np.arange(1, 201)
    scale = 1 / (2 * np.pi**2) / ((terms - 0.5) ** 2 + z**2 / (4 * np.pi**2))
    sums = np.zeros(4000)
    for each in scale:
        sums += each * random.standard_gamma(shape, 4000)
    sums += mean - shape * scale.sum()  # the rest by its mean: its spread is a thousandth of the whole's
    assert stats.ks_2samp(draws[:8000], sums).pvalue > LEVEL / len(SHAPES)


# -- one token ------------------------------------------------------------


@dataclass
class Token:
    """A token of a document among others, three topics, two tasks; all counts as they are without it."""

    words = np.array([0, 0, 1, 2, 2, 0, 1, 2], np.uint32)  # in the schedule's order
    offsets = np.array([0, 5, 8], np.int64)
    z = np.array([0, 1, 1, 2, 0, 1, 2, 2], np.uint16)
    alpha = np.array([0.4, 0.9, 0.6])
    beta = np.array([0.3, 0.5, 0.8])
    eta = np.array([[1.5, -0.4], [-0.8, 0.9], [0.3, 1.1]])
    bias = np.array([0.3, -0.2])
    linear = np.array([2.5, -1.5])
    curve = np.array([3.0, 4.5])

    def others(self, at: int) -> np.ndarray:
        return np.bincount(np.delete(self.z[:5], at), minlength=3)

    def conditional(self, at: int) -> np.ndarray:
        rest = np.delete(np.arange(8), at)
        n_w = np.bincount(self.z[rest][self.words[rest] == self.words[at]], minlength=3)
        return twin.conditional(
            self.others(at), n_w, np.bincount(self.z[rest], minlength=3), self.alpha, self.beta[self.words[at]],
            self.beta.sum(), self.eta, self.bias, self.linear, self.curve,
        )  # fmt: skip

    def proposals(self, at: int) -> dict[str, np.ndarray]:
        rest = np.delete(np.arange(8), at)
        n_w = np.bincount(self.z[rest][self.words[rest] == self.words[at]], minlength=3)
        return twin.proposals(
            self.others(at), n_w, self.others(at), self.alpha, self.beta[self.words[at]], self.eta, self.bias,
            self.linear, self.curve,
        )  # fmt: skip

    def frequencies(self, at: int, mode: str | None, steps: int, number: int, anew: bool = False) -> np.ndarray:
        """How often the kernel takes the token from each topic to each (mode None: the dense kernel; anew: which keeps
        nothing from token to token)."""
        state = harness.make_state([self.words[:5].tolist(), self.words[5:].tolist()], self.alpha, self.beta)
        seen = np.zeros((3, 3), np.int64)
        segments = np.array([at, at + 1, 5, 5], np.int64)  # this token alone is in the cell
        width = padded_columns(2)
        eta = np.zeros((3, width), np.float32)
        eta[:, :2] = self.eta
        state.side = Tasks(np.ones((2, 2), np.float32), np.ones(2, np.uint8), "hinge", 1.0).side(3)
        method = LightSupervised(state, Options(topics=3, partitions=1), Threads(1))
        for key in range(number):
            state.z = self.z.copy()
            state.z[at] = start = key % 3
            method._adopt(state.z)
            score = np.bincount(state.z[:5], minlength=3) @ self.eta / 5 + self.bias
            state.side["pull"][0, :2] = self.linear - self.curve * score
            state.side["curve"][0, :2] = self.curve
            side = state.side
            margins = factor.Margins(
                eta, side["pull"], side["curve"], side["supervised"], factor.modes[mode or "doc"], 2
            )
            margins.short = 5 if anew else 4
            sweep = factor.sweep if mode else dense.sweep
            tally = np.zeros(6, np.int64)
            cell = Cell(
                **method._arrays() | {"segments": segments}, totals=method.totals, steps=steps, tally=tally,
                factor=margins.for_dense(),
            )  # fmt: skip
            sweep(cell, np.zeros(1, np.uint32), 0, random_streams.stream_key(key))
            seen[start, method.z[at]] += 1
            score = np.bincount(method.z[:5], minlength=3) @ self.eta / 5 + self.bias
            assert np.allclose(state.side["pull"][0, :2], self.linear - self.curve * score, atol=1e-4)
            method.verify()
        return seen


@pytest.mark.parametrize("proposal", ["doc", "word", "exp"])
def test_each_acceptance_formula_balances_in_detail(proposal: str) -> None:
    """eq. 19-21: p(s) T(s, t) = p(t) T(t, s), whatever the exp-proposal's table knew."""
    token = Token()
    for at in range(5):
        p = token.conditional(at)
        step = twin.transitions(p, token.proposals(at), proposal, 1)
        assert np.allclose(step.sum(axis=1), 1)
        assert np.allclose(p[:, None] * step, (p[:, None] * step).T, atol=1e-12)


MODES = [("doc", 1), ("word", 1), ("exp", 1), ("cycle", 3), ("mixture", 1), ("mixture", 2), (None, 1)]


@pytest.mark.parametrize(("mode", "steps"), MODES)
def test_a_token_moves_as_its_twin(mode: str | None, steps: int) -> None:
    token = Token()
    at = 2
    p = token.conditional(at)
    expected = np.tile(p, (3, 1)) if mode is None else twin.transitions(p, token.proposals(at), mode, steps)
    seen = token.frequencies(at, mode, steps, 1800)
    chi = ((seen - 600 * expected) ** 2 / (600 * np.maximum(expected, 1e-9))).sum()
    assert stats.chi2.sf(chi, 6) > LEVEL / len(MODES)


def test_a_token_moves_as_its_twin_where_nothing_is_kept() -> None:
    token = Token()
    expected = np.tile(token.conditional(2), (3, 1))
    seen = token.frequencies(2, None, 1, 1800, anew=True)
    assert stats.chi2.sf(((seen - 600 * expected) ** 2 / (600 * expected)).sum(), 6) > LEVEL


@pytest.mark.parametrize("anew", [False, True])
def test_a_token_moves_as_its_twin_where_factors_are_far_apart(anew: bool) -> None:
    """A loss so steep that a topic's factor, times another's, would be lost below the smallest number."""
    at, token = 2, Token()
    score = np.bincount([0, 1, 2, 0], minlength=3) @ token.eta + token.eta[[0, 2]].mean(axis=0)
    token.curve = token.curve * 400
    token.linear = token.curve * (score / 5 + token.bias)  # half way between two topics
    p = token.conditional(at)
    overlap = token.eta @ (token.curve[:, None] / 25 * token.eta.T)
    assert (np.ptp(overlap, axis=1) > 80).any()
    assert 0.02 < p.max() < 0.98
    seen = token.frequencies(at, None, 1, 1800, anew)
    common = p > 1e-3
    assert not seen[:, p < 1e-9].any()
    chi = ((seen - 600 * p)[:, common] ** 2 / (600 * p[common])).sum()
    assert stats.chi2.sf(chi, 3 * (common.sum() - 1)) > LEVEL / 2


# -- weights ------------------------------------------------------------


def weights_problem() -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(2)
    shares = random.dirichlet(np.full(3, 0.7), 12).astype(np.float32)
    shares[shares < 0.05] = 0
    linear, curve = random.normal(size=12), random.uniform(0.5, 4, 12)
    indptr = np.concatenate([[0], np.cumsum((shares > 0).sum(axis=1))]).astype(np.int64)
    topics = np.nonzero(shares)[1].astype(np.uint16)
    return shares, linear, curve, indptr, topics, shares[shares > 0]


def test_weights_one_by_one_are_their_twins() -> None:
    """Means and precisions of eq. 23 and 24, from what the kernel made of the standard normals of its stream."""
    from topicx.sampling.updates.classifier_draws import documents_by_topic

    shares, linear, curve, indptr, topics, values = weights_problem()
    nu = 0.8
    standard = []
    for key in range(400):
        start = np.array([0.3, -0.5, 0.9, 0.0])[:, None].copy()
        eta = start.copy()
        pull = (linear - curve * (shares @ start[:3, 0]))[:, None].astype(np.float32)
        kernel.gibbs_weights(
            *documents_by_topic(indptr, topics, values, 3, False), np.full(4, nu), 1, key, 0, 1, pull,
            curve[:, None].astype(np.float32), eta,
        )  # fmt: skip
        running = start[:3, 0].copy()
        for k in range(3):
            mean, precision = twin.weight_moments(shares, linear, curve, running, nu, k)
            running[k] = eta[k, 0]
            standard.append((eta[k, 0] - mean) * np.sqrt(precision))
        assert np.allclose(pull[:, 0], linear - curve * (shares @ running), atol=1e-4)
    assert stats.kstest(standard, "norm").pvalue > LEVEL


def test_weights_together_are_their_twins() -> None:
    shares, linear, curve, indptr, topics, values = weights_problem()
    mean, precision = twin.joint_moments(shares, linear, curve, 0.8)
    draws = []
    for key in range(600):
        eta = np.array([0.3, -0.5, 0.9, 0.0])[:, None].copy()
        pull = (linear - curve * (shares @ eta[:3, 0]))[:, None].astype(np.float32)
        kernel.full_weights(
            indptr, topics, values, np.full(4, 0.8), False, 0, key, pull, curve[:, None].astype(np.float32), eta
        )
        draws.append(eta[:3, 0].copy())
        assert np.allclose(pull[:, 0], linear - curve * (shares @ eta[:3, 0]), atol=1e-4)
    whitened = (np.array(draws) - mean) @ np.linalg.cholesky(precision)
    p = [stats.kstest(column, "norm").pvalue for column in whitened.T]
    p += [stats.pearsonr(whitened[:, i], whitened[:, j]).pvalue for i in range(3) for j in range(i)]
    assert min(p) > LEVEL / len(p)


# -- the posterior by enumeration ------------------------------------------------------------

Maker = tuple[type[Supervised], dict[str, object]]
SAMPLERS: dict[str, Maker] = {
    "dense": (Supervised, {}),
    **{f"light-{mode}": (LightSupervised, {"proposals": mode}) for mode in ("mixture", "cycle", "doc", "word", "exp")},
}


@dataclass(frozen=True)
class Problem:
    """A tiny corpus with targets, two topics."""

    name: str
    tasks: Tasks
    docs: tuple[tuple[int, ...], ...] = ((0, 1, 1), (0, 2), (2, 2, 1))

    def state(self) -> State:
        return harness.make_state([list(doc) for doc in self.docs], [0.6, 0.9], [0.5, 0.3, 0.8])


def tasks_of(targets: list[list[float]], loss: str, weight: float, **more: object) -> Tasks:
    return Tasks(
        np.array(targets, np.float32), np.ones(len(targets), np.uint8), loss, weight, precision=0.7, **more,  # type: ignore[arg-type]
    )  # fmt: skip


PROBLEMS = [
    Problem("hinge", tasks_of([[1], [-1], [1]], "hinge", 1.5)),
    Problem("epsilon", tasks_of([[0.8], [-1.2], [0.1]], "epsilon", 1.5, epsilon=0.3)),
    Problem("logistic", tasks_of([[1], [-1], [1]], "logistic", 3.5)),
    Problem("two tasks", tasks_of([[1, -1], [-1, -1], [1, 1]], "hinge", 0.8, up=np.array([1.0, 2.0]))),
    Problem("bias", tasks_of([[1], [-1]], "hinge", 1.2, bias=True), ((0, 1, 1), (0, 2))),
    Problem(
        "without target",
        replace(tasks_of([[1], [1], [-1]], "hinge", 1.2), supervised=np.array([1, 0, 1], np.uint8)),
    ),
]


POINTS = 49


def grid(tasks: Tasks) -> tuple[np.ndarray, np.ndarray]:
    """Points of (η_0, η_1, bias) and the prior's weight of each."""
    side = np.linspace(-6, 6, POINTS) / np.sqrt(tasks.precision)
    axes = [side, side, side if tasks.bias else np.zeros(1)]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    prior = np.exp(-tasks.precision * (points**2).sum(axis=1) / 2)
    return points, prior / prior.sum()


def log_likelihood(tasks: Tasks, task: int, shares: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """log of the losses' factors of one task: documents' shares (documents × 2), η and bias (a row a point)."""
    score = eta[:, :2] @ shares.T + eta[:, 2:]
    y = tasks.targets[:, task]
    weights = tasks.weight * np.where(y > 0, tasks.up[task] if len(tasks.up) else 1, 1)
    each = np.array(
        [twin.log_loss(tasks.loss, w, score[:, d], y[d], tasks.epsilon) for d, w in enumerate(weights)]
    ) * tasks.supervised[:, None]  # fmt: skip
    return np.asarray(each.sum(axis=0))


def shares_of(state: State, z: np.ndarray) -> np.ndarray:
    return np.array([np.bincount(z[a:b], minlength=2) / (b - a) for a, b in zip(state.offsets[:-1], state.offsets[1:])])


@cache
def enumerated(name: str) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """All z, their posterior probabilities, and the marginal density of η_0 of each task on the grid's axis."""
    problem = next(problem for problem in PROBLEMS if problem.name == name)
    state, tasks = problem.state(), problem.tasks
    assignments, p = harness.enumerate_posterior(state)
    points, prior = grid(tasks)
    marginals = [np.zeros(POINTS) for _ in range(tasks.number)]
    weights = np.zeros((len(p), tasks.number))
    conditional: list[list[np.ndarray]] = []
    known: dict[bytes, int] = {}
    for at, z in enumerate(assignments):
        shares, densities = shares_of(state, z), []
        same = known.setdefault(shares.tobytes(), at)
        if same < at:
            weights[at] = weights[same]
            conditional.append(conditional[same])
            continue
        for task in range(tasks.number):
            mass = prior * np.exp(log_likelihood(tasks, task, shares, points))
            weights[at, task] = mass.sum()
            densities.append(mass.reshape(POINTS, -1).sum(axis=1) / mass.sum())
        conditional.append(densities)
    p = p * weights.prod(axis=1)
    p /= p.sum()
    for at in range(len(p)):
        for task in range(tasks.number):
            marginals[task] += p[at] * conditional[at][task]
    return assignments, p, marginals


def draw_eta(random: np.random.Generator, tasks: Tasks, task: int, shares: np.ndarray) -> np.ndarray:
    """η and bias of one task given z: from the prior, accepted by the losses (no more than 1)."""
    while True:
        eta = random.normal(size=(64, 3)) / np.sqrt(tasks.precision)
        if not tasks.bias:
            eta[:, 2] = 0
        good = np.log(random.random(64)) < log_likelihood(tasks, task, shares, eta)
        if good.any():
            return np.asarray(eta[np.argmax(good)])


def renewed(
    problem: Problem, make: Maker, together: bool, partitions: int, replicates: int
) -> tuple[np.ndarray, np.ndarray]:
    """z and η_0 after mixing variables, a sweep, mixing variables and weights, each time from an exact draw."""
    state, tasks = problem.state(), replace(problem.tasks, together=together)
    assignments, p, _ = enumerated(problem.name)
    random = np.random.default_rng(11)
    options = Options(topics=2, partitions=partitions, mh_steps=1, own=make[1])
    state.side = tasks.side(2)
    method = make[0](state, options, Threads(1))
    update = Classifier(tasks)
    seen = np.zeros(len(p), np.int64)
    etas = np.zeros((replicates, tasks.number))
    for step, draw in enumerate(random.choice(len(p), replicates, p=p)):
        state.z = assignments[draw].copy()
        method.start(random=True)
        shares = shares_of(state, state.z)
        for task in range(tasks.number):
            state.side["eta"][:, task] = draw_eta(random, tasks, task, shares)
        rows = method.document_topics()
        lengths = np.repeat(state.lengths, np.diff(rows[0]))
        update.draw_mixing(
            method, rows[0], rows[1], (rows[2] / lengths).astype(np.float32), random_streams.stream_key(step, 1)
        )
        method.sweep(step)
        update(method, random_streams.stream_key(step, 2))
        seen[harness._code(method.sync().z, 2)] += 1
        etas[step] = state.side["eta"][0, : tasks.number]
    return seen, etas


CASES = [(problem, sampler, 1) for problem in PROBLEMS for sampler in ("dense", "light-mixture")]
CASES += [(PROBLEMS[3], f"light-{mode}", 1) for mode in ("cycle", "doc", "word", "exp")]


@pytest.mark.parametrize(("problem", "sampler", "partitions"), CASES, ids=lambda value: getattr(value, "name", value))
def test_topics_and_weights_leave_the_posterior_as_it_is(problem: Problem, sampler: str, partitions: int) -> None:
    replicates = 2000
    _, p, marginals = enumerated(problem.name)
    seen, etas = renewed(problem, SAMPLERS[sampler], sampler == "dense", partitions, replicates)
    found = [harness.chi_square_p(seen, replicates * p)]
    for task, marginal in enumerate(marginals):
        # the grid's cells, with borders half-way between its points
        side = np.linspace(-6, 6, POINTS) / np.sqrt(problem.tasks.precision)
        cells = np.bincount(
            np.clip(np.searchsorted((side[1:] + side[:-1]) / 2, etas[:, task]), 0, POINTS - 1), minlength=POINTS
        )
        found.append(harness.chi_square_p(cells, replicates * marginal))
    assert min(found) > LEVEL / (2.2 * len(CASES))


# -- Geweke's test ------------------------------------------------------------

GEWEKE = {
    "hinge": ([[1], [-1], [1]], {"weight": 0.4}),
    "logistic": ([[1], [-1], [1]], {"weight": 1.0}),
    "epsilon": ([[0.5], [-1.5], [1]], {"weight": 0.3, "epsilon": 0.4}),
}


def draw_jointly(random: np.random.Generator, tasks: Tasks, shape: State) -> tuple[State, np.ndarray]:
    """Topics, words and weights given the targets: from the priors, accepted by the losses."""
    topics = shape.n_topics
    while True:
        state = harness.draw_joint(random, shape)
        counts = [np.bincount(state.z[a:b], minlength=topics) for a, b in zip(state.offsets[:-1], state.offsets[1:])]
        shares = np.array([each / each.sum() for each in counts])
        eta = random.normal(size=(topics, tasks.number)) / np.sqrt(tasks.precision)
        log_p = twin.log_loss(tasks.loss, tasks.weight, shares @ eta, tasks.targets, tasks.epsilon).sum()
        if np.log(random.random()) < log_p:
            return state, eta


@pytest.mark.parametrize("sampler", ["dense", "light-mixture"])
@pytest.mark.parametrize("loss", GEWEKE)
def test_geweke(loss: str, sampler: str) -> None:
    """Topics, words and weights that are a joint draw are one again after a sweep and an update (Geweke 2004)."""
    targets, settings = GEWEKE[loss]
    tasks = replace(tasks_of(targets, loss, **settings), together=sampler == "dense")  # type: ignore[arg-type]
    random = np.random.default_rng(4)
    docs = [[0] * length for length in (14, 5, 9)]
    shape = harness.make_state(docs, random.uniform(0.2, 0.8, 5), random.uniform(0.1, 0.5, 6))
    before, after = [], []
    for replicate in range(300):
        state, eta = draw_jointly(random, tasks, shape)
        state.side = tasks.side(5)
        state.side["eta"][:5, :1] = eta
        method = SAMPLERS[sampler][0](state, Options(topics=5, mh_steps=1, partitions=1), Threads(1))
        method.start(random=True)
        update = Classifier(tasks)
        before.append(seen_in(state, tasks))
        rows = method.document_topics()
        shares = (rows[2] / np.repeat(state.lengths, np.diff(rows[0]))).astype(np.float32)
        update.draw_mixing(method, rows[0], rows[1], shares, random_streams.stream_key(replicate, 1))
        method.sweep(replicate)
        update(method, random_streams.stream_key(replicate, 2))
        after.append(seen_in(method.sync(), tasks))
    difference = np.array(after) - np.array(before)
    t = difference.mean(axis=0) / (difference.std(axis=0, ddof=1) / np.sqrt(len(difference)))
    p = 2 * stats.t.sf(np.abs(t), len(difference) - 1)
    assert p.min() * len(p) > LEVEL / (2 * len(GEWEKE))


def seen_in(state: State, tasks: Tasks) -> np.ndarray:
    """How concentrated topics are, the weights, and the scores on their targets' side."""
    eta = state.side["eta"][:-1, : tasks.number]
    counts = np.array(
        [np.bincount(state.z[a:b], minlength=state.n_topics) for a, b in zip(state.offsets[:-1], state.offsets[1:])]
    )
    score = counts / counts.sum(axis=1, keepdims=True) @ eta
    sides = [eta.mean(), (eta**2).mean(), (score * tasks.targets).mean(), (score**2).mean()]
    return np.concatenate([harness.figures(state), sides])
