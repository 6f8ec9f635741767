"""The class that Python programs use: a thin front of `topicx.run`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.declare import check_known, check_whole
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.model import Model
from topicx.models.definition import Priors
from topicx.run import Result, Run
from topicx.sampling.chain import Event
from topicx.sampling.options import Options
from topicx.state import State


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
        check_known("LDA", Options, options)
        self.options = Options(topics=topics, seed=seed, **options)
        check_whole("threads", threads, 0, None)
        self.threads = threads
        for name, value, known in (("theta", theta, ("cgs", "cgsp")), ("phi", phi, ("auto", "cgs", "cgsp"))):
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        self.theta, self.phi = theta, phi
        self._priors = Priors(seed_words or {}, seed_weight, word_prior or {})
        self._run: Run | None = None
        self._result: Result | None = None

    def fit(self, corpus: Corpus, callbacks: Sequence[Callable[[Event], object]] = ()) -> LDA:
        """Train on a corpus and return self. `callbacks` are called with an Event after every sweep."""
        _check_corpus(corpus)
        with Threads(self.threads) as engine:
            run = Run.start(corpus, self.options, engine, self._priors)
            run.check_phi(self.phi)
            self._result = run.train(callbacks).result(theta=self.theta, phi=self.phi)
        self._run = run
        self.__dict__.pop("document_topic", None)
        return self

    def _trained(self) -> Result:
        if self._result is None:
            raise InputError("the model is not trained yet: call fit(corpus) first")
        return self._result

    @property
    def model(self) -> Model:
        """The trained model: save it, or give it to `infer` and `evaluate`."""
        return self._trained().model

    @property
    def state(self) -> State:
        """The last state of the chain: every token's topic. Estimators and other programs start from it."""
        return self._trained().state

    @property
    def topic_word(self) -> NDArray[np.float64]:
        """φ: topics × words; each row is a distribution over the vocabulary."""
        return self.model.topic_word

    @cached_property
    def document_topic(self) -> NDArray[np.float64]:
        """θ: documents × topics of the training corpus, by the estimator `theta`; each row sums to 1."""
        self._trained()
        assert self._run is not None
        return np.concatenate([rows for _, rows in self._run.theta_rows(self.theta)])

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
        """α of each topic, learnt or given (a row a group, where documents have groups)."""
        return self.model.alpha[0] if len(self.model.alpha) == 1 else self.model.alpha

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
