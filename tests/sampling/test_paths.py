"""Several paths over a corpus: the multipath target, exactly; runs, estimators, files and agreement of such states."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from tests import harness
from tests.conftest import Run as Topicx
from tests.conftest import lda_corpus
from tests.places import ROOT
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate import estimate, theta
from topicx.estimate.path_estimates import join_path_rows
from topicx.evaluate.diagnostics import topic_diagnostics
from topicx.evaluate.model_likelihood import joint_log_likelihood
from topicx.evaluate.path_agreement import measure_agreement
from topicx.run import Run
from topicx.sampling import sampler_registry
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import State

EXACT = ("sparse", "dense", "light", "alias", "tree", "partial")
ABLE = (*EXACT, "warp")
DOCS, ALPHA, BETA = [[0, 1], [0, 2]], [0.3, 0.9], [0.5, 0.3, 0.8]
GEWEKE = ("sparse", "partial", "light")


def test_these_samplers_can() -> None:
    assert {entry.name for entry in sampler_registry.able_samplers({sampler_registry.PATHS})} == set(ABLE)


# -- exactness -------------------------------------------------------------------------------------------------------


def target(state: State) -> tuple[np.ndarray, np.ndarray]:
    """All assignments of both paths and their probabilities: P(φ) Π_m P(p^m, w | φ) with φ and θ integrated out."""
    from scipy.special import gammaln

    K, N = state.n_topics, state.n_tokens
    z = np.array(list(product(range(K), repeat=2 * N)), np.uint16)
    log_p = np.zeros(len(z))
    alpha = state.alpha[0]
    for row, both in enumerate(z):
        for path in (both[:N], both[N:]):
            for d in range(state.n_documents):
                n = np.bincount(path[state.offsets[d] : state.offsets[d + 1]], minlength=K)
                log_p[row] += gammaln(alpha + n).sum() - gammaln(alpha.sum() + n.sum())
        pooled = np.zeros((K, state.n_words))
        np.add.at(pooled, (both, np.tile(state.words, 2)), 1)
        log_p[row] += gammaln(state.beta + pooled).sum() - gammaln(state.beta.sum() + pooled.sum(axis=1)).sum()
    p = np.exp(log_p - log_p.max())
    return z, p / p.sum()


@pytest.mark.parametrize("name", EXACT)
def test_a_sweep_leaves_the_target_of_two_paths_as_it_is(name: str) -> None:
    state = harness.make_state(DOCS, ALPHA, BETA)
    assignments, p = target(state)
    state.paths = 2
    method = harness.make_method(name, state, seed=3)
    code = 1 << np.arange(2 * state.n_tokens)[::-1]
    observed, moved, replicates = np.zeros(len(p), np.int64), 0, 5000
    for step, draw in enumerate(np.random.default_rng(1).choice(len(p), replicates, p=p)):
        state.z = assignments[draw].copy()
        method.start(random=True)
        method.sweep(step)
        result = int(method.sync().z @ code)
        observed[result] += 1
        moved += result != draw
    assert moved > replicates / 10
    assert harness.chi_square_p(observed, replicates * p) > harness.LEVEL / (2 * len(EXACT))


@pytest.mark.parametrize("name", EXACT)
def test_a_chain_reaches_the_target_of_two_paths(name: str) -> None:
    state = harness.make_state(DOCS, ALPHA, BETA)
    _, p = target(state)
    state.paths, state.z = 2, np.full(8, harness.NONE, np.uint16)
    method = harness.make_method(name, state, seed=5)
    method.start(random=False)
    code = 1 << np.arange(8)[::-1]
    observed = np.zeros(len(p), np.int64)
    for step in range(1500 * 12):
        method.sweep(step)
        if step % 12 == 11:
            observed[int(method.sync().z @ code)] += 1
    assert harness.chi_square_p(observed, 1500 * p) > harness.LEVEL / (2 * len(EXACT))


def draw_two_paths(random: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Words, and topics of two paths, from the multipath model: φ and θ are drawn, both paths make words, and what
    counts are the draws where both have made the same. Three documents of 3, 1 and 2 tokens."""
    document = np.array([0, 0, 0, 1, 2, 2])
    words, topics = [], []
    while sum(map(len, words)) < number:
        size = 50_000
        phi = random.dirichlet(GEWEKE_BETA, (size, 3))
        shares = random.dirichlet(GEWEKE_ALPHA, (size, 2, 3))[:, :, document]
        z = (random.random((size, 2, 6, 1)) > shares.cumsum(axis=-1)[..., :-1]).sum(axis=-1)
        rows = phi[np.arange(size)[:, None, None], z]
        w = (random.random((size, 2, 6, 1)) > rows.cumsum(axis=-1)[..., :-1]).sum(axis=-1)
        same = (w[:, 0] == w[:, 1]).all(axis=1)
        words.append(w[same, 0])
        topics.append(z[same])
    return np.concatenate(words)[:number], np.concatenate(topics)[:number]


