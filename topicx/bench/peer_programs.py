"""The programs that a benchmark compares: this package's samplers and other libraries, each in a process of its own.

`python -m topicx.bench.peer_programs` is that process. The first line of its standard input is a task; it trains, and
at chosen sweeps leaves φ (and the assignments, where the program has them) in files, says so in a line of JSON on its
standard output, and waits for an answer before it goes on. So the process that evaluates is another one: neither its
time nor its memory is in the figures, and a program that crashes takes nothing with it.

The clock stands still while φ is fetched and evaluated. Memory is the peak while training, above what the process had
after its imports and before it read the corpus.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus
    from topicx.sampling.chain import Chain
    from topicx.sampling.sweep_loop import Event

Phi = Callable[[Path], float]
"""Writes φ to a file; returns the seconds that went into estimating it (as against fetching it)."""
Assignments = Callable[[], tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]
"""Words, topics and document offsets of all tokens, in any order that they share."""


@dataclass(frozen=True)
class Task:
    """What a program is to do, the same for all of them but for its name and its own options."""

    program: str
    options: dict[str, Any]
    corpus: str
    """The corpus file to train on."""
    folder: str
    """Where φ and assignments are left."""
    topics: int
    alpha: float
    beta: float
    seed: int
    threads: int
    points: list[int]
    """The sweeps after which quality is measured; training ends with the last."""
    limit: float
    """Seconds of training after which it ends anyway."""
    clock: str = "wall"
    """Clock of the measurement: wall, or cpu: processor time of the process, for a machine that has other work (one
    thread only)."""
    evaluate: bool = True
    """Leave φ and the assignments (False: take the times alone)."""

    @property
    def iterations(self) -> int:
        return self.points[-1]

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Finished(Exception):
    """Raised inside a program that only a callback can stop."""


class Recorder:
    """The clock and the way to the other process."""

    def __init__(self, task: Task, out: IO[str], answers: IO[str]) -> None:
        self.task, self._out, self._answers = task, out, answers
        self._points = frozenset(task.points)
        self._now = time.process_time if task.clock == "cpu" else time.perf_counter
        self._began = self._paused = 0.0
        self._memory = 0
        self._base = resident_bytes()

    def say(self, **what: Any) -> None:
        print(json.dumps(what), file=self._out, flush=True)

    def begin(self) -> None:
        """The corpus is there in the program's own form: training begins."""
        reset_peak()
        self._began = self._now()

    @property
    def seconds(self) -> float:
        """Seconds of training so far."""
        return self._now() - self._began - self._paused

    def skip(self, seconds: float) -> None:
        """These last seconds were not training."""
        self._paused += seconds

    @property
    def over(self) -> bool:
        return self.seconds > self.task.limit

    def due(self, sweep: int) -> bool:
        return sweep in self._points or self.over

    def at(self, sweep: int, phi: Phi | None, assignments: Assignments | None, *, work: float | None = None) -> None:
        """This many sweeps are done. Without `phi`, only the time is taken."""
        seconds, before = self.seconds, resident_bytes()
        self._memory = max(self._memory, peak_bytes() - self._base)
        row: dict[str, Any] = {"sweep": sweep, "work": sweep if work is None else work, "seconds": seconds}
        folder = Path(self.task.folder)
        if phi is not None and self.task.evaluate:
            row["estimating"] = phi(folder / "phi")
            row["phi"] = "phi"
        if assignments is not None and self.task.evaluate:
            for name, array in zip(("words", "z", "offsets"), assignments(), strict=True):
                np.save(folder / f"{name}.npy", array, allow_pickle=False)
            row["z"] = True
        self.say(row=row, memory=self._memory)
        if not self._answers.readline():
            raise SystemExit(1)  # the other process has gone
        self._base += max(resident_bytes() - before, 0)  # what fetching φ left in the heap is not training's
        reset_peak()
        self._paused += self.seconds - seconds


def resident_bytes() -> int:
    """Bytes of memory that the process has now (its peak so far, where the present is not told)."""
    return _status_bytes("VmRSS") or _maximum_resident_bytes()


def peak_bytes() -> int:
    """The most bytes of memory that the process has had since `reset_peak`, or ever where that cannot be reset."""
    return _status_bytes("VmHWM") or _maximum_resident_bytes()


