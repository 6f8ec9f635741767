"""A training run as an object: start or resume it, train, take the result. Every topic model that is trained with its
tokens in memory goes through here: alone, or in a `ChainSeries`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.corpus.corpus import Corpus
from topicx.declare import declared_options
from topicx.engines.memory_limits import told_size
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.estimate import estimate, theta_rows
from topicx.estimate.averaging import average_models
from topicx.estimate.cgsp_counts import MAX_ENTRIES
from topicx.estimate.estimators import BY_ENTRY, Estimator, add_examples, chosen_phi, estimate_memory
from topicx.estimate.restricted_counts import theta_rows as restricted_rows
from topicx.files.mapped_arrays import check_unchanged
from topicx.model import Model
from topicx.models.definition import Definition, Priors
from topicx.sampling.chain import Chain
from topicx.sampling.run_options import Options, usual_value
from topicx.sampling.sampler_registry import SAMPLES
from topicx.sampling.sweep_loop import Callbacks, Checkpoints, Stop, never_stop
from topicx.state import Csr, State, unplaced_topics

Rows = Callable[[int, NDArray[np.float64]], Any]
"""Takes the number of the first document and θ of it and those after it."""


@dataclass
class Result:
    """What a run has found."""

    model: Model
    state: State


class Run:
    """One chain of a model on a corpus, and what the next chain of several begins with."""

    def __init__(self, definition: Definition, chain: Chain, initial: State) -> None:
        self.definition, self.chain, self.initial = definition, chain, initial

    # -- beginnings --------------------------------------------------------------------------------------------

    @classmethod
    def start(cls, corpus: Corpus, options: Options, engine: Engine, priors: Priors | None = None) -> Run:
        """A run of the options' model on this corpus."""
        definition = models.definition_of(options)
        check_fit(definition, options)
        if priors and priors.word_prior:
            options = options.with_given_beta()
        state = definition.state(corpus, options, priors or Priors())
        state = definition.prepare(state, corpus, options, partial(learn_model, engine))
        state = definition.of_part(state, options.chain % definition.parts(state))
        return cls.from_state(state, options, engine, definition)

    @classmethod
    def from_state(
        cls, state: State, options: Options, engine: Engine, definition: Definition | None = None
    ) -> Run:  # fmt: skip
        """A run that begins with a state: its assignments, where it has some, and its priors."""
        definition = definition or models.definition_of(options)
        if state.n_topics != options.topics:
            options = replace(options, topics=state.n_topics, alpha=None if options.alpha_sum else options.alpha)
        if state.paths > 1 and options.paths == 1:
            options = replace(options, paths=state.paths)
        return cls(definition, Chain(state, options, engine, definition), unplaced_state(state))

    @classmethod
    def resume(cls, path: str | os.PathLike[str], engine: Engine, iterations: int | str | None = None) -> Run:
        """Go on from a checkpoint, perhaps to another number of sweeps."""
        found: list[Definition] = []

        def model_of(options: Options) -> Definition:
            found.append(models.definition_of(options))
            return found[0]

        chain = Chain.load(path, engine, iterations, model_of)
        options, state = chain.options, chain.state
        first = {  # a file of version 0.1 has none
            "alpha": np.tile(options.alpha_vector(), (len(state.alpha), 1)),
            "beta": np.full(state.n_words, float(options.beta)),
        } | chain.start_arrays
        side = {name.removeprefix("side."): array for name, array in first.items() if name.startswith("side.")}
        initial = replace(unplaced_state(state), alpha=first["alpha"], beta=first["beta"], side=side)
        return cls(found[0], chain, initial)

    def next(self, number: int) -> Run:
        """Another chain from the same beginning, with the same options and its own random numbers: of the part that its
        number falls on, where a model has several."""
        options = replace(self.chain.options, chain=number)
        state = unplaced_state(self.initial)
        state = self.definition.of_part(state, number % self.definition.parts(state))
        return Run.from_state(state, options, self.chain.engine, self.definition)

    # -- training ----------------------------------------------------------------------------------------------

    @property
    def options(self) -> Options:
        return self.chain.options

    def train(self, callbacks: Callbacks = (), checkpoints: Checkpoints | None = None, stop: Stop = never_stop) -> Run:
        """Run what is left of the plan (see `Training.run`)."""
        self.chain.start_arrays = {"alpha": self.initial.alpha, "beta": self.initial.beta} | {
            f"side.{name}": array for name, array in self.initial.side.items()
        }
        self.chain.run(callbacks, checkpoints, stop)
        return self

    @property
    def score(self) -> float:
        """The objective at the end."""
        scores = self.chain.trace.columns.get("score")
        return scores[-1] if scores else self.chain.method.score()

    # -- results -----------------------------------------------------------------------------------------------

    @property
    def samples(self) -> bool:
        """Whether the method draws samples (or has expected counts)."""
        return SAMPLES in self.chain.sampler.capabilities

    def check_phi(self, phi: str) -> None:
        """InputError if this estimator of φ is not for this run's method."""
        if phi == "cgsp" and not self.samples:
            raise InputError(
                f"phi cgsp is an estimator for samplers' states; {self.chain.sampler.name} keeps expected counts"
            )

    def check_memory(self, *, theta: str, phi: str, documents: bool) -> None:
        """InputError, before hours of work, if there is no room at its end for the estimates that are wanted."""
        chain = self.chain
        if not self.samples:
            return
        state, samples = chain.state, chain.options.samples
        phi = chosen_phi(phi, state, samples)
        taken = estimate_memory(state, theta, phi, documents)
        entries = state.n_words * state.n_topics
        # Dense ones are added as they are made: beside the one at hand the first, the one before and the sum.
        others = min(samples - 1, 3) if phi == "cgsp" and entries <= MAX_ENTRIES else samples - 1
        taken += BY_ENTRY * min(entries, MAX_ENTRIES) * others
        room = chain.engine.room(chain.memory)
        if taken > room:
            counts = estimate_memory(state, "cgs", "cgs", documents)
            estimator = "cgsp" if "cgsp" in (phi, theta) else "cgs"
            do = "--estimator cgs, which keeps the counts, would do" if counts <= room else "more memory is needed"
            raise InputError(
                f"memory: the estimates by {estimator} take about {told_size(chain.memory + taken)} at the end of the "
                f"run, and it may take {told_size(max(chain.memory + room, 0))}: {do}"
            )
        chain.memory += taken

    def result(
        self, *, theta: str = "cgsp", phi: str = "auto", examples: int = 20, documents: Rows | None = None
    ) -> Result:
        """The model, with trace, options and typical documents, and the state. `documents` is given θ of the corpus."""
        self.check_phi(phi)
        chain = self.chain
        check_unchanged(chain.state.words)
        state = self.definition.closed(chain.method.sync())
        before = list(chain.samples.values())
        phi = chosen_phi(phi, state, len(before) + 1)
        estimator, engine = self.definition.estimator(state), chain.engine
        if before:

            def each() -> Iterator[Model]:
                for s in [*before, state]:
                    yield estimate(s, theta=theta, phi=phi, threads=engine, examples=0, estimator=estimator)

            number = np.arange(state.n_topics)  # of one chain: topics keep their numbers
            model = average_models(each(), [number] * (len(before) + 1))
        elif self.samples:
            words = chain.method.word_topics() if state is chain.method.state else None
            model = estimate(
                state, theta=theta, phi=phi, threads=engine, examples=examples, documents=documents, word_rows=words,
                estimator=estimator,
            )  # fmt: skip
        else:
            model = model_of_expected_counts(chain.method.word_topics(), state, theta)
        if documents is not None and (before or not self.samples):
            for begin, rows in self.theta_rows(theta):
                documents(begin, rows)
        if examples and not len(model.example_documents):
            add_examples(model, state, examples, chain.engine, estimator)
        model.trace = {name: values for name, values in chain.trace.arrays().items() if name != "seconds"}
        model.parents = dict(state.parents)
        state.meta = dict(state.meta) | run_meta(chain)
        model.meta |= dict(state.meta)
        self.definition.finish(state, model, [*before, state])
        check_unchanged(state.words)
        return Result(model, state)

    def glance(self) -> Model:
        """The topics as they are now, from the counts alone: a look in passing, while the chain runs."""
        return model_of_expected_counts(self.chain.method.word_topics(), self.chain.state, "cgs")

    def theta_rows(self, estimator: str = "cgsp") -> Iterator[tuple[int, NDArray[np.float64]]]:
        """θ of the corpus in batches, averaged over the chain's samples: the number of the first document, and rows."""
        yield from self.corpus_theta().rows(estimator, self.chain.engine)

    def corpus_theta(self) -> CorpusTheta:
        """What θ of the corpus is found from, without the chain."""
        chain = self.chain
        if not self.samples:
            return CorpusTheta([chain.state], None, chain.method.document_topics())
        states = [*chain.samples.values(), self.definition.closed(chain.method.sync())]
        return CorpusTheta(states, self.definition.estimator(states[-1]))


