"""`TopicModel`: topics for scikit-learn's pipelines, searches and tables. It needs scikit-learn 1.6 or later."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from topicx.classes.lda_class import LDA
from topicx.corpus.build.python_forms import from_matrix
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import available_cores
from topicx.errors import InputError
from topicx.model import Model
from topicx.strings import Strings
from topicx.variational.weighted_counts import fold_in, learn_weighted_topics

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data
except ImportError as error:
    raise ImportError("topicx.sklearn needs scikit-learn 1.6 or later: pip install 'topicx[sklearn]'") from error

__all__ = ["TopicModel"]


class TopicModel(TransformerMixin, BaseEstimator):
    """Latent Dirichlet allocation as a scikit-learn transformer: documents × words → documents × topics.

    X holds counts (`CountVectorizer`). Weights that are no whole numbers (`TfidfTransformer`) are learnt by CVB0's
    expected counts, which `sampler="auto"` chooses by itself; samplers refuse them. `score` is the log probability per
    token of held-out halves of documents: higher is better, so that a grid search over n_components means something.

    Parameters
    ----------
    n_components : int, default 10
        Number of topics.
    doc_topic_prior : float, optional
        α of each topic; 0.1 if None.
    topic_word_prior : float, optional
        β of each word; 0.01 if None.
    max_iter : int, default 1000
        Iterations.
    sampler : str, default "auto"
        Sampler, as `topicx.LDA` has it.
    optimize_interval : int, default 0
        Iterations from one time that the priors are re-estimated to the next; 0: never.
    random_state : int or RandomState, optional
        Seed of all random numbers.
    n_jobs : int, optional
        Threads; 1 if None, all cores if -1. No result depends on it.
    verbose : int, default 0
        Whether progress is shown.

    Attributes
    ----------
    components_ : ndarray of shape (topics, words)
        Expected counts plus β. Divided by the sum of a row they are φ.
    doc_topic_ : ndarray of shape (documents, topics)
        θ of the training documents as the training left it.
    model_ : Model
        The model, to save or to evaluate. It does not need scikit-learn.
    n_iter_ : int
        Iterations that were made.
    n_features_in_ : int
        Number of words.
    feature_names_in_ : ndarray of str
        Words, where X had names.
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        doc_topic_prior: float | None = None,
        topic_word_prior: float | None = None,
        max_iter: int = 1000,
        sampler: str = "auto",
        optimize_interval: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.max_iter = max_iter
        self.sampler = sampler
        self.optimize_interval = optimize_interval
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    # -- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn topics from a documents × words matrix."""
        table = self._checked(X, "fit", reset=True)
        lda = LDA(
            self.n_components, alpha=self.doc_topic_prior, beta=0.01 if self.topic_word_prior is None
            else self.topic_word_prior, iterations=self.max_iter, sampler=self.sampler, seed=self._seed(),
            optimize_interval=self.optimize_interval, threads=self._threads(), verbose=bool(self.verbose),
        )  # fmt: skip
        at = _first_fraction(table)
        self.weighted_ = at is not None
        if at is None:
            lda.fit(from_matrix(table, self._names()))
            self.model_, self.doc_topic_, self.n_iter_ = lda.model, lda.document_topic, max(lda.iterations_done, 1)
        else:
            if self.sampler != "auto" or self.optimize_interval:
                what = f"the sampler {self.sampler}" if self.sampler != "auto" else "optimize_interval"
                raise InputError(f"{at}, not a count: {what} needs counts (sampler='auto' takes weights as they are)")
            self._fit_weights(table, lda)
        counts = np.asarray(self.model_.counts().todense(), np.float64).T
        self.components_ = counts + self.model_.beta
        return self

    def _fit_weights(self, table: Any, lda: LDA) -> None:
        options = lda.options
        alpha, beta = options.alpha_vector(), options.beta
        if not table.data.any():
            raise InputError("X has no weight above 0: there is nothing to learn from")
        found = learn_weighted_topics(
            table, options.topics, float(alpha[0]), beta, sweeps=max(int(options.iterations), 1), seed=options.seed
        )
        words, topics = found.word_topics.shape
        self.model_ = Model(
            vocabulary=Strings.of(self._names()), alpha=alpha[None, :], beta=np.full(words, beta),
            indptr=np.arange(words + 1, dtype=np.int64) * topics,
            topics=np.tile(np.arange(topics, dtype=np.uint16), words), values=found.word_topics.ravel(),
            meta={"options": options.to_meta(), "model": "lda", "sampler": "weighted-cvb0", "iterations": found.sweeps,
                  "seed": options.seed, "estimator": {"theta": "cvb0", "phi": "expected counts"}},
        )  # fmt: skip
        self.doc_topic_ = fold_in(table, self.model_.topic_word, alpha)
        self.n_iter_ = found.sweeps

    # -- using -------------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> NDArray[np.float64]:
        """θ: a row a document, which depends on no other row. `fit_transform(X)` is `fit(X).transform(X)`."""
        check_is_fitted(self)
        table = self._checked(X, "transform", reset=False)
        if self.weighted_:
            return fold_in(table, self.model_.topic_word, self.model_.alpha[0])
        theta = self.model_.transform(self._corpus(table), threads=self._threads(), seed=1).astype(np.float64)
        shares: NDArray[np.float64] = theta / theta.sum(axis=1, keepdims=True)
        return shares

    def score(self, X: Any, y: Any = None) -> float:
        """Log probability per token of one half of each document given the other, natural logarithm."""
        from topicx.evaluate.completion import completion

        check_is_fitted(self)
        table = self._checked(X, "score", reset=False)
        if self.weighted_:
            return self._score_weights(table)
        found = completion(self.model_, None, self._corpus(table), share=0.5, threads=self._threads())
        return found.log_likelihood / found.tokens

    def perplexity(self, X: Any) -> float:
        """exp(-score): lower is better."""
        return math.exp(-self.score(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns: topic0, topic1, …"""
        check_is_fitted(self)
        return np.array([f"topic{k}" for k in range(self.model_.n_topics)], dtype=object)

    def top_words(self, number: int = 10, feature_names: Sequence[str] | None = None) -> list[list[str]]:
        """Each topic's most probable words. `feature_names` are those of the vectorizer in a pipeline."""
        check_is_fitted(self)
        names = self._names() if feature_names is None else [str(name) for name in feature_names]
        if len(names) != self.n_features_in_:
            raise InputError(f"feature_names has {len(names)} names, but there are {self.n_features_in_} features")
        order = np.argsort(-self.components_ / self.components_.sum(axis=1, keepdims=True), axis=1, kind="stable")
        return [[names[int(w)] for w in row[:number]] for row in order]

    # -- helpers -----------------------------------------------------------------------------------------------

    def _checked(self, X: Any, method: str, *, reset: bool) -> scipy.sparse.csr_array:
        """X as a CSR matrix of its own, entries in order of columns."""
        X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32, np.int64, np.int32])
        check_non_negative(X, f"TopicModel.{method}")
        table = scipy.sparse.csr_array(X, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        return table

    def _corpus(self, table: Any) -> Corpus:
        at = _first_fraction(table)
        if at is not None:
            raise InputError(f"{at}, not a count: the model was fitted on counts")
        return from_matrix(table, self.model_.vocabulary)

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [str(i) for i in range(self.n_features_in_)] if names is None else [str(name) for name in names]

    def _seed(self) -> int:
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _threads(self) -> int:
        if self.n_jobs is None:
            return 1
        if not isinstance(self.n_jobs, Integral) or self.n_jobs == 0:
            raise InputError(f"n_jobs must be None, a number of threads, or -1 for all cores, not {self.n_jobs!r}")
        return int(self.n_jobs) if self.n_jobs > 0 else max(available_cores() + 1 + int(self.n_jobs), 1)

    def _score_weights(self, table: Any) -> float:
        """Every other entry of a row estimates θ; the others are scored by their weight."""
        position = np.concatenate([np.arange(size) for size in np.diff(table.indptr)] or [np.zeros(0, np.int64)])
        given, held = table.copy(), table.copy()
        given.data[position % 2 == 1] = 0
        held.data[position % 2 == 0] = 0
        theta = fold_in(given, self.model_.topic_word, self.model_.alpha[0])
        total = float(held.data.sum())
        if not total:
            raise InputError("no document has two words: there is nothing to score")
        return sum(_document_log_likelihoods(held, theta, self.model_.topic_word)) / total


def _document_log_likelihoods(held: Any, theta: NDArray[np.float64], phi: NDArray[np.float64]) -> Iterator[float]:
    for row in range(held.shape[0]):
        inside = slice(held.indptr[row], held.indptr[row + 1])
        yield float(held.data[inside] @ np.log(theta[row] @ phi[:, held.indices[inside]]))


def _first_fraction(table: Any) -> str | None:
    """The first entry that is no whole number, in words."""
    wrong = np.flatnonzero(table.data != np.floor(table.data))
    if not len(wrong):
        return None
    at = int(wrong[0])
    row = int(np.searchsorted(table.indptr, at, side="right")) - 1
    return f"X[{row}, {int(table.indices[at])}] is {table.data[at]}"