def reset_peak() -> None:
    """Forget the peak so far (Linux; elsewhere what fetching φ takes may show in the memory)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status_bytes(name: str) -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    return 0


def _maximum_resident_bytes() -> int:
    import resource

    value = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return value if sys.platform == "darwin" else value * 1024


def write_phi(phi: NDArray[Any]) -> Phi:
    """Topics × words, in single precision."""

    def write(path: Path) -> float:
        with path.open("wb") as out:
            np.save(out, np.ascontiguousarray(phi, dtype=np.float32), allow_pickle=False)
        return 0.0

    return write


def words_by_document(corpus: Corpus) -> Iterator[NDArray[np.uint32]]:
    for begin, end in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        yield corpus.words[begin:end]


# -- the programs ----------------------------------------------------------------------------------------------


def run_topicx(task: Task, recorder: Recorder, corpus: Corpus) -> None:
    """A sampler of the registry, run by the chain as `topicx train` runs it."""
    from topicx.engines.threads import Threads
    from topicx.run import Run
    from topicx.sampling import sampler_registry
    from topicx.sampling.run_options import Options
    from topicx.sampling.sweep_loop import Interrupted
    from topicx.state import NONE

    settings = dict(task.options)
    estimator = str(settings.pop("phi", "auto"))
    options = Options(
        topics=task.topics, sampler=task.program, alpha=task.alpha, beta=task.beta, seed=task.seed,
        iterations=task.iterations, trace_interval=1 << 30, **settings,
    )  # fmt: skip
    with Threads(task.threads) as engine:
        recorder.begin()
        run = Run.start(corpus, options, engine)
        chain = run.chain
        leave_unscored(chain)
        soft = chain.sampler.group == sampler_registry.VARIATIONAL
        recorder.say(about={"sampler": chain.sampler.name, "start": chain.start, "phi": estimator})
        work, stopping = 0.0, False
        steps = chain.steps

        def phi(path: Path) -> float:
            began = recorder.seconds
            model = run.result(theta="cgs", phi=estimator, examples=0).model  # of θ nothing is judged
            estimating = recorder.seconds - began
            model.save(path)
            return estimating

        def assignments() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
            state = chain.method.sync()
            assert not np.any(state.z == NONE)
            return state.words, state.z, state.offsets

        def after(event: Event) -> None:
            nonlocal work, stopping
            work += event.work
            step = event.step
            if step.kind in ("thin", "soft", "hot"):
                if event.position == chain.hardens:  # the sampler has taken over
                    leave_unscored(chain)
                if event.position == chain.hardens + chain.hot:
                    recorder.at(0, phi, assignments, work=work)
            elif step.kind == "grow":
                following = steps[event.position] if event.position < len(steps) else None
                stage_ends = following is None or (following.kind, following.share) != (step.kind, step.share)
                if stage_ends and step.share > 0.1:
                    recorder.at(0, phi, assignments if step.share == 1.0 else None, work=work)
            elif recorder.due(step.sweep):
                stopping = recorder.over
                recorder.at(step.sweep, phi, None if soft else assignments, work=work)

        if chain.start == "random":
            recorder.at(0, None, None)
        with contextlib.suppress(Interrupted):
            run.train([after], stop=lambda: stopping)


def leave_unscored(chain: Chain) -> None:
    """The chain's own objective is not wanted: it costs time."""
    setattr(chain.method, "score", lambda: 0.0)  # noqa: B010


def run_tomotopy(task: Task, recorder: Recorder, corpus: Corpus) -> None:
    """Train tomotopy.LDAModel: every word weighted alike, none removed, α not learnt."""
    tp: Any = import_module("tomotopy")
    names = list(corpus.vocabulary)
    model = tp.LDAModel(
        tw=tp.TermWeight.ONE, min_cf=0, min_df=0, rm_top=0, k=task.topics, alpha=task.alpha, eta=task.beta,
        seed=task.seed,
    )  # fmt: skip
    model.optim_interval = 0
    for document in words_by_document(corpus):
        if len(document):
            model.add_doc([names[w] for w in document])
    n_words = corpus.n_words
    del corpus
    recorder.begin()
    model.train(0, workers=task.threads)
    recorder.at(0, None, None)
    number = {name: i for i, name in enumerate(names)}
    ours = np.array([number[name] for name in model.used_vocabs], np.uint32)

    def phi(path: Path) -> float:
        found = np.zeros((task.topics, n_words), np.float32)
        for topic in range(task.topics):
            found[topic, ours] = model.get_topic_word_dist(topic)
        return write_phi(found)(path)

    def assignments() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        words = [np.asarray(d.words, np.int64) for d in model.docs]
        z = np.concatenate([np.asarray(d.topics, np.uint16) for d in model.docs])
        offsets = np.concatenate([[0], np.cumsum([len(w) for w in words])]).astype(np.int64)
        return ours[np.concatenate(words)], z, offsets

    done = 0
    for point in task.points:
        model.train(point - done, workers=task.threads)
        done = point
        recorder.at(point, phi, assignments)
        if recorder.over:
            break


