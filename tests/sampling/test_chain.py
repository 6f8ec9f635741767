"""The chain: the same bits whatever the threads, whenever it is interrupted; priors learnt; the trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import chisquare

from tests.conftest import lda_corpus, model_of, theta_of
from topicx.corpus.corpus import Corpus
from topicx.datasets import make
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.models.definition import Priors, initial_state
from topicx.sampling import random_streams, sampler_registry, starts
from topicx.sampling.chain import Chain, plan_steps
from topicx.sampling.joint_likelihood import joint_log_likelihood
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.gibbs import Dense
from topicx.sampling.schedule import Schedule, balanced_blocks
from topicx.sampling.starts import choose_start
from topicx.sampling.sweep_loop import Checkpoints, Event, Interrupted
from topicx.sampling.updates import prior_fixed_points
from topicx.state import NONE, Seeds, State
from topicx.strings import Strings

SAMPLERS = [name for name in sampler_registry.ENTRIES if name != "scvb0"]


def start_chain(threads: int = 1, **options: object) -> Chain:
    settings = {"topics": 5, "iterations": 12, "sampler": "dense", "partitions": 3, "trace_interval": 4} | options
    if sampler_registry.PARTITIONS not in sampler_registry.choose_sampler(str(settings["sampler"])).capabilities:
        del settings["partitions"]
    chosen = Options(**settings)  # type: ignore[arg-type]
    return Chain(initial_state(lda_corpus(), chosen), chosen, Threads(threads))


def run_chain(threads: int = 1, **options: object) -> Chain:
    chain = start_chain(threads, **options)
    chain.run()
    return chain


def test_the_schedule_covers_every_token_once() -> None:
    corpus = lda_corpus()
    schedule = Schedule(corpus.words, corpus.offsets, corpus.n_words, 3, seed=1, chain=0)
    words = schedule.arranged(corpus.words)
    seen = np.zeros(corpus.n_tokens, int)
    for cells in schedule.epochs():
        assert len({cell.shard for cell in cells}) == len({cell.block for cell in cells}) == 3
        sizes = [schedule.sizes[cell.shard, cell.block] for cell in schedule.largest_first(cells)]
        assert sizes == sorted(sizes, reverse=True)
        for cell in cells:
            before = seen.sum()
            for document in schedule.shards[cell.shard]:
                begin, end = schedule.segments[document * 4 + cell.block : document * 4 + cell.block + 2]
                assert corpus.offsets[document] <= begin <= end <= corpus.offsets[document + 1]
                assert np.all(schedule.block_of_word[words[begin:end]] == cell.block)
                seen[begin:end] += 1
            assert seen.sum() - before == schedule.sizes[cell.shard, cell.block]
    assert np.all(seen == 1)
    assert np.array_equal(schedule.restored(words), corpus.words)


def test_blocks_are_balanced() -> None:
    frequencies = (1e6 / np.arange(1, 20_001)).astype(np.int64)
    loads = np.bincount(balanced_blocks(frequencies, 8), weights=frequencies)
    # The largest word alone is more than a block's fair share; the others share what is left.
    assert loads.max() <= max(frequencies.max(), 1.02 * frequencies.sum() / 8)
    assert np.sort(loads)[:-1].std() < 0.02 * loads.mean()


def test_streams_do_not_repeat() -> None:
    keys = {
        random_streams.stream_key(s, c, u, n, k)
        for s in range(4)
        for c in range(3)
        for u in range(4)
        for n in range(6)
        for k in range(5)
    }
    assert len(keys) == 4 * 3 * 4 * 6 * 5


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_threads_do_not_change_bits(sampler: str) -> None:
    chains = [
        run_chain(threads, sampler=sampler, iterations=6, optimize_interval=2, optimize_burn_in=2)
        for threads in (1, 2, 8)
    ]
    first = chains[0]
    for chain in chains[1:]:
        assert np.array_equal(chain.method.sync().z, first.method.sync().z)
        assert np.array_equal(chain.state.alpha, first.state.alpha)
        assert np.array_equal(model_of(chain, "cgsp", "cgs").values, model_of(first, "cgsp", "cgs").values)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("start", ["random", "growing"])
def test_an_interrupted_chain_ends_in_the_same_bits(sampler: str, start: str, tmp_path: Path) -> None:
    options = {"sampler": sampler, "start": start, "iterations": 8, "optimize_interval": 3, "optimize_burn_in": 2}
    try:
        whole = start_chain(**options)
    except InputError as error:
        assert "starts at random" in str(error)
        return
    whole.run()
    asked = [0]

    def stop() -> bool:
        asked[0] += 1
        return asked[0] % 3 == 0

    chain, restarts = start_chain(**options), 0
    if start == "growing":  # go quickly through the long early stages
        asked[0] = -270
    while True:
        try:
            chain.run(checkpoints=Checkpoints(str(tmp_path / "checkpoint")), stop=stop)
            break
        except Interrupted:
            chain = Chain.load(tmp_path / "checkpoint", Threads(2))
            restarts += 1
    assert restarts >= 2
    assert np.array_equal(chain.method.sync().z, whole.method.sync().z)
    assert np.array_equal(chain.state.alpha, whole.state.alpha)
    assert np.array_equal(chain.state.beta, whole.state.beta)
    assert np.array_equal(model_of(chain, "cgsp", "cgs").values, model_of(whole, "cgsp", "cgs").values)
    for name, column in whole.trace.columns.items():
        if name != "seconds":
            assert np.array_equal(chain.trace.columns[name], column, equal_nan=True), name


def test_a_finished_chain_can_be_extended(tmp_path: Path) -> None:
    short = start_chain(iterations=5)
    short.run(checkpoints=Checkpoints(str(tmp_path / "checkpoint"), interval=5))
    longer = Chain.load(tmp_path / "checkpoint", Threads(1), iterations=9)
    longer.run()
    assert np.array_equal(longer.method.sync().z, run_chain(iterations=9).method.sync().z)
    with pytest.raises(InputError, match="has 5 iterations already"):
        Chain.load(tmp_path / "checkpoint", Threads(1), iterations=4)


@pytest.mark.parametrize("sampler", ["dense", "sparse"])
@pytest.mark.parametrize("start", ["random", "progressive", "growing"])
def test_counts_stay_those_of_the_assignments(sampler: str, start: str) -> None:
    chain = start_chain(sampler=sampler, start=start, iterations=4, icm=2)

    def verify(event: Event) -> None:
        method = chain.method
        assert isinstance(method, Dense | type(method))
        method.verify()  # type: ignore[attr-defined]

    chain.run([verify])
    assert not np.any(chain.method.sync().z == NONE)


@pytest.mark.parametrize("phi", ["cgs", "cgsp"])
def test_samples_of_a_chain_are_averaged(phi: str, tmp_path: Path) -> None:
    """The average over a chain is that of the models which the chain has at those sweeps, resumed or not."""
    chain = start_chain(samples=3, lag=4, iterations=20, optimize_interval=5, optimize_burn_in=2)
    alone = start_chain(iterations=20, optimize_interval=5, optimize_burn_in=2)
    models, thetas = [], []

    def watch(event: Event) -> None:
        if event.step.sweep in (12, 16, 20):
            models.append(model_of(alone, "cgsp", phi))
            thetas.append(theta_of(alone))

    alone.run([watch])
    asked = iter(range(100))
    with pytest.raises(Interrupted):
        chain.run(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda: next(asked) == 13)
    resumed = Chain.load(tmp_path / "c", Threads(2))
    resumed.run()
    model = model_of(resumed, phi=phi)
    counts = np.mean([model_.counts().toarray() for model_ in models], axis=0)
    np.testing.assert_allclose(model.counts().toarray(), counts, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.alpha, np.mean([m.alpha for m in models], axis=0), rtol=1e-12)
    theta = theta_of(resumed)
    np.testing.assert_allclose(theta, np.mean(thetas, axis=0), rtol=1e-12)
    assert model.meta["estimator"]["samples"] == 3
    with pytest.raises(InputError, match="need at least 22 iterations"):
        Chain.load(tmp_path / "c", Threads(1), iterations=19)


def test_samples_are_refused_where_they_make_no_sense() -> None:
    with pytest.raises(InputError, match="need more than 16 iterations"):
        Options(topics=2, samples=3, lag=8, iterations=16)
    with pytest.raises(InputError, match="icm"):
        Options(topics=2, samples=2, icm=1)
    with pytest.raises(InputError, match="cvb0 draws no samples"):
        start_chain(sampler="cvb0", samples=2, lag=1)


def test_plans() -> None:
    options = Options(topics=3, iterations=4, icm=2)
    assert [step.kind for step in plan_steps(options, "random")] == ["sweep"] * 4 + ["icm"] * 2
    growing = plan_steps(options, "growing")
    shares = [step.share for step in growing]
    assert shares == sorted(shares)
    assert [step.sweep for step in growing if step.kind == "sweep"] == [1, 2, 3, 4]


def test_auto_start_is_random_for_small_corpora() -> None:
    chain = start_chain(start="auto")
    assert chain.start == "random"
    assert choose_start(chain.state, Options(topics=5, start="growing"), Dense) == "growing"


@pytest.mark.parametrize(
    ("documents", "length", "topics", "start"),
    [(400, 2600, 2, "growing"), (4000, 260, 2, "random"), (400, 2600, 200, "hot")],
)
def test_auto_start_grows_large_corpora_of_long_documents(
    documents: int, length: int, topics: int, start: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a soft start has no room."""
    monkeypatch.setattr(starts, "SOFT_ROOM", 0)
    words = np.zeros(documents * length, np.uint32)
    offsets = np.arange(documents + 1, dtype=np.int64) * length
    options = Options(topics=topics, iterations=1000)
    state = initial_state(Corpus(words, offsets, Strings.of(["word"])), options)
    assert choose_start(state, options, sampler_registry.find_sampler("dense")) == start


