"""Mixtures as models: trained, resumed, finished, used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

import topicx
from tests.conftest import run_topicx
from tests.sampling.test_whole_documents import prior_of
from tests.twins import mixture as twin
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.evaluate.completion import completion
from topicx.evaluate.left_to_right import left_to_right
from topicx.model import Model
from topicx.models.mixture import WholeDocumentCounts, WholeDocumentEstimator
from topicx.predict.documents import Documents
from topicx.predict.inference import infer
from topicx.predict.predictor import reader_of
from topicx.predict.sampling_plan import Sampling, Streams
from topicx.run import Result, Run
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.whole_documents import topics_of_documents
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import State
from topicx.strings import Strings

TOPICS, WORDS = 5, 80


def lines(documents: int = 400, length: int = 7, seed: int = 1) -> Corpus:
    """Texts of a line of five topics."""
    random = np.random.default_rng(seed)
    phi = np.random.default_rng(0).dirichlet(np.full(WORDS, 0.08), TOPICS)
    z = random.integers(0, TOPICS, documents)
    lengths = 1 + random.poisson(length, documents)
    words = np.concatenate([random.choice(WORDS, n, p=phi[k]) for n, k in zip(lengths, z, strict=True)])
    vocabulary = Strings.of([f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(WORDS)])
    return Corpus(
        words.astype(np.uint32), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64), vocabulary,
        ids=Strings.of([f"d{i}" for i in range(documents)]), truth={"topics": z, "topic_word": phi},
    )  # fmt: skip


def train(corpus: Corpus, topics: int = 30, threads: int = 1, **o: Any) -> Result:
    options = Options(topics=topics, model="mixture", **{"iterations": 30, "beta": 0.1, "optimize": "beta"} | o)
    with Threads(threads) as engine:
        return Run.start(corpus, options, engine).train().result()


def agreement(found: np.ndarray, truth: np.ndarray) -> float:
    from sklearn.metrics import normalized_mutual_info_score

    return float(normalized_mutual_info_score(truth, found))


def test_topics_are_found_and_empty_ones_die() -> None:
    corpus = lines()
    found = train(corpus)
    assert 5 <= found.model.n_topics <= 12
    assert found.model.side["documents"].sum() == corpus.n_documents
    assert np.all(found.model.side["documents"] > 0)
    assert agreement(topics_of_documents(found.state), corpus.truth["topics"]) > 0.85
    new = lines(200, seed=2)
    theta = infer(found.model, new)
    assert np.allclose(theta.sum(axis=1), 1, atol=1e-5)
    assert agreement(theta.argmax(axis=1), new.truth["topics"]) > 0.85
    assert found.model.trace["topics_used"][-1] == found.model.n_topics


@pytest.mark.parametrize(("topics", "partitions"), [(30, 0), (100, 3)])
def test_a_resumed_run_ends_in_the_same_bits(tmp_path: Path, topics: int, partitions: int) -> None:
    corpus, place = lines(120), str(tmp_path / "checkpoint")
    learn: dict[str, Any] = {"optimize_interval": 5, "optimize_burn_in": 5, "partitions": partitions}
    whole = train(corpus, topics, threads=3, **learn)
    options = Options(topics=topics, model="mixture", iterations=30, beta=0.1, optimize="beta", **learn)
    with Threads(1) as engine:
        run, sweeps = Run.start(corpus, options, engine), []
        with pytest.raises(Interrupted):
            run.train([sweeps.append], Checkpoints(place), lambda: len(sweeps) == 17)
        resumed = Run.resume(place, engine).train().result()
    assert np.array_equal(whole.state.z, resumed.state.z) and np.array_equal(whole.state.beta, resumed.state.beta)
    assert np.array_equal(whole.model.values, resumed.model.values)
    assert np.array_equal(whole.model.side["documents"], resumed.model.side["documents"])
    assert whole.state.beta[0] != 0.1


def test_probabilities_of_new_documents_are_those_of_the_mixture() -> None:
    model = train(lines(150)).model
    new = lines(30, seed=3)
    phi, weights = model.topic_word, model.side["documents"] + model.alpha[0]
    theta = infer(model, new)
    for d in range(new.n_documents):
        words = new.words[new.offsets[d] : new.offsets[d + 1]]
        logs = np.log(weights) + np.log(phi[:, words]).sum(axis=1)
        p = np.exp(logs - logs.max())
        assert np.allclose(theta[d], p / p.sum(), atol=1e-4)
    given, held = new.words[new.offsets[0] : new.offsets[1]], np.array([3, 3, 11], np.uint32)
    reader = reader_of(model)
    documents = Documents(Strings.of(["a"]), given, np.array([0, len(given)]), np.zeros(1, np.int64))
    sampling = Sampling("cgsp", 1, 1, 1)
    streams = Streams(documents.words, documents.offsets, 1)
    read = reader.read(documents, reader.prior(documents), streams, sampling)
    found = reader.log_predictive(read, held, np.array([0, 3]))
    logs = np.log(weights) + np.log(phi[:, given]).sum(axis=1)
    both = logs + np.log(phi[:, held]).sum(axis=1)
    assert found[0] == pytest.approx(logsumexp(both) - logsumexp(logs), rel=1e-4)
    assert completion(model, None, new).perplexity < WORDS / 2
    with pytest.raises(InputError, match="one topic, not one a token"):
        left_to_right(model, None, new, particles=1)


def test_estimators_of_a_state() -> None:
    """cgs counts words and gives each document to its topic; cgsp does both by probabilities."""
    found = train(lines(60), topics=8)
    state = found.state
    docs = [state.words[state.offsets[d] : state.offsets[d + 1]].tolist() for d in range(state.n_documents)]
    own = topics_of_documents(state)
    maker = WholeDocumentEstimator()
    hard = np.concatenate([rows for _, rows in maker.count_rows(state)])
    assert np.array_equal(hard.argmax(axis=1), own) and np.all(hard.max(axis=1) == 1)
    soft = np.concatenate([rows for _, rows in maker.soft_rows(state, 1)])
    for d in (0, 7, 31):
        wanted = twin.conditional(docs, own.astype(np.int64), d, state.alpha[0], prior_of(state))
        assert np.allclose(soft[d], wanted, atol=1e-4)
    words = WholeDocumentCounts(state).words()
    total = np.zeros((state.n_words, state.n_topics))
    for d, doc in enumerate(docs):
        for word in doc:
            total[word] += soft[d]
    dense = np.zeros_like(total)
    rows = np.repeat(np.arange(state.n_words), np.diff(words.indptr))
    dense[rows, words.topics] = words.values
    assert np.allclose(dense, total, atol=1e-6)
    counted = WholeDocumentCounts(state).words(max_entries=10)
    assert np.array_equal(counted.values, state.word_topics()[2])


def test_what_does_not_fit_is_refused() -> None:
    for options, message in (
        ({"optimize_interval": 5, "optimize": "alpha"}, "β is learnt alone"),
        ({"sampler": "sparse"}, "gives every token a topic of its own"),
        ({"samples": 2, "lag": 2}, "no average"),
        ({"beta": 1e-20}, "beta: a mixture needs"),
    ):
        with pytest.raises(InputError, match=message):
            train(lines(20), **options)
    with pytest.raises(InputError, match="dense"):  # LDA's dense sampler is another
        Run.start(lines(20), Options(topics=3, sampler="dense", paths=2, model="mixture"), Threads(1))


def test_a_state_of_lda_begins_with_the_topics_of_most_tokens() -> None:
    corpus = lines(100)
    lda = Run.start(corpus, Options(topics=6, iterations=20), Threads(1)).train().result().state
    run = Run.from_state(lda, Options(topics=6, model="mixture", iterations=0), Threads(1))
    state = run.train().chain.method.sync()
    assert np.array_equal(topics_of_documents(state), topics_of_documents(lda))


def test_the_command_line(tmp_path: Path) -> None:
    lines(200).save(str(tmp_path / "l.corpus"))
    told = run_topicx(
        "train", "l.corpus", "--model", "mixture", "-k", "20", "--iterations", "20", "-o", "l.model", "--state",
        "l.state", "--doc-topics", "theta.tsv", cwd=tmp_path,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    model = Model.load(str(tmp_path / "l.model"))
    assert model.beta[0] == 0.1
    (tmp_path / "new.txt").write_text("waa wab wac\n\nwad\n")
    told = run_topicx("infer", "l.model", "new.txt", "-o", "new.jsonl", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text().splitlines()]
    assert all(0 <= row["topic"] < model.n_topics and 0 < row["probability"] <= 1 for row in rows)
    told = run_topicx("estimate", "l.state", "-o", "again.model", "-q", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    again = Model.load(str(tmp_path / "again.model"))
    assert np.array_equal(again.values, model.values)
    assert np.array_equal(again.side["documents"], model.side["documents"])
    state = State.load(str(tmp_path / "l.state"))
    assert np.array_equal(np.repeat(topics_of_documents(state), state.lengths), state.z)
    told = run_topicx("search", "l.corpus", "--model", "mixture", "-k", "5,10", cwd=tmp_path)
    assert told.returncode == 2 and "empties the topics" in told.stderr
    told = run_topicx("topics", "l.model", "-d", "2", cwd=tmp_path)
    assert told.returncode == 0 and "d1" in told.stdout


def test_states_of_a_mixture_have_no_average(tmp_path: Path) -> None:
    train(lines(100)).state.save(str(tmp_path / "a.state"))
    told = run_topicx("estimate", "a.state", "a.state", "-o", "x", "-q", cwd=tmp_path)
    assert told.returncode == 2 and "there is no average of them; give one" in told.stderr


def test_the_class() -> None:
    corpus = lines(100)
    model = topicx.MixtureLDA(30, iterations=30).fit(corpus)
    same = train(corpus)
    assert np.array_equal(model.model.values, same.model.values)
    assert model.topic_sizes.sum() == 100 and model.get_params()["topics"] == 30
    assert model.transform(corpus).shape == (100, model.model.n_topics)
    with pytest.raises(InputError, match="no option 'size'"):
        topicx.MixtureLDA(size=3)
