"""What a model's definition is worth: another one, written here, trains, resumes, infers and is evaluated, and neither
the chain nor the files nor the command line know of it. And a sampler that a test registers is as good as ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from tests import harness
from tests.conftest import lda_corpus
from topicx import model_registry as models
from topicx.corpus.corpus import Corpus
from topicx.declare import positive_option
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.evaluate.completion import completion
from topicx.model import Model
from topicx.models.definition import Definition, Priors, initial_state
from topicx.predict.inference import Inference
from topicx.predict.reader import Admixture, Read
from topicx.run import Run
from topicx.sampling import random_streams, sampler_registry
from topicx.sampling.method import Method, Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import GROUPS, SAMPLES, Entry
from topicx.sampling.samplers.partially_collapsed import Assignments
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.sampling.updates import prior_fixed_points
from topicx.state import NONE, State
from topicx.strings import Strings

# -- a second definition: each collection has an asymmetric α of its own, learnt --------------------------------------


class LearnEachAlpha:
    """α of every collection by Minka's fixed point, shrunk towards their mean; it counts how often it was done."""

    name = "each-alpha"

    def __init__(self, interval: int, shrink: float) -> None:
        self.interval, self.shrink, self.times = interval, shrink, 0

    def due(self, sweep: int) -> bool:
        return sweep % self.interval == 0

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        alpha = prior_fixed_points.learn_alpha(method.document_statistics(), method.state.alpha, symmetric=False)
        noise = np.random.Generator(np.random.Philox(key=key)).uniform(0.99, 1.01, alpha.shape)
        mean = alpha.mean(axis=0)
        method.set_priors(
            prior_fixed_points.round_to_float32((alpha + self.shrink * (mean - alpha)) * noise), method.state.beta
        )
        self.times += 1
        return {"learnt": float(self.times)}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"times": np.array([self.times])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.times = int(arrays["times"][0])


@dataclass(frozen=True)
class OwnOptions:
    shrink: float = positive_option(0.1, help="How much a collection's α is drawn to the mean of all.")


class ByCollection(Definition):
    name: ClassVar[str] = "by-collection"
    summary: ClassVar[str] = "topics in common, a prior for each collection"
    Own: ClassVar[type] = OwnOptions
    capabilities: ClassVar[frozenset[str]] = frozenset({GROUPS})

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        groups, names = corpus.collection.astype(np.uint32), list(corpus.collection_names)
        alpha = np.tile(options.alpha_vector(), (len(names), 1))
        return initial_state(corpus, options, priors, alpha=alpha, groups=groups, group_names=names)

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        return [LearnEachAlpha(5, self.own.shrink)]

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        super().finish(state, model, samples)
        model.side["documents"] = np.bincount(state.groups, minlength=len(state.alpha))

    def reader(self, model: Model) -> Strongest:
        return Strongest(model)


class Strongest(Admixture):
    def predicted_columns(self) -> dict[str, type]:
        return {"strongest": int}

    def predict(self, read: Read) -> Sequence[Sequence[Any]]:
        return (read.theta.argmax(axis=1).tolist(),)


@pytest.fixture
def by_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(models.HOMES, "by-collection", f"{__name__}:ByCollection")


def collected() -> Corpus:
    """Two collections that prefer other topics."""
    corpus = lda_corpus(80, 30, 60, seed=3)
    where = (np.arange(corpus.n_documents) % 2).astype(np.int32)
    return replace(corpus, collection=where, collection_names=Strings.of(["evening", "morning"]))


OPTIONS: dict[str, Any] = {
    "topics": 6, "iterations": 30, "model": "by-collection", "own": {"shrink": 0.2}, "trace_interval": 5,
}  # fmt: skip


def trained(threads: int = 1) -> Run:
    return Run.start(collected(), Options(**OPTIONS), Threads(threads)).train()


def test_it_trains_and_learns_a_prior_for_each_collection(by_collection: None) -> None:
    run = trained()
    model = run.result().model
    assert model.alpha.shape == (2, 6)
    assert list(model.group_names) == ["evening", "morning"]
    assert not np.allclose(model.alpha[0], model.alpha[1])
    assert model.trace["learnt"].tolist() == [1, 2, 3, 4, 5, 6]
    assert model.side["documents"].tolist() == [40, 40]
    assert np.array_equal(trained(4).chain.state.alpha, run.chain.state.alpha)


def test_it_resumes_bit_for_bit(by_collection: None, tmp_path: Path) -> None:
    whole = trained()
    asked = iter(range(100))
    path = str(tmp_path / "checkpoint")
    with pytest.raises(Interrupted):
        Run.start(collected(), Options(**OPTIONS), Threads(2)).train(
            checkpoints=Checkpoints(path), stop=lambda: next(asked) == 12
        )
    resumed = Run.resume(path, Threads(1)).train()
    assert np.array_equal(resumed.chain.method.sync().z, whole.chain.method.sync().z)
    assert np.array_equal(resumed.chain.state.alpha, whole.chain.state.alpha)
    assert resumed.chain.trace.columns["learnt"] == whole.chain.trace.columns["learnt"]
    another, fresh = resumed.next(1).train(), whole.next(1).train()
    assert np.array_equal(another.chain.state.alpha, fresh.chain.state.alpha)
    assert not np.array_equal(another.chain.state.alpha, whole.chain.state.alpha)