def test_a_run_that_has_settled_stays_as_it_is(tmp_path: Path) -> None:
    chain = start_chain(iterations=3, icm=50, partitions=1)
    chain.run(checkpoints=Checkpoints(str(tmp_path / "c"), 1))
    assert chain.trace.columns["changed"][-1] == 0
    again = Chain.load(tmp_path / "c", Threads(1))
    again.run()
    assert again.trace.columns["sweep"] == chain.trace.columns["sweep"]
    assert np.array_equal(again.method.sync().z, chain.method.sync().z)


def test_a_longer_run_is_as_if_it_had_been_asked_for(tmp_path: Path) -> None:
    """Records of what was the last sweep then do not stay; a sample that the checkpoint holds is used."""
    short = start_chain(iterations=10, samples=2, lag=5)
    short.run(checkpoints=Checkpoints(str(tmp_path / "c"), 10))
    longer = Chain.load(tmp_path / "c", Threads(1), iterations=15)
    longer.run()
    whole = run_chain(iterations=15, samples=2, lag=5)
    assert longer.trace.columns["sweep"] == whole.trace.columns["sweep"]
    assert list(longer.samples) == list(whole.samples) == [10]
    assert np.array_equal(longer.samples[10].z, whole.samples[10].z)


def test_icm_never_lowers_the_likelihood_of_a_serial_chain() -> None:
    chain = start_chain(iterations=3, icm=10, partitions=1, trace_interval=1)
    chain.run()
    scores = chain.trace.columns["score"][3:]
    assert len(scores) >= 2
    # Each token's conditional is maximised in turn, so the joint cannot fall (ties and float32 aside).
    assert np.all(np.diff(scores) > -1e-6)


