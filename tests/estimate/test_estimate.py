"""The estimators against Algorithm 1 as it is printed, against exact enumeration, and as a command."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import gammaln

from tests import foreign, harness
from tests.conftest import Run
from tests.places import ROOT
from tests.twins import cgsp as twin
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate import Conditionals, averaging, cgs_counts, cgsp_counts, estimate, theta
from topicx.estimate.averaging import average_models, topic_orders
from topicx.estimate.topic_alignment import align_topics, topic_distances
from topicx.model import Model
from topicx.predict.documents import Documents
from topicx.predict.inference import Inference
from topicx.state import NONE, Seeds, State
from topicx.strings import Strings


def random_state(
    seed: int, *, documents: int = 12, words: int = 40, topics: int = 7, length: int = 60, groups: int = 1,
    alpha: float = 0.1, beta: float = 0.01, seeds: bool = False, unplaced: float = 0.0, sticky: bool = True,
) -> State:  # fmt: skip
    """Asymmetric priors, empty documents, rare and frequent words; topics that follow the words if `sticky`."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, length, documents))]).astype(np.int64)
    tokens = (rng.zipf(1.3, offsets[-1]) % words).astype(np.uint32)
    z = rng.integers(0, topics, len(tokens))
    if sticky:
        z = (tokens + rng.integers(0, 2, len(tokens))) % topics
    z = z.astype(np.uint16)
    z[rng.random(len(z)) < unplaced] = NONE
    return State(
        tokens, offsets, z,
        alpha * rng.gamma(1, 1, (groups, topics)) + 1e-12, beta * rng.gamma(1, 1, words) + 1e-12,
        Strings.of(f"w{i}" for i in range(words)), Strings.of(f"d{i}" for i in range(documents)),
        groups=rng.integers(0, groups, documents).astype(np.uint32) if groups > 1 else np.zeros(0, np.uint32),
        seeds=Seeds.of([(1, 0, 5), (2, topics - 1, 3)]) if seeds else Seeds(),
    )  # fmt: skip


# -- Algorithm 1 ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6), documents=st.integers(1, 20), words=st.integers(3, 60),
    topics=st.sampled_from([1, 2, 7, 16, 50, 130]), groups=st.sampled_from([1, 3, 30]), seeds=st.booleans(),
    unplaced=st.sampled_from([0.0, 0.1]), sticky=st.booleans(), alpha=st.integers(-8, 1), beta=st.integers(-8, 1),
)  # fmt: skip
def test_both_estimators_are_algorithm_1(seed: int, alpha: int, beta: int, **shape: int) -> None:
    state = random_state(seed, alpha=10.0**alpha, beta=10.0**beta, **shape)  # type: ignore[arg-type]
    state.verify()
    documents, words = twin.soft_counts(state)
    soft = Conditionals(state, threads=2)
    got = np.concatenate([rows for _, rows in soft.documents(proportions=False)])
    assert np.allclose(got, documents, rtol=0, atol=1e-10)
    counts = soft.words()
    assert np.allclose(counts.values.reshape(words.shape), words, rtol=0, atol=1e-10)
    assert np.allclose(theta(state), twin.theta(state), rtol=0, atol=1e-10)
    # The digits of a count, over a topic that has little but its prior.
    close = 1e-10 + 1e-15 / float(state.beta.sum())
    assert np.allclose(estimate(state).topic_word, twin.phi(state), rtol=0, atol=close)


def test_a_token_that_carries_all_the_weight() -> None:
    """One word, once, under tiny priors: leaving it out leaves next to nothing, and the digits must stay."""
    state = State(
        np.array([0, 1, 1, 1], np.uint32), np.array([0, 1, 4], np.int64), np.array([0, 1, 1, 1], np.uint16),
        np.full((1, 3), 1e-9), np.full(2, 1e-9), Strings.of("ab"), Strings.of("01"),
    )  # fmt: skip
    assert np.allclose(theta(state), twin.theta(state), rtol=1e-9, atol=0)
    assert np.allclose(estimate(state).topic_word, twin.phi(state), rtol=1e-9, atol=0)