GEWEKE_ALPHA, GEWEKE_BETA = [0.3, 0.7, 0.4], [0.4, 0.7]


@pytest.mark.parametrize("name", GEWEKE)
def test_geweke_for_two_paths(name: str) -> None:
    replicates = 1500
    words, topics = draw_two_paths(np.random.default_rng(11), replicates)

    def figures(w: np.ndarray, z: np.ndarray) -> list[float]:
        pooled = np.zeros((3, 2))
        np.add.at(pooled, (z, np.tile(w, (2, 1))), 1)
        first = np.stack([np.bincount(path[:3], minlength=3) for path in z])
        return [
            (pooled**2).sum(), pooled[0, 0], pooled[2, 1], (pooled.sum(axis=1) ** 2).sum(), (first**2).sum(),
            (z[0] == z[1]).sum(), (z[0][:3] == z[1][:3]).sum(), pooled[1].sum(),
        ]  # fmt: skip

    before, after = [], []
    for number, (w, z) in enumerate(zip(words, topics, strict=True)):
        state = harness.make_state([w[:3].tolist(), w[3:4].tolist(), w[4:].tolist()], GEWEKE_ALPHA, GEWEKE_BETA)
        state.paths, state.z = 2, z.reshape(-1).astype(np.uint16)
        method = harness.make_method(name, state, seed=number)
        method.start(random=True)
        for step in range(2):
            method.sweep(step)
        before.append(figures(w, z))
        after.append(figures(w, method.sync().z.reshape(2, -1).astype(np.int64)))
    difference = np.array(after) - np.array(before)
    t = difference.mean(axis=0) / (difference.std(axis=0, ddof=1) / np.sqrt(replicates))
    p = 2 * stats.t.sf(np.abs(t), replicates - 1)
    assert p.min() * len(p) > harness.LEVEL / len(GEWEKE)


# -- runs ------------------------------------------------------------------------------------------------------------


def settings(name: str, **further: object) -> Options:
    usual = {"topics": 5, "iterations": 12, "trace_interval": 4, "optimize_interval": 3, "optimize_burn_in": 2}
    return Options(sampler=name, **usual | further)  # type: ignore[arg-type]


def repeated(corpus: Corpus, times: int) -> Corpus:
    return corpus.select(np.tile(np.arange(corpus.n_documents), times))


@pytest.mark.parametrize("name", ABLE)
def test_a_run_of_paths_is_a_run_of_the_corpus_repeated(name: str) -> None:
    """Assignments, learnt priors, objective and φ have the same bits; θ is the mean of the repetitions'."""
    corpus = lda_corpus()
    many = Run.start(repeated(corpus, 3), settings(name, samples=2, lag=3), Threads(2)).train()
    paths = Run.start(corpus, settings(name, samples=2, lag=3, paths=3), Threads(1)).train()
    model, expected = paths.result(phi="cgs"), many.result(phi="cgs")
    assert np.array_equal(model.state.z, expected.state.z)
    assert model.state.paths == model.model.meta["paths"] == 3
    for name in ("alpha", "beta", "indptr", "topics", "values"):
        assert np.array_equal(getattr(model.model, name), getattr(expected.model, name)), name
    assert np.array_equal(model.model.trace["score"], expected.model.trace["score"])
    ours, theirs = (np.concatenate([rows for _, rows in run.theta_rows()]) for run in (paths, many))
    np.testing.assert_allclose(ours, theirs.reshape(3, corpus.n_documents, -1).mean(axis=0), rtol=1e-9)
    assert np.isclose(joint_log_likelihood(model.state), expected.model.trace["score"][-1], rtol=1e-12)


