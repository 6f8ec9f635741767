"""Latent Dirichlet allocation: from a corpus and options to a chain, and the class that Python programs use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.estimate import document_topics, estimate
from topicx.estimate.average import average
from topicx.model import Model
from topicx.sampling.chain import Chain, Event
from topicx.sampling.options import Options, check_positive, check_whole
from topicx.state import NONE, Seeds, State
from topicx.strings import Strings


def initial_state(
    corpus: Corpus,
    options: Options,
    *,
    seed_words: Mapping[int, Iterable[str]] | None = None,
    seed_weight: int = 50,
    word_prior: Mapping[str, float] | None = None,
    alpha: NDArray[np.float64] | None = None,
    groups: NDArray[np.uint32] | None = None,
) -> State:
    """The corpus with no token placed, and its priors. `alpha` (groups × topics) and `groups` override the options."""
    if corpus.n_tokens == 0:
        raise InputError("the corpus has no tokens: there is nothing to learn from")
    beta = np.full(corpus.n_words, float(options.beta))
    index = {word: i for i, word in enumerate(corpus.vocabulary)} if seed_words or word_prior else {}
    for word, value in (word_prior or {}).items():
        check_positive(f"the prior of {word!r}", value)
        if word not in index:
            raise InputError(f"word prior: {word!r} is not in the vocabulary")
        beta[index[word]] = value
    meta: dict[str, Any] = {key: corpus.meta[key] for key in ("tokenizer", "time") if key in corpus.meta}
    snippet = corpus.columns.get("snippet")
    return State(
        words=corpus.words,
        offsets=corpus.offsets,
        z=np.full(corpus.n_tokens, NONE, np.uint16),
        alpha=options.alpha_vector()[None, :] if alpha is None else np.atleast_2d(alpha),
        beta=beta,
        vocabulary=corpus.vocabulary,
        ids=corpus.ids,
        groups=np.zeros(0, np.uint32) if groups is None else groups,
        seeds=seeds_of(seed_words or {}, index, options.topics, seed_weight),
        snippets=snippet if isinstance(snippet, Strings) else Strings.of([]),
        meta=meta,
        parents={"corpus": corpus.digest} if corpus.digest else {},
    )


def seeds_of(seed_words: Mapping[int, Iterable[str]], index: Mapping[str, int], topics: int, weight: int) -> Seeds:
    """Pseudo-counts for the seed words of each topic; a word that the corpus lacks is refused by name."""
    check_whole("seed_weight", weight, 1, 1_000_000)
    entries: list[tuple[int, int, int]] = []
    for topic, words in seed_words.items():
        if isinstance(words, str):
            raise InputError(f"seed words of topic {topic}: a list of words is needed, not {words!r}")
        check_whole("the topic of seed words", topic, 0, topics - 1)
        for word in words:
            if word not in index:
                raise InputError(f"seed words of topic {topic}: {word!r} is not in the vocabulary")
            entries.append((index[word], topic, weight))
    return Seeds.of(entries)


def check_phi(chain: Chain, phi: str) -> None:
    """InputError if this estimator of φ is not for this chain's method."""
    if phi == "cgsp" and not chain.method.has_samples:
        raise InputError(f"phi cgsp is an estimator for samplers' states; {chain.sampler.name} keeps expected counts")


def finish(chain: Chain, *, theta: str = "cgsp", phi: str = "auto", examples: int = 20) -> Model:
    """The model of a chain that has run, with its trace, its options and its most typical documents."""
    check_phi(chain, phi)
    model = chain.method.model(theta, phi)
    if chain.samples:
        threads = chain.engine.threads
        models = [estimate(s, theta=theta, phi=phi, threads=threads, examples=0) for s in chain.samples.values()]
        models.append(model)
        model = average(models, [np.arange(model.n_topics)] * len(models))  # of one chain: topics keep their numbers
    state = chain.state
    if not len(model.example_documents):  # an estimator that went over the documents has found them already
        model.add_examples(state, examples)
    model.trace = {name: values for name, values in chain.trace.arrays().items() if name != "seconds"}
    model.parents = dict(state.parents)
    model.meta |= dict(state.meta) | run_meta(chain)
    return model


def document_shares(chain: Chain, estimator: str) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """θ of the corpus in batches, averaged over the chain's samples: the number of the first document, and its rows."""
    threads = chain.engine.threads
    parts = [document_topics(sample, estimator, threads=threads) for sample in chain.samples.values()]
    for batches in zip(*parts, chain.method.document_shares(estimator), strict=True):
        yield batches[0][0], sum(rows for _, rows in batches) / len(batches)


def run_meta(chain: Chain) -> dict[str, Any]:
    """What a model and a state remember of the run that made them."""
    return {
        "options": chain.options.to_meta(),
        "sampler": chain.sampler.name,
        "start": chain.start,
        "seed": chain.options.seed,
        "iterations": chain.options.iterations,
        "documents": chain.state.n_documents,
        "tokens": chain.state.n_tokens,
    }


