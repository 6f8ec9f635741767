"""A soft start: topics drawn from what CVB0 has found, then the sampler; and the rule by which `auto` begins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from tests.conftest import lda_corpus, model_of, state_of
from topicx._kernels.soft import pairs, soft_start
from topicx.corpus.corpus import Corpus
from topicx.datasets import make
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.evaluate.completion import completion_perplexity
from topicx.models.definition import Priors, initial_state
from topicx.run import Run, model_of_expected_counts
from topicx.sampling import sampler_registry, starts
from topicx.sampling.chain import Chain, plan_steps
from topicx.sampling.run_length import AUTO_HOT_SWEEPS, AUTO_MANY_HOT_SWEEPS
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import NONE, Seeds
from topicx.variational.cvb0 import Cvb0
from topicx.variational.soft_start import Opening, room_for

CORPUS = lda_corpus()
SOFT, HOT = starts.SOFT_SWEEPS, starts.HOT_SWEEPS
ABLE = [name for name, entry in sampler_registry.ENTRIES.items() if sampler_registry.SOFTENS in entry.capabilities]


def soft_chain(threads: int = 1, **options: Any) -> Chain:
    settings = {"topics": 5, "iterations": 6, "sampler": "sparse", "start": "soft", "trace_interval": 2} | options
    chosen = Options(**settings)
    state = initial_state(lda_corpus(), chosen, Priors(seed_words={1: ["w003", "w004"]}, word_prior={"w007": 0.4}))
    return Chain(state, chosen, Threads(threads))


def test_every_exact_sampler_is_able() -> None:
    exact = [name for name, entry in sampler_registry.ENTRIES.items() if entry.exact and name != "labeled"]
    assert set(exact) | {"warp"} == set(ABLE)


def narrowed(rows: Any) -> Any:
    """Rows of numbers as a soft start keeps them: padded, the upper halves of floats."""
    padded = np.zeros((len(rows), -(-rows.shape[1] // 16) * 16), np.float32)
    padded[:, : rows.shape[1]] = rows
    return ((padded.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def widened(halves: Any) -> Any:
    return (halves.astype(np.uint32) << 16).view(np.float32)


def test_topics_are_drawn_as_the_assignments_say() -> None:
    """Counts over many documents that have the same assignments, against their expectation (chi-square, p > 1e-4)."""
    rng = np.random.default_rng(5)
    K, documents = 21, 4000
    rows = rng.dirichlet(np.full(K, 0.3), 3).astype(np.float32)
    rows[1] = np.eye(K)[K - 1]
    rows[2, 5:11] = 0
    rows[2] *= 0.9 / rows[2].sum()  # rounding need not leave a sum of 1
    gamma = np.tile(narrowed(rows[[2, 0, 1]]), (documents, 1))
    rows = widened(narrowed(rows)).astype(float)[:, :K]
    rows /= rows.sum(axis=1, keepdims=True)
    pair_words = np.tile(np.array([2, 0, 1], np.uint32), documents)  # another order than that of the text
    words = np.tile(np.array([0, 1, 2, 0, 2], np.uint32), documents)
    offsets, pair_offsets = (np.arange(documents + 1, dtype=np.int64) * n for n in (5, 3))
    z = np.empty(len(words), np.uint16)
    for first, last in ((0, 1500), (1500, documents)):
        soft_start.draw_topics(gamma, pair_words, pair_offsets, words, offsets, first, last, 3, 77, z)
    again = np.empty_like(z)
    soft_start.draw_topics(gamma, pair_words, pair_offsets, words, offsets, 0, documents, 3, 77, again)
    assert np.array_equal(z, again)
    assert pairs.count_pairs(words, offsets, 3) == 3 * documents
    assert np.all(z[words == 1] == K - 1)
    for word in (0, 2):
        counts, expected = np.bincount(z[words == word], minlength=K), 2 * documents * rows[word]
        assert not np.any(counts[rows[word] == 0])
        some = expected > 5
        rest = max(expected[~some].sum(), 1e-9)
        statistic = np.sum((counts[some] - expected[some]) ** 2 / expected[some])
        statistic += (counts[~some].sum() - expected[~some].sum()) ** 2 / rest if rest > 5 else 0
        assert chi2.sf(statistic, some.sum() - (rest <= 5)) > 1e-4
    both = z.reshape(documents, 5)[:, [0, 3]]  # tokens of one pair are independent
    same = np.mean(both[:, 0] == both[:, 1])
    assert abs(same - np.sum(rows[0] ** 2)) < 4 * 0.5 / np.sqrt(documents)


def test_a_sweep_is_that_of_plain_arithmetic() -> None:
    """The kernel beside a loop over pairs in double precision, with rounding to two bytes: one cell."""
    corpus = make("zipf", 3, documents=20, tokens=40, words=60, topics=5)
    options = Options(topics=19, partitions=1, start="soft")
    state = initial_state(corpus, options, Priors(seed_words={1: [corpus.vocabulary[3]]}))
    state.alpha = np.linspace(0.02, 0.3, 38).reshape(2, 19)
    state.groups = np.arange(state.n_documents, dtype=np.uint32) % 2
    state.beta = np.linspace(0.01, 0.1, state.n_words)
    method = Opening(state, options, Threads(1))
    method.start(True)
    gamma = widened(method.gamma).astype(float)[:, :19]
    nd, nw, totals = (np.array(x, float)[..., :19] for x in (method.nd, method.nw, method.totals))
    assert np.allclose(nw.sum(axis=0), totals, rtol=1e-5)
    assert np.allclose(gamma.sum(axis=1), 1, atol=2e-2)
    (cell,) = next(iter(method.schedule.epochs()))
    moved = fit = 0.0
    for d in method.schedule.active(cell.shard, 1.0).tolist():
        alpha, total = state.alpha[d % 2], totals + state.beta.sum()
        for i in range(method.offsets[d], method.offsets[d + 1]):
            word, count = method.words[i], float(method.counts[i])
            others = np.maximum(nd[d] - gamma[i], 0), np.maximum(nw[word] - gamma[i], 0)
            p = (alpha + others[0]) * (state.beta[word] + others[1]) / total
            fit += count * np.log(p.sum())
            now = widened(narrowed((p / p.sum())[None].astype(np.float32))).astype(float)[0, :19]
            change = count * (now - gamma[i])
            moved += np.abs(change).sum() / 2
            nd[d] += change
            nw[word] += change
            totals += change
            gamma[i] = now
    changed = method.sweep(0)["changed"]
    assert np.allclose(method.nd[:, :19], nd, atol=2e-2) and np.allclose(method.nw[:, :19], nw, atol=5e-2)
    assert np.abs(widened(method.gamma)[:, :19] - gamma).max() < 2e-2  # a number may be rounded to the next
    assert changed == pytest.approx(moved / corpus.n_tokens, rel=1e-2)
    lengths = state.lengths
    fit -= np.sum(lengths * np.log(state.alpha.sum(axis=1)[state.groups] + lengths - 1))
    assert method.score() == pytest.approx(fit / corpus.n_tokens, rel=1e-3)


@pytest.mark.parametrize("alpha", [1e-30, 0.1, 1e30])
@pytest.mark.parametrize("beta", [1e-30, 0.01, 1e30])
def test_priors_at_their_limits_leave_probabilities(alpha: float, beta: float) -> None:
    """Beyond single precision there is no γ to be had: what is drawn is a topic all the same."""
    texts = [[f"a{i % 7}", f"u{i}", f"a{i * 3 % 5}", "a1"] for i in range(40)]
    options = Options(topics=5, start="soft")
    state = initial_state(Corpus.from_documents(texts), options)
    state.alpha, state.beta = np.full((1, 5), alpha), np.full(state.n_words, beta)
    method = Opening(state, options, Threads(1))
    method.start(True)
    for step in range(starts.SOFT_SWEEPS):
        method.sweep(step)
    assert np.allclose(widened(method.gamma).sum(axis=1), 1, atol=0.02)
    assert np.isfinite(method.nw).all() and np.allclose(method.totals, method.nw[:, :5].sum(axis=0), atol=0.01)
    assert method.drawn(1).max() < 5


def test_long_documents_have_more_soft_sweeps() -> None:
    given = Options(iterations=10)
    assert starts.soft_sweeps(state_of(20, 500, 60), given) == starts.SOFT_SWEEPS
    assert starts.soft_sweeps(state_of(20, 501, 60), given) == starts.LONG_SWEEPS
    assert starts.soft_sweeps(state_of(20, 501, starts.SOFT_TOPICS + 1), given) == starts.FEW_SWEEPS


def test_hot_sweeps_cool_to_the_beta_of_the_model(tmp_path: Path) -> None:
    """β falls by one factor from sweep to sweep, every word's alike; a checkpoint between them has the model's own."""
    chain = soft_chain(iterations=2)
    state, own = chain.state, chain.state.beta.copy()
    tokens = starts.HEAT * state.n_tokens / (state.n_topics * state.n_words)
    heat = [starts.hot_beta(state, own, number, chain.hot) / own for number in range(chain.hot + 1)]
    assert heat[0] == pytest.approx(tokens / own.mean()) and heat[-1] == pytest.approx(1.0)
    steps = np.array(heat[:-1]) / np.array(heat[1:])
    assert np.allclose(steps, steps[0, 0]) and steps[0, 0] > 1
    used: list[Any] = []
    sweep = chain.method.sweep

    def watch(event: Any) -> None:
        nonlocal sweep
        if event.position >= SOFT and not used:
            sweep = chain.method.sweep
            used.append(None)
            chain.method.sweep = lambda *a: (used.append(chain.state.beta), sweep(*a))[1]  # type: ignore[method-assign]
        if event.position == SOFT + 3:
            chain.save(tmp_path / "c")

    chain.run([watch])
    for number, beta in enumerate(used[1:]):
        assert np.array_equal(beta, starts.hot_beta(state, own, number, chain.hot) if number < chain.hot else own)
    assert len(used) == 1 + chain.hot + 2
    again = Chain.load(tmp_path / "c", Threads(1))
    assert np.array_equal(again.state.beta, own) and again.hot == chain.hot


@pytest.mark.parametrize("at", [1, 29, 30, 31])
@pytest.mark.parametrize("sampler", ["sparse", "light", "partial"])
def test_a_hot_start_that_is_killed_ends_in_the_same_bits(sampler: str, at: int, tmp_path: Path) -> None:
    options = {"sampler": sampler, "start": "hot", "iterations": 30}
    whole, chain = soft_chain(**options), soft_chain(**options)
    assert [step.kind for step in whole.steps] == ["hot"] * 30 + ["sweep"] * 30
    whole.run()
    asked = iter(range(1, 1000))
    with pytest.raises(Interrupted):
        chain.run(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda: next(asked) == at)
    again = Chain.load(tmp_path / "c", Threads(2))
    again.run()
    assert np.array_equal(again.method.sync().z, whole.method.sync().z)
    assert np.array_equal(again.state.beta, whole.state.beta)


def test_a_run_that_ends_by_itself_has_its_own_numbers() -> None:
    auto, many, few = Options(), starts.SOFT_TOPICS + 1, starts.SHORT - 1
    short, divided, long = state_of(20, few, 60, 80), state_of(20, few, many, 80), state_of(20, 501, 60, 400)
    assert starts.soft_sweeps(short, auto) == starts.SCVB0_STEPS
    assert starts.soft_sweeps(state_of(20, few + 1, 60, 400), auto) == starts.PART_SOFT
    assert starts.soft_sweeps(long, auto) == starts.THIN_LONG_SOFT
    assert starts.soft_sweeps(state_of(20, 500, 60), auto) == starts.THIN_SOFT  # few words
    assert starts.hot_sweeps(short, auto, "soft") == AUTO_HOT_SWEEPS
    assert starts.hot_sweeps(short, auto, "hot") == starts.HOT_FROM_RANDOM
    assert starts.hot_sweeps(divided, auto, "soft") == AUTO_MANY_HOT_SWEEPS
    assert starts.hot_sweeps(long, auto, "soft") == 0
    topics = starts.MANY_TOPICS + 1  # are divided sooner than in a run of given length, if documents are not long
    assert starts.has_many_topics(state_of(20, few, topics, 80), auto)
    assert not starts.has_many_topics(state_of(20, few, topics, 80), Options(iterations=10))
    assert not starts.has_many_topics(state_of(20, 501, topics, 400), auto)
    assert not starts.has_many_topics(state_of(20, few, topics - 1, 80), auto)


@pytest.mark.parametrize(
    ("length", "topics", "iterations", "after_soft", "alone"),
    [
        (500, 60, 10, starts.HOT_SWEEPS, 10),
        (500, 60, 300, 30, starts.HOT_FROM_RANDOM),
        (500, 60, 500, 50, 50),
        (500, 60, 100_000, starts.MOST_HOT_SWEEPS, starts.MOST_HOT_SWEEPS),
        (501, 60, 500, 0, 50),  # long documents
        (500, starts.SOFT_TOPICS + 1, 10, starts.MANY_HOT_SWEEPS, 10),
        (500, starts.SOFT_TOPICS + 1, 500, 50, 50),
    ],
)
def test_how_many_hot_sweeps_there_are(length: int, topics: int, iterations: int, after_soft: int, alone: int) -> None:
    state, options = state_of(20, length, topics), Options(topics=topics, iterations=iterations)
    assert starts.hot_sweeps(state, options, "soft") == after_soft
    assert starts.hot_sweeps(state, options, "hot") == alone
    assert starts.hot_sweeps(state, options, "random") == starts.hot_sweeps(state, options, "growing") == 0
    state.beta *= 2 * starts.HEAT * state.n_tokens / (topics * state.beta.sum())  # as hot as that anyway
    assert starts.hot_sweeps(state, options, "soft") == starts.hot_sweeps(state, options, "hot") == 0


@pytest.mark.parametrize("sampler", ABLE)
def test_the_sampler_takes_over(sampler: str) -> None:
    """Every token has a topic, and counts are those of the topics, priors of all kinds included."""
    options = Options(topics=6, iterations=1, sampler=sampler, start="soft")
    state = initial_state(lda_corpus(), options)
    state.alpha = np.linspace(0.02, 0.3, 12).reshape(2, 6)
    state.groups = np.arange(state.n_documents, dtype=np.uint32) % 2
    state.beta = np.linspace(0.01, 0.1, state.n_words)
    state.seeds = Seeds.of([(5, 3, 40), (6, 5, 2)])
    chain = Chain(state, options, Threads(1))
    assert [step.kind for step in chain.steps] == ["soft"] * starts.SOFT_SWEEPS + ["hot"] * starts.HOT_SWEEPS + [
        "sweep"
    ]
    kinds: list[str] = []

    def watch(event: Any) -> None:
        kinds.append(type(chain.method).__name__)
        if event.position >= chain.soft:
            assert not np.any(chain.method.sync().z == NONE)
            if hasattr(chain.method, "verify"):
                chain.method.verify()

    chain.run([watch])
    assert kinds[: chain.soft - 1] == ["Opening"] * (chain.soft - 1)
    assert len(set(kinds[chain.soft - 1 :])) == 1 and "Opening" not in kinds[chain.soft - 1 :]


def test_topics_come_from_what_cvb0_found() -> None:
    options = Options(topics=5, iterations=0, sampler="sparse", start="soft", seed=3)
    chain = Chain(initial_state(lda_corpus(), options), options, Threads(1))
    chain.run()
    alone = Cvb0(initial_state(lda_corpus(), options), options, Threads(1))
    alone.start(random=True)
    for sweep in range(chain.soft):
        alone.sweep(sweep)
    found, expected = (rows_of(method, 5) for method in (chain.method, alone))
    assert abs(found - expected).sum() < 0.2 * expected.sum() > 0
    assert model_of(chain).values.sum() == lda_corpus().n_tokens


def rows_of(method: Any, topics: int) -> Any:
    indptr, columns, counts = method.word_topics()
    rows = np.zeros((len(indptr) - 1, topics))
    rows[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), columns] = counts
    return rows


@pytest.mark.parametrize("threads", [2, 8])
def test_threads_change_nothing(threads: int) -> None:
    one, many = soft_chain(), soft_chain(threads)
    one.run()
    many.run()
    assert np.array_equal(one.method.sync().z, many.method.sync().z)


@pytest.mark.parametrize("at", [1, SOFT - 1, SOFT, SOFT + 1, SOFT + HOT - 1, SOFT + HOT, SOFT + HOT + 2])
@pytest.mark.parametrize("sampler", ["sparse", "partial", "warp"])
def test_a_killed_run_ends_in_the_same_bits(sampler: str, at: int, tmp_path: Path) -> None:
    options = {"sampler": sampler, "optimize_interval": 2, "optimize_burn_in": 1}
    whole = soft_chain(**options)
    whole.run()
    chain = soft_chain(**options)
    asked = iter(range(1, 1000))
    with pytest.raises(Interrupted):
        chain.run(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda: next(asked) == at)
    chain = Chain.load(tmp_path / "c", Threads(2))
    assert chain.position == at and chain.start == "soft"
    chain.run()
    assert np.array_equal(chain.method.sync().z, whole.method.sync().z)
    assert np.array_equal(chain.state.alpha, whole.state.alpha)
    for name, column in whole.trace.columns.items():
        assert name == "seconds" or np.array_equal(chain.trace.columns[name], column, equal_nan=True), name


def divided_chain(monkeypatch: pytest.MonkeyPatch, **options: Any) -> Chain:
    """Seven topics, from three of which it begins."""
    for name, value in (("SOFT_TOPICS", 4), ("FEW_TOPICS", 3), ("FEW_SWEEPS", 4)):
        monkeypatch.setattr(starts, name, value)
    return soft_chain(**{"topics": 7, **options})


def test_with_many_topics_it_begins_with_few_and_divides_them(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = divided_chain(monkeypatch, iterations=0)
    assert chain.soft == 4 and chain.hot == starts.MANY_HOT_SWEEPS
    assert [step.kind for step in chain.steps] == ["soft"] * 4 + ["hot"] * chain.hot
    few = chain.method.inner  # type: ignore[attr-defined]
    assert few.state.n_topics == 3 and few.state.alpha.shape == (1, 3)
    assert list(few.state.seeds.topics) == [seed % 3 for seed in chain.state.seeds.topics]
    chain.method.start(random=True)
    for step in range(4):
        chain.method.sweep(step)
    z, before = chain.method.drawn(11), few.drawn(11)
    assert np.array_equal(z % 3, before)
    for topic, parts in ((0, 3), (1, 2), (2, 2)):
        counts = np.bincount(z[before == topic] // 3, minlength=parts)
        assert len(counts) == parts and counts.sum() > 100
        statistic = np.sum((counts - counts.mean()) ** 2) / counts.mean()
        assert chi2.sf(statistic, parts - 1) > 1e-4
    assert int(chain.method.sync().z.max()) < 3
    indptr, topics, _ = chain.method.word_topics()
    assert len(indptr) == lda_corpus().n_words + 1 and int(topics.max()) == 2
    look = model_of_expected_counts(chain.method.word_topics(), chain.state, "cgs")  # what a callback sees meanwhile
    assert np.allclose(look.topic_word.sum(axis=1), 1) and look.topic_word.shape[0] == 7
    assert np.isfinite(chain.method.score()) and len(chain.method.document_topics()[0]) == lda_corpus().n_documents + 1


@pytest.mark.parametrize("at", [1, 3, 4, 6])
def test_a_killed_run_that_divides_ends_in_the_same_bits(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = divided_chain(monkeypatch, threads=2)
    whole.run()
    whole.method.verify()  # type: ignore[attr-defined]
    chain = divided_chain(monkeypatch)
    asked = iter(range(1, 1000))
    with pytest.raises(Interrupted):
        chain.run(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda: next(asked) == at)
    again = Chain.load(tmp_path / "c", Threads(1))
    assert again.position == at and again.state.n_topics == 7
    again.run()
    assert np.array_equal(again.method.sync().z, whole.method.sync().z)


def test_a_soft_start_can_be_extended_and_is_not_counted(tmp_path: Path) -> None:
    chain = soft_chain()
    chain.run(checkpoints=Checkpoints(str(tmp_path / "c"), interval=starts.SOFT_SWEEPS + 6))
    longer = Chain.load(tmp_path / "c", Threads(1), iterations=9)
    longer.run()
    whole = soft_chain(iterations=9)
    whole.run()
    assert np.array_equal(longer.method.sync().z, whole.method.sync().z)
    with pytest.raises(InputError, match="has 6 iterations already"):
        Chain.load(tmp_path / "c", Threads(1), iterations=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "cvb0"}, "start: cvb0 cannot begin with the assignments of cvb0"),
        ({"sampler": "scvb0"}, "start: scvb0 cannot begin"),
        ({"paths": 2}, "start: soft is for one path"),
        ({"model": "hdp"}, "start: soft has a fixed number of topics, which the model hdp has not"),
    ],
)
def test_it_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Run.start(lda_corpus(), Options(topics=4, iterations=2, start="soft", **options), Threads(1))


def test_a_soft_start_without_room_is_refused_with_what_would_do() -> None:
    corpus, options = lda_corpus(), Options(topics=40, iterations=1, start="soft")
    needed = Run.start(corpus, options, Threads(1)).chain.memory
    alone = Run.start(corpus, Options(topics=40, iterations=1, start="random"), Threads(1)).chain.memory
    assert needed > alone + 4 * 40 * 1000
    with pytest.raises(InputError, match=r"memory: .* another start \(hot, random\)"):
        Run.start(corpus, options, Threads(1, memory=(needed + alone) // 2))


def test_assignments_that_came_with_a_state_are_the_start() -> None:
    chain = soft_chain()
    chain.run()
    options = Options(topics=5, iterations=2, sampler="sparse", start="soft")
    again = Chain(chain.method.sync(), options, Threads(1))
    assert again.start == "state" and again.steps == plan_steps(options, "state")


@pytest.mark.parametrize(
    ("documents", "length", "topics", "iterations", "start"),
    [
        (100, 400, 60, 1000, "random"),  # small
        (200, 400, 60, 1000, "soft"),
        (200, 400, 49, 1000, "random"),  # few topics, many sweeps
        (200, 400, 49, 300, "soft"),
        (500, 2600, 60, 1000, "soft"),  # long documents
        (500, 2600, starts.SOFT_TOPICS + 1, 1000, "random"),  # to be divided, and long
        (5_000, 60, starts.SOFT_TOPICS + 1, 1000, "soft"),
    ],
)
def test_what_auto_takes(
    documents: int, length: int, topics: int, iterations: int, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, options = state_of(documents, length, topics), Options(topics=topics, iterations=iterations)
    sparse = sampler_registry.find_sampler("sparse")
    assert starts.choose_start(state, options, sparse) == start
    assert starts.choose_start(state, options, sparse, {sampler_registry.NEW_TOPICS}) != "soft"
    assert starts.choose_start(state, options, sampler_registry.find_sampler("labeled")) == "random"
    held = starts.soft_topics(state, options)
    room = room_for(state, held)
    assert room == 2 * -(-held // 16) * 16 * documents * min(length, 50)
    monkeypatch.setattr(starts, "SOFT_ROOM", room - 1)
    assert starts.choose_start(state, options, sparse) == ("hot" if start == "soft" else start)


@pytest.mark.parametrize(
    ("sampler", "n_words", "topics", "start"),
    [
        ("sparse", 50, 60, "growing"),
        ("sparse", 3_000, 60, "soft"),  # words that are seldom seen
        ("sparse", 50, starts.SOFT_TOPICS + 1, "soft"),
        ("sparse", 900, 60, "soft"),  # often, but not in each topic
        ("dense", 50, 60, "growing"),
    ],
)
def test_what_a_run_takes_that_ends_by_itself(sampler: str, n_words: int, topics: int, start: str) -> None:
    entry = sampler_registry.find_sampler(sampler)
    assert starts.choose_start(state_of(1_000, 150, topics, n_words), Options(topics=topics), entry) == start
    assert starts.choose_start(state_of(1_000, 60, topics, n_words), Options(topics=topics), entry) == "soft"


def test_alpha_of_soft_sweeps_is_learnt_from_some_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    chain = soft_chain()
    chain.begin()
    method = chain.method
    assert isinstance(method, Opening)
    assert np.array_equal(method.document_statistics().nd, method.nd)
    monkeypatch.setattr("topicx.variational.soft_start.ALPHA_DOCUMENTS", len(method.nd) // 3)
    some = method.document_statistics()
    assert np.array_equal(some.nd, method.nd[::3]) and np.array_equal(some.lengths, method.state.lengths[::3])


def test_seed_words_want_a_soft_start() -> None:
    state = state_of(1_000, 60, 60)
    state.seeds = Seeds.of([(3, 1, 50)])
    assert starts.choose_start(state, Options(topics=60), sampler_registry.find_sampler("sparse")) == "soft"


def test_it_gives_better_topics_sooner() -> None:
    """Twenty sweeps of each start, ten of which may be hot, on a corpus with structure: held-out perplexity."""
    corpus = make("zipf", 4, documents=600, tokens=80, words=800, topics=15)
    train, test = corpus.select(np.arange(500)), corpus.select(np.arange(500, 600))
    found = {}
    for start, iterations in (("random", 20), ("soft", 20), ("hot", 10)):
        options = Options(topics=15, iterations=iterations, start=start)
        model = Run.start(train, options, Threads(1)).train().result(examples=0).model
        found[start] = completion_perplexity(model, None, test)
    assert max(found["soft"], found["hot"]) < 0.99 * found["random"], found