def test_collections_have_paths(tmp_path: Path) -> None:
    from topicx.datasets import make

    corpus = make("compound-drawn", 3, documents=30)
    chosen = {"model": "compound", "topics": 4, "iterations": 20, "sampler": "sparse"}
    many = Run.start(repeated(corpus, 2), Options(**chosen), Threads(1)).train()  # type: ignore[arg-type]
    paths = Run.start(corpus, Options(**chosen, paths=2), Threads(1)).train()  # type: ignore[arg-type]
    model, expected = paths.result(), many.result()
    assert np.array_equal(model.state.z, expected.state.z)
    assert np.array_equal(model.model.alpha, expected.model.alpha)


@pytest.mark.parametrize("start", ["random", "growing"])
@pytest.mark.parametrize("name", ABLE)
def test_an_interrupted_run_of_paths_ends_in_the_same_bits(name: str, start: str, tmp_path: Path) -> None:
    options = settings(name, paths=3, start=start, samples=2, lag=5, iterations=9)
    if name not in ("partial", "warp"):
        options = settings(name, paths=3, start=start, samples=2, lag=5, iterations=9, partitions=2)
    corpus = lda_corpus(40)
    whole = Run.start(corpus, options, Threads(1)).train().result()
    run = Run.start(corpus, options, Threads(2))
    place = str(tmp_path / "checkpoint")
    for share in (0.3, 0.8):
        asked = iter(range(run.chain.position + 1, len(run.chain.steps) + 1))
        until = share * len(run.chain.steps)
        with pytest.raises(Interrupted):
            run.train(checkpoints=Checkpoints(place), stop=lambda asked=asked, until=until: next(asked) >= until)
        run = Run.resume(place, Threads(2))
    assert run.chain.position < len(run.chain.steps)
    again = run.train().result()
    assert np.array_equal(again.state.z, whole.state.z)
    assert again.state.paths == 3
    for array in ("alpha", "beta", "values"):
        assert np.array_equal(getattr(again.model, array), getattr(whole.model, array)), array


def test_a_run_goes_on_from_a_state_with_paths() -> None:
    state = trained()
    run = Run.from_state(state, Options(topics=5, iterations=2), Threads(1))
    assert run.options.paths == 3
    assert run.next(1).train().result().state.paths == 3
    with pytest.raises(InputError, match="paths: 2"):
        Run.from_state(state, Options(topics=5, iterations=2, paths=2), Threads(1))
    with pytest.raises(InputError, match=r"paths: cvb0 has one assignment"):
        Run.from_state(state, Options(topics=5, iterations=2, sampler="cvb0"), Threads(1))


@pytest.mark.parametrize("model", ["hdp", "labeled", "medlda"])
def test_models_without_paths_say_so(model: str) -> None:
    with pytest.raises(InputError, match=f"paths: .*model {model}"):
        Run.start(lda_corpus(20), Options(model=model, paths=2, iterations=2), Threads(1))


# -- states and estimators -------------------------------------------------------------------------------------------


def trained(**further: object) -> State:
    options = Options(**{"topics": 5, "iterations": 20, "paths": 3} | further)  # type: ignore[arg-type]
    return Run.start(lda_corpus(50, 20), options, Threads(1)).train().result().state


def dense(csr: tuple[np.ndarray, ...], columns: int) -> np.ndarray:
    from topicx.evaluate.predictive import dense_rows

    return dense_rows(csr, columns)  # type: ignore[arg-type]


