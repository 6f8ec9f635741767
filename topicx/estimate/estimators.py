"""One entrance to the estimators: a state goes in; a model and the documents' topics come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError
from topicx.estimate import cgs_counts
from topicx.estimate.cgsp_counts import MAX_ENTRIES, Conditionals, DumpCounts, ThetaRows, WordCounts
from topicx.estimate.path_estimates import PathConditionals, join_path_rows
from topicx.estimate.restricted_counts import RestrictedConditionals
from topicx.estimate.restricted_counts import theta_rows as restricted_rows
from topicx.model import Model
from topicx.state import Csr, State, document_batches

ESTIMATORS = ("cgs", "cgsp")
AUTO_ENTRIES, AVERAGED_ENTRIES = 10_000_000, 40_000_000
"""What φ "auto" means: cgsp up to so many numbers, and so many in all states that are averaged together; beyond, cgs,
which is sparse and costs no memory by token. What cgsp adds to an average is .3 to 1.5% of perplexity."""
AUTO_TOKENS = 100_000_000
"""Tokens up to which `auto` is cgsp: it keeps 34 bytes for each while it works."""
BY_TOKEN, BY_ENTRY, WORKING = 34, 10, 40_000_000
"""Bytes that cgsp keeps for each token while it works, those of an entry of φ, and those of blocks in between."""
PART = 1 << 24
"""Tokens of the documents whose θ^p is made at a time."""


def chosen_phi(phi: str, state: State, samples: int = 1) -> str:
    """The estimator of φ, where "auto" leaves it to the size of the corpus and of φ, and to the states averaged."""
    if phi != "auto":
        return phi
    entries = state.n_words * state.n_topics
    few = entries <= AUTO_ENTRIES and samples * entries <= AVERAGED_ENTRIES
    return "cgsp" if few and state.n_tokens <= AUTO_TOKENS else "cgs"


def estimate_memory(state: State, theta: str, phi: str, documents: bool, max_entries: int = MAX_ENTRIES) -> int:
    """About how many bytes `estimate` takes beside the state; `documents`: θ is made, too."""
    tokens = state.n_tokens * state.paths
    entries = state.n_words * state.n_topics
    if chosen_phi(phi, state) == "cgsp":
        return BY_TOKEN * tokens + BY_ENTRY * min(entries, max_entries) + WORKING
    rows = BY_TOKEN * min(tokens, PART) if documents and theta == "cgsp" else 0
    return rows + BY_ENTRY * min(entries, tokens) + WORKING


class SoftCounts(Protocol):
    """Expected counts of a state, ready to be summed by document and by word."""

    def documents(self, *, for_words: bool = True) -> Iterator[ThetaRows]:
        """θ^p in batches of documents: the number of the first, and a row each. `for_words`: words are asked for
        afterwards."""
        ...

    def words(self, max_entries: int) -> WordCounts:
        """Expected counts by word, of which the largest are kept."""
        ...


class Estimator(Protocol):
    """What makes θ and φ of a state: a definition says which (`Definition.estimator`)."""

    of_tokens: bool
    """Whether θ are shares of a document's tokens, by topic."""

    def soft_counts(
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, *, path: int | None = None
    ) -> SoftCounts:
        """What cgsp counts; `path`: of one of the state's paths alone."""
        ...

    def soft_rows(
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, word_rows: Csr | None = None,
        *, path: int | None = None,
    ) -> Iterator[ThetaRows]:  # fmt: skip
        """θ by cgsp in batches of documents, where nobody asks for words. `word_rows`: n_kw, if the caller has it."""
        ...

    def count_rows(
        self, state: State, counts: DumpCounts | None = None, *, path: int | None = None
    ) -> Iterator[ThetaRows]:  # fmt: skip
        """θ by cgs, from counts, in batches of documents."""
        ...


