"""`topicx.HMM`: hidden Markov models in Python, with the names that users of hmmlearn know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.hmm.hmm_learners import BaumWelch
from topicx.hmm.hmm_model import HmmModel, Parameters, Sequences, check_parameters
from topicx.hmm.hmm_options import HmmOptions
from topicx.hmm.hmm_run import HmmRun
from topicx.strings import Strings


class HMM:
    """Learn a hidden Markov model with discrete emissions.

    Parameters
    ----------
    n_components : int, default 1
        Number of states.
    sampler : str, default "collapsed"
        "collapsed", "partial" or "baum-welch".
    paths : int, default 1
        State sequences that share their counts.
    restarts : int, default 1
        Independent starts, of which the one with the highest likelihood is kept.
    n_iter : int, default 1000
        Iterations; of Baum-Welch at most so many rounds.
    tol : float, default 0.0001
        Gain in log-likelihood below which Baum-Welch ends.
    startprob_prior, transmat_prior, emissionprob_prior : float, default 1.0
        Dirichlet priors of the first state, of transitions and of emissions.
    n_features : int, optional
        Number of symbols. By default as many as the data shows.
    init_params : str, default "ste"
        What Baum-Welch begins at random: s (start), t (transitions), e (emissions). The others begin at the attributes
        `startprob_`, `transmat_` and `emissionprob_` as they were set.
    algorithm : str, default "viterbi"
        How `predict` and `decode` find states: "viterbi" or "map".
    random_state : int, default 1
        Seed of all random numbers.
    threads : int, default 0
        Threads; 0: all cores. No result depends on it.

    Attributes
    ----------
    startprob_ : ndarray of shape (states,)
        Probabilities of the first state.
    transmat_ : ndarray of shape (states, states)
        Probabilities of the next state; rows sum to 1.
    emissionprob_ : ndarray of shape (states, symbols)
        Probabilities of symbols; rows sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> import topicx
    >>> X = np.array([[0], [1], [1], [0], [2], [2]])
    >>> model = topicx.HMM(n_components=2, n_iter=50, random_state=1).fit(X, lengths=[4, 2])
    >>> model.transmat_.shape, model.emissionprob_.shape
    ((2, 2), (2, 3))
    """

    startprob_: NDArray[np.float64]
    transmat_: NDArray[np.float64]
    emissionprob_: NDArray[np.float64]

    def __init__(
        self,
        n_components: int = 1,
        *,
        sampler: str = "collapsed",
        paths: int = 1,
        restarts: int = 1,
        n_iter: int = 1000,
        tol: float = 1e-4,
        startprob_prior: float = 1.0,
        transmat_prior: float = 1.0,
        emissionprob_prior: float = 1.0,
        n_features: int | None = None,
        init_params: str = "ste",
        algorithm: str = "viterbi",
        random_state: int = 1,
        threads: int = 0,
    ) -> None:
        self.options = HmmOptions(
            states=n_components, sampler=sampler, paths=paths, restarts=restarts, iterations=n_iter, tolerance=tol,
            start_prior=startprob_prior, alpha=transmat_prior, beta=emissionprob_prior, seed=random_state,
        )  # fmt: skip
        if set(init_params) - set("ste"):
            raise InputError(f"init_params: letters of 'ste' are needed, not {init_params!r}")
        if len(set(init_params)) < 3 and (sampler != "baum-welch" or restarts > 1):
            raise InputError("init_params: a start of one's own is for the sampler baum-welch and a single restart")
        if n_features is not None and (not isinstance(n_features, int) or n_features < 1):
            raise InputError(f"n_features must be a whole number of at least 1, not {n_features!r}")
        _check_algorithm(algorithm)
        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 0:
            raise InputError(f"threads must be a whole number of at least 0, not {threads!r}")
        self.n_components, self.n_features = n_components, n_features
        self.init_params, self.algorithm, self.threads = init_params, algorithm, threads
        self._model: HmmModel | None = None

    def __repr__(self) -> str:
        o = self.options
        trained = repr(self._model) if self._model is not None else "not trained"
        return f"HMM(n_components={self.n_components}, sampler={o.sampler!r}, paths={o.paths}), {trained}"

    # -- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, lengths: Sequence[int] | None = None) -> HMM:
        """Learn the parameters from these sequences, and return self."""
        corpus = self._corpus(X, lengths)
        with Threads(self.threads) as engine:
            run = HmmRun.of(corpus, self.options, engine)
            if len(set(self.init_params)) < 3:
                self._begin(run)
            run.run()
            self._model = run.model()
        self.startprob_, self.transmat_ = self._model.startprob, self._model.transmat
        self.emissionprob_ = self._model.emissionprob
        return self

    def _begin(self, run: HmmRun) -> None:
        learner = run.learners[0]
        assert isinstance(learner, BaumWelch)
        drawn = learner.current
        parts = {
            "s": ("startprob_", drawn.start),
            "t": ("transmat_", drawn.trans),
            "e": ("emissionprob_", drawn.emit.T),
        }
        chosen = []
        for letter, (name, value) in parts.items():
            if letter not in self.init_params:
                if not hasattr(self, name):
                    raise InputError(f"init_params: without {letter!r} the attribute {name} must be set before fit")
                value = np.asarray(getattr(self, name), np.float64)
            chosen.append(np.ascontiguousarray(value))
        if len(chosen[0]) != self.n_components:
            raise InputError(f"startprob_ has {len(chosen[0])} entries, not {self.n_components}")
        check_parameters("the start", chosen[0], chosen[1], chosen[2], len(run.vocabulary))
        learner.current = Parameters(chosen[0], chosen[1], np.ascontiguousarray(chosen[2].T))

    @property
    def model(self) -> HmmModel:
        """The model as `topicx hmm` reads and writes it."""
        if self._model is not None:
            return self._model
        if not all(hasattr(self, name) for name in ("startprob_", "transmat_", "emissionprob_")):
            raise InputError("the model is not trained yet: call fit(X) first")
        arrays = [
            np.ascontiguousarray(getattr(self, n), np.float64) for n in ("startprob_", "transmat_", "emissionprob_")
        ]
        start, trans, emit = arrays
        symbols = emit.shape[-1] if emit.ndim == 2 else 0
        check_parameters("the model", start, trans, emit, symbols)
        return HmmModel(start, trans, emit, Strings.of(str(symbol) for symbol in range(symbols)))

    @property
    def log_likelihoods_(self) -> list[float]:
        """The final log-likelihood of each restart."""
        return list(self.model.meta.get("log_likelihoods", []))

    def save(self, path: str) -> None:
        """Write the model to a file."""
        self.model.save(path)

    # -- using -------------------------------------------------------------------------------------------------

    def score(self, X: Any, lengths: Sequence[int] | None = None) -> float:
        """log p of the sequences, exactly, by the forward algorithm."""
        with self._over(X, lengths) as (model, data, engine):
            return model.parameters().log_likelihood(data, engine)

    def predict(self, X: Any, lengths: Sequence[int] | None = None) -> NDArray[np.int64]:
        """The states: the most probable path, or with `algorithm="map"` each symbol's most probable state."""
        return self.decode(X, lengths)[1]

    def decode(
        self, X: Any, lengths: Sequence[int] | None = None, algorithm: str | None = None
    ) -> tuple[float, NDArray[np.int64]]:
        """log p(states, symbols) of the most probable path, and the path (`algorithm`: viterbi); or how many states are
        expected to be right, and the most probable state of each symbol (map)."""
        if _check_algorithm(self.algorithm if algorithm is None else algorithm) == "map":
            gamma = self.predict_proba(X, lengths)
            return float(gamma.max(axis=1).sum()), gamma.argmax(axis=1).astype(np.int64)
        with self._over(X, lengths) as (model, data, engine):
            states, found = model.viterbi(data, engine)
            return float(found.sum()), states.astype(np.int64)

    def predict_proba(self, X: Any, lengths: Sequence[int] | None = None) -> NDArray[np.float64]:
        """p(state | sequence) of every symbol, a row each."""
        return self.score_samples(X, lengths)[1]

    def score_samples(self, X: Any, lengths: Sequence[int] | None = None) -> tuple[float, NDArray[np.float64]]:
        """log p of the sequences, and p(state | sequence) of every symbol."""
        with self._over(X, lengths) as (model, data, engine):
            gamma, found = model.posteriors(data, engine)
            return float(found.sum()), gamma

    def sample(
        self, n_samples: int = 1, random_state: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A sequence of so many symbols from the model, one a row, and the states behind them."""
        if isinstance(n_samples, bool) or not isinstance(n_samples, int) or n_samples < 1:
            raise InputError(f"n_samples must be a whole number of at least 1, not {n_samples!r}")
        model = self.model
        random = np.random.default_rng(self.options.seed if random_state is None else random_state)
        first, trans, emit = (p.cumsum(axis=-1) for p in (model.startprob, model.transmat, model.emissionprob))
        states = np.empty(n_samples, np.int64)
        row = first
        for i, u in enumerate(random.random(n_samples)):
            states[i] = min(int(np.searchsorted(row, u * row[-1], side="right")), len(row) - 1)
            row = trans[states[i]]
        rows = emit[states]
        symbols = (random.random(n_samples)[:, None] * rows[:, -1:] >= rows).sum(axis=1)
        return np.minimum(symbols, rows.shape[1] - 1)[:, None], states

    @contextmanager
    def _over(self, X: Any, lengths: Sequence[int] | None) -> Iterator[tuple[HmmModel, Sequences, Engine]]:
        model = self.model
        symbols = len(model.vocabulary)
        if isinstance(X, Corpus):
            data = model.sequences(X)[0]
        else:
            corpus = self._corpus(X, lengths)
            if corpus.n_tokens and int(corpus.words.max()) >= symbols:
                raise InputError(f"X has the symbol {int(corpus.words.max())}, but the model knows 0 to {symbols - 1}")
            data = Sequences(corpus.words, corpus.offsets)
        with Threads(self.threads) as engine:
            yield model, data, engine

    def _corpus(self, X: Any, lengths: Sequence[int] | None) -> Corpus:
        """X as a corpus whose vocabulary is the symbols' numbers."""
        if isinstance(X, Corpus):
            if lengths is not None:
                raise InputError("lengths: a corpus has its own")
            return X
        values = np.asarray(X)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim != 1 or not (values.size == 0 or np.issubdtype(values.dtype, np.integer)):
            raise InputError(f"X must be whole numbers, one a row; it is {values.dtype} of shape {values.shape}")
        if values.size and (int(values.min()) < 0 or int(values.max()) >= 2**31):
            raise InputError("X must hold symbols from 0 on, each below 2^31")
        sizes = np.array([len(values)] if lengths is None else list(lengths), np.int64)
        if sizes.sum() != len(values) or (sizes < 0).any():
            raise InputError(f"lengths: they sum to {sizes.sum()}, but X has {len(values)} rows")
        seen = int(values.max()) + 1 if values.size else 1
        if self.n_features is not None and seen > self.n_features:
            raise InputError(f"X has the symbol {seen - 1}, but n_features is {self.n_features}")
        symbols = seen if self.n_features is None else self.n_features
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return Corpus(values.astype(np.uint32), offsets, Strings.of(str(symbol) for symbol in range(symbols)))


def _check_algorithm(name: str) -> str:
    if name not in ("viterbi", "map"):
        raise InputError(f"algorithm: {name!r} is neither viterbi nor map")
    return name
