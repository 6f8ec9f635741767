"""Models from outside: what a stranger writes in one file of under a hundred lines, touching none of ours. A prior that
is computed from a column of each document; and documents that have one topic each, with an estimator, a sampler and a
reader of their own. And a package that brings a model by an entry point.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp, softmax

from tests.places import ROOT
from topicx import model_registry as models
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate.cgsp_counts import ThetaRows, WordCounts
from topicx.estimate.estimators import TokenMixture
from topicx.evaluate.completion import completion
from topicx.evaluate.left_to_right import left_to_right
from topicx.files.array_sizes import TOPICS
from topicx.files.schema import Array
from topicx.model import Model
from topicx.models.definition import Definition, Priors, initial_state
from topicx.predict.document_prior import DocumentPrior
from topicx.predict.documents import Documents
from topicx.predict.inference import Inference, infer
from topicx.predict.reader import Admixture, Read
from topicx.predict.sampling_plan import Sampling, Streams
from topicx.predict.topic_rows import FixedTopics
from topicx.run import Run
from topicx.sampling import random_streams, sampler_registry
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import GROUPS, SAMPLES, Entry
from topicx.sampling.samplers.partially_collapsed import Assignments
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import State

# -- a prior computed from a column of each document ---------------------------------------------------------------

WEIGHTS = np.array([2.0, -2.0, 0.0, 0.0])


def priors_of(mood: Any) -> NDArray[np.float64]:
    """α_dk = 0.2 exp(x_d λ_k), with a fixed λ."""
    return np.asarray(0.2 * np.exp(np.asarray(mood, np.float64)[:, None] * WEIGHTS))


class ByMood(Definition):
    name: ClassVar[str] = "by-mood"
    summary: ClassVar[str] = "a prior of each document, by its mood"
    capabilities: ClassVar[frozenset[str]] = frozenset({GROUPS})

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        each = np.arange(corpus.n_documents, dtype=np.uint32)
        return initial_state(corpus, options, priors, alpha=priors_of(corpus.columns["mood"]), groups=each)

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        return []

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        model.alpha = state.alpha.mean(axis=0, keepdims=True)

    def reader(self, model: Model) -> MoodReader:
        return MoodReader(model)


class MoodReader(Admixture):
    wants = ("mood",)

    def prior(self, documents: Documents) -> DocumentPrior:
        if "mood" not in documents.carried:
            raise InputError("the model by-mood wants to know each document's mood")
        return DocumentPrior.of_each(priors_of(documents.told("mood")))


def moody() -> Corpus:
    """Documents of two topics, by their mood."""
    random, docs, moods = np.random.default_rng(5), [], []
    for number in range(60):
        words = ["joy", "sun", "play"] if number % 2 else ["rain", "grief", "night"]
        docs.append([*random.choice(words, 12), *random.choice(["the", "and", "of"], 4)])
        moods.append(1.0 if number % 2 else -1.0)
    corpus = Corpus.from_documents(docs)
    return replace(corpus, columns={"mood": np.array(moods)})


MOOD = Options(topics=4, iterations=40, model="by-mood", trace_interval=10, start="random")


@pytest.fixture
def by_mood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.HOMES, "by-mood", f"{__name__}:ByMood")


def test_a_prior_of_each_document_trains_infers_resumes_and_is_evaluated(by_mood: None, tmp_path: Path) -> None:
    corpus = moody()
    run = Run.start(corpus, MOOD, Threads(1)).train()
    run.result().model.save(tmp_path / "m")
    model = Model.load(tmp_path / "m")
    asked, path = iter(range(100)), str(tmp_path / "checkpoint")
    with pytest.raises(Interrupted):
        Run.start(corpus, MOOD, Threads(2)).train(checkpoints=Checkpoints(path), stop=lambda: next(asked) == 9)
    assert np.array_equal(Run.resume(path, Threads(1)).train().chain.method.sync().z, run.chain.method.sync().z)
    # A document of words that say nothing is read by its mood alone.
    plain = replace(Corpus.from_documents([["the", "of"]] * 2), columns={"mood": np.array([1.0, -1.0])})
    theta = infer(model, plain)
    assert theta[0, 0] > 3 * theta[0, 1] and theta[1, 1] > 3 * theta[1, 0]
    assert np.array_equal(infer(model, plain.select([1]))[0], theta[1])
    told = completion(model, None, corpus).perplexity
    strange = replace(corpus, columns={"mood": -np.asarray(corpus.columns["mood"])})
    assert told < completion(model, None, strange).perplexity
    assert left_to_right(model, None, corpus).perplexity < left_to_right(model, None, strange).perplexity
    with pytest.raises(InputError, match="wants to know each document's mood"):
        infer(model, Corpus.from_documents([["joy"]]))


def test_the_command_line_gives_it_the_column(by_mood: None, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from topicx.cli.infer import command

    corpus = moody()
    model = Run.start(corpus, MOOD, Threads(1)).train().result().model
    model.save(tmp_path / "m")
    corpus.save(tmp_path / "c")
    to = {name: str(tmp_path / name) for name in ("m", "c", "t.npz", "s")}
    arguments = [to["m"], to["c"], "-o", to["t.npz"], "--state", to["s"], "--metadata", "none", "-q"]
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert done.exception is None
    assert np.array_equal(np.load(to["t.npz"])["theta"], infer(model, corpus))
    state = State.load(to["s"])
    np.testing.assert_allclose(state.alpha[state.groups], priors_of(corpus.columns["mood"]), rtol=1e-6)


# -- documents of one topic each -----------------------------------------------------------------------------------


def log_shares(state: State, rows: Any, totals: Any, sizes: Any, d: int) -> NDArray[np.float64]:
    """log p(z_d = k | all other documents), but for a constant; rows: words × topics without document d."""
    words, counts = np.unique(state.words[state.offsets[d] : state.offsets[d + 1]], return_counts=True)
    own, length, beta = rows[words] + state.beta[words, None], counts.sum(), state.beta.sum()
    found = np.log(sizes + state.alpha[0]) + (gammaln(own + counts[:, None]) - gammaln(own)).sum(axis=0)
    return np.asarray(found - gammaln(totals + beta + length) + gammaln(totals + beta))


class WholeDocuments(Assignments):
    """A topic a document, all of its tokens at once."""

    def __init__(self, state: State, options: Options, engine: Any) -> None:
        super().__init__(state, options, engine)
        self.words = state.words
        self.set_priors(state.alpha, state.beta)

    def _adopt(self, z: NDArray[np.uint16]) -> None:
        self.z = np.repeat(z[self.state.offsets[:-1]], self.state.lengths)

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        draw = random_streams.make_generator(self.options.seed, self.options.chain, random_streams.CELL, step)
        changed = 0
        for d, words, rows, totals, sizes in without_each(self.state, self.z):
            p = softmax(log_shares(self.state, rows, totals, sizes, d))
            old, new = self.z[self.state.offsets[d]], np.uint16(min((p.cumsum() < draw.random()).sum(), len(p) - 1))
            self.z[self.state.offsets[d] : self.state.offsets[d + 1]] = new
            changed += len(words) * int(old != new)
        return {"changed": changed / max(self.state.n_tokens, 1)}


def without_each(state: State, z: NDArray[np.uint16]) -> Iterator[tuple[int, Any, Any, Any, Any]]:
    """Each document, its words, and the counts of all others; they follow what z becomes meanwhile."""
    rows, sizes = np.zeros((state.n_words, state.n_topics)), np.zeros(state.n_topics)
    np.add.at(rows, (state.words, z), 1)
    np.add.at(sizes, z[state.offsets[:-1]], 1)
    for d in range(state.n_documents):
        words = state.words[state.offsets[d] : state.offsets[d + 1]]
        for sign in (-1, 1):
            np.add.at(rows, (words, z[state.offsets[d]]), sign)
            sizes[z[state.offsets[d]]] += sign
            if sign < 0:
                yield d, words, rows, rows.sum(axis=0), sizes


@dataclass
class Clusters(TokenMixture):
    """θ: how probable each topic is for the document as a whole."""

    of_tokens = False
    theta: NDArray[np.float64] | None = None
    state: State | None = None

    def count_rows(self, state: State, counts: Any = None, *, path: int | None = None) -> Iterator[ThetaRows]:
        yield 0, np.eye(state.n_topics)[state.z[state.offsets[:-1]]]

    def soft_counts(self, state: State, threads: Any, counts: Any = None, *, path: int | None = None) -> Clusters:
        found = [softmax(log_shares(state, *each[2:], each[0])) for each in without_each(state, state.z)]
        return Clusters(np.array(found), state)

    def documents(self, *, for_words: bool = True) -> Iterator[ThetaRows]:
        assert self.theta is not None
        yield 0, self.theta

    def words(self, max_entries: int) -> WordCounts:
        assert self.theta is not None and self.state is not None
        counts = np.zeros((self.state.n_words, self.state.n_topics))
        np.add.at(counts, self.state.words, np.repeat(self.theta, self.state.lengths, axis=0))
        none = np.zeros(0)
        indptr = np.arange(len(counts) + 1) * counts.shape[1]
        topics = np.tile(np.arange(counts.shape[1], dtype=np.uint16), len(counts))
        return WordCounts(indptr, topics, counts.ravel(), none, none)


class OneTopic(Definition):
    name: ClassVar[str] = "one-topic"
    summary: ClassVar[str] = "documents of one topic each"
    capabilities: ClassVar[frozenset[str]] = frozenset({"whole documents"})

    @staticmethod
    def side_arrays(own: Any, meta: Any, finished: bool) -> tuple[Array, ...]:
        return (Array("sizes", "float64", TOPICS, low=0, high=1e18),) if finished else ()

    def estimator(self, state: State) -> Clusters:
        return Clusters()

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        model.side["sizes"] = np.bincount(state.z[state.offsets[:-1]], minlength=state.n_topics).astype(np.float64)

    def reader(self, model: Model) -> ClusterReader:
        return ClusterReader(model, np.log(model.side["sizes"] + model.alpha[0]))


class ClusterReader(Admixture):
    """p(topic | document), from all of its words at once."""

    def __init__(self, model: Model, log_sizes: NDArray[np.float64]) -> None:
        super().__init__(model)
        self.log_sizes, self.log_phi = log_sizes, np.log(model.topic_word.T)

    def _log_words(self, words: NDArray[np.uint32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.zeros((len(offsets) - 1, self.n_topics))
        np.add.at(found, np.repeat(np.arange(len(found)), np.diff(offsets)), self.log_phi[words])
        return found

    def read(self, documents: Documents, prior: DocumentPrior, streams: Streams, sampling: Sampling) -> Read:
        theta = softmax(self.log_sizes + self._log_words(documents.words, documents.offsets), axis=1)
        return Read(documents, theta.astype(np.float32), np.zeros(0, np.uint16), prior)

    def predicted_columns(self) -> dict[str, type]:
        return {"cluster": int}

    def predict(self, read: Read) -> Sequence[Sequence[Any]]:
        return (read.theta.argmax(axis=1).tolist(),)

    def log_predictive(self, read: Read, words: NDArray[np.uint32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(logsumexp(np.log(np.maximum(read.theta, 1e-30)) + self._log_words(words, offsets), axis=1))

    def token_topics(self, purpose: str) -> FixedTopics:
        raise InputError(f"{purpose}: documents of the model one-topic have one topic each, and their tokens none")

    def need_assignments(self) -> None:
        raise InputError("documents of the model one-topic have one topic each, and their tokens none")


ONE = Options(topics=4, iterations=20, model="one-topic", trace_interval=10, start="random", alpha=1.0, beta=0.1)


@pytest.fixture
def one_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.HOMES, "one-topic", f"{__name__}:OneTopic")
    can = frozenset({SAMPLES, "whole documents"})
    entry = Entry("whole", sampler_registry.EXACT, "a topic a document", f"{__name__}:WholeDocuments", can)
    monkeypatch.setitem(sampler_registry.ENTRIES, "whole", entry)


def test_documents_of_one_topic_train_infer_resume_and_are_evaluated(one_topic: None, tmp_path: Path) -> None:
    corpus = moody()
    truth = np.arange(60) % 2
    run = Run.start(corpus, replace(ONE, sampler="whole"), Threads(1)).train()
    rows: list[NDArray[np.float64]] = []
    result = run.result(documents=lambda begin, some: rows.append(some))
    result.model.save(tmp_path / "m")
    model, theta = Model.load(tmp_path / "m"), np.concatenate(rows)
    assert np.all(theta.max(axis=1) > 0.99)  # not shares of tokens, of which function words would take some
    of = theta.argmax(axis=1)
    assert not set(of[truth == 0]) & set(of[truth == 1])
    assert np.array_equal(np.concatenate([some for _, some in run.theta_rows("cgs")]).argmax(axis=1), of)
    best = model.example_documents[of[0], 0]
    assert of[best] == of[0] and model.example_weights[of[0], 0] == 1
    asked, path = iter(range(100)), str(tmp_path / "checkpoint")
    with pytest.raises(Interrupted):
        Run.start(corpus, replace(ONE, sampler="whole"), Threads(1)).train(
            checkpoints=Checkpoints(path), stop=lambda: next(asked) == 5
        )
    assert np.array_equal(Run.resume(path, Threads(1)).train().chain.method.sync().z, result.state.z)
    found = model.infer(["joy sun joy the", "night of grief"])
    assert found.predicted["cluster"] == [of[1], of[0]]
    assert completion(model, None, corpus).perplexity < 9
    for refused in (lambda: left_to_right(model, None, corpus), lambda: Inference(model).reader.need_assignments()):
        with pytest.raises(InputError, match="documents of the model one-topic have one topic each"):
            refused()


# -- a package with an entry point ---------------------------------------------------------------------------------

PACKAGE = """
from typing import Any, ClassVar
from dataclasses import dataclass
from topicx.declare import positive_option
from topicx.models.definition import Definition