class TokenMixture:
    """θ as the shares of a document's tokens: by their full conditionals, or counted. States whose documents have
    topics of their own keep to these; of several paths it is the average."""

    of_tokens = True

    def soft_counts(
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, *, path: int | None = None
    ) -> Conditionals | RestrictedConditionals:
        if state.allowed is not None:
            return RestrictedConditionals(state, threads)
        if state.paths > 1:
            return PathConditionals(state, threads, path)
        return Conditionals(state, threads, counts)

    def soft_rows(
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, word_rows: Csr | None = None,
        *, path: int | None = None,
    ) -> Iterator[ThetaRows]:  # fmt: skip
        # A plain state is taken in parts: what a part needs of the others are n_kw alone.
        if state.allowed is not None or state.paths > 1 or counts is not None or state.n_tokens <= PART:
            yield from self.soft_counts(state, threads, counts, path=path).documents(for_words=False)
            return
        words = word_rows or state.word_topics()
        for first, last in document_batches(state.offsets, PART):
            part = Conditionals(state.part(first, last), threads, word_rows=words)
            for begin, rows in part.documents(for_words=False):
                yield first + begin, rows

    def count_rows(
        self, state: State, counts: DumpCounts | None = None, *, path: int | None = None
    ) -> Iterator[ThetaRows]:  # fmt: skip
        if state.allowed is not None:
            return restricted_rows(state)
        if state.paths > 1:
            return join_path_rows(cgs_counts.theta_rows(state.spread()), state.paths, path)
        return cgs_counts.theta_rows(state, counts.document_rows if counts else None)


def estimator_of_state(state: State) -> Estimator:
    """What makes θ and φ of a state, as the definition of its model says; that of LDA for other programs' states."""
    return model_registry.of_meta(state.meta).estimator(state)


def _check_estimator(name: str, value: str) -> None:
    if value not in ESTIMATORS:
        raise InputError(f"{name}: {value!r} is not an estimator; there are {' and '.join(ESTIMATORS)}")


def estimate(
    state: State,
    *,
    theta: str = "cgsp",
    phi: str = "cgsp",
    threads: int | Engine = 0,
    max_entries: int = MAX_ENTRIES,
    examples: int = 20,
    documents: Callable[[int, NDArray[np.float64]], Any] | None = None,
    counts: DumpCounts | None = None,
    word_rows: Csr | None = None,
    estimator: Estimator | None = None,
) -> Model:
    """Make a model from a state.

    Parameters
    ----------
    state : State
        Assignments of all tokens.
    theta : str, default "cgsp"
        Estimator of the documents' topics, here and when the model infers: "cgsp" or "cgs".
    phi : str, default "cgsp"
        Estimator of the topics: "cgsp", "cgs" or "auto".
    threads : int or Engine, default 0
        Threads (0: all cores), or what runs work in parallel. The result never depends on it.
    max_entries : int, default 50,000,000
        Numbers of φ that are kept. A larger φ keeps its largest entries and, for each word, the mass of the others
        (`Model.remainder`).
    examples : int, default 20
        Representative documents of each topic that the model keeps.
    documents : callable, optional
        Called with the first document's number and a batch of rows of θ, in order: both come from one pass.
    counts : DumpCounts, optional
        Counts of a dump, for a state without assignments (every z is 65535): cgsp then leaves no token's own count out.
    word_rows : Csr, optional
        n_kw, where the caller has it.
    estimator : Estimator, optional
        What makes θ and φ. By default what the definition of the state's model says.

    Returns
    -------
    Model
        Topics, priors, and what is known of their making.
    """
    _check_estimator("theta", theta)
    phi = chosen_phi(phi, state)
    _check_estimator("phi", phi)
    if max_entries < 1:
        raise InputError(f"max_entries: {max_entries} must be at least 1")
    estimator = estimator or estimator_of_state(state)
    soft = estimator.soft_counts(state, threads, counts) if phi == "cgsp" else None
    if documents is not None:
        if theta == "cgs":
            batches = estimator.count_rows(state, counts)
        elif soft is not None:
            batches = soft.documents()
        else:
            batches = estimator.soft_rows(state, threads, counts, word_rows)
        for begin, rows in batches:
            documents(begin, rows)
    if phi == "cgsp":
        assert soft is not None
        expected = soft.words(max_entries)
        model = Model(
            vocabulary=state.vocabulary, alpha=state.alpha.copy(), beta=state.beta.copy(), indptr=expected.indptr,
            topics=expected.topics, values=expected.values, remainder=expected.remainder,
            remainder_share=expected.remainder_share,
        )  # fmt: skip
    else:
        indptr, topics, values = counts.word_rows if counts else word_rows or state.word_topics()
        model = Model(
            vocabulary=state.vocabulary, alpha=state.alpha.copy(), beta=state.beta.copy(), indptr=indptr,
            topics=topics, values=values,
        )  # fmt: skip
    model.meta = dict(state.meta) | {
        "estimator": {"theta": theta, "phi": phi},
        "tokens": state.n_tokens,
        "documents": state.n_documents,
    }
    if len(state.seeds):
        model.meta["seed_counts"] = state.seeds.by_topic(state.n_topics)
    if state.digest:
        model.parents = {"state": state.digest}
    if examples and counts is None:
        add_examples(model, state, examples, threads, estimator)
    return model