def test_counts_and_files_of_a_state_with_paths(tmp_path: Path) -> None:
    state = trained()
    state.verify()
    each = [state.path(number) for number in range(3)]
    assert np.array_equal(np.concatenate([one.z for one in each]), state.z)
    for what in ("document_topics", "word_topics"):
        pooled = dense(getattr(state, what)(), 5)
        assert np.array_equal(pooled, sum(dense(getattr(one, what)(), 5) for one in each)), what
    spread = state.spread()
    spread.verify()
    assert spread.n_documents == 150
    rows = dense(spread.document_topics(), 5)
    assert np.array_equal(rows[1::3], dense(each[1].document_topics(), 5))
    assert np.array_equal(spread.topic_totals(), state.topic_totals())
    state.save(tmp_path / "a.state")
    again = State.load(tmp_path / "a.state")
    assert again.paths == 3
    assert np.array_equal(again.z, state.z)
    assert [row["tokens"] for row in topic_diagnostics(None, state)] == state.topic_totals().tolist()
    assert sum(one.n_tokens for one in each) == state.topic_totals().sum()
    for number in (-1, 3):
        with pytest.raises(InputError, match="path: "):
            state.path(number)
        with pytest.raises(InputError, match="path: "):
            theta(state, path=number)


@pytest.mark.parametrize("estimator", ["cgs", "cgsp"])
def test_estimators_take_all_paths(estimator: str) -> None:
    """φ of the pooled counts; θ the average of the paths', each with its own document counts."""
    state = trained()
    model = estimate(state, theta=estimator, phi=estimator, threads=1)
    corpus = repeated(Corpus(state.words, state.offsets, state.vocabulary, state.ids), 3)
    alike = harness.make_state([[0]], state.alpha, state.beta)
    alike.words, alike.offsets, alike.z, alike.ids = corpus.words, corpus.offsets, state.z, corpus.ids
    expected = estimate(alike, theta=estimator, phi=estimator, threads=1)
    np.testing.assert_allclose(model.topic_word, expected.topic_word, rtol=1e-9)
    rows = theta(alike, estimator).reshape(3, 50, 5)
    np.testing.assert_allclose(theta(state, estimator), rows.mean(axis=0), rtol=1e-9)
    for number in range(3):
        np.testing.assert_allclose(theta(state, estimator, path=number), rows[number], rtol=1e-9)
    counts = sum(dense(state.path(number).document_topics(), 5) for number in range(3)) / 3
    shares = (counts + state.alpha) / (counts + state.alpha).sum(axis=1, keepdims=True)
    for k in range(5):
        known = model.example_documents[k] >= 0
        np.testing.assert_allclose(model.example_weights[k][known], shares[model.example_documents[k][known], k])


@pytest.mark.parametrize("batch", [1, 2, 3, 4, 7, 30])
def test_rows_are_joined_whatever_the_batches(batch: int) -> None:
    rows = np.random.default_rng(1).random((30, 4))
    parts = [(begin, rows[begin : begin + batch]) for begin in range(0, 30, batch)]
    found = list(join_path_rows(parts, 3))
    assert [begin for begin, _ in found] == np.cumsum([0, *(len(r) for _, r in found)])[:-1].tolist()
    np.testing.assert_allclose(np.concatenate([r for _, r in found]), rows.reshape(10, 3, 4).mean(axis=1))
    assert np.array_equal(np.concatenate([r for _, r in join_path_rows(parts, 3, 2)]), rows[2::3])


def test_agreement_counts_pairs() -> None:
    state = trained(iterations=5)
    found = measure_agreement(state)
    z = state.z.reshape(3, -1)
    for i in range(state.n_tokens):
        assert np.isclose(found.tokens[i], np.mean([a[i] == b[i] for a, b in combinations(z, 2)]))
    assert np.array_equal(np.isnan(found.documents), state.lengths == 0)
    for d in np.flatnonzero(state.lengths):
        assert np.isclose(found.documents[d], found.tokens[state.offsets[d] : state.offsets[d + 1]].mean())
    for k in range(5):
        others = [z[b, i] == k for a in range(3) for i in np.flatnonzero(z[a] == k) for b in range(3) if b != a]
        assert np.isclose(found.topics[k], np.mean(others))
    assert np.isclose(found.mean, found.tokens.mean())
    assert np.isclose(found.unanimous, np.mean((z == z[0]).all(axis=0)))
    assert 0.2 < found.mean < 1
    state.z = np.tile(z[0], 3)
    assert (measure_agreement(state).mean, measure_agreement(state).unanimous) == (1, 1)
    with pytest.raises(InputError, match="one path"):
        measure_agreement(state.path(0))


# -- the command line ------------------------------------------------------------------------------------------------