def _check_corpus(corpus: Any) -> None:
    if not isinstance(corpus, Corpus):
        raise InputError(f"a Corpus is needed, not a {type(corpus).__name__}: Corpus.from_texts(texts) makes one")


class LDA:
    """Latent Dirichlet allocation.

    >>> model = LDA(topics=100, seed=1).fit(corpus)          # doctest: +SKIP
    >>> model.topic_word                                     # doctest: +SKIP

    The arguments are those of `topicx train`: sampler, iterations, alpha, alpha_sum, beta, optimize_interval, start,
    partitions and the others of `topicx.sampling.options.Options`; and `threads`, on which no result depends.
    """

    def __init__(
        self,
        topics: int = 100,
        *,
        seed: int = 1,
        threads: int = 0,
        theta: str = "cgsp",
        phi: str = "auto",
        seed_words: Mapping[int, Iterable[str]] | None = None,
        seed_weight: int = 50,
        word_prior: Mapping[str, float] | None = None,
        **options: Any,
    ) -> None:
        unknown = set(options) - {field.name for field in fields(Options)}
        if unknown:
            raise InputError(f"LDA has no option {', '.join(map(repr, sorted(unknown)))}")
        self.options = Options(topics=topics, seed=seed, **options)
        check_whole("threads", threads, 0, None)
        self.threads = threads
        for name, value, known in (("theta", theta, ("cgs", "cgsp")), ("phi", phi, ("auto", "cgs", "cgsp"))):
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        self.theta, self.phi = theta, phi
        self._priors: dict[str, Any] = {
            "seed_words": seed_words, "seed_weight": seed_weight, "word_prior": word_prior,
        }  # fmt: skip
        self._model: Model | None = None
        self._state: State | None = None
        self._shares: Callable[[], Iterator[tuple[int, NDArray[np.float64]]]] | None = None

    def fit(self, corpus: Corpus, callbacks: Sequence[Callable[[Event], None]] = ()) -> LDA:
        """Train on a corpus and return self. `callbacks` are called with an Event after every sweep."""
        _check_corpus(corpus)
        with Threads(self.threads) as engine:
            chain = Chain(initial_state(corpus, self.options, **self._priors), self.options, engine)
            check_phi(chain, self.phi)
            chain.run(callbacks)
            self._model = finish(chain, theta=self.theta, phi=self.phi)
            self._state = chain.method.sync()
            self._state.meta |= run_meta(chain)
            self._shares = partial(document_shares, chain, self.theta)
        return self

    @property
    def model(self) -> Model:
        """The trained model: save it, or give it to `infer` and `evaluate`."""
        if self._model is None:
            raise InputError("the model is not trained yet: call fit(corpus) first")
        return self._model

    @property
    def state(self) -> State:
        """The last state of the chain: every token's topic. Estimators and other programs start from it."""
        if self._state is None:
            raise InputError("the model is not trained yet: call fit(corpus) first")
        return self._state

    @property
    def topic_word(self) -> NDArray[np.float64]:
        """φ: topics × words; each row is a distribution over the vocabulary."""
        return self.model.topic_word

    @property
    def document_topic(self) -> NDArray[np.float64]:
        """θ: documents × topics of the training corpus, by the estimator `theta`; each row sums to 1."""
        if self._shares is None:
            raise InputError("the model is not trained yet: call fit(corpus) first")
        return np.concatenate([rows for _, rows in self._shares()])

    @property
    def topic_word_counts(self) -> scipy.sparse.csr_array:
        """n_kw: a sparse topics × words array of counts."""
        indptr, topics, counts = self.state.word_topics()
        shape = (self.state.n_words, self.state.n_topics)
        return scipy.sparse.csr_array((counts, topics.astype(np.int32), indptr), shape=shape).T.tocsr()

    @property
    def document_topic_counts(self) -> scipy.sparse.csr_array:
        """n_dk: a sparse documents × topics array of counts."""
        indptr, topics, counts = self.state.document_topics()
        shape = (self.state.n_documents, self.state.n_topics)
        return scipy.sparse.csr_array((counts, topics.astype(np.int32), indptr), shape=shape)

    @property
    def alpha(self) -> NDArray[np.float64]:
        """α of each topic, learnt or given."""
        return self.model.alpha[0]

    @property
    def beta(self) -> NDArray[np.float64]:
        """β of each word, learnt or given."""
        return self.model.beta

    @property
    def trace(self) -> dict[str, NDArray[np.float64]]:
        """The chain's history: sweep, score (joint log-likelihood per token), alpha_sum, beta, changed."""
        return self.model.trace

    def top_words(self, number: int = 10) -> list[list[tuple[str, float]]]:
        """Each topic's most probable words with their probabilities."""
        return self.model.top_words(number)

    def transform(self, corpus: Corpus, **options: Any) -> NDArray[np.float32]:
        """θ of new documents: documents × topics (see `topicx.evaluate.infer`)."""
        from topicx.evaluate.infer import infer

        _check_corpus(corpus)
        return infer(self.model, corpus, threads=self.threads, **options)

    def save(self, path: str) -> None:
        """Write the model to a file that the command line and `topicx.Model.load` read."""
        self.model.save(path)
