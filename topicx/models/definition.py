"""What a model is: a value that says what it takes from the corpus, what it begins with, what happens between sweeps,
and what it leaves and predicts. The chain, the files, the command line and the Python classes learn of a model here.
A new one is a file of this package with a subclass of `Definition`, and a line in `topicx.model_registry`; other
packages bring theirs by an entry point (`topicx.model_registry.GROUP`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.declare import check_all, check_positive, check_whole
from topicx.errors import InputError
from topicx.estimate.estimators import Estimator, TokenMixture
from topicx.files.schema import Array
from topicx.predict.reader import Admixture, Reader
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.updates.prior_fixed_points import LearnPriors
from topicx.state import Seeds, State, unplaced_topics
from topicx.strings import Strings

if TYPE_CHECKING:
    from topicx.model import Model


@dataclass(frozen=True)
class NoOptions:
    """A model without options of its own."""


@dataclass(frozen=True)
class Priors:
    """Priors for single words: what any model can be given beside the options."""

    seed_words: Mapping[int, Iterable[str]] = field(default_factory=dict)
    """Words that a topic shall have."""
    seed_weight: int | None = None
    """The tokens that a seed word counts as; None: as many as it has in the corpus, LEAST_SEED_WEIGHT at least."""
    word_prior: Mapping[str, float] = field(default_factory=dict)
    """β of single words."""


Learn = Callable[[State, Options], "Model"]
"""Trains LDA on a state of its own, by these options."""


class Definition:
    """What a model is: how a corpus becomes its state, what happens between iterations, and how new documents are read.

    Parameters
    ----------
    own : object, optional
        The model's own options, an instance of `Own`.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    """One line for `topicx train --help`."""
    Own: ClassVar[type] = NoOptions
    """A frozen dataclass of declared options (topicx.declare); the command line lists them under the model's name."""
    capabilities: ClassVar[frozenset[str]] = frozenset()
    """What a sampler must be able to do (topicx.sampling.sampler_registry)."""
    unfit: ClassVar[Mapping[str, str]] = {}
    """General options that mean nothing to this model, each with the reason."""
    defaults: ClassVar[Mapping[str, Any]] = {}
    """Values of general options that this model begins with instead of their own; what is given goes before."""
    ends_itself: ClassVar[bool] = False
    """Whether a run of it may end by itself (`--iterations auto`): only where it was measured what that is worth. Else
    auto means the number of `defaults`, or 1000."""
    elsewhere: ClassVar[str] = ""
    """Why `topicx search` is no way to its number of topics, and what is; empty: it is."""
    numbered_alike: ClassVar[bool] = False
    """Whether topic k means the same in every chain, so that models of several chains are averaged."""
    joins: ClassVar[bool] = False
    """Whether models of several chains become one by standing side by side (`joined`)."""

    def __init__(self, own: Any = None) -> None:
        self.own = self.Own() if own is None else own
        check_all(self.own)

    # -- training ----------------------------------------------------------------------------------------------

    def needs(self, options: Options) -> frozenset[str]:
        """What a sampler must be able to do for these options."""
        return self.capabilities

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        """The corpus with no token placed, its priors, groups, allowed topics and side arrays.

        It may have another number of topics than the options ask for: then the options follow.
        """
        return initial_state(corpus, options, priors)

    def prepare(self, state: State, corpus: Corpus, options: Options, learn: Learn) -> State:
        """The state with what has to be trained before the first sweep: `learn` does it, on the run's own engine."""
        return state

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        """What happens between sweeps, in this order."""
        return [LearnPriors.of(options)]

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        """What the side arrays of a state (or, finished, of a model) must be, in the sizes of
        `topicx.files.file_kinds`; sizes that begin with a dot are the model's own. Files are verified by it."""
        return ()

    def notes_at_end(self, state: State, options: Options, figures: Mapping[str, float]) -> list[str]:
        """What the user is told when a chain has ended; `figures` are the last of its updates'."""
        return []

    def notes(self, state: State) -> list[str]:
        """What the user is told of the corpus before training."""
        if not (len(state.group_names) and len(state.groups)):
            return []
        sizes = np.bincount(state.groups[state.lengths > 0], minlength=len(state.alpha))
        bare = [name for name, size in zip(state.group_names, sizes, strict=True) if not size]
        more = f" and {len(bare) - 3:,} more" if len(bare) > 3 else ""
        known = f"no words in {', '.join(bare[:3])}{more}: nothing is learnt of their topics but the prior"
        return [known] if bare else []

    def closed(self, state: State) -> State:
        """The state that results are made of, without what only the chain needed; the chain's own stays as it is."""
        return state

    def pooled_side(
        self, sides: Sequence[Mapping[str, NDArray[Any]]], orders: Sequence[NDArray[np.int64]]
    ) -> dict[str, NDArray[Any]]:
        """The side arrays of several states of the same documents as those of one, which `finish` takes; topic k is
        topic orders[i][k] of state i. Here: what is no topic's is alike in all."""
        return dict(sides[0])

    pools_states: ClassVar[bool] = False
    """Whether what the model of several states keeps beside counts and priors follows from the states themselves, each
    in the order of the first one's topics (`reordered`), and not from their side arrays alone (`pooled_side`)."""

    def reordered(self, state: State, order: NDArray[np.int64]) -> State:
        """The state with topic order[k] as its topic k, of a definition that pools states."""
        raise NotImplementedError(f"states of {self.name} are not pooled")

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        """What the model of a finished run keeps beside counts and priors: side arrays, names of groups and topics.

        `samples` are all states that were averaged, `state` the last of them.
        """
        model.group_names = state.group_names

    def parts(self, state: State) -> int:
        """Number of parts of which a model is made, each trained by chains of its own: more than one only where they
        can stand side by side (`joins`)."""
        return 1

    def of_part(self, state: State, part: int) -> State:
        """The state that a chain of this part begins with."""
        return state

    def joined(self, before: Model, chains: int, model: Model) -> Model:
        """The model of so many chains, and that of another chain beside it: for definitions that join."""
        raise NotImplementedError(f"models of {self.name} do not stand side by side")

    def estimator(self, state: State) -> Estimator:
        """What makes θ and φ of a state: the shares of documents' tokens, unless θ means something else."""
        return TokenMixture()

    def merged_side(self, side: Mapping[str, NDArray[Any]], target: NDArray[np.uint16]) -> dict[str, NDArray[Any]]:
        """The side arrays of a state or a model whose topics were merged, each into its `target`; InputError where they
        know topics by number and can't follow."""
        if side:
            raise InputError(f"merge: a model {self.name} knows its topics by number ({min(side)})")
        return {}

    # -- new documents -----------------------------------------------------------------------------------------

    def reader(self, model: Model) -> Reader:
        """What documents mean under a model: which columns they bring along, their priors, how they are read, what is
        predicted of them."""
        return Admixture(model)

    # -- files -------------------------------------------------------------------------------------------------

    def verify(self, model: Model) -> None:
        """InputError unless the side arrays of a model (perhaps from a damaged file) fit together."""

    def verify_state(self, state: State) -> None:
        """InputError unless the side arrays of a state (perhaps from a damaged file) fit together."""


