"""A training run of a hidden Markov model: its restarts, with the trace, the checkpoint, and the model at the end.

Restarts are independent and run side by side; no result depends on how many at a time, or on interruptions.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError, TopicxError
from topicx.files import container
from topicx.files.file_kinds import HMM_CHECKPOINT
from topicx.files.schema import Inconsistent, require_consistent
from topicx.hmm.hmm_learners import BaumWelch, HmmGibbs, HmmLearner, Layout
from topicx.hmm.hmm_model import HmmModel, Sequences
from topicx.hmm.hmm_options import HmmOptions
from topicx.sampling.sweep_loop import Callbacks, Step, Training
from topicx.strings import Strings


class HmmRun(Training):
    """Restarts of one model on one corpus, and how far they have come."""

    def __init__(
        self, data: Sequences, vocabulary: Strings, options: HmmOptions, engine: Engine,
        parents: dict[str, str] | None = None,
    ) -> None:  # fmt: skip
        self.data, self.vocabulary, self.options, self.engine = data, vocabulary, options, engine
        self.parents = parents or {}
        layout = Layout(data, len(vocabulary), options)
        kind: type[HmmLearner] = BaumWelch if options.sampler == "baum-welch" else HmmGibbs
        inner = engine if options.restarts == 1 else Threads(1)  # pieces of a restart, or restarts, run side by side
        self.learners = [kind(layout, restart, inner) for restart in range(options.restarts)]
        self.records: list[tuple[int, list[float]]] = []
        """Sweeps made, and each restart's log-likelihood after them."""

    @classmethod
    def of(cls, corpus: Corpus, options: HmmOptions, engine: Engine) -> HmmRun:
        """A new run; the corpus needs at least one symbol."""
        if not corpus.n_tokens:
            raise InputError("the corpus has no symbols: there is nothing to learn from")
        parents = {"corpus": corpus.digest} if corpus.digest else {}
        return cls(Sequences(corpus.words, corpus.offsets), corpus.vocabulary, options, engine, parents)

    # -- what the loop asks ------------------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """Fewer than were asked for where all restarts have converged."""
        return self.position if all(learner.done for learner in self.learners) else self.options.iterations

    def begin(self) -> None:
        """The likelihood at the start, and where a run is to end that stopped between two records."""
        if not self.position or self.position == self.total:
            self._recorded()

    def advance(self, most: int) -> tuple[Step, dict[str, float]]:
        """Up to the next record; several sweeps at a time where nobody can be waiting for an answer: a short corpus has
        thousands a second."""
        options, begin = self.options, self.position
        work = self.data.n_symbols * options.paths * options.states
        at_once = 1 if options.sampler == "baum-welch" else max(1, min(1000, 20_000_000 // (work + 1)))
        end = begin + min(most, at_once, options.trace_interval - begin % options.trace_interval)

        def sweeps(learner: HmmLearner) -> None:
            for number in range(begin, end):
                learner.sweep(number)

        self.engine.map(sweeps, self.learners)
        self.position = end
        return Step("sweep", end - begin, end), {}

    def record(self, step: Step, figures: dict[str, float], last: bool) -> float | None:
        if not last and self.position % self.options.trace_interval:
            return None
        self._record()
        return max(self.scores)

    def _record(self) -> None:
        def score(learner: HmmLearner) -> float:
            return learner.parameters().log_likelihood(self.data, Threads(1))

        self.records.append((self.position, self.engine.map(score, self.learners)))

    def _recorded(self) -> None:
        """Where the run stands now has its record."""
        if not self.records or self.records[-1][0] != self.position:
            self._record()

    @property
    def scores(self) -> list[float]:
        """The log-likelihood of each restart at the last record."""
        return self.records[-1][1]

    def model(self) -> HmmModel:
        """The model of the restart with the highest log-likelihood, as far as they have come."""
        self._recorded()
        scores = np.where(np.isnan(self.scores), -np.inf, self.scores)
        best = int(np.argmax(scores))
        if not np.isfinite(scores[best]):
            raise TopicxError(
                "the corpus has the probability 0 after the last sweep: priors below 1 take all of what is rare "
                "(larger --beta, --alpha and --start-prior, or another sampler, may do)"
            )
        learner = self.learners[best]
        p = learner.parameters()
        meta: dict[str, Any] = {
            "options": self.options.to_meta(), "sequences": len(self.data.offsets) - 1, "symbols": self.data.n_symbols,
            "sweeps": self.position, "restart": best,
            "log_likelihoods": [float(score) if np.isfinite(score) else None for score in scores],
        }  # fmt: skip
        if isinstance(learner, HmmGibbs) and self.options.paths > 1:
            meta["agreement"] = learner.agreement()
        return HmmModel(
            p.start, p.trans, np.ascontiguousarray(p.emit.T), self.vocabulary, self.trace(), meta, self.parents
        )

    def trace(self) -> dict[str, NDArray[Any]]:
        sweeps = np.array([sweep for sweep, _ in self.records], np.int64)
        return {"sweep": sweeps, "log_likelihood": np.array([scores for _, scores in self.records], np.float64)}

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """A tab-separated table: sweep, and a column of log-likelihoods a restart."""
        with container.atomic_output(path, binary=False) as out:
            out.write("\t".join(["sweep", *(f"restart_{r}" for r in range(self.options.restarts))]) + "\n")
            for sweep, scores in self.records:
                out.write("\t".join([str(sweep), *(f"{score:.6f}" for score in scores)]) + "\n")

    # -- checkpoints -------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Everything that the next sweep depends on."""
        arrays: dict[str, NDArray[Any]] = {
            "words": self.data.words, "offsets": self.data.offsets, **self.vocabulary.arrays("vocabulary"),
        }  # fmt: skip
        for restart, learner in enumerate(self.learners):
            arrays |= {f"restart.{restart}.{name}": array for name, array in learner.arrays().items()}
        arrays |= {f"trace.{name}": array for name, array in self.trace().items()}
        meta = {"options": self.options.to_meta(), "position": self.position, "seconds": round(self.seconds, 3)}
        container.write(path, HMM_CHECKPOINT, arrays, meta, self.parents)

    @classmethod
    def load(cls, path: str | os.PathLike[str], engine: Engine, iterations: int | None = None) -> HmmRun:
        """Continue from a checkpoint, perhaps to another number of sweeps."""
        file = container.read(path, HMM_CHECKPOINT)
        try:
            options, position = HmmOptions.from_meta(file.meta["options"]), int(file.meta["position"])
            if iterations is not None:
                if iterations < position:
                    raise InputError(
                        f"{file.path}: has {position} iterations already, more than the {iterations} asked for"
                    )
                options = replace(options, iterations=iterations)
            arrays = file.arrays
            data = Sequences(arrays["words"], arrays["offsets"])
            run = cls(data, Strings.from_arrays(arrays, "vocabulary"), options, engine, file.parents)
            for restart, learner in enumerate(run.learners):
                lead = f"restart.{restart}."
                learner.restore({n.removeprefix(lead): a for n, a in arrays.items() if n.startswith(lead)})
            sweeps, scores = arrays["trace.sweep"], arrays["trace.log_likelihood"]
            require_consistent(scores.shape == (len(sweeps), options.restarts), "scores of other restarts")
            rows = zip(sweeps.tolist(), scores.tolist(), strict=True)
        except KeyError as missing:
            raise InputError(f"{file.path}: the checkpoint lacks {missing}") from None
        except Inconsistent as problem:
            raise InputError(f"{file.path}: the checkpoint is not consistent: it has {problem}") from None
        run.position, run.seconds = position, float(file.meta["seconds"])
        every = options.trace_interval
        run.records = [(s, scores) for s, scores in rows if s % every == 0 or s == options.iterations == position]
        return run


def train_hmm(corpus: Corpus, options: HmmOptions, threads: int = 0, callbacks: Callbacks = ()) -> HmmModel:
    """The model of a corpus."""
    with Threads(threads) as engine:
        run = HmmRun.of(corpus, options, engine)
        run.run(callbacks)
        return run.model()
