"""Inference: θ of documents under fixed topics.

A Gibbs chain runs over each document's tokens with p(z = k) ∝ (n_dk + α_k) φ_kw, and θ is

    cgs:   mean over samples of (n_dk + α_k) / (N_d + Σ α)
    cgsp:  mean over samples of (Σ_j p(z_dj = k | all others) + α_k) / (N_d + Σ α)   (Papanikolaou et al., eq. 33, 40)
    cvb0:  no chain: expected counts by CVB0's fixed point (Papanikolaou et al., eq. 6 with φ fixed)

θ^p uses the probabilities from which a further sweep would draw, so that a sample says more. The stream of random
numbers of a document is made of its words (those the model knows, in order) and the seed: its θ depends neither on
the documents beside it nor on their order, the batches, the threads or the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.infer import infer as kernel
from topicx._kernels.soft import restricted_soft as soft
from topicx.corpus.columns import Column, columns_of, part, values_of
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.corpus.table import Kinds
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError, list_first_names
from topicx.estimate.side_by_side import blocks_of
from topicx.files import container
from topicx.model import Model
from topicx.models.definition import Definition, NewDocuments
from topicx.predict.topic_rows import FixedTopics, known_tokens, match_vocabulary
from topicx.splitmix import GOLDEN, MASK
from topicx.strings import Strings

BATCH_TOKENS = 1 << 16
BATCH_DOCUMENTS = 1 << 12
ROUND_SWEEPS = 20
"""Sweeps over a new document before its prior is found anew."""
THETA_ENTRIES = 1 << 22
"""A batch holds no more entries of θ than this."""
Result = TypeVar("Result")


@dataclass
class Documents:
    """Some documents, as the model's word ids; words it does not know are left out and counted."""

    ids: Strings
    words: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    """Document d is words[offsets[d]:offsets[d + 1]]."""
    unknown: NDArray[np.int64]
    """The tokens left out of each."""
    groups: NDArray[np.uint32] = field(default_factory=lambda: np.zeros(0, np.uint32))
    """Row of α of each document; empty: the first."""
    values: list[list[Any]] = field(default_factory=list)
    """What the documents carry: for each of the columns that were asked for (`Inference.carried`), a value each."""

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass
class Inferred:
    """Documents with their θ and the last state of their chains."""

    documents: Documents
    theta: NDArray[np.float32]
    """A row a document."""
    z: NDArray[np.uint16]
    """The topic of each token."""
    own: NDArray[np.float32]
    """Models of labels: the tokens expected on each topic, without the prior (θ (N + Σα) - α); else empty."""