def run_lda(task: Task, recorder: Recorder, corpus: Corpus) -> None:
    """Train lda.LDA. Its progress report, asked for at every sweep, is where we look at it."""
    import logging

    package: Any = import_module("lda")
    logging.disable(logging.WARNING)
    matrix = corpus.to_matrix()
    n_documents = corpus.n_documents
    del corpus
    sweeps = iter(range(task.iterations + 1))

    class Watched(package.LDA):
        def loglikelihood(self) -> float:
            sweep = next(sweeps)
            if sweep == 0:
                recorder.at(0, None, None)
            elif recorder.due(sweep):
                recorder.at(sweep, lambda path: write_phi(self.phi())(path), self.assignments)
                if recorder.over:
                    raise Finished
            return 0.0

        def phi(self) -> NDArray[Any]:
            counts = self.nzw_ + self.eta
            return np.asarray(counts / counts.sum(axis=1, keepdims=True))

        def assignments(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
            offsets = np.concatenate([[0], np.cumsum(np.bincount(self.DS, minlength=n_documents))])
            return self.WS.astype(np.uint32), self.ZS.astype(np.uint16), offsets.astype(np.int64)

    model = Watched(
        task.topics, n_iter=task.iterations, alpha=task.alpha, eta=task.beta, random_state=task.seed % 2**32, refresh=1
    )
    recorder.begin()
    with contextlib.suppress(Finished):
        model.fit(matrix)


def run_gensim(task: Task, recorder: Recorder, corpus: Corpus) -> None:
    """Train gensim's online variational Bayes; a sweep is a pass. More threads than one are its worker processes."""
    models: Any = import_module("gensim.models")
    bags = []
    for document in words_by_document(corpus):
        words, counts = np.unique(document, return_counts=True)
        bags.append(list(zip(words.tolist(), counts.tolist(), strict=True)))
    names = dict(enumerate(corpus.vocabulary))
    del corpus
    settings: dict[str, Any] = {
        "num_topics": task.topics, "id2word": names, "alpha": [task.alpha] * task.topics, "eta": task.beta,
        "random_state": task.seed % 2**32, "eval_every": None, "passes": 1,
    }  # fmt: skip
    recorder.begin()
    single = task.threads == 1
    model = models.LdaModel(**settings) if single else models.LdaMulticore(workers=task.threads, **settings)
    recorder.at(0, None, None)
    for sweep in range(1, task.iterations + 1):
        model.update(bags)
        if recorder.due(sweep):
            recorder.at(sweep, lambda path: write_phi(model.get_topics())(path), None)
            if recorder.over:
                break


def run_sklearn(task: Task, recorder: Recorder, corpus: Corpus) -> None:
    """Train scikit-learn's online variational Bayes; a sweep is a pass over all documents."""
    matrix = corpus.to_matrix()
    model = import_module("sklearn.decomposition").LatentDirichletAllocation(
        task.topics, doc_topic_prior=task.alpha, topic_word_prior=task.beta, learning_method="online",
        total_samples=corpus.n_documents, random_state=task.seed % 2**32, n_jobs=task.threads,
    )  # fmt: skip
    del corpus
    recorder.begin()
    recorder.at(0, None, None)

    def phi(path: Path) -> float:
        return write_phi(model.components_ / model.components_.sum(axis=1, keepdims=True))(path)

    for sweep in range(1, task.iterations + 1):
        model.partial_fit(matrix)
        if recorder.due(sweep):
            recorder.at(sweep, phi, None)
            if recorder.over:
                break


@dataclass(frozen=True)
class Peer:
    """Another library."""

    run: Callable[[Task, Recorder, Any], None]
    module: str
    distribution: str


PEERS = {
    "tomotopy": Peer(run_tomotopy, "tomotopy", "tomotopy"),
    "lda": Peer(run_lda, "lda", "lda"),
    "gensim": Peer(run_gensim, "gensim.models", "gensim"),
    "sklearn": Peer(run_sklearn, "sklearn.decomposition", "scikit-learn"),
}


def main() -> None:
    """Do the task that standard input names."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print goes where errors go
    task = Task(**json.loads(sys.stdin.readline()))
    from topicx.corpus.corpus import Corpus

    peer = PEERS.get(task.program)
    for module in (peer.module,) if peer else ("topicx.models.lda", "scipy.special", "topicx.sampling.samplers.gibbs"):
        import_module(module)
    recorder = Recorder(task, out, sys.stdin)
    recorder.say(about={"version": version(peer.distribution if peer else "topicx")})
    (peer.run if peer else run_topicx)(task, recorder, Corpus.load(task.corpus))
    recorder.say(done=True)


if __name__ == "__main__":
    main()