@dataclass(frozen=True)
class CorpusTheta:
    """θ of the documents of a run that has ended, found when it is asked for."""

    states: list[State]
    """The samples, or the only state."""
    made_by: Estimator | None = None
    """What makes θ of samples, as the definition says."""
    expected: Csr | None = None
    """The expected counts of topics in documents, where the method has these instead of samples."""

    def rows(self, estimator: str, engine: Engine) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Batches of rows, each with the number of its first document; of several samples the mean."""
        state = self.states[-1]
        if self.expected is None:
            each = (theta_rows(s, estimator, threads=engine, made_by=self.made_by) for s in self.states)
            for batches in zip(*each, strict=True):
                yield batches[0][0], sum(rows for _, rows in batches) / len(batches)
        elif state.allowed is not None:
            yield from restricted_rows(state, self.expected[2].astype(np.float64))
        else:
            yield 0, expected_shares(self.expected, state)


def learn_model(engine: Engine, state: State, options: Options) -> Model:
    """The model that a run on this state ends with."""
    return Run.from_state(state, options, engine).train().result(examples=0).model


def unplaced_state(state: State) -> State:
    """A state with no token placed, whose priors and side arrays are its own."""
    side = {name: array.copy() for name, array in state.side.items()}
    z = unplaced_topics(state.n_tokens * state.paths)
    kept = ("tokenizer", "time", "task", "part", "covariates", "keywords", "slices")
    meta = {name: value for name, value in state.meta.items() if name in kept}
    return replace(state, z=z, alpha=state.alpha.copy(), beta=state.beta.copy(), side=side, meta=meta)


def check_fit(definition: Definition, options: Options) -> None:
    """InputError if an option was set that means nothing to the model."""
    declared = declared_options(options)
    for name, why in definition.unfit.items():
        if getattr(options, name) != usual_value(name, declared[name][1]):
            raise InputError(f"{name}: {why} (model {definition.name})")


def run_meta(chain: Chain) -> dict[str, Any]:
    """What a model and a state remember of the run that made them."""
    options = chain.options
    paths = {"paths": chain.state.paths} if chain.state.paths > 1 else {}
    return paths | {
        "options": options.to_meta(),
        "model": options.model,
        "sampler": chain.sampler.name,
        "start": chain.start,
        "seed": options.seed,
        "iterations": chain.sweeps,
        "documents": chain.state.n_documents,
        "tokens": chain.state.n_tokens,
    }


def model_of_expected_counts(word_topics: Csr, state: State, theta: str) -> Model:
    """A model of expected counts. They are all there is: `theta` only matters for what is inferred later."""
    indptr, topics, values = word_topics
    meta = {"estimator": {"theta": theta, "phi": "expected counts"}}
    if len(state.seeds):
        meta["seed_counts"] = state.seeds.by_topic(state.n_topics)  # type: ignore[assignment]
    return Model(
        vocabulary=state.vocabulary, alpha=state.alpha.copy(), beta=state.beta.copy(), indptr=indptr, topics=topics,
        values=values, meta=meta,
    )  # fmt: skip


def expected_shares(document_topics: Csr, state: State) -> NDArray[np.float64]:
    """θ from expected counts of every topic: (α + E n_dk) / (Σα + n_d)."""
    weights = (
        document_topics[2].reshape(state.n_documents, state.n_topics)
        + state.alpha[state.groups if len(state.groups) else 0]
    )
    shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return shares