def test_learnt_alpha_maximises_its_likelihood() -> None:
    state = run_chain(iterations=30).method.sync()
    indptr, topics, counts = state.document_topics()
    dense = np.zeros((state.n_documents, 5))
    dense[np.repeat(np.arange(state.n_documents), np.diff(indptr)), topics] = counts

    def loss(log_alpha: np.ndarray) -> float:
        alpha = np.exp(log_alpha)
        rising = gammaln(dense + alpha).sum() - state.n_documents * gammaln(alpha).sum()
        return -(rising - gammaln(dense.sum(1) + alpha.sum()).sum() + state.n_documents * gammaln(alpha.sum()))

    documents = prior_fixed_points.CountedDocuments((indptr, topics, counts), state.groups, state.alpha.shape)
    alpha = state.alpha
    for _ in range(20):
        alpha = prior_fixed_points.learn_alpha(documents, alpha, symmetric=False)
    best = minimize(loss, np.log(alpha[0] * 1.5), method="BFGS")
    assert np.allclose(alpha[0], np.exp(best.x), rtol=2e-3)


def test_learnt_beta_maximises_its_likelihood_with_seeds_as_prior() -> None:
    seeds = Seeds.of([(1, 0, 20), (7, 3, 5)])
    corpus = lda_corpus()
    options = Options(topics=5, iterations=20, sampler="dense")
    state = initial_state(corpus, options)
    state.seeds = seeds
    chain = Chain(state, options, Threads(1))
    chain.run()
    counts = chain.method.word_topics()

    def loss(factor: float) -> float:
        beta = state.beta * factor
        totals = chain.method.totals  # type: ignore[attr-defined]
        return -joint_log_likelihood(state.z, state.offsets, counts, totals, state.alpha, state.groups, beta, seeds)

    beta = state.beta
    for _ in range(20):
        beta = prior_fixed_points.learn_beta(prior_fixed_points.CountedWords(counts, beta, 5), beta, seeds)
    factor = beta[0] / state.beta[0]
    assert loss(factor) <= min(loss(factor * 1.01), loss(factor / 1.01))