def test_the_standard_estimators() -> None:
    state = random_state(1, groups=3, seeds=True)
    n_dk = np.zeros((state.n_documents, state.n_topics))
    n_wk = np.zeros((state.n_words, state.n_topics))
    np.add.at(n_dk, (np.repeat(np.arange(state.n_documents), state.lengths), state.z), 1)
    np.add.at(n_wk, (state.words, state.z), 1)
    np.add.at(n_wk, (state.seeds.words, state.seeds.topics), state.seeds.counts)
    want = n_dk + state.alpha[state.groups]
    assert np.allclose(theta(state, "cgs"), want / want.sum(axis=1, keepdims=True))
    model = estimate(state, theta="cgs", phi="cgs")
    want = n_wk + state.beta[:, None]
    assert np.allclose(model.topic_word, (want / want.sum(axis=0)).T)
    assert model.values.dtype == np.int64


@pytest.mark.parametrize("topics", [5, 64, 300])
def test_threads_and_limits_do_not_matter(topics: int) -> None:
    state = random_state(4, documents=80, words=200, topics=topics, length=90, groups=4)
    one, three = (estimate(state, threads=threads) for threads in (1, 3))
    assert one.values.tobytes() == three.values.tobytes()
    assert theta(state, threads=1).tobytes() == theta(state, threads=3).tobytes()
    few = [estimate(state, threads=threads, max_entries=one.values.size // 5) for threads in (1, 3)]
    for name in ("indptr", "topics", "values", "remainder", "remainder_share"):
        assert getattr(few[0], name).tobytes() == getattr(few[1], name).tobytes()
    assert len(few[0].values) <= one.values.size // 5
    assert np.allclose(few[0].totals, one.totals)
    dense = one.values.reshape(state.n_words, topics)
    kept = few[0].counts().toarray()
    assert np.array_equal(kept[kept > 0], dense[kept > 0])
    assert kept[kept > 0].min() > dense[kept == 0].max()
    assert np.allclose(few[0].remainder, dense.sum(axis=1) - kept.sum(axis=1))


def test_theta_comes_in_batches_of_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:

    state = random_state(5, documents=30)
    whole = {name: theta(state, name) for name in ("cgs", "cgsp")}
    monkeypatch.setattr(cgs_counts, "_BATCH", 25)
    monkeypatch.setattr(cgsp_counts, "_BATCH", 50)
    for name in whole:
        assert theta(state, name).tobytes() == whole[name].tobytes()


def test_a_state_without_tokens_and_wrong_names() -> None:
    state = State(
        np.zeros(0, np.uint32), np.zeros(3, np.int64), np.zeros(0, np.uint16), np.array([[1.0, 3.0]]), np.ones(2),
        Strings.of("ab"), Strings.of("01"),
    )  # fmt: skip
    assert np.allclose(theta(state), [[0.25, 0.75]] * 2)
    assert np.allclose(estimate(state).topic_word, 0.5)
    with pytest.raises(InputError, match="phi: 'best' is not an estimator"):
        estimate(state, phi="best")
    with pytest.raises(InputError, match="max_entries: 0"):
        estimate(state, max_entries=0)


# -- what the estimators estimate ----------------------------------------------------------------------------------


def _all_states() -> tuple[State, NDArray[np.float64], list[State]]:
    """A corpus of 9 tokens, all 2^9 assignments of 2 topics, and the posterior probability of each."""
    words = np.array([0, 0, 1, 2, 0, 1, 1, 2, 2], np.uint32)
    offsets = np.array([0, 4, 9], np.int64)
    alpha, beta = np.array([[0.3, 0.9]]), np.array([0.2, 0.5, 0.1])
    states, logs = [], []
    for z in itertools.product((0, 1), repeat=9):
        state = State(words, offsets, np.array(z, np.uint16), alpha, beta, Strings.of("abc"), Strings.of("01"))
        n_dk, n_wk = np.zeros((2, 2)), np.zeros((3, 2))
        np.add.at(n_dk, (np.repeat([0, 1], [4, 5]), state.z), 1)
        np.add.at(n_wk, (words, state.z), 1)
        logs.append(
            gammaln(n_dk + alpha).sum() + gammaln(n_wk + beta[:, None]).sum()
            - gammaln(n_wk.sum(axis=0) + beta.sum()).sum()
        )  # fmt: skip
        states.append(state)
    p = np.exp(np.array(logs) - max(logs))
    return states[0], p / p.sum(), states


def test_theta_p_is_unbiased_and_varies_less() -> None:
    """Over the exact posterior θ^p has the mean of θ (eq. 34-39) and a smaller variance; so has the soft n_kw."""
    _, p, states = _all_states()
    for hard, soft in (
        (np.array([theta(s, "cgs") for s in states]), np.array([theta(s, "cgsp") for s in states])),
        (np.array([estimate(s, phi="cgs", examples=0).counts().toarray() for s in states]),
         np.array([estimate(s, phi="cgsp", examples=0).counts().toarray() for s in states])),
    ):  # fmt: skip
        means = [np.tensordot(p, values, 1) for values in (hard, soft)]
        assert np.allclose(means[0], means[1], atol=1e-12)
        variances = [np.tensordot(p, (values - means[0]) ** 2, 1) for values in (hard, soft)]
        assert np.all(variances[1] < 0.8 * variances[0])


def test_a_long_chain_has_the_exact_mean() -> None:
    """The average of θ^p over a Gibbs chain equals the exact posterior mean within its error."""
    state, p, states = _all_states()
    index = {s.z.tobytes(): at for at, s in enumerate(states)}
    rows = {name: np.array([theta(s, name) for s in states]) for name in ("cgs", "cgsp")}
    exact = np.tensordot(p, rows["cgs"], 1)
    rng = np.random.default_rng(3)
    documents = np.repeat([0, 1], [4, 5])
    z = state.z.copy()
    visited = []
    for _ in range(6000):
        for i in range(9):
            n_dk, n_wk = np.zeros((2, 2)), np.zeros((3, 2))
            others = np.arange(9) != i
            np.add.at(n_dk, (documents[others], z[others]), 1)
            np.add.at(n_wk, (state.words[others], z[others]), 1)
            q = (n_dk[documents[i]] + state.alpha[0]) * (n_wk[state.words[i]] + state.beta[state.words[i]])
            q /= n_wk.sum(axis=0) + state.beta.sum()
            z[i] = rng.random() * q.sum() > q[0]
        visited.append(index[z.tobytes()])
    errors = {}
    for name, values in rows.items():
        chain = values[visited].reshape(60, 100, 2, 2).mean(axis=1)  # batch means, for chains are correlated
        errors[name] = chain.std(axis=0, ddof=1) / np.sqrt(60)
        assert np.all(np.abs(chain.mean(axis=0) - exact) < 4.5 * errors[name])
    assert np.all(errors["cgsp"] < errors["cgs"])


def test_hard_and_soft_counts_come_nearer_as_the_chain_converges() -> None:
    """Appendix A, eq. 60: the mean absolute difference falls with the sweeps, and does not vanish."""
    from tests.conftest import lda_corpus
    from topicx.classes.lda_class import LDA

    corpus = lda_corpus(documents=150, length=60)
    gaps = []
    for iterations in (1, 60):
        state = LDA(topics=6, iterations=iterations, seed=2, start="random").fit(corpus).state
        soft = np.concatenate([rows for _, rows in Conditionals(state).documents(proportions=False)])
        indptr, topics, counts = state.document_topics()
        soft[np.repeat(np.arange(state.n_documents), np.diff(indptr)), topics] -= counts
        gaps.append(np.abs(soft).sum() / state.n_documents)
    assert 0.5 < gaps[1] < gaps[0]


def test_the_approximation_of_phi_p_improves_with_the_corpus() -> None:
    """Appendix C, eq. 63: E[count/total] over neighbours of z against E[count]/total, by all single-token changes."""
    errors = []
    for documents in (4, 16, 64):
        state = random_state(9, documents=documents, words=15, topics=3, alpha=0.5, beta=0.5)
        v, k = state.n_words, state.n_topics
        n_wk = np.zeros((v, k))
        np.add.at(n_wk, (state.words, state.z), 1)
        n_dk = np.zeros((documents, k))
        of = np.repeat(np.arange(documents), state.lengths)
        np.add.at(n_dk, (of, state.z), 1)
        a, b = np.zeros((v, k)), np.zeros((v, k))
        for d, w, t in zip(of, state.words, state.z):
            own = np.arange(k) == t
            p = (n_dk[d] - own + state.alpha[0]) * (n_wk[w] - own + state.beta[w])
            p /= n_wk.sum(axis=0) - own + state.beta.sum()
            for new, share in enumerate(p / p.sum()):
                neighbour = n_wk.copy()
                neighbour[w, t] -= 1
                neighbour[w, new] += 1
                a += share * (neighbour + state.beta[:, None]) / (neighbour.sum(axis=0) + state.beta.sum())
                b += share * (neighbour + state.beta[:, None]) / (n_wk.sum(axis=0) + state.beta.sum())
        errors.append(np.abs(a - b).sum() / state.n_tokens / k)
    assert errors[0] > 1.5 * errors[1] > 4 * errors[2]


# -- alignment and averages ----------------------------------------------------------------------------------------


def _renumbered(state: State, order: NDArray[np.int64]) -> State:
    """The same state with topic order[k] called k."""
    back = np.argsort(order).astype(np.uint16)
    return State(
        state.words, state.offsets, back[state.z], state.alpha[:, order], state.beta, state.vocabulary, state.ids
    )


def test_topics_are_found_again() -> None:
    state = random_state(6, documents=40, topics=6)
    order = np.array([3, 0, 5, 1, 4, 2])
    model, other = estimate(state), estimate(_renumbered(state, order))
    pairs = align_topics(model, other)
    assert [pair.b for pair in pairs] == np.argsort(order).tolist()
    assert all(pair.distance is not None and pair.distance < 1e-6 for pair in pairs)
    few = estimate(random_state(7, topics=4))
    pairs = align_topics(model, few)
    assert [pair.a for pair in pairs] == list(range(6))
    assert sorted(pair.b for pair in pairs if pair.b is not None) == [0, 1, 2, 3]
    assert sum(pair.distance is None for pair in pairs) == 2
    assert len(align_topics(few, model)) == 6


def test_distances_use_the_common_words_only() -> None:
    def model(words: str, counts: list[list[float]]) -> Model:
        values = np.array(counts)
        v, k = values.shape
        return Model(
            Strings.of(words), np.ones((1, k)), np.full(v, 1e-12), np.arange(v + 1) * k,
            np.tile(np.arange(k, dtype=np.uint16), v), values.ravel(),
        )  # fmt: skip

    a = model("abx", [[1, 0], [0, 1], [7, 3]])
    b = model("yba", [[5, 5], [0, 2], [4, 0]])
    assert np.allclose(topic_distances(a, b), [[0, 1], [1, 0]], atol=1e-4)
    with pytest.raises(InputError, match="no word in common"):
        align_topics(a, model("pq", [[1, 1], [1, 1]]))


def test_averages_are_refused_where_topics_do_not_match() -> None:
    state = random_state(6, documents=40, topics=6)
    order = np.array([3, 0, 5, 1, 4, 2])
    models = [estimate(state), estimate(_renumbered(state, order))]
    with pytest.raises(InputError, match="do not number their topics alike"):
        topic_orders(models)
    mean = average_models(models, topic_orders(models, align=True))
    assert np.allclose(mean.topic_word, models[0].topic_word)
    assert np.allclose(mean.alpha, models[0].alpha)
    same = average_models([models[0]] * 3, topic_orders([models[0]] * 3))
    assert np.allclose(same.topic_word, models[0].topic_word)
    few = [estimate(state, max_entries=60)] * 2
    assert np.allclose(average_models(few, topic_orders(few)).topic_word, few[0].topic_word)
    for at, model in enumerate(models):
        model.meta |= {"seed": at, "options": {}}
    with pytest.raises(InputError, match="different chains"):
        topic_orders(models)
    with pytest.raises(InputError, match="4 topics"):
        topic_orders([models[0], estimate(random_state(6, topics=4))])
    with pytest.raises(InputError, match="vocabularies"):
        topic_orders([models[0], estimate(random_state(6, topics=6, words=41))])


# -- the command ---------------------------------------------------------------------------------------------------


def test_estimate_command(topicx: Run, tmp_path: Path) -> None:
    state = random_state(8, documents=20)
    state.save(tmp_path / "a.state")
    done = topicx("estimate", "a.state", "-o", "a.model", "--doc-topics", "theta.npz", "--json")
    assert done.returncode == 0, done.stderr
    about = json.loads(done.stdout)
    assert about["estimator"] == {"theta": "cgsp", "phi": "cgsp"}
    model = Model.load(tmp_path / "a.model")
    assert np.array_equal(model.topic_word, estimate(state).topic_word)
    assert model.parents == {"state": state.digest}
    with np.load(tmp_path / "theta.npz") as arrays:
        assert np.allclose(arrays["theta"], theta(state), atol=1e-6)
        assert arrays["ids"].tolist() == list(state.ids)
    done = topicx("estimate", "a.state", "-o", "b.model", "--theta", "cgs", "--phi", "cgs", "--doc-topics", "theta.tsv")
    header, *rows = [line.split("\t") for line in (tmp_path / "theta.tsv").read_text().splitlines()]
    assert header[:4] == ["id", "tokens", "unknown", "topic_0"]
    assert [row[0] for row in rows] == list(state.ids)
    assert np.allclose([[float(x) for x in row[3:]] for row in rows], theta(state, "cgs"), atol=1e-6)
    done = topicx("estimate", "a.state", "-o", "c.model", "--phi-entries", "100")
    assert "of the mass" in done.stderr
    assert len(Model.load(tmp_path / "c.model").values) <= 100


def test_several_states(topicx: Run, tmp_path: Path) -> None:
    state = random_state(6, documents=40, topics=6)
    order = np.array([3, 0, 5, 1, 4, 2])
    state.save(tmp_path / "a.state")
    _renumbered(state, order).save(tmp_path / "b.state")
    done = topicx("estimate", "a.state", "b.state", "-o", "m.model")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "--align" in done.stderr
    done = topicx("estimate", "a.state", "b.state", "--align", "-o", "m.model", "--doc-topics", "t.npz")
    assert done.returncode == 0, done.stderr
    assert np.allclose(Model.load(tmp_path / "m.model").topic_word, estimate(state).topic_word)
    assert np.allclose(np.load(tmp_path / "t.npz")["theta"], theta(state), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["nothing", "-o", "m"], "nothing: is not there"),
        (["a.state", "-o", "a.state"], "a.state: is an input, too"),
        (["a.state", "-o", "m", "--alpha", "0.5"], "--alpha, --beta and --topics are for LightLDA"),
        (["a.state", "-o", "m", "--corpus", "c"], "--corpus: is for LightLDA's count dumps"),
        (["a.state", "-o", "m", "--phi", "map"], "'map' is not one of"),
        (["text", "-o", "m"], "text: is not a state that is known"),
        (["empty", "-o", "m"], "empty: is empty"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], reason: str, topicx: Run, tmp_path: Path) -> None:
    foreign.small_state().save(tmp_path / "a.state")
    (tmp_path / "text").write_text("hello\n")
    (tmp_path / "empty").write_text("")
    done = topicx("estimate", *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert reason in done.stderr
    assert not (tmp_path / "m").exists()
    assert not (tmp_path / "x.npz").exists()


def test_the_reproduction_runs(tmp_path: Path, paper_data: Path) -> None:
    """benchmarks/papers/cgsp.py --quick, and again: the second run finds every cell done."""
    script = ROOT / "benchmarks" / "papers" / "cgsp.py"
    call = [sys.executable, str(script), "--data", str(paper_data), "--out", str(tmp_path)]
    first = subprocess.run([*call, "--quick"], capture_output=True, text=True, timeout=600, check=False)
    assert first.returncode == 0, first.stderr[-2000:]
    cells = (tmp_path / "runs-quick.jsonl").read_text()
    again = subprocess.run([*call, "--quick"], capture_output=True, text=True, timeout=100, check=False)
    assert again.returncode == 0, again.stderr[-2000:]
    assert (tmp_path / "runs-quick.jsonl").read_text() == cells
    worth = json.loads((tmp_path / "results-quick.json").read_text())["figures"]["kos 20"]["worth"]
    assert worth["φ"] > 1.2  # one θ^p sample beats one θ sample


class Recording(Threads):
    """An engine of two threads that tells what it was given to do."""

    def __init__(self) -> None:
        super().__init__(2)
        self.done: list[str] = []

    def map(self, work: Any, items: Any) -> list[Any]:
        self.done.append("map")
        return super().map(work, items)

    def stream(self, work: Any, items: Any) -> Iterator[Any]:
        self.done.append("stream")
        return super().stream(work, items)


def test_an_engine_does_the_work_of_estimating_and_inferring() -> None:
    """And gives what its threads give by themselves."""
    state = harness.synthetic(documents=30)
    method = harness.make_method("sparse", state)
    method.start(random=True)
    method.sweep(0)
    state = method.sync()
    with Recording() as engine:
        soft = Conditionals(state, engine)
        mine = soft.words(max_entries=500)
        assert {"map", "stream"} <= set(engine.done)
        engine.done.clear()
        model = estimate(state, threads=engine)
        assert "map" in engine.done
        engine.done.clear()
        documents = Documents(state.ids, state.words, state.offsets, np.zeros(state.n_documents, np.int64))
        theta = [part.theta for part in Inference(model, burn_in=2, samples=1, threads=engine).stream([documents])]
        assert engine.done == ["stream"]
    assert np.array_equal(mine.values, Conditionals(state, 1).words(max_entries=500).values)
    alone = Inference(model, burn_in=2, samples=1, threads=1).stream([documents])
    assert np.array_equal(np.concatenate(theta), np.concatenate([part.theta for part in alone]))


def test_rows_are_added_as_scipy_adds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """In their order, so to the same bits; what comes to nothing is no entry."""
    monkeypatch.setattr(averaging, "ROOM", 40)  # several pieces
    rng = np.random.default_rng(3)
    parts = [scipy.sparse.random_array((37, 9), density=0.3, rng=rng, format="csr") for _ in range(4)]
    parts[1] = (-parts[0]).tocsr()
    expected = parts[0]
    for part in parts[1:]:
        expected = (expected + part).tocsr()
    expected.sort_indices()
    entries = [(p.indptr.astype(np.int64), p.indices.astype(np.uint16), p.data) for p in parts]
    indptr, columns, values = averaging.add_rows(entries, 37, 9)
    assert np.array_equal(indptr, expected.indptr) and np.array_equal(columns, expected.indices)
    assert np.array_equal(values, expected.data)
    assert averaging.add_rows(entries[:2], 37, 9)[0][-1] == 0


def test_rows_with_entries_in_the_same_places_have_the_same_sum() -> None:
    rng = np.random.default_rng(3)
    places = rng.random((11, 7)) < 0.6
    indptr = np.concatenate([[0], np.cumsum(places.sum(axis=1))])
    columns = np.nonzero(places)[1].astype(np.uint16)
    parts = [(indptr, columns, rng.random(len(columns)) * (rng.random(len(columns)) < 0.5)) for _ in range(3)]
    empty = (np.zeros(12, np.int64), columns[:0], np.zeros(0))  # its entries are elsewhere: no short way
    for short, long in zip(averaging.add_rows(parts, 11, 7), averaging.add_rows([*parts, empty], 11, 7), strict=True):
        assert np.array_equal(short, long) and len(short) > 3


@pytest.mark.parametrize("number", [0, 1, 3, 10, 1000])
@pytest.mark.parametrize("last_first", [False, True])
@pytest.mark.parametrize("rest", [False, True])
def test_top_words_are_those_of_a_sort_of_all(number: int, last_first: bool, rest: bool) -> None:
    """Of the words that a topic has entries of, with many ties; a topic without entries has none."""
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 4, (50, 6)) * (rng.random((50, 6)) < 0.7)
    counts[:, 2] = 0
    indptr = np.concatenate([[0], np.cumsum((counts > 0).sum(axis=1))]).astype(np.int64)
    topics = np.nonzero(counts)[1].astype(np.uint16)
    model = Model(
        Strings.of(f"w{i}" for i in range(50)), np.full((1, 6), 0.1), rng.choice([0.01, 0.02], 50), indptr, topics,
        counts[counts > 0].astype(np.float64), rng.integers(0, 2, 50) * 0.5 if rest else np.zeros(0),
        np.full(6, 1 / 6) if rest else np.zeros(0),
    )  # fmt: skip
    for topic, found in enumerate(model.top_words(number, minimum=0.02, last_first=last_first)):
        words = np.flatnonzero(counts[:, topic])
        probabilities = model.topic_word[topic, words]
        order = sorted(range(len(words)), key=lambda i: (-probabilities[i], -i if last_first else i))[:number]
        expected = [(f"w{words[i]}", pytest.approx(probabilities[i])) for i in order if probabilities[i] > 0.02]
        assert found == expected, topic