def initial_state(
    corpus: Corpus,
    options: Options,
    priors: Priors | None = None,
    *,
    alpha: NDArray[np.float64] | None = None,
    groups: NDArray[np.uint32] | None = None,
    group_names: Iterable[str] = (),
    allowed: tuple[NDArray[np.int64], NDArray[np.uint16]] | None = None,
    side: Mapping[str, NDArray[Any]] | None = None,
) -> State:
    """A state of a corpus in which no token is placed, with the priors of a run.

    Parameters
    ----------
    corpus : Corpus
        The documents.
    options : Options
        Options of the run: number of topics, α, β.
    priors : Priors, optional
        Seed words and priors of single words.
    alpha : ndarray of shape (groups, topics), optional
        α in the place of that of the options.
    groups : ndarray, optional
        Row of `alpha` that each document uses.
    group_names : iterable of str, optional
        Names of the groups.
    allowed : tuple of ndarray, optional
        Topics that each document may have, as offsets and ascending topics.
    side : mapping of str to ndarray, optional
        Further arrays of the model.

    Returns
    -------
    State
        The state to train from.
    """
    if corpus.n_tokens == 0:
        raise InputError("the corpus has no tokens: there is nothing to learn from")
    priors = priors or Priors()
    alpha = options.alpha_vector()[None, :] if alpha is None else np.atleast_2d(alpha)
    beta = np.full(corpus.n_words, float(options.beta))
    index = {word: i for i, word in enumerate(corpus.vocabulary)} if priors.seed_words or priors.word_prior else {}
    for word, value in priors.word_prior.items():
        check_positive(f"the prior of {word!r}", value)
        if word not in index:
            raise InputError(f"word prior: {word!r} is not in the vocabulary")
        beta[index[word]] = value
    return State(
        words=corpus.words,
        offsets=corpus.offsets,
        z=unplaced_topics(options.paths * corpus.n_tokens),
        paths=options.paths,
        alpha=alpha,
        beta=beta,
        vocabulary=corpus.vocabulary,
        ids=corpus.ids,
        groups=np.zeros(0, np.uint32) if groups is None else np.asarray(groups, np.uint32),
        group_names=Strings.of(group_names),
        allowed=allowed,
        side=dict(side or {}),
        seeds=seeds_of(priors, index, alpha.shape[1], corpus),
        table=corpus.table,
        meta={key: corpus.meta[key] for key in ("tokenizer", "time") if key in corpus.meta},
        parents={"corpus": corpus.digest} if corpus.digest else {},
    )


LEAST_SEED_WEIGHT = 50
"""Tokens that a seed word counts as at least, unless the caller says how many."""


def seeds_of(priors: Priors, index: Mapping[str, int], topics: int, corpus: Corpus) -> Seeds:
    """Pseudo-counts for the seed words of each topic; a word that the corpus lacks is refused by name."""
    if priors.seed_weight is not None:
        check_whole("seed_weight", priors.seed_weight, 1, 1_000_000)
    if not isinstance(priors.seed_words, Mapping):
        raise InputError(f"seed_words: {{topic: words}} is needed, not a {type(priors.seed_words).__name__}")
    entries: list[tuple[int, int, int]] = []
    for topic, words in priors.seed_words.items():
        if isinstance(words, str):
            raise InputError(f"seed words of topic {topic}: a list of words is needed, not {words!r}")
        check_whole("the topic of seed words", topic, 0, topics - 1)
        for word in words:
            if word not in index:
                raise InputError(f"seed words of topic {topic}: {word!r} is not in the vocabulary")
            own = min(max(int(corpus.word_frequencies[index[word]]), LEAST_SEED_WEIGHT), 1_000_000)
            entries.append((index[word], topic, priors.seed_weight or own))
    return Seeds.of(entries)


__all__ = ["Definition", "NoOptions", "Priors", "initial_state"]