def test_likelihood_is_the_product_of_the_conditionals() -> None:
    """log p(w, z) built up token by token by the chain rule, seeds as prior counts."""
    chain = run_chain(iterations=2)
    state = chain.method.sync()
    state.seeds = Seeds.of([(2, 1, 4), (3, 0, 2)])
    documents, words, totals = np.zeros((state.n_documents, 5)), np.zeros((state.n_words, 5)), np.zeros(5)
    for w, k, c in zip(state.seeds.words, state.seeds.topics, state.seeds.counts):
        words[w, k] += c
        totals[k] += c
    expected = 0.0
    for d in range(state.n_documents):
        for n, i in enumerate(range(state.offsets[d], state.offsets[d + 1])):
            w, k = state.words[i], state.z[i]
            expected += np.log((documents[d, k] + state.alpha[0, k]) / (n + state.alpha.sum()))
            expected += np.log((words[w, k] + state.beta[w]) / (totals[k] + state.beta.sum()))
            documents[d, k] += 1
            words[w, k] += 1
            totals[k] += 1
    found = joint_log_likelihood(
        state.z,
        state.offsets,
        state.word_topics(),
        state.topic_totals(),
        state.alpha,
        state.groups,
        state.beta,
        state.seeds,
    )
    assert found == pytest.approx(expected / state.n_tokens, rel=1e-10)


def test_seed_words_steer_their_topic() -> None:
    """A true topic of the bars, named by its words, is learnt at the number that the seeds give it."""
    corpus = make("bars", seed=1)
    true = corpus.truth["topic_word"][0]
    seeds = [corpus.vocabulary[int(w)] for w in np.argsort(-true)[:5]]
    options = Options(topics=10, iterations=150, sampler="dense", alpha=1.0, beta=0.1)
    for topic in (2, 7):
        chain = Chain(initial_state(corpus, options, Priors({topic: seeds}, 100)), options, Threads(1))
        chain.run()
        chain.method.verify()  # type: ignore[attr-defined]
        z = chain.method.sync().z
        assert np.mean(z[corpus.truth["z"] == 0] == topic) > 0.5


def test_word_priors_and_bad_seeds_are_checked() -> None:
    corpus, options = lda_corpus(), Options(topics=5)
    assert initial_state(corpus, options, Priors(word_prior={"w001": 0.5})).beta[1] == 0.5
    for wrong in ({"seed_words": {0: ["unknown"]}}, {"seed_words": {9: ["w001"]}}, {"word_prior": {"w001": -1.0}}):
        with pytest.raises(InputError):
            initial_state(corpus, options, Priors(**wrong))  # type: ignore[arg-type]


def test_state_verify_finds_what_is_wrong() -> None:
    def broken(**changes: object) -> State:
        state = run_chain(iterations=1).method.sync()
        for name, value in changes.items():
            setattr(state, name, value)
        return state

    good = broken()
    good.verify()
    z = good.z.copy()
    z[0] = 5
    words = good.words.copy()
    words[0] = 60
    wrongs: list[dict[str, object]] = [
        {"z": z}, {"words": words}, {"offsets": good.offsets[:-1]}, {"offsets": good.offsets[::-1].copy()},
        {"alpha": -good.alpha}, {"beta": good.beta * np.nan}, {"groups": np.ones(good.n_documents, np.uint32)},
        {"seeds": Seeds.of([(60, 0, 1)])}, {"ids": good.ids[:3]},
    ]  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(InputError, match="not consistent"):
            broken(**wrong).verify()


@pytest.mark.parametrize(
    ("name", "value"),
    [("topics", 0), ("topics", 70_000), ("topics", 2.5), ("iterations", -1), ("alpha", 0.0), ("alpha", float("nan")),
     ("alpha", [0.1, 0.2]), ("beta", float("inf")), ("beta", -1.0), ("alpha_sum", 0.0), ("start", "big"),
     ("optimize", "gamma"),
     ("mh_steps", 0), ("partitions", -1), ("sampler", "best")],
)  # fmt: skip
def test_bad_options_are_named(name: str, value: object) -> None:
    settings: dict[str, object] = {"topics": 5, name: value}
    with pytest.raises(InputError, match=name):
        sampler_registry.choose_sampler(run_chain(iterations=0).state, Options(**settings))  # type: ignore[arg-type]


def test_first_topics_are_drawn_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in any number of threads, the first piece as one stream gives it, and no piece like another."""
    whole = random_streams.random_topics(5_000, 7, seed=3, chain=1)
    monkeypatch.setattr(random_streams, "PIECE", 1_000)
    pieces = random_streams.random_topics(5_000, 7, seed=3, chain=1)
    with Threads(3) as engine:
        assert np.array_equal(pieces, random_streams.random_topics(5_000, 7, 3, 1, engine.map))
    parts = pieces.reshape(5, -1)
    assert np.array_equal(parts[0], whole[:1_000])
    assert all((parts[i] == parts[j]).mean() < 0.25 for i in range(5) for j in range(i))
    counts = np.bincount(pieces, minlength=7)
    assert chisquare(counts).pvalue > 1e-4