def theta_rows(
    state: State, estimator: str = "cgsp", *, threads: int | Engine = 0, path: int | None = None,
    made_by: Estimator | None = None,
) -> Iterator[ThetaRows]:  # fmt: skip
    """Topic proportions of a state's own documents in batches, for states whose θ is larger than memory.

    Parameters
    ----------
    state : State
        Assignments of all tokens.
    estimator : str, default "cgsp"
        "cgsp" (expected counts) or "cgs" (the counts themselves).
    threads : int or Engine, default 0
        Threads (0: all cores), or what runs work in parallel. The result never depends on it.
    path : int, optional
        Coupled chain whose proportions are wanted, counted from 0. By default the average of all.
    made_by : Estimator, optional
        What makes θ. By default what the definition of the state's model says.

    Yields
    ------
    int, ndarray of shape (documents of the batch, topics)
        Number of the first document, and θ of the documents from there on.
    """
    _check_estimator("estimator", estimator)
    if path is not None and not 0 <= path < state.paths:
        raise InputError(f"path: {path} is not one of the state's {state.paths}, which are counted from 0")
    made_by = made_by or estimator_of_state(state)
    if estimator == "cgsp":
        yield from made_by.soft_rows(state, threads, path=path)
        return
    yield from made_by.count_rows(state, path=path)


def add_examples(
    model: Model, state: State, examples: int, threads: int | Engine, estimator: Estimator
) -> None:  # fmt: skip
    """Remember each topic's most typical documents."""
    rows = None if estimator.of_tokens else estimator.count_rows(state)
    model.add_examples(state, examples, engine_of(threads), rows)


def theta(
    state: State, estimator: str = "cgsp", *, threads: int | Engine = 0, path: int | None = None
) -> NDArray[np.float64]:
    """Topic proportions of a state's own documents.

    Parameters
    ----------
    state : State
        Assignments of all tokens.
    estimator : str, default "cgsp"
        "cgsp" (expected counts) or "cgs" (the counts themselves).
    threads : int or Engine, default 0
        Threads (0: all cores), or what runs work in parallel. The result never depends on it.
    path : int, optional
        Coupled chain whose proportions are wanted, counted from 0. By default the average of all.

    Returns
    -------
    ndarray of shape (documents, topics)
        θ; rows sum to 1.
    """
    rows = np.empty((state.n_documents, state.n_topics))
    for begin, batch in theta_rows(state, estimator, threads=threads, path=path):
        rows[begin : begin + len(batch)] = batch
    return rows
