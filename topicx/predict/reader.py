"""What a document means under a model: the readers that definitions of models make (`Definition.reader`).

A reader says which columns it wants of documents, what their prior is, how their topics are found, what is predicted of
them and how probable further words are. Inference, evaluation and tables ask it, and know of no model. It is made once
from a model and never changes: threads share it.

`Admixture` reads documents whose tokens have topics of their own, by a Gibbs chain with p(z = k) ∝ (n_dk + α_k) φ_kw:

    cgs:   mean over samples of (n_dk + α_k) / (N_d + Σ α)
    cgsp:  mean over samples of (Σ_j p(z_dj = k | all others) + α_k) / (N_d + Σ α)   (Papanikolaou et al., eq. 33, 40)
    cvb0:  no chain: expected counts by CVB0's fixed point (Papanikolaou et al., eq. 6 with φ fixed)

θ^p uses the probabilities from which a further sweep would draw, so that a sample says more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.infer import infer as kernel
from topicx._kernels.soft import restricted_soft as soft
from topicx.corpus.table import Names
from topicx.errors import InputError, list_first_names
from topicx.estimate.side_by_side import blocks_of
from topicx.model import Model
from topicx.predict.document_prior import DocumentPrior
from topicx.predict.documents import Documents
from topicx.predict.sampling_plan import Sampling, Streams, UsualSampling, further_keys
from topicx.predict.topic_rows import FixedTopics

ROUND_SWEEPS = 20
"""Sweeps over a new document before its prior is found anew."""
NO_COUNTS = np.zeros((0, 0), np.float32)


@dataclass(frozen=True)
class Read:
    """Documents as a reader has read them."""

    documents: Documents
    theta: NDArray[np.float32]
    """A row a document, which sums to 1."""
    z: NDArray[np.uint16]
    """The topic of each token at the end; empty, where tokens have none (`Reader.need_assignments`)."""
    prior: DocumentPrior
    """What the documents were read under."""
    own: NDArray[np.float32] = field(default_factory=lambda: NO_COUNTS)
    """Models of labels: the tokens expected on each topic, without the prior (θ (N + Σα) - α); else empty."""


class Reader(Protocol):
    """What a document means under a model.

    A definition makes one of its model (`Definition.reader`). Most are subclasses of `Admixture` that change one of its
    answers. A reader does not change after it was made, and is used by several threads at once.
    """

    n_topics: int
    """The columns of θ."""
    wants: tuple[str, ...]
    """The columns that documents shall bring along, if they carry them."""
    usual: UsualSampling
    """How documents are sampled if nothing is said."""
    stranger_note: str
    """What is said of documents that the model's priors do not know (`DocumentPrior.strangers`)."""
    alpha: NDArray[np.float64]
    """The priors that a state of such documents keeps: a row for each group, and the mean of all last."""

    def room(self, threads: int) -> int | None:
        """Make ready what all threads share. The tokens that a batch may have; None: any number."""
        ...

    def prior(self, documents: Documents) -> DocumentPrior:
        """The priors of these documents' topics."""
        ...

    def group_prior(self, group: str | int, documents: int) -> DocumentPrior:
        """The prior of one group of documents, by its name or number, for so many documents; or InputError."""
        ...

    def read(self, documents: Documents, prior: DocumentPrior, streams: Streams, sampling: Sampling) -> Read:
        """The documents' topics. Random numbers come from `streams` alone."""
        ...

    def predicted_columns(self) -> dict[str, type]:
        """What is predicted of documents beside θ: names → str, int, float or list (of strings)."""
        ...

    def predict(self, read: Read) -> Sequence[Sequence[Any]]:
        """The values of these columns, a list of one value a document for each."""
        ...

    def log_predictive(
        self, read: Read, words: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:  # fmt: skip
        """log p(further words of each document | what was read of it); `offsets`: where each document's begin."""
        ...

    def token_counts(self, read: Read) -> NDArray[np.float64]:
        """The tokens of each document that are expected on each topic, without the prior."""
        ...

    def token_topics(self, purpose: str) -> FixedTopics:
        """The topics of which every token of a document has one, under the document's prior; InputError where documents
        are no such mixtures. `purpose`: what asks, for the message."""
        ...

    def need_assignments(self) -> None:
        """InputError where the tokens of a document that was read have no topics to show."""
        ...


class Admixture:
    """Documents whose tokens have topics of their own, under fixed topics: LDA and all that differ in the prior alone.

    Parameters
    ----------
    model
        The model; or fixed topics with a prior (`FixedTopics`), for φ of other programs.
    usual
        How documents are sampled if nothing is said.
    """

    counted: ClassVar[bool] = False
    """Whether `Read.own` is wanted."""
    wants: tuple[str, ...] = ()
    stranger_note: str = (
        "documents are of collections that the model does not know: they get the mean α of all collections"
    )  # fmt: skip

    def __init__(self, model: Model | FixedTopics, usual: UsualSampling | None = None) -> None:
        self.usual = usual or UsualSampling()
        if isinstance(model, FixedTopics):
            self.topics, self.group_names = model, []
        else:
            alpha = model.alpha
            # Documents of no known group get the mean of all rows.
            with_mean = alpha if len(alpha) == 1 else np.vstack([alpha, alpha.mean(axis=0)])
            self.topics, self.group_names = FixedTopics(model, with_mean), list(model.group_names)
        self.alpha, self.n_topics = self.topics.alpha, self.topics.n_topics
        self._alpha32 = self.topics.alpha32
        self._group_of = {name: number for number, name in enumerate(self.group_names)}
        if self.group_names:
            self.wants = ("collection",)

    def room(self, threads: int) -> int | None:
        if self.topics.fits:
            self.topics.rows_for(np.zeros(0, np.uint32))  # made once, before the threads start
            return None
        return max(self.topics.most_words // threads, 1)

    # -- priors --------------------------------------------------------------------------------------------------

    def prior(self, documents: Documents) -> DocumentPrior:
        mean = len(self.alpha) - 1
        column = documents.carried.get("collection") if self._group_of else None
        if column is None:
            return DocumentPrior(self._alpha32, np.full(len(documents), mean, np.uint32))
        named = column if isinstance(column, Names) else Names.of(column.told())
        rows = np.array([*(self._group_of.get(name, mean) for name in named.names), mean], np.uint32)
        strange = np.array([*(bool(name) and name not in self._group_of for name in named.names), False])
        return DocumentPrior(self._alpha32, rows[named.codes], int(strange[named.codes].sum()))

    def group_prior(self, group: str | int, documents: int) -> DocumentPrior:
        rows = max(len(self.alpha) - 1, 1)  # without the mean of several
        if str(group) in self._group_of:
            number = self._group_of[str(group)]
        elif str(group).isdecimal() and int(group) < rows:
            number = int(group)
        else:
            known = list_first_names(self.group_names) or f"0 to {rows - 1}"
            close = get_close_matches(str(group), self.group_names, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise InputError(f"group: the model has no group {group!r} of documents{hint}; there are {known}")
        return DocumentPrior(self._alpha32, np.full(documents, number, np.uint32))

    # -- topics --------------------------------------------------------------------------------------------------

    def read(self, documents: Documents, prior: DocumentPrior, streams: Streams, sampling: Sampling) -> Read:
        numbers, rows, _ = self.topics.rows_for(documents.words)
        theta = np.zeros((len(documents), self.n_topics), np.float32)
        total = theta if sampling.chains == 1 else np.zeros(theta.shape)
        own = np.zeros(theta.shape, np.float32) if self.counted else NO_COUNTS
        z = np.zeros(len(documents.words), np.uint16)
        for chain in range(sampling.chains):
            keys = streams.of_chain(chain)
            found = self.settled_prior(documents, numbers, rows, prior, keys)
            self._sample(numbers, documents.offsets, keys, rows, found, sampling, theta, z)
            if sampling.chains > 1:
                total += theta
            if self.counted:
                alpha = found.rows(0, len(documents))
                lengths = np.diff(documents.offsets)[:, None]
                own += (theta * (lengths + alpha.sum(axis=1, keepdims=True)) - alpha) / sampling.chains
        if sampling.chains > 1:
            theta = (total / sampling.chains).astype(np.float32)
        return Read(documents, theta, z, prior, own)

    def settled_prior(
        self, documents: Documents, numbers: NDArray[np.uint32], rows: NDArray[np.float32], prior: DocumentPrior,
        keys: NDArray[np.uint64],
    ) -> DocumentPrior:  # fmt: skip
        """The prior under which a chain's samples are taken; `numbers`: the rows of the documents' tokens."""
        return prior

    def _sample(
        self, numbers: NDArray[np.uint32], offsets: NDArray[np.int64], keys: NDArray[np.uint64],
        rows: NDArray[np.float32], prior: DocumentPrior, sampling: Sampling, theta: NDArray[np.float32],
        z: NDArray[np.uint16],
    ) -> None:  # fmt: skip
        """θ and last topics of documents under these priors."""
        if sampling.theta != "cvb0":
            kernel.sample_theta(
                numbers, offsets, keys, rows, prior.alpha, prior.groups, sampling.burn_in, sampling.samples,
                sampling.lag, sampling.theta == "cgsp", theta, z,
            )  # fmt: skip
            return
        soft.fold_in(numbers, offsets, rows, prior.alpha, prior.groups, sampling.burn_in, theta, z)

    # -- what follows --------------------------------------------------------------------------------------------

    def predicted_columns(self) -> dict[str, type]:
        return {}

    def predict(self, read: Read) -> Sequence[Sequence[Any]]:
        return ()

    def log_predictive(
        self, read: Read, words: NDArray[np.uint32], offsets: NDArray[np.int64]
    ) -> NDArray[np.float64]:  # fmt: skip
        return self.topics.log_probabilities(words, offsets, read.theta)

    def token_counts(self, read: Read) -> NDArray[np.float64]:
        if len(read.own):
            return np.maximum(read.own.astype(np.float64), 0)
        alpha = read.prior.rows(0, len(read.documents)).astype(np.float64)
        lengths = np.diff(read.documents.offsets)[:, None]
        counts: NDArray[np.float64] = read.theta * (lengths + alpha.sum(axis=1, keepdims=True)) - alpha
        return np.maximum(counts, 0)

    def token_topics(self, purpose: str) -> FixedTopics:
        return self.topics

    def need_assignments(self) -> None:
        pass


class Adapted(Admixture):
    """Documents whose prior is found anew from their own topics, some rounds long, before samples are taken."""

    rounds: int
    """How often the prior is found."""

    def adapted_alpha(
        self, z: NDArray[np.uint16], offsets: NDArray[np.int64], keys: NDArray[np.uint64]
    ) -> NDArray[np.float32]:  # fmt: skip
        """α of each document, a row each, from its tokens' topics; `keys`: a stream of random numbers each."""
        raise NotImplementedError

    def settled_prior(
        self, documents: Documents, numbers: NDArray[np.uint32], rows: NDArray[np.float32], prior: DocumentPrior,
        keys: NDArray[np.uint64],
    ) -> DocumentPrior:  # fmt: skip
        theta = np.zeros((len(documents), self.n_topics), np.float32)
        z = np.zeros(len(documents.words), np.uint16)
        for number in range(self.rounds):
            kernel.sample_theta(
                numbers, documents.offsets, further_keys(keys, number), rows, prior.alpha, prior.groups,
                ROUND_SWEEPS, 1, 1, False, theta, z,
            )  # fmt: skip
            alpha = self.adapted_alpha(z, documents.offsets, further_keys(keys, self.rounds + number))
            prior = DocumentPrior.of_each(alpha)
        return prior


class SideBySide(Admixture):
    """Documents under several sets of topics that have nothing to do with each other, of equal size: θ is found in each
    alone, and divided by their number (topicx.estimate.side_by_side). One set is an `Admixture`."""

    def __init__(self, model: Model, number: int, usual: UsualSampling | None = None) -> None:
        super().__init__(model, usual)
        self.blocks: list[Admixture] = []
        if number == 1:
            return
        self.topics.memory = 0  # nobody asks for rows of all words' topics in all blocks
        self.blocks = [Admixture(block) for block in blocks_of(model, number)]
        for block in self.blocks:
            block.topics.memory //= number

    def room(self, threads: int) -> int | None:
        if not self.blocks:
            return super().room(threads)
        for block in self.blocks:
            if block.topics.fits:
                block.room(threads)
        return None

    def read(self, documents: Documents, prior: DocumentPrior, streams: Streams, sampling: Sampling) -> Read:
        if not self.blocks:
            return super().read(documents, prior, streams, sampling)
        each, size = [], self.n_topics // len(self.blocks)
        for at, block in enumerate(self.blocks):
            alone = prior.of_topics(at * size, (at + 1) * size)
            each.append(block.read(documents, alone, streams.after(at * sampling.chains), sampling).theta)
        theta = np.hstack(each) / np.float32(len(each))
        return Read(documents, theta, np.zeros(0, np.uint16), prior)

    def token_counts(self, read: Read) -> NDArray[np.float64]:
        if not self.blocks:
            return super().token_counts(read)
        number, size, each = len(self.blocks), self.n_topics // len(self.blocks), []
        for at, block in enumerate(self.blocks):
            begin, end = at * size, (at + 1) * size
            alone = replace(read, theta=read.theta[:, begin:end] * number, prior=read.prior.of_topics(begin, end))
            each.append(block.token_counts(alone) / number)
        return np.hstack(each)

    def token_topics(self, purpose: str) -> FixedTopics:
        if self.blocks:
            raise InputError(
                f"{purpose}: a document of {len(self.blocks)} models side by side has a probability in each, not one; "
                "completion measures what they say together"
            )
        return self.topics

    def need_assignments(self) -> None:
        if self.blocks:
            raise InputError("a model of several chains side by side has an assignment in each, not one to show")