@dataclass(frozen=True)
class Own:
    zest: float = positive_option(2.0, help="How much of it.")

class Lively(Definition):
    name: ClassVar[str] = "lively"
    summary: ClassVar[str] = "a model of another package"
    Own: ClassVar[type] = Own

    def finish(self, state: Any, model: Any, samples: Any) -> None:
        model.meta["zest"] = self.own.zest
"""


@pytest.fixture
def package(tmp_path: Path) -> dict[str, str]:
    """A package with two models, one of which is broken, installed in a folder of its own."""
    site = tmp_path / "site"
    (site / "lively-1.0.dist-info").mkdir(parents=True)
    (site / "lively.py").write_text(PACKAGE)
    (site / "lively-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: lively\nVersion: 1.0\n")
    (site / "lively-1.0.dist-info" / "entry_points.txt").write_text(
        "[topicx.models]\nlively = lively:Lively\nbroken = not_there:At_all\nlda = lively:Lively\n"
    )
    return os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}"}


def test_a_package_brings_a_model_by_an_entry_point(package: dict[str, str], tmp_path: Path) -> None:
    def topicx(*arguments: str) -> subprocess.CompletedProcess[str]:
        call = [sys.executable, "-m", "topicx", *arguments]
        return subprocess.run(call, cwd=tmp_path, env=package, capture_output=True, text=True, check=False)

    moody().save(tmp_path / "c")
    options = ("-k", "3", "--iterations", "5", "-q")
    done = topicx("train", "c", "-o", "m", "--model", "lively", "--zest", "3", *options)
    assert done.returncode == 0, done.stderr
    assert topicx("infer", "m", "c", "-o", "t.tsv", "-q").returncode == 0
    shown = topicx("train", "--help").stdout
    assert "lively" in shown and "a model of another package" in shown and "can't be imported" in shown
    for arguments, message in (
        (("--model", "broken"), "the model broken is not_there:At_all, which can't be imported"),
        (("--model", "nobody"), "lively"),
        (("--zest", "3"), "--zest"),
        (("--model", "lively", "--zest", "-1"), "--zest"),
    ):
        wrong = topicx("train", "c", "-o", "x", *arguments, *options)
        assert wrong.returncode == 2 and message in wrong.stderr
    assert topicx("info", "m").returncode == 0


def test_without_it_a_model_of_a_package_is_refused_by_name(package: dict[str, str], tmp_path: Path) -> None:
    moody().save(tmp_path / "c")
    script = (
        "import topicx, sys; c = topicx.Corpus.load('c'); "
        "m = topicx.LDA(3, iterations=5, model='lively', own={'zest': 4.0}).fit(c).model; "
        "assert m.meta['zest'] == 4.0; m.save('m')"
    )
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=package, check=True)
    with pytest.raises(InputError, match="there is no model 'lively'"):
        Model.load(tmp_path / "m").infer(["joy"])