def test_it_infers_with_a_collection_s_prior_and_is_evaluated(by_collection: None, tmp_path: Path) -> None:
    corpus = collected()
    trained().result().model.save(tmp_path / "m")
    model = Model.load(tmp_path / "m")
    known, evening = Inference(model, seed=2), Inference(model, seed=2, group="evening")
    theta = [np.concatenate([p.theta for p in i.stream(i.corpus(corpus))]) for i in (known, evening)]
    assert np.array_equal(theta[0][::2], theta[1][::2])
    assert not np.array_equal(theta[0][1::2], theta[1][1::2])
    assert 1 < completion(model, None, corpus).perplexity < corpus.n_words


def test_the_command_line_writes_what_it_predicts(
    by_collection: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from topicx.cli.infer import command

    monkeypatch.chdir(tmp_path)
    trained().result().model.save("m")
    collected().save("c")
    for name in ("t.tsv", "t.jsonl", "t.npz", "t.parquet"):
        done = CliRunner().invoke(command, ["m", "c", "-o", name, "--metadata", "none", "-q"], standalone_mode=False)
        assert done.exception is None
    lines = [line.split("\t") for line in Path("t.tsv").read_text().splitlines()]
    assert lines[0][:4] == ["id", "tokens", "unknown", "strongest"]
    shares = np.array([line[4:] for line in lines[1:]], float)
    assert [int(line[3]) for line in lines[1:]] == shares.argmax(axis=1).tolist()
    assert '"unknown":0,"strongest":' in Path("t.jsonl").read_text()
    assert np.load("t.npz")["strongest"].tolist() == shares.argmax(axis=1).tolist()


def test_what_it_needs_of_a_sampler_is_asked_for(by_collection: None, monkeypatch: pytest.MonkeyPatch) -> None:
    blind = replace(sampler_registry.find_sampler("dense"), name="blind", capabilities=frozenset({SAMPLES}))
    monkeypatch.setitem(sampler_registry.ENTRIES, "blind", blind)
    with pytest.raises(
        InputError, match=r"sampler blind is not for the model by-collection: .* these would do: sparse"
    ):
        sampler_registry.choose_sampler("blind", {GROUPS}, "the model by-collection")
    with pytest.raises(InputError, match="no option 'shrnk'; did you mean 'shrink'"):
        Run.start(collected(), Options(**OPTIONS | {"own": {"shrnk": 1.0}}), Threads(1))


# -- a sampler in a test -----------------------------------------------------------------------------------------------


class Toy(Assignments):
    """The textbook: one token after the other, in NumPy."""

    def __init__(self, state: State, options: Options, engine: Any) -> None:
        super().__init__(state, options, engine)
        self.words = state.words
        self.set_priors(state.alpha, state.beta)

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        state, z, changed = self.state, self.z, 0
        draw = random_streams.make_generator(self.options.seed, self.options.chain, random_streams.CELL, step)
        topics = state.n_topics
        nw = np.zeros((state.n_words, topics))
        np.add.at(nw, (self.words[z != NONE], z[z != NONE]), 1)
        np.add.at(nw, (state.seeds.words, state.seeds.topics), state.seeds.counts)
        for d in range(state.n_documents):
            begin, end = state.offsets[d], state.offsets[d + 1]
            nd = np.bincount(z[begin:end][z[begin:end] != NONE], minlength=topics).astype(float)
            alpha = state.alpha[state.groups[d] if len(state.groups) else 0]
            for i in range(begin, end):
                w, old = self.words[i], z[i]
                if old != NONE:
                    nd[old] -= 1
                    nw[w, old] -= 1
                weights = (nd + alpha) * (nw[w] + state.beta[w]) / (nw.sum(axis=0) + state.beta.sum())
                z[i] = min(int(np.searchsorted(np.cumsum(weights), draw.random() * weights.sum())), topics - 1)
                nd[z[i]] += 1
                nw[w, z[i]] += 1
                changed += int(z[i] != old)
        return {"changed": changed / max(state.n_tokens, 1)}


def test_a_sampler_of_a_test_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Entry("toy", sampler_registry.EXACT, "a toy", f"{__name__}:Toy", frozenset({GROUPS, SAMPLES}))
    monkeypatch.setitem(sampler_registry.ENTRIES, "toy", entry)
    for problem in ("plain", "groups", "seeds"):
        state = next(each for each in harness.PROBLEMS if each.name == problem).make()
        assert harness.invariance_p_value("toy", state, 1500) > harness.LEVEL / 4
    assert harness.geweke_p_value("toy", harness.geweke_shape(), replicates=100) > harness.LEVEL / 4
