"""A model: what was learnt, whoever learnt it. Everything after training works on this class alone.

φ is kept as expected counts c_kw (whole numbers from a Gibbs state, fractions from CGS_p or a variational method):

    φ_kw = (c_kw + β_w) / (Σ_w c_kw + Σ_w β_w)

The counts are sparse by word. Where a dense estimate does not fit, only the large entries are kept and each word has a
`remainder`, the mass left out, which belongs to all topics in proportion to `remainder_share`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.estimate import counts as kernel
from topicx.common_methods import Kept, OfTopics
from topicx.corpus.table import SNIPPET, Table
from topicx.declare import check_whole
from topicx.engines.threads import Engine, Threads
from topicx.files import container
from topicx.files.file_kinds import MODEL
from topicx.strings import Strings, same_arrays

if TYPE_CHECKING:
    import pandas
    import scipy.sparse

    from topicx.predict.document_topics import DocumentTopics
    from topicx.predict.predictor import Predictor
    from topicx.report.written_report import WrittenReport
    from topicx.state import State


@dataclass(eq=False)
class Model(OfTopics, Kept):
    """Topics (expected counts, priors) and what is known of their making."""

    vocabulary: Strings
    """The word types; columns of φ."""
    alpha: NDArray[np.float64]
    """α: a row per group of documents (usually one), a column per topic."""
    beta: NDArray[np.float64]
    """β: the prior weight of each word."""
    indptr: NDArray[np.int64]
    """The entries of word w are topics[indptr[w]:indptr[w + 1]] and values[...]."""
    topics: NDArray[np.uint16]
    """Topic of each entry."""
    values: NDArray[Any]
    """Expected counts (int64, float32 or float64)."""
    remainder: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0, np.float64))
    """Per word, the expected count that is not in the entries; empty: none."""
    remainder_share: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0, np.float64))
    """Per topic, its share of every remainder."""
    example_documents: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """The most typical training documents of each topic (-1: fewer than asked for)."""
    example_weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0), np.float64))
    """θ of those documents in that topic."""
    example_ids: Strings = field(default_factory=lambda: Strings.of([]))
    """Names of the example documents, topic after topic."""
    example_snippets: Strings = field(default_factory=lambda: Strings.of([]))
    """Beginnings of the example documents' texts."""
    example_columns: Table = field(default_factory=Table)
    """What those documents carry (label, collection, time, further columns), a row each; no columns: it is not kept.
    Rows without a document have no meaning."""
    trace: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """The chain's trace without its seconds: sweep, score (the objective), and what the sampler adds."""
    group_names: Strings = field(default_factory=lambda: Strings.of([]))
    """What the rows of `alpha` are called (collections); empty: they have no names."""
    topic_names: Strings = field(default_factory=lambda: Strings.of([]))
    """What the topics are called (labels, or names that a user gave; '': by its number); empty: they are numbers."""
    hidden: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """1: a topic that is not to be shown; empty: all are."""
    merged: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, np.uint16))
    """Where each topic's words have gone, by number (to itself, if it was not merged); empty: none was merged."""

    def __post_init__(self) -> None:
        MODEL.verify_object(self, without=("side", "example_objects"))

    def __repr__(self) -> str:
        kind = str(self.meta.get("model", "lda"))
        made = [f"{self.n_topics} topics", f"{self.n_words:,} words"]
        made += [f"{self.meta['documents']:,} documents"] if isinstance(self.meta.get("documents"), int) else []
        made += [f"sampler {self.meta['sampler']}"] if "sampler" in self.meta else []
        return f"Model({kind}: {', '.join(made)})"

    def __eq__(self, other: object) -> bool:
        """Whether both have the same counts, priors and all that is known of topics and words (not how they came
        about)."""
        return same_arrays(MODEL.pack(self), MODEL.pack(other)) if isinstance(other, Model) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """All but what is kept for predictors, which a copy makes anew."""
        return {name: value for name, value in self.__dict__.items() if name != "_prepared"}

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """Σ_w c_kw: the expected number of tokens of each topic."""
        totals = np.bincount(self.topics, weights=self.values, minlength=self.n_topics)
        if len(self.remainder):
            totals = totals + self.remainder.sum() * self.remainder_share
        return totals.astype(np.float64)

    @cached_property
    def beta_sum(self) -> float:
        return float(self.beta.sum())

    @property
    def topic_weights(self) -> NDArray[np.float64]:
        """Each topic's share of the tokens (seed words' pseudo-counts are none)."""
        tokens = self.totals - np.asarray(self.meta.get("seed_counts", 0.0), dtype=np.float64)
        total = tokens.sum()
        return tokens / total if total > 0 else np.full(self.n_topics, 1 / self.n_topics)

    @property
    def called(self) -> list[str]:
        """A name of each topic for tables, where any has one: those without are topic_0 …"""
        return [name or f"topic_{k}" for k, name in enumerate(self.topic_names)]

    def named(self, topic: int | None) -> dict[str, str]:
        """The name of a topic as an entry of rows that tell of it; none where it has no name (or is none)."""
        name = self.topic_names[topic] if topic is not None and len(self.topic_names) else ""
        return {"name": name} if name else {}

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Which topics are to be shown."""
        return self.hidden == 0 if len(self.hidden) else np.ones(self.n_topics, bool)

    @property
    def example_objects(self) -> Strings:
        """What the typical documents carry, as a model file has it: a JSON object each, '' where there is none."""
        if not self.example_columns:
            return Strings.of([])
        documents = self.example_documents.ravel()
        return Strings.of(self.example_columns.objects(np.where(documents >= 0, np.arange(len(documents)), -1)))

    def counts(self) -> scipy.sparse.csr_array:
        """The stored expected counts as a words × topics CSR array."""
        import scipy.sparse

        shape = (self.n_words, self.n_topics)
        return scipy.sparse.csr_array((self.values, self.topics.astype(np.int32), self.indptr), shape=shape)

    def phi_of(self, words: Any) -> NDArray[np.float64]:
        """φ of the words with these ids: an array of words × topics."""
        chosen = np.asarray(words, dtype=np.int64)
        rows = np.asarray(self.counts()[chosen].toarray(), dtype=np.float64)
        if len(self.remainder):
            rows += np.outer(self.remainder[chosen], self.remainder_share)
        return (rows + self.beta[chosen, None]) / (self.totals + self.beta_sum)

    @cached_property
    def topic_word(self) -> NDArray[np.float64]:
        """φ: topics × words, each row sums to 1 (dense: K × V numbers; `phi_of` gives parts of it)."""
        return np.ascontiguousarray(self.phi_of(np.arange(self.n_words)).T)

    def top_words(
        self, number: int = 10, *, minimum: float = 0.0, last_first: bool = False
    ) -> list[list[tuple[str, float]]]:
        """Each topic's most probable words and their probabilities; ties in vocabulary order (or the last first, as
        MALLET has them)."""
        check_whole("number", number, 0, None)
        found: list[list[tuple[str, float]]] = []
        word_of, totals = cache(self.vocabulary.__getitem__), self.totals + self.beta_sum
        by_topic = np.argsort(self.topics, kind="stable")
        ends = np.cumsum(np.bincount(self.topics, minlength=self.n_topics))
        word_of_entry = np.repeat(np.arange(self.n_words), np.diff(self.indptr))
        for topic, (begin, end) in enumerate(zip([0, *ends], ends, strict=False)):
            entries = by_topic[begin:end]
            words, values = word_of_entry[entries], self.values[entries].astype(np.float64)
            if len(self.remainder):
                values = values + self.remainder[words] * self.remainder_share[topic]
            values = (values + self.beta[words]) / totals[topic]
            if 0 < number < len(values):  # the others need no order
                large = values >= np.partition(values, -number)[-number]
                words, values = words[large], values[large]
            order = np.lexsort((-words if last_first else words, -values))[:number]
            found.append([(word_of(int(words[i])), float(values[i])) for i in order if values[i] > minimum])
        return found

    # -- new documents -----------------------------------------------------------------------------------------

    def transform(self, documents: Any, *, text: str = "text", **sampling: Any) -> NDArray[np.float32]:
        """θ of new documents (texts, lists of words, a data frame, a matrix or a corpus): documents × topics.

        `sampling`: iterations, burn_in, samples, lag, chains, theta, seed and threads, as for `topicx infer`.
        """
        return self.infer(documents, text=text, **sampling).theta

    def infer(self, documents: Any, *, text: str = "text", **sampling: Any) -> DocumentTopics:
        """What the model says of new documents: θ, words it does not know, and what it predicts (see `transform`)."""
        from topicx.predict.document_topics import theta_of

        return theta_of(self, documents, text=text, **sampling)

    def predictor(self, *, group: str | int | None = None, threads: int | Engine = 0, **sampling: Any) -> Predictor:
        """What reads new documents: threads share it. What it needs of the model is made once, and kept with the model
        for further predictors. Arrays of the model that are changed in place are not noticed.

        Parameters
        ----------
        group
            The group of documents (a collection) whose prior is used; None: each document's own.
        threads
            How many work on a batch of documents (0: all cores), or an engine.
        **sampling
            iterations, burn_in, samples, lag, chains, theta and seed, as for `topicx infer`.
        """
        from topicx.predict.predictor import predictor_of

        return predictor_of(self, group=group, threads=threads, **sampling)

    # -- reading -----------------------------------------------------------------------------------------------

    def report(self, path: str | os.PathLike[str] | None = None, **asked: Any) -> WrittenReport:
        """Make a report: one HTML page (or, by the path's ending, Markdown or JSON).

        Parameters
        ----------
        path : str or path, optional
            Where to write it. None: it is shown in a notebook, and `save` writes it.
        **asked
            The documents: `state`, `corpus` or `doc_topics` (a file, or an object); `edits`, a file of names;
            `effects` and `search`, tables; `again`, other runs; `threads`; and the options of `topicx report`: title,
            unit, by, bins, shares, snippets, titles, max_size, language, about, seed.

        Returns
        -------
        WrittenReport
            The report's bytes; a notebook shows the page.
        """
        from topicx.report.written_report import made_report

        return made_report(self, path, **asked)

    def topic_table(self, words: int = 10) -> pandas.DataFrame:
        """A data frame with a row a topic: name, share, α, words and more; see `topicx.views.topic_table`."""
        from topicx.views.topic_tables import topic_table

        return topic_table(self, words)

    def similar_topics(self, topic: int, number: int = 5) -> list[tuple[int, float]]:
        """The topics whose words are most like a topic's, with similarities; see `topicx.views.similar_topics`."""
        from topicx.views.topic_tables import similar_topics

        return similar_topics(self, topic, number)

    def passages(
        self, topics: Sequence[int] | None = None, *, documents: int = 3, characters: int = 600
    ) -> list[dict[str, Any]]:  # fmt: skip
        """The passages of typical documents that say most of their topic; see `topicx.views.typical_passages`."""
        from topicx.views.topic_passages import typical_passages

        return typical_passages(self, topics, documents=documents, characters=characters)

    def _repr_html_(self) -> str:
        from topicx.report.notebook_tables import model_table

        return model_table(self)

    # -- files -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write the model to a file and return its digest."""
        self.digest = container.write(path, MODEL, MODEL.pack(self), self.meta, self.parents)
        return self.digest

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model file, every byte verified."""
        file = container.read(path, MODEL)
        found = MODEL.unpack(file.arrays)
        found["example_columns"] = Table.of_objects(found.pop("example_objects"))
        return cls(**found, meta=file.meta, parents=file.parents, digest=file.digest)

    def unlike(self, state: State) -> str | None:
        """What says that this is no state of the model's own: of its run, or of documents whose topics it inferred.
        None: nothing does (states of other programs do not say where they come from)."""
        made_of = {digest for role, digest in self.parents.items() if role.startswith("state") and digest}
        if state.digest in made_of or (self.digest and state.parents.get("model") == self.digest):
            return None
        if (state.n_topics, state.vocabulary) != (self.n_topics, self.vocabulary):
            return "its topics or its words are others"
        corpora = self.parents.get("corpus"), state.parents.get("corpus")
        if all(corpora) and corpora[0] != corpora[1]:
            return "it is of another corpus"
        ours, theirs = self.meta.get("options"), state.meta.get("options")
        if isinstance(ours, dict) and isinstance(theirs, dict) and ours != theirs:
            other = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
            name = other[0]
            return f"its run had {name.replace('_', ' ')} {theirs.get(name)!s:.40}, the model's {ours.get(name)!s:.40}"
        return "the model was made of another state" if made_of and state.digest else None

    def add_examples(
        self, state: State, number: int = 20, engine: Engine | None = None,
        rows: Iterable[tuple[int, NDArray[np.float64]]] | None = None,
    ) -> None:  # fmt: skip
        """Remember each topic's most typical documents: the largest θ_dk among documents of some length. `rows`: θ, in
        batches from the first document on (None: as the tokens' topics say)."""
        from topicx.state import document_batches

        lengths, alpha_sum = state.lengths, state.document_alpha()
        # Very short documents are typical of nothing: from half the median length on.
        floor = np.median(lengths[lengths > 0]) / 2 if np.any(lengths > 0) else 0
        best = np.zeros(0, np.int64), np.zeros(0, np.uint16), np.zeros(0)
        least = np.zeros(self.n_topics)  # what a document must have of a topic to be among the foremost so far
        z, starts = state.gathered()
        z = np.ascontiguousarray(z)  # where no token is placed it is one number, seen many times
        alpha = np.ascontiguousarray(state.alpha)

        def shares(batch: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float64]]:
            room = int(starts[batch[1]] - starts[batch[0]])
            documents, topics, theta = np.empty(room, np.int64), np.empty(room, np.uint16), np.empty(room)
            used = kernel.representative_shares(  # what has less than `least` cannot be among the foremost
                z, starts, *batch, state.paths, alpha, state.groups, lengths, alpha_sum, floor, least, documents,
                topics, theta,
            )  # fmt: skip
            return documents[:used], topics[:used], theta[:used]

        engine = engine or Threads(1)
        counted = engine.stream(shares, document_batches(starts, 1 << 19)) if rows is None else ()
        for documents, topics, theta in counted if rows is None else _entries_of_rows(rows, lengths >= floor):
            best = _largest_by_topic(
                np.concatenate([best[0], documents]), np.concatenate([best[1], topics]),
                np.concatenate([best[2], theta]), number,
            )  # fmt: skip
            full = np.bincount(best[1], minlength=self.n_topics) == number
            last = np.cumsum(np.bincount(best[1], minlength=self.n_topics)) - 1  # by topic, then falling
            least[full] = best[2][last[full]]
        documents, topics, theta = best
        starts = np.searchsorted(topics, np.arange(self.n_topics + 1))
        self.example_documents = np.full((self.n_topics, number), -1, np.int64)
        self.example_weights = np.zeros((self.n_topics, number))
        for topic in range(self.n_topics):
            chosen = slice(starts[topic], starts[topic + 1])
            size = starts[topic + 1] - starts[topic]
            self.example_documents[topic, :size] = documents[chosen]
            self.example_weights[topic, :size] = theta[chosen]
        flat = self.example_documents.ravel()
        self.example_ids = _of_documents(state.ids, flat)
        snippets, carried = state.snippets, state.table.without(SNIPPET)
        if len(snippets):
            self.example_snippets = _of_documents(snippets, flat)
        if carried:
            self.example_columns = carried.take(np.maximum(flat, 0))


def _entries_of_rows(
    rows: Iterable[tuple[int, NDArray[np.float64]]], long: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float64]]]:
    """Documents, topics and θ of batches of rows, of documents that are long enough."""
    for begin, theta in rows:
        chosen = np.flatnonzero(long[begin : begin + len(theta)])
        documents, topics = np.nonzero(theta[chosen])
        yield begin + chosen[documents], topics.astype(np.uint16), theta[chosen][documents, topics]


def _of_documents(names: Strings, documents: NDArray[np.int64]) -> Strings:
    """Their names, one after another; below 0: no document."""
    name_of = cache(names.__getitem__)
    return Strings.of(name_of(d) if d >= 0 else "" for d in documents.tolist())


def _largest_by_topic(
    documents: NDArray[np.int64], topics: NDArray[np.uint16], theta: NDArray[np.float64], number: int
) -> tuple[NDArray[np.int64], NDArray[np.uint16], NDArray[np.float64]]:
    """The `number` largest of these entries of each topic: by topic, then falling θ, then document."""
    order = np.lexsort((documents, -theta, topics))
    ranked = topics[order]
    rank = np.arange(len(order)) - np.searchsorted(ranked, ranked, side="left")
    kept = order[rank < number]
    return documents[kept], topics[kept], theta[kept]
