"""A hidden Markov model as a value, and what it says of sequences: likelihood, posteriors, most probable states."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.hmm import hmm as kernel
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.files import container
from topicx.files.file_kinds import HMM
from topicx.strings import Strings

CELLS = 16
"""At most so many pieces of a corpus are passed over at once, whatever the threads."""

Floats = NDArray[np.float64]


@dataclass
class Sequences:
    """Symbols of several sequences one after another: what the kernels take."""

    words: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    """Sequence d is words[offsets[d]:offsets[d + 1]]."""

    @property
    def n_symbols(self) -> int:
        return len(self.words)

    def cells(self) -> list[tuple[int, int]]:
        """Runs of whole sequences with about as many symbols each: (first, end)."""
        goals = np.linspace(0, len(self.words), CELLS + 1)
        cuts = np.unique(np.searchsorted(self.offsets, goals[1:-1]))
        edges = np.unique(np.concatenate([[0], cuts, [len(self.offsets) - 1]]))
        return [(int(a), int(b)) for a, b in zip(edges[:-1], edges[1:])]


@dataclass
class Parameters:
    """The three distributions. `emit` is words × states, as the kernels read it."""

    start: Floats
    trans: Floats
    emit: Floats

    def log_likelihoods(self, data: Sequences, engine: Engine) -> Floats:
        """log p of each sequence, by the forward algorithm."""
        found = np.zeros(len(data.offsets) - 1)
        engine.map(
            lambda cell: kernel.forward_likelihoods(
                data.words, data.offsets, *cell, self.start, self.trans, self.emit, found
            ),
            data.cells(),
        )
        return found

    def log_likelihood(self, data: Sequences, engine: Engine) -> float:
        return float(self.log_likelihoods(data, engine).sum())


@dataclass
class HmmModel:
    """What was learnt: the parameters, the symbols' names, and how it was made."""

    startprob: Floats
    """States: the distribution of a sequence's first state."""
    transmat: Floats
    """States × states: each row is the distribution of the next state."""
    emissionprob: Floats
    """States × symbols: each row is a distribution over the vocabulary."""
    vocabulary: Strings
    trace: dict[str, NDArray[Any]] = field(default_factory=dict)
    """"sweep", and "log_likelihood": a row a record, a column a restart."""
    meta: dict[str, Any] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    digest: str = ""

    def __repr__(self) -> str:
        return f"HmmModel({self.n_states} states, {len(self.vocabulary):,} symbols)"

    @property
    def n_states(self) -> int:
        return len(self.startprob)

    def parameters(self) -> Parameters:
        """For the kernels: one row more for symbols that the model does not know, which tell nothing of the state."""
        emit = np.ones((len(self.vocabulary) + 1, self.n_states))
        emit[:-1] = self.emissionprob.T
        return Parameters(np.ascontiguousarray(self.startprob), np.ascontiguousarray(self.transmat), emit)

    def sequences(self, corpus: Corpus) -> tuple[Sequences, int]:
        """A corpus by this model's symbols (matched by name), and how many of its tokens are unknown."""
        if corpus.vocabulary == self.vocabulary:
            return Sequences(corpus.words, corpus.offsets), 0
        index = {word: at for at, word in enumerate(self.vocabulary)}
        unknown = len(self.vocabulary)
        new = np.array([index.get(word, unknown) for word in corpus.vocabulary], np.uint32)
        words = new[corpus.words] if len(new) else corpus.words
        return Sequences(words, corpus.offsets), int((words == unknown).sum())

    def log_likelihoods(self, corpus: Corpus, threads: int = 0) -> Floats:
        """log p of each sequence; symbols that the model does not know count nothing."""
        with Threads(threads) as engine:
            return self.parameters().log_likelihoods(self.sequences(corpus)[0], engine)

    def viterbi(self, data: Sequences, engine: Engine) -> tuple[NDArray[np.uint8], Floats]:
        """The most probable path of states of each sequence, and log p(states, symbols); ties: the lower state."""
        states, found = np.zeros(data.n_symbols, np.uint8), np.zeros(len(data.offsets) - 1)
        p = self.parameters()
        with np.errstate(divide="ignore"):
            logs = [np.log(p.start), np.log(p.trans), np.log(p.emit)]
        engine.map(
            lambda cell: kernel.viterbi_paths(data.words, data.offsets, *cell, *logs, found, states), data.cells()
        )
        return states, found

    def posteriors(self, data: Sequences, engine: Engine) -> tuple[Floats, Floats]:
        """p(state | sequence) of every symbol, a row each; and log p of each sequence. A sequence that the model cannot
        produce has NaN in its rows."""
        gamma, found = np.full((data.n_symbols, self.n_states), np.nan), np.zeros(len(data.offsets) - 1)
        p = self.parameters()

        def one(cell: tuple[int, int]) -> None:
            spare = [np.zeros_like(p.start), np.zeros_like(p.trans), np.zeros_like(p.emit)]
            kernel.expected_counts(data.words, data.offsets, *cell, p.start, p.trans, p.emit, found, *spare, gamma)

        engine.map(one, data.cells())
        return gamma, found

    # -- files -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the model to a file and return its digest."""
        arrays: dict[str, NDArray[Any]] = {
            "startprob": self.startprob,
            "transmat": self.transmat,
            "emissionprob": self.emissionprob,
            **self.vocabulary.arrays("vocabulary"),
            **{f"trace.{name}": values for name, values in self.trace.items()},
        }
        self.digest = container.write(path, HMM, arrays, self.meta, self.parents)
        return self.digest

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> HmmModel:
        """Read a model file, every byte verified."""
        file = container.read(path, HMM)
        found = HMM.unpack(file.arrays)
        del found["extra"]
        model = cls(**found, meta=file.meta, parents=file.parents, digest=file.digest)
        check_parameters(file.path, model.startprob, model.transmat, model.emissionprob, len(model.vocabulary))
        return model


def check_parameters(where: str, startprob: Any, transmat: Any, emissionprob: Any, symbols: int) -> None:
    """InputError if these are no distributions of one model."""
    states = len(startprob)
    shapes = {"startprob": (states,), "transmat": (states, states), "emissionprob": (states, symbols)}
    for (name, shape), value in zip(shapes.items(), (startprob, transmat, emissionprob), strict=True):
        if np.shape(value) != shape:
            raise InputError(f"{where}: {name} has shape {np.shape(value)}, not {shape}")
        if not (np.isfinite(value).all() and np.min(value, initial=0) >= 0):
            raise InputError(f"{where}: {name} has entries that are no probabilities")
        if not np.allclose(np.sum(value, axis=-1), 1, atol=1e-6):
            raise InputError(f"{where}: the rows of {name} do not sum to 1")
