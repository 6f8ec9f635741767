"""The class that Python programs use: a thin front of `topicx.run`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Never, Self, Unpack

import numpy as np
from numpy.typing import NDArray

from topicx.chain_series import ChainSeries
from topicx.classes.fit_session import Callback, Fitting
from topicx.common_methods import TraceTable
from topicx.corpus.any_documents import Reading, as_corpus, like_model
from topicx.corpus.corpus import Corpus
from topicx.declare import check_known, check_whole, declared_options
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.model import Model
from topicx.models.definition import Priors
from topicx.run import CorpusTheta, Result, Run
from topicx.sampling.run_options import Options
from topicx.state import State

if TYPE_CHECKING:
    import pandas
    import scipy.sparse

FURTHER = ("threads", "engine", "theta", "phi", "seed_words", "seed_weight", "word_prior", "verbose")
"""Arguments of the classes that are no declared options."""


ELSEWHERE = {
    **dict.fromkeys(("components_", "get_topics", "topic_word_", "word_topic"), "topic_word"),
    **dict.fromkeys(("show_topics", "print_topics", "show_topic", "get_topic", "get_topic_words"), "top_words(number)"),
    **dict.fromkeys(("doc_topic_", "get_document_topics"), "document_topic"),
    **dict.fromkeys(("predict", "infer"), "transform(documents), or model.infer(documents)"),
    "loglikelihood": "trace['score']", "ll_per_word": "trace['score']", "train": "fit(documents)",
    **dict.fromkeys(
        ("perplexity", "log_perplexity"), "topicx.evaluate.completion.completion(lda.model, None, heldout).perplexity"
    ),
    **dict.fromkeys(("get_topic_info", "topics_table"), "topic_table()"),
    **dict.fromkeys(("find_topics", "get_topic_similarity"), "similar_topics(topic)"),
    "topics_": "document_topic.argmax(axis=1)",
    "visualize_topics_per_class": "plot_groups(by='label')",
    **dict.fromkeys(("coherence", "get_coherence"), "topicx.evaluate.coherence.coherence(lda.model, corpus)"),
}  # fmt: skip
"""What other libraries call what `LDA` has."""


class LDA:
    """Find topics in documents with latent Dirichlet allocation.

    Parameters
    ----------
    topics : int, default 100
        Number of topics, at most 65,535 (elsewhere `num_topics`, `n_components`, `k`).
    sampler : str, default "auto"
        How assignments are found. "auto" is the fastest exact sampler; see the pages "samplers" and "variational".
    iterations : int or "auto", default "auto"
        Passes over all tokens. "auto": until the likelihood says that more would hardly change the topics, with the
        priors that are not given learnt on the way, and five states averaged at the end (1000 where that is not known:
        variational samplers, other models, `icm`, `paths`).
    start : str, default "auto"
        What comes before the first iteration: "soft" (topics drawn from what CVB0 finds), "hot" (annealing), "growing"
        (from a part of the documents to all), "progressive" or "random"; see the page "performance".
    alpha : float or sequence of float, optional
        Prior of *each* topic in a document; 0.1 if None.
    alpha_sum : float, optional
        Sum of α over all topics (MALLET's alpha), instead of `alpha`.
    beta : float, optional
        Prior of each word in a topic (elsewhere `eta`); 0.01 if None.
    optimize_interval : int, optional
        Iterations from one time that the priors are re-estimated to the next; 0: never. If None 0, and 2 where
        `iterations` is "auto".
    optimize_burn_in : int, optional
        Iterations before the priors are re-estimated for the first time. If None 50, and 0 where `iterations` is
        "auto".
    optimize : str, optional
        What is re-estimated: "alpha", "symmetric-alpha", "beta", separated by "+". If None "alpha+beta", where
        `iterations` is "auto" without what is given.
    mh_steps : int, default 2
        Proposals for each token, of the samplers alias, light and warp.
    sparse_phi : bool, default False
        Whether the sampler partial draws zeros in φ.
    batch_documents : int, default 256
        Documents of a minibatch, of scvb0.
    document_passes : int, default 2
        Passes over each document of a minibatch, of scvb0.
    rate_scale, rate_delay, rate_power : float, default 1.0, 4.0, 0.6
        Learning rate of scvb0; see docs/reference/variational.md.
    icm : int, default 0
        After training, up to so many iterations that set each token to its most probable topic.
    partitions : int or str, default 0
        Parts sampled in parallel; 0: by the size of the corpus. It changes the result; all values are equally valid.
    samples : int, optional
        States at the chain's end over which the model is averaged. If None 1, and 5 where `iterations` is "auto".
    lag : int, optional
        Iterations from one of these states to the next. If None 10, and 5 where `iterations` is "auto".
    paths : int, default 1
        Coupled chains: assignments of the corpus that share their counts.
    trace_interval : int, default 10
        Iterations between records of the log-likelihood.
    seed : int, default 1
        Seed of all random numbers. Same corpus, options and seed: same model, with any `threads`.
    chain : int, default 0
        Another number gives an independent run with the same seed.
    model : str, default "lda"
        Name of another model's definition, as in docs/reference/models/compound.md and docs/reference/models/hdp.md.
    own : mapping, optional
        Options that this model has of its own.
    threads : int, default 0
        Threads; 0: all cores. No result depends on it.
    engine : Engine, optional
        Who trains, instead of threads of this process: `topicx.engines.Dask`, say. It stays open. No result depends on
        it.
    theta : str, default "cgsp"
        Estimator of θ: "cgsp" or "cgs".
    phi : str, default "auto"
        Estimator of φ: "auto", "cgsp" or "cgs".
    seed_words : mapping of int to iterable of str, optional
        Words that a topic should have.
    seed_weight : int, optional
        How many tokens each of these words counts for; None: as many as it has in the corpus, 50 at least.
    word_prior : mapping of str to float, optional
        β of single words.
    verbose : bool, optional
        Whether progress is shown. By default on a terminal and in a notebook.

    Attributes
    ----------
    topic_word : ndarray of shape (topics, words)
        φ; rows sum to 1.
    document_topic : ndarray of shape (documents, topics)
        θ of the training documents.
    model : Model
        What was learnt.
    state : State
        Assignments at the end of the training.
    trace : dict
        Log-likelihood after each recorded iteration.

    Raises
    ------
    InputError
        If an option is unknown or out of range.

    Examples
    --------
    >>> import topicx
    >>> corpus = topicx.datasets.embedded()
    >>> lda = topicx.LDA(topics=8, iterations=100, seed=1, verbose=False).fit(corpus)
    >>> lda.topic_word.shape, lda.document_topic.shape
    ((8, 6438), (440, 8))
    >>> [word for word, _ in lda.top_words(3)[0]]
    ['patients', 'blood', 'hospital']
    """

    chains = 1
    """How many chains `fit` trains."""
    _keep = "best"
    """What it keeps of them (`ChainSeries`)."""

    def __init__(
        self, topics: int = 100, *, sampler: str = "auto", iterations: int | str = "auto", start: str = "auto",
        alpha: float | Sequence[float] | NDArray[np.floating] | None = None, alpha_sum: float | None = None,
        beta: float | None = None, optimize_interval: int | None = None, optimize_burn_in: int | None = None,
        optimize: str | None = None, mh_steps: int = 2, sparse_phi: bool = False, batch_documents: int = 256,
        document_passes: int = 2, rate_scale: float = 1.0, rate_delay: float = 4.0, rate_power: float = 0.6,
        icm: int = 0, partitions: int | str = 0, samples: int | None = None, lag: int | None = None, paths: int = 1,
        trace_interval: int = 10, seed: int = 1, chain: int = 0, model: str = "lda",
        own: Mapping[str, Any] | None = None, threads: int = 0, engine: Engine | None = None,
        theta: str = "cgsp", phi: str = "auto",
        seed_words: Mapping[int, Iterable[str]] | None = None, seed_weight: int | None = None,
        word_prior: Mapping[str, float] | None = None,
        verbose: bool | int | None = None, **unknown: Never,
    ) -> None:  # fmt: skip
        given = dict(locals())
        check_known(type(self).__name__, Options, unknown, FURTHER)
        self._parameters = {name: given[name] for name in given if name not in ("self", "unknown")}
        declared = {name: given[name] for name in declared_options(Options)}
        self.options = Options(**declared, model=model, own=dict(own or {}))
        check_whole("threads", threads, 0, None)
        self.threads, self.engine, self.verbose = threads, engine, verbose
        for name, value, known in (("theta", theta, ("cgs", "cgsp")), ("phi", phi, ("auto", "cgs", "cgsp"))):
            if value not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        self.theta, self.phi = theta, phi
        self._priors = Priors(seed_words or {}, seed_weight, word_prior or {})
        self._theta: CorpusTheta | None = None
        self._result: Result | None = None

    def _repr_html_(self) -> str:
        from topicx.report.front_table import text_of
        from topicx.report.notebook_tables import model_table

        return f"<p>{text_of(repr(self))}</p>" + (model_table(self.model) if self._result is not None else "")

    def __repr__(self) -> str:
        default = type(self)()._parameters
        shown = {name: value for name, value in self._parameters.items() if not _same_setting(value, default.get(name))}
        shown = {name: self._parameters[name] for name in ("topics",) if name in self._parameters} | shown
        made = ", ".join(f"{name}={value!r}" for name, value in shown.items())
        trained = "not trained"
        if self._result is not None:
            state = self._result.state
            trained = f"trained on {state.n_documents:,} documents, {state.n_tokens:,} tokens"
        return f"{type(self).__name__}({made}), {trained}"

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments that this object was made with; `deep` means nothing here (scikit-learn gives it)."""
        return dict(self._parameters)

    def set_params(self, **parameters: Any) -> Self:
        """Change some arguments, for the next `fit`; what was learnt stays until then."""
        other = type(self)(**{**self._parameters, **parameters})
        self.__dict__.update({name: value for name, value in other.__dict__.items() if name not in ("_run", "_result")})
        return self

    def fit(
        self,
        documents: Any,
        callbacks: Sequence[Callback] = (),
        *,
        verbose: bool | int | None = None,
        **reading: Unpack[Reading],
    ) -> Self:
        """Train and return self.

        `documents`: a `Corpus`, texts, lists of words, a data frame (its column `text=`, or one column of counts a
        word), or a documents × words matrix of counts (`vocabulary=` names its columns). What is no corpus yet is read
        with `reading`: text, stopwords ("en"), tokenizer, vocabulary, min_count, min_doc_freq, max_doc_freq.

        `callbacks` are called with an Event after every sweep; one that returns True ends the training. So does
        Ctrl-C, after the sweep: the model is then that of the sweeps done.
        """
        corpus = as_corpus(documents, **reading)
        with self._engine() as engine, Fitting(callbacks, self._verbosity(verbose)) as fitting:
            run = Run.start(corpus, self.options, engine, self._priors)
            run.check_phi(self.phi)
            series = ChainSeries(run, self.chains, self._keep, theta=self.theta, phi=self.phi)
            self._result = series.train(fitting)[-1]
            self._theta = series.run.corpus_theta()
        self.__dict__.pop("document_topic", None)
        return self

    def _engine(self) -> AbstractContextManager[Engine]:
        """Who works: it is closed afterwards, unless it was given."""
        return Threads(self.threads) if self.engine is None else nullcontext(self.engine)

    def _verbosity(self, verbose: bool | int | None) -> bool | int | None:
        return self.verbose if verbose is None else verbose

    def fit_transform(
        self,
        documents: Any,
        callbacks: Sequence[Callback] = (),
        *,
        verbose: bool | int | None = None,
        **reading: Unpack[Reading],
    ) -> NDArray[np.float32]:
        """What `fit(documents).transform(documents)` gives: θ with the topics held fixed. (`document_topic` is θ of the
        training's own last states.)"""
        corpus = as_corpus(documents, **reading)
        return self.fit(corpus, callbacks, verbose=verbose).transform(corpus)

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
        assert self._theta is not None
        with self._engine() as engine:
            return np.concatenate([rows for _, rows in self._theta.rows(self.theta, engine)])

    @property
    def topic_word_counts(self) -> scipy.sparse.csr_array:
        """n_kw: a sparse topics × words array of counts."""
        import scipy.sparse

        indptr, topics, counts = self.state.word_topics()
        shape = (self.state.n_words, self.state.n_topics)
        return scipy.sparse.csr_array((counts, topics.astype(np.int32), indptr), shape=shape).T.tocsr()

    @property
    def document_topic_counts(self) -> scipy.sparse.csr_array:
        """n_dk: a sparse documents × topics array of counts."""
        import scipy.sparse

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
    def trace(self) -> TraceTable:
        """The chain's history: sweep, score (joint log-likelihood per token), alpha_sum, beta, changed. A dictionary of
        arrays; `trace.to_dataframe()` is a table."""
        return TraceTable(self.model.trace)

    def top_words(self, number: int = 10) -> list[list[tuple[str, float]]]:
        """Each topic's most probable words with their probabilities."""
        return self.model.top_words(number)

    def topic_table(self, words: int = 10) -> pandas.DataFrame:
        """A data frame with a row a topic: name, share, α, words and more; see `topicx.views.topic_table`."""
        return self.model.topic_table(words)

    def similar_topics(self, topic: int, number: int = 5) -> list[tuple[int, float]]:
        """The topics whose words are most like a topic's, with similarities; see `topicx.views.similar_topics`."""
        return self.model.similar_topics(topic, number)

    def passages(
        self, topics: Sequence[int] | None = None, *, documents: int = 3, characters: int = 600
    ) -> list[dict[str, Any]]:  # fmt: skip
        """The passages of typical documents that say most of their topic; see `topicx.views.typical_passages`."""
        return self.model.passages(topics, documents=documents, characters=characters)

    @property
    def iterations_done(self) -> int:
        """The sweeps of the training: fewer than `iterations` if it was stopped."""
        return int(self.model.meta.get("stopped_after", self.model.meta["iterations"]))

    def transform(self, documents: Any, *, text: str = "text", **sampling: Any) -> NDArray[np.float32]:
        """θ of new documents in any form that `fit` takes: documents × topics (see `Model.transform`)."""
        return self.model.transform(documents, text=text, **{"threads": self.threads, **sampling})

    def _read(self, documents: Any) -> Corpus:
        """New documents in any form, as a corpus that is read as the model's own was."""
        return as_corpus(documents, like=like_model(self.model.vocabulary, self.model.meta))

    def plot_topics(self, topics: Sequence[int] | None = None, *, words: int = 10, axes: Any = None) -> Any:
        """The words of topics as bars; see `topicx.plots.plot_topics`."""
        return import_module("topicx.plots").plot_topics(self, topics, words=words, axes=axes)

    def plot_groups(self, by: str = "label", documents: Any = None, topics: Sequence[int] | None = None) -> Any:
        """Shares of topics by class, or by another column, as bars with intervals; see `topicx.plots.plot_groups`."""
        return import_module("topicx.plots").plot_groups(self, documents, topics, by=by)

    def plot_trace(self, *, axes: Any = None) -> Any:
        """The objective after each sweep; see `topicx.plots.plot_trace`."""
        return import_module("topicx.plots").plot_trace(self, axes=axes)

    def plot_over_time(self, documents: Any = None, topics: Sequence[int] | None = None, **settings: Any) -> Any:
        """Shares of topics over time, with intervals; see `topicx.plots.plot_over_time`."""
        return import_module("topicx.plots").plot_over_time(self, documents, topics, **settings)

    if not TYPE_CHECKING:  # so that a type checker knows which attributes there are

        def __getattr__(self, name: str) -> Any:
            found = ELSEWHERE.get(name)
            hint = f"; {found} is it here" if found else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")

    def save(self, path: str) -> None:
        """Write the model to a file that the command line and `topicx.Model.load` read."""
        self.model.save(path)


def _same_setting(value: Any, other: Any) -> bool:
    return value is other or (type(value) is type(other) and bool(np.array_equal(value, other)))