class Inference:
    """Inference with one model and one set of options: give it documents, in memory or as a stream."""

    def __init__(
        self,
        model: Model,
        *,
        iterations: int | None = None,
        burn_in: int | None = None,
        samples: int | None = None,
        lag: int = 1,
        chains: int | None = None,
        theta: str | None = None,
        seed: int = 1,
        threads: int | Engine = 0,
        group: str | int | None = None,
    ) -> None:
        """`burn_in` sweeps come before the first of `samples` samples, which are `lag` sweeps apart; `iterations` is
        the number of all sweeps, and settles one of the others. So many `chains` are averaged (what is not given is as
        the model's definition has it: 10 + 10 sweeps of a chain, or medlda's 20 + 10 of five). `theta`: cgsp, cgs or
        cvb0, which draws nothing (None: as the model was made; medlda: cvb0, unless samples or chains are given).
        `group` chooses a row of α, where the model has several: a collection's name or a number."""
        self.model = model
        self.definition = definition_of(model)
        blocks = self.definition.blocks(model)
        usual = 1 if blocks > 1 else self.definition.chains  # several models side by side are an average already
        if chains is not None and chains < 1:
            raise InputError(f"chains: {chains} must be at least 1")
        drawn = samples is not None or lag > 1 or (chains is not None and (chains, usual) != (1, 1))
        self.theta = estimator_of(model, theta, drawn)
        self.chains = chains = chains or (1 if self.theta == "cvb0" else usual)
        self.burn_in, self.samples, self.lag = sweeps(iterations, burn_in, samples, lag, self.definition.burn_in)
        if self.theta == "cvb0":
            if chains > 1 or samples not in (None, 1) or lag > 1:
                raise InputError("theta: cvb0 draws nothing, so there are no samples and no chains to average")
            self.burn_in, self.samples = (iterations or burn_in or self.definition.soft_sweeps), 1
        if not 0 <= seed < 2**63:
            raise InputError(f"seed: {seed} must be from 0 to 2^63 - 1")
        self.seed, self.engine = seed, engine_of(threads)
        # Documents of no known collection get the mean of all rows of α.
        alpha = model.alpha if len(model.alpha) == 1 else np.vstack([model.alpha, model.alpha.mean(axis=0)])
        self.topics = FixedTopics(model, alpha)
        self.strangers = 0
        """Documents so far of collections that the model does not know."""
        self.carried: Kinds = {}
        """The columns that documents shall bring along."""
        self.group_names = list(model.group_names)
        self.group = self._group_number(group) if group is not None else None
        self.blocks: list[Inference] = []
        """The inference of each block, where the model has several sets of topics side by side."""
        if blocks > 1:
            self.topics.memory = 0  # nobody asks for rows of all topics
            self.blocks = [
                Inference(
                    block, burn_in=self.burn_in, samples=self.samples, lag=self.lag, chains=chains, theta=self.theta,
                    seed=chain_seed(seed, chains * at), threads=1,
                )
                for at, block in enumerate(blocks_of(model, blocks))
            ]  # fmt: skip
            for one in self.blocks:
                one.topics.memory = one.topics.memory // blocks

    @property
    def iterations(self) -> int:
        return self.burn_in + (self.samples - 1) * self.lag

    def _group_number(self, group: str | int) -> int:
        if str(group) in self.group_names:
            return self.group_names.index(str(group))
        if str(group).isdecimal() and int(group) < len(self.model.alpha):
            return int(group)
        known = list_first_names(self.group_names) or f"0 to {len(self.model.alpha) - 1}"
        close = get_close_matches(str(group), self.group_names, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise InputError(f"group: the model has no group {group!r} of documents{hint}; there are {known}")

    def groups_of(self, collections: Sequence[str | None] | None, documents: int) -> NDArray[np.uint32]:
        """The rows of α of documents from these collections."""
        if self.group is not None:
            return np.full(documents, self.group, np.uint32)
        if collections is not None and self.group_names:
            known = set(self.group_names)
            self.strangers += sum(name is not None and name not in known for name in collections)
        return self.definition.document_groups(self.model, NewDocuments(documents, collections))

    # -- work ----------------------------------------------------------------------------------------------------

    def run(self, documents: Documents) -> Inferred:
        """One batch, on this thread."""
        if self.blocks:
            each = [block.run(documents).theta for block in self.blocks]
            none = np.zeros((0, 0), np.float32)
            return Inferred(documents, np.hstack(each) / np.float32(len(each)), none.astype(np.uint16).ravel(), none)
        numbers, rows, _ = self.topics.rows_for(documents.words)
        groups = documents.groups if len(documents.groups) else np.zeros(len(documents), np.uint32)
        theta = np.zeros((len(documents), self.topics.n_topics), np.float32)
        total = theta if self.chains == 1 else np.zeros(theta.shape)
        own = np.zeros(theta.shape if self.definition.labelled else (0, 0), np.float32)
        z = np.zeros(len(documents.words), np.uint16)
        for chain in range(self.chains):
            keys = document_keys(documents.words, documents.offsets, chain_seed(self.seed, chain))
            alpha, of_document = self.topics.alpha32, groups
            for number in range(self.definition.rounds):
                kernel.gibbs(
                    numbers, documents.offsets, _further(keys, number), rows, alpha, of_document,
                    ROUND_SWEEPS, 1, 1, False, theta, z,
                )  # fmt: skip
                stream = _further(keys, self.definition.rounds + number)
                alpha = self.definition.adapted_alpha(self.model, z, documents.offsets, stream)
                of_document = np.arange(len(documents), dtype=np.uint32)
            self._chain(numbers, documents.offsets, keys, rows, alpha, of_document, theta, z)
            if self.chains > 1:
                total += theta
            if self.definition.labelled:
                prior = alpha[of_document]
                lengths = np.diff(documents.offsets)[:, None]
                own += (theta * (lengths + prior.sum(axis=1, keepdims=True)) - prior) / self.chains
        if self.chains > 1:
            theta = (total / self.chains).astype(np.float32)
        return Inferred(documents, theta, z, own)

    def _chain(
        self, numbers: NDArray[np.uint32], offsets: NDArray[np.int64], keys: NDArray[np.uint64],
        rows: NDArray[np.float32], alpha: NDArray[np.float32], groups: NDArray[np.uint32], theta: NDArray[np.float32],
        z: NDArray[np.uint16],
    ) -> None:  # fmt: skip
        """θ and last topics of documents under these priors."""
        if self.theta != "cvb0":
            kernel.gibbs(
                numbers, offsets, keys, rows, alpha, groups,
                self.burn_in, self.samples, self.lag, self.theta == "cgsp", theta, z,
            )  # fmt: skip
            return
        soft.fold_in(numbers, offsets, rows, alpha, groups, self.burn_in, theta, z)

    def need_assignments(self) -> None:
        """InputError where a document has no topics of its tokens, but shares in several models."""
        if self.blocks:
            raise InputError("a model of several chains side by side has an assignment in each, not one to show")

    def stream(self, batches: Iterable[Documents]) -> Iterator[Inferred]:
        """Batch after batch, in order; a few at a time are in memory."""
        most = max(min(BATCH_DOCUMENTS, THETA_ENTRIES // self.topics.n_topics), 1)
        tokens = BATCH_TOKENS
        if self.blocks:
            for block in self.blocks:
                if block.topics.fits:
                    block.topics.rows_for(np.zeros(0, np.uint32))
        elif self.topics.fits:
            self.topics.rows_for(np.zeros(0, np.uint32))  # made once, before the threads start
        else:
            tokens = max(self.topics.most_words // self.engine.threads, 1)
        pieces = (piece for batch in batches for piece in _pieces(batch, tokens, most))
        yield from self.engine.stream(self.run, pieces)

    # -- where documents come from -------------------------------------------------------------------------------

    def corpus(self, corpus: Corpus) -> Iterator[Documents]:
        """The documents of a corpus in memory."""
        match = match_vocabulary(self.model.vocabulary, corpus.vocabulary)
        for begin, end in runs(corpus.offsets, BATCH_TOKENS, BATCH_DOCUMENTS):
            bounds = corpus.offsets[begin : end + 1]
            words, offsets, unknown = known_tokens(corpus.words[bounds[0] : bounds[-1]], bounds, match)
            collections = None
            if len(corpus.collection) and self.group_names:
                collections = [corpus.collection_of(d) for d in range(begin, end)]
            yield Documents(
                part(corpus.ids, begin, end), words, offsets, unknown, self.groups_of(collections, end - begin),
                self._values(columns_of(corpus, begin, end, snippets=True), end - begin) if self.carried else [],
            )  # fmt: skip

    def _values(self, columns: Mapping[str, Column], documents: int) -> list[list[Any]]:
        nothing = [None] * documents
        return [values_of(name, columns[name]) if name in columns else nothing for name in self.carried]

    def corpus_file(self, file: container.File) -> Iterator[Documents]:
        """The documents of an open corpus file, read as they are needed."""
        corpus = StoredCorpus(file)
        match = match_vocabulary(self.model.vocabulary, corpus.vocabulary)
        names = list(corpus.collection_names) if self.group_names else []
        for first in range(0, corpus.n_documents, 1 << 14):
            last = min(first + (1 << 14), corpus.n_documents)
            offsets, ids = corpus.offsets(first, last), corpus.ids(first, last)
            numbers = corpus.collection(first, last) if names else np.zeros(0, np.int32)
            columns = corpus.columns(first, last) if self.carried else {}
            for begin, end in runs(offsets, 1 << 20, 1 << 14):
                bounds = offsets[begin : end + 1]
                words, new, unknown = known_tokens(corpus.words(int(bounds[0]), int(bounds[-1])), bounds, match)
                collections: list[str | None] | None = None
                if len(numbers):
                    collections = [names[number] if number >= 0 else None for number in numbers[begin:end].tolist()]
                mine = {name: part(column, begin, end) for name, column in columns.items()}
                yield Documents(
                    part(ids, begin, end), words, new, unknown, self.groups_of(collections, end - begin),
                    self._values(mine, end - begin),
                )  # fmt: skip

    def texts(self, batches: Iterable[Any]) -> Iterator[Documents]:
        """Documents from the batches of a `topicx.corpus.formats.document_reader.Reader`, by the model's tokenizer."""
        from topicx.corpus.streamed_columns import values_of_batch
        from topicx.corpus.text.encoded_batches import name_count_words, whole_documents
        from topicx.corpus.text.tokenizer import Encoder, Tokenizer

        encoder = Encoder(Tokenizer.from_meta(self.model.meta.get("tokenizer")), self.model.vocabulary)
        last: tuple[Any, NDArray[np.int64]] | None = None
        number = 0
        for batch in whole_documents(batches, encoder):
            if batch.counts is None:
                words, lengths, missing = batch.encoded
            else:
                counts = name_count_words(batch.counts)
                if last is None or last[0] is not counts.vocabulary:
                    last = counts.vocabulary, self._match(counts)
                words, lengths, missing = _tokens(counts, last[1])
            given = batch.ids or [None] * len(lengths)
            names = [str(number + i) if name is None else name for i, name in enumerate(given)]
            number += len(names)
            offsets = np.zeros(len(lengths) + 1, np.int64)
            np.cumsum(lengths, out=offsets[1:])
            yield Documents(
                Strings.of(names), words, offsets, missing, self.groups_of(batch.collections, len(names)),
                list(values_of_batch(batch, self.carried).values()),
            )  # fmt: skip

    def _match(self, counts: Any) -> NDArray[np.int64]:
        vocabulary = counts.vocabulary
        return match_vocabulary(self.model.vocabulary, vocabulary)


def definition_of(model: Model) -> Definition:
    """The definition of the model, which knows what new documents bring; that of LDA for models of other programs."""
    from topicx.models import model_registry

    definition = model_registry.of_meta(model.meta)
    definition.verify(model)
    return definition


def estimator_of(model: Model, theta: str | None, drawn: bool) -> str:
    """The estimator of new documents' θ, or InputError. drawn: whether samples or chains were asked for."""
    if theta is None and not drawn:
        theta = definition_of(model).estimator(model)
    if theta is None:
        known = str(model.meta.get("estimator", {}).get("theta", "cgsp"))
        theta = known if known in ("cgs", "cgsp") else "cgsp"
    if theta not in ("cgs", "cgsp", "cvb0"):
        raise InputError(f"theta: {theta!r} is not an estimator; there are cgs, cgsp and cvb0")
    return theta


def infer(model: Model, corpus: Corpus, **options: Any) -> NDArray[np.float32]:
    """θ of a corpus's documents: documents × topics. The options are those of `Inference`."""
    inference = Inference(model, **options)
    parts = [part.theta for part in inference.stream(inference.corpus(corpus))]
    return np.concatenate(parts) if parts else np.zeros((0, model.n_topics), np.float32)


def sweeps(
    iterations: int | None, burn_in: int | None, samples: int | None, lag: int, usual: int = 10
) -> tuple[int, int, int]:
    """Burn-in, samples and lag, from whichever of them and of `iterations` (all sweeps) are given; `usual`: the burn-in
    of the model's kind."""
    for name, value in (("iterations", iterations), ("burn-in", burn_in), ("samples", samples), ("lag", lag)):
        if value is not None and value < 1:
            raise InputError(f"{name}: {value} must be at least 1")
    if iterations is None:
        return burn_in or usual, samples or 10, lag
    if burn_in is None:
        number = samples or max(min(10, (iterations - 1) // lag), 1)
        burn_in = iterations - (number - 1) * lag
        if burn_in < 1:
            raise InputError(f"iterations: {iterations} sweeps are too few for {number} samples {lag} apart")
        return burn_in, number, lag
    if burn_in > iterations:
        raise InputError(f"burn-in: {burn_in} is more than the {iterations} iterations")
    number = samples or (iterations - burn_in) // lag + 1
    if burn_in + (number - 1) * lag != iterations and samples is not None:
        raise InputError(
            f"iterations: {iterations} is not burn-in {burn_in} + {number - 1} × lag {lag}; leave one of them out"
        )
    return burn_in, number, lag


def chain_seed(seed: int, chain: int) -> int:
    """The seed of one of several chains; the first has the seed itself."""
    return (seed + chain * GOLDEN) % 2**63


def _further(keys: NDArray[np.uint64], number: int) -> NDArray[np.uint64]:
    """Streams of the same documents for another use."""
    step = np.uint64(GOLDEN * (2 * number + 3) & MASK)
    return keys ^ step


def document_keys(tokens: NDArray[np.uint32], offsets: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """The key of each document's stream of random numbers: made of its words in order, and the seed."""
    keys = np.zeros(len(offsets) - 1, np.uint64)
    kernel.document_keys(tokens, offsets, seed, keys)
    return keys


def runs(offsets: NDArray[np.int64], tokens: int, documents: int) -> Iterator[tuple[int, int]]:
    """Runs of at most this many documents and tokens (or of one longer document)."""
    begin, last = 0, len(offsets) - 1
    while begin < last:
        end = int(np.searchsorted(offsets, offsets[begin] + tokens, side="right")) - 1
        end = min(max(end, begin + 1), last, begin + documents)
        yield begin, end
        begin = end


def in_batches(
    work: Callable[[int, int], Result],
    offsets: NDArray[np.int64],
    topics: FixedTopics,
    threads: int | Engine,
    tokens: int = BATCH_TOKENS,
) -> Iterator[Result]:
    """work(begin, end) over batches of documents, in order, on some threads (0: all cores) or an engine."""
    engine = engine_of(threads)
    tokens = tokens if topics.fits else max(topics.most_words // engine.threads, 1)
    if topics.fits:
        topics.rows_for(np.zeros(0, np.uint32))
    most = max(min(BATCH_DOCUMENTS, THETA_ENTRIES // topics.n_topics), 1)
    yield from engine.stream(lambda job: work(*job), runs(offsets, tokens, most))


def _pieces(documents: Documents, tokens: int, most: int) -> Iterator[Documents]:
    if len(documents) <= most and len(documents.words) <= tokens:
        if len(documents):
            yield documents
        return
    for begin, end in runs(documents.offsets, tokens, most):
        first, last = documents.offsets[begin], documents.offsets[end]
        yield Documents(
            part(documents.ids, begin, end),
            documents.words[first:last],
            documents.offsets[begin : end + 1] - first,
            documents.unknown[begin:end],
            documents.groups[begin:end],
            [column[begin:end] for column in documents.values],
        )


def _tokens(counts: Any, match: NDArray[np.int64]) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """The same from counts: each word as often as its count says, side by side."""
    ends = np.concatenate([[0], np.cumsum(counts.counts)])
    pairs = np.concatenate([[0], np.cumsum(counts.lengths)])
    words, offsets, unknown = known_tokens(np.repeat(counts.words, counts.counts), ends[pairs].astype(np.int64), match)
    return words, np.diff(offsets), unknown


def priors(model: Model, corpus: Corpus) -> tuple[NDArray[np.float64], NDArray[np.uint32]]:
    """The rows of α for a corpus's documents, and which of them each document uses (by its collection)."""
    inference = Inference(model, threads=1)
    collections = None
    if len(corpus.collection) and inference.group_names:
        collections = [corpus.collection_of(d) for d in range(corpus.n_documents)]
    return inference.topics.alpha, inference.groups_of(collections, corpus.n_documents)