def test_paths_of_the_command_line(topicx: Topicx, tmp_path: Path) -> None:
    def told(*arguments: object) -> str:
        done = topicx(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    told("datasets", "make", "bands", "--documents", 200, "-o", "a.corpus", "-q")
    told("train", "a.corpus", "-k", 10, "--paths", 3, "--iterations", 15, "-o", "a.model", "--state", "a.state",
         "--doc-topics", "a.npz", "-q")  # fmt: skip
    assert json.loads(told("info", "a.state", "--json"))["meta"]["paths"] == 3
    state = State.load(tmp_path / "a.state")
    written = np.load(tmp_path / "a.npz")
    np.testing.assert_allclose(written["theta"], theta(state), atol=1e-6)
    found = json.loads(told("evaluate", "a.model", "a.state", "-m", "agreement", "--top", 4, "--json"))["agreement"]
    known = measure_agreement(state)
    assert np.isclose(found["mean"], known.mean)
    assert np.allclose([row["agreement"] for row in found["documents"]], known.documents)
    assert np.allclose([row["agreement"] for row in found["topics"]], known.topics)
    assert {len(row["words"]) for row in found["topics"]} == {4}
    assert "of 3 paths" in told("evaluate", "a.model", "a.state", "-m", "agreement")
    told("export", "a.state", "--format", "mallet-state", "--path", 2, "-o", "second.gz", "-q")
    told("estimate", "second.gz", "-o", "second.model", "-q")
    told("export", "a.model", "--state", "a.state", "--format", "warplda", "--path", 3, "-o", "third", "-q")
    told("train", "--init-state", "a.state", "--iterations", 2, "-o", "b.model", "--state", "b.state", "-q")
    assert State.load(tmp_path / "b.state").paths == 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["export", "a.state", "--format", "mallet-state", "-o", "x"], "--path"),
        (["export", "a.state", "--format", "mallet-topic-docs", "-o", "x"], "--path"),
        (["export", "a.state", "--format", "mallet-word-topic-counts", "-o", "x"], "--path"),
        (["export", "a.state", "--format", "warplda", "-o", "x"], "--path"),
        (["export", "a.state", "--format", "warplda", "--path", "3", "-o", "x"], "no path 3"),
        (["export", "a.model", "--format", "mallet-topic-keys", "--path", "1", "-o", "x"], "--path"),
        (["evaluate", "a.model", "one.state", "-m", "agreement"], "one path"),
        (["evaluate", "a.model", "a.corpus", "-m", "agreement"], "give a state"),
        (["train", "a.corpus", "-k", "3", "--sampler", "cvb0", "--paths", "2", "-o", "x"], "--paths"),
        (["train", "a.corpus", "-k", "3", "--model", "hdp", "--paths", "2", "-o", "x"], "--paths"),
        (["train", "--init-state", "a.state", "--paths", "3", "-o", "x"], "--paths"),
    ],
)
def test_what_paths_cannot_is_refused_in_a_line(
    arguments: list[str], named: str, topicx: Topicx, tmp_path: Path
) -> None:
    state = Run.start(lda_corpus(20, 10, 20), Options(topics=3, iterations=2, paths=2), Threads(1)).train().result()
    state.state.save(tmp_path / "a.state")
    state.state.path(1).save(tmp_path / "one.state")
    state.model.save(tmp_path / "a.model")
    lda_corpus(20, 10, 20).save(tmp_path / "a.corpus")
    done = topicx(*arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert done.stderr.strip().count("\n") == 0
    assert not (tmp_path / "x").exists()


def test_the_papers_script_runs(tmp_path: Path) -> None:
    """benchmarks/papers/multipath_lda.py --quick; again, the finished runs are found."""
    script = ROOT / "benchmarks" / "papers" / "multipath_lda.py"
    command = [sys.executable, str(script), "--quick", "--part", "table", "--independent", "--out", str(tmp_path)]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert "5 paths" in first and "best of 5 chains" in first
    assert " s\n" in first and " s\n" not in second
    assert json.loads((tmp_path / "results-quick.json").read_text())["table"]["500"].keys() == {
        "1",
        "2",
        "3",
        "5",
        "best",
    }
