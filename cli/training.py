"""One chain of `topicx train`: with progress, signals and checkpoints; and what is written of it."""

from __future__ import annotations

import contextlib
import math
import shlex
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.log import Log
from topicx.engines.memory_limits import told_size
from topicx.errors import InputError, TopicxError
from topicx.files.schema import is_list_of, is_whole_number
from topicx.sampling.sampler_registry import GROWS
from topicx.sampling.starts import soft_topics

if TYPE_CHECKING:
    from topicx.model import Model
    from topicx.run import Run
    from topicx.sampling.sweep_loop import Checkpoints, Event

STOPPING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
"""The signals that end a chain after its sweep, with a checkpoint."""
HANGUP = getattr(signal, "SIGHUP", None)


@dataclass
class Series:
    """Several chains, one after another: how many, and how those that have ended did."""

    chains: int
    keep: str
    scores: list[float] = field(default_factory=list)

    @classmethod
    def of(cls, notes: Mapping[str, Any]) -> Series:
        """From a checkpoint's notes: those that 'topicx train' made, not others."""
        series = notes.get("series")
        good = (
            isinstance(series, dict)
            and is_whole_number(series.get("chains"), 1, 1000)
            and series.get("keep") in ("best", "all", "average")
            and is_list_of(series.get("scores"), (int, float))
            and notes.get("theta") in (None, "cgs", "cgsp")
            and notes.get("phi") in (None, "auto", "cgs", "cgsp")
        )
        if not good or not isinstance(series, dict):
            raise InputError("--resume: the checkpoint has notes that are not those of 'topicx train'")
        return cls(series["chains"], series["keep"], [float(score) for score in series["scores"]])

    def add(self, run: Run, number: int, wanted: Wanted, log: Log) -> None:
        """A chain has ended: write it, if it is to be kept."""
        score = run.score
        if self.chains > 1:
            log.tell(f"chain {number}: {run.chain.method.objective} {score:.5f}", "chain", chain=number, score=score)
        if self.keep == "all":
            write(run, wanted.numbered(number), log)
        elif self.keep == "average":
            write(run, wanted, log, number)
        elif score > max(self.scores, default=-math.inf):  # the best so far: an interruption loses nothing
            write(run, wanted, log)
        self.scores.append(score)

    def tell(self, run: Run | None, log: Log) -> None:
        from topicx.views.terminal_histogram import histogram_lines

        known = [score for score in self.scores if math.isfinite(score)]
        if len(known) > 1 and run is not None:
            objective = run.chain.method.objective
            log.tell(
                "\n".join([f"{len(known)} chains by {objective}:", *histogram_lines(known)]), "chains", scores=known
            )


@dataclass
class Wanted:
    """What a run is to leave."""

    model: str
    state: str | None
    doc_topics: str | None
    trace: str | None
    theta: str | None
    phi: str | None
    further: str = ""
    """The options that say where the chain is saved, and what is said while it runs."""
    join_chunks: bool = False
    """Whether θ is that of whole texts, where documents are chunks of them."""
    metadata: str = "all"
    """What documents carry that stands beside their θ."""

    def files(self) -> list[str | None]:
        return [self.model, self.state, self.doc_topics, self.trace]

    def numbered(self, number: int) -> Wanted:
        """The same for one of several chains: every file with the chain's number."""
        state, doc_topics, trace = (
            with_number(name, number) if name else None for name in (self.state, self.doc_topics, self.trace)
        )
        numbered = Wanted(with_number(self.model, number), state, doc_topics, trace, self.theta, self.phi)
        numbered.join_chunks, numbered.metadata = self.join_chunks, self.metadata
        return numbered

    def check_joined(self) -> None:
        """InputError if a file is wanted that chains side by side have each for itself."""
        for name, path in (("state", self.state), ("doc-topics", self.doc_topics)):
            if path:
                raise InputError(f"--{name}: the chains that the model is made of have one each")

    def options(self) -> str:
        """The options that name them, as a shell takes them."""
        pairs = {"-o": self.model, "--state": self.state, "--doc-topics": self.doc_topics, "--trace": self.trace}
        pairs["--metadata"] = self.metadata if self.metadata != "all" else None
        return " ".join(f"{option} {shlex.quote(name)}" for option, name in pairs.items() if name) + self.further


def with_number(name: str, number: int) -> str:
    """The number goes before the endings, which say what the file is: theta.npz, theta.0.npz."""
    path = Path(name)
    packed = ".gz" if path.name.endswith(".gz") else ""
    plain = Path(name.removesuffix(packed))
    return str(plain.with_name(f"{plain.stem}.{number}{plain.suffix}{packed}"))


TOLD_MEMORY = 500_000_000
"""Bytes from which the user is told what a run will take, without asking."""


def _announce(run: Run, log: Log) -> None:
    chain = run.chain
    state, options, threads = chain.state, chain.options, chain.engine.threads
    starts = {"state": "the state's assignments as"}
    start = starts.get(chain.start) or (chain.start if GROWS in chain.sampler.capabilities else "its own")
    how = chain.sampler.name + (f" ({chain.sampler.group})" if options.sampler == "auto" else "")
    log.tell(
        f"{state.n_documents:,} documents, {state.n_tokens:,} tokens, {state.n_words:,} words; "
        f"{state.n_topics} topics, "
        f"sampler {how}, {start} start, {options.iterations} iterations, seed {options.seed}",
        "start", documents=state.n_documents, tokens=state.n_tokens, words=state.n_words, topics=state.n_topics,
        model=options.model, sampler=chain.sampler.name, start=chain.start, iterations=options.iterations,
        seed=options.seed, chain=options.chain, objective=chain.sampler.load().objective,
    )  # fmt: skip
    if chain.memory >= TOLD_MEMORY or getattr(chain.engine, "memory", None) is not None:
        taken = told_size(chain.memory)
        log.tell(f"it takes about {taken} of memory, corpus and estimates included", "memory", bytes=chain.memory)
    if chain.start == "growing" and chain.position == 0:
        log.tell("note: a growing start begins with a few documents, whose score falls as others come")
    if chain.start == "soft" and chain.position == 0:
        topics = soft_topics(state.n_topics)
        few = "" if topics == state.n_topics else f" (with {topics} topics, each of which is then divided)"
        hot = f", and swept {chain.hot} times with a larger beta that falls to its own" if chain.hot else ""
        log.tell(
            f"note: {chain.soft} sweeps of cvb0 come first{few}, then every token's topic is drawn from what they "
            f"found{hot}; from there the likelihood may fall for some sweeps while the topics get better"
        )
    if chain.start == "hot" and chain.position == 0:
        told = f"{chain.hot} sweeps with a larger beta come first, which falls to its own meanwhile"
        log.tell(f"note: {told}" if chain.hot else "note: beta is as large as a hot start makes it: no sweep is hot")
    if state.n_topics > state.n_words:
        log.tell(f"note: there are more topics ({state.n_topics}) than different words ({state.n_words})")
    schedule = getattr(chain.method, "schedule", None)
    if schedule is not None and threads > schedule.partitions > 1:
        log.tell(f"note: {schedule.partitions} partitions keep as many threads busy; --partitions N allows more")
    for note in run.definition.notes(state):
        log.tell(f"note: {note}")
    empty = int((state.lengths == 0).sum())
    if empty:
        log.tell(f"note: {empty:,} documents are empty; they get the prior's topic proportions")


class Stopper:
    """Hears SIGINT, SIGTERM and SIGHUP while chains run and their files are written: the chain at hand (or the next, if
    files are being written) ends after its sweep, with a checkpoint. A second signal stops at once."""

    def __init__(self, log: Log) -> None:
        self.log, self.asked = log, False

    def __enter__(self) -> Stopper:
        heard = [n for n in STOPPING if n != HANGUP or signal.getsignal(n) != signal.SIG_IGN]  # nohup
        self._previous = {number: signal.signal(number, self._stop) for number in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _stop(self, signum: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        self.log.tell("finishing the sweep (once more: stop at once) …")


def train_one(
    run: Run, checkpoints: Checkpoints, wanted: Wanted, stopper: Stopper, log: Log, show_topics: int = 0
) -> None:  # fmt: skip
    """Run the chain with progress until it ends or is stopped; its topics are shown every so many sweeps."""
    from topicx.cli.topics import describe_topics
    from topicx.sampling.sweep_loop import Interrupted

    chain = run.chain
    try:
        if not log.quiet:
            _announce(run, log)
        with log.progress(sum(step.share for step in chain.steps)) as progress:
            progress.begin(sum(step.share for step in chain.steps[: chain.position]))

            def report(event: Event) -> None:
                log.swept(progress, event, chain.method.objective, chain.seconds)
                sweep = event.step.sweep
                if show_topics and sweep and sweep % show_topics == 0:
                    log.topics(progress, sweep, describe_topics(run.glance(), 10, 0))

            run.train([report], checkpoints, lambda: stopper.asked)
    except Interrupted:
        _tell_stopped(run, checkpoints, wanted, log)
        raise click.exceptions.Exit(130) from None
    _tell_end(run, log)


@contextlib.contextmanager
def kept_at_failure(run: Run, checkpoints: Checkpoints, wanted: Wanted, log: Log) -> Iterator[None]:
    """Save the chain, and say how to go on, if what it found cannot be estimated or written."""
    try:
        yield
    except (MemoryError, OSError, TopicxError) as error:
        with contextlib.suppress(MemoryError, OSError, TopicxError):  # the failure itself is what to tell
            run.chain.save(checkpoints.path)
            resume = f"topicx train --resume {shlex.quote(checkpoints.path)} {wanted.options()}"
            less = " --estimator cgs" if isinstance(error, MemoryError) else ""
            log.tell(f"the run is saved, all its sweeps made. To write its files:\n  {resume}{less}", "saved",
                     always=True, checkpoint=checkpoints.path, resume=resume + less)  # fmt: skip
        raise


def _tell_stopped(run: Run, checkpoints: Checkpoints, wanted: Wanted, log: Log) -> None:
    """How to go on, and a model of what was done to read meanwhile."""
    chain = run.chain
    done = max((step.sweep for step in chain.steps[: chain.position]), default=0)
    series = chain.notes["series"]
    which = f" in chain {chain.options.chain} of {series['chains']}, counted from 0," if series["chains"] > 1 else ""
    resume = f"topicx train --resume {shlex.quote(checkpoints.path)}"
    log.tell(
        f"stopped{which} after {done} of {chain.options.iterations} sweeps; the chain is saved. To go on with it:\n"
        f"  {resume} {wanted.options()}",
        "stopped", always=True, sweep=done, of=chain.options.iterations, checkpoint=checkpoints.path,
        resume=f"{resume} {wanted.options()}",
    )  # fmt: skip
    if chain.steps[chain.position - 1].sweep == 0:
        log.tell(f"there is no model of it yet: it had not come beyond its {chain.start} start")
        return
    only = wanted.numbered(chain.options.chain) if series["keep"] == "all" else wanted
    if series["keep"] != "all" and series["scores"]:
        return  # a chain before has left its model
    if only.model == "-" or not unfinished(only.model):
        other = shlex.quote(with_number("topicx.model" if only.model == "-" else only.model, done))
        kept = "" if only.model == "-" else f"{only.model} stays as it was. "
        log.tell(f"{kept}For a model of what was done:\n  {resume} --iterations {done} -o {other}", always=True)
        return
    chain.state.meta["stopped_after"] = done
    write(run, replace(only, state=None, doc_topics=None, trace=None), log)


def unfinished(path: str, load: Callable[[str], Any] | None = None) -> bool:
    """Whether no model stands there, or one of a run that was stopped: what a stopped run may write to."""
    from topicx.model import Model

    try:
        return not Path(path).exists() or "stopped_after" in (load or Model.load)(path).meta
    except InputError:
        return False


def _tell_end(run: Run, log: Log) -> None:
    chain = run.chain
    tokens = chain.state.n_tokens * sum(step.share for step in chain.steps[: chain.position])
    speed = tokens / max(chain.seconds, 1e-9)
    log.tell(
        f"{chain.seconds:.1f} s, {speed / 1e6:.1f} million tokens a second; {chain.method.objective} {run.score:.4f}",
        "end", seconds=chain.seconds, tokens_per_second=speed, score=run.score,
    )  # fmt: skip
    options, alpha, beta = chain.options, chain.state.alpha, float(chain.state.beta.mean())
    if options.optimize_interval and max(options.optimize_burn_in, options.optimize_interval) > options.iterations:
        log.tell("note: the priors stay as given: no re-estimation was due (--optimize-burn-in)")
    elif options.optimize_interval:
        total = float(alpha.sum(axis=1).mean())
        log.tell(f"priors: Σα {total:.4g} ({alpha.min():.3g} to {alpha.max():.3g}), β {beta:.3g}", "priors",
                 alpha_sum=total, alpha=told_rows(alpha), beta=beta)  # fmt: skip


def told_rows(alpha: Any) -> list[list[float]]:
    """Every group's α; of very many groups only their mean: a line of a log is no place for all."""
    rows: list[list[float]] = (alpha if alpha.size <= 1 << 16 else alpha.mean(axis=0, keepdims=True)).tolist()
    return rows


def write(run: Run, wanted: Wanted, log: Log, before: int | None = None) -> None:
    """The files that are wanted of a chain that has ended; the model is averaged with that of so many chains before."""
    from topicx.model import Model
    from topicx.run import pooled

    state = run.chain.state
    with contextlib.ExitStack() as open_things:
        add = None
        if wanted.doc_topics:
            from topicx.tables.theta_writers import state_writer

            writer = state_writer(
                wanted.doc_topics, state, join_chunks=wanted.join_chunks, metadata=wanted.metadata
            )  # fmt: skip
            add = open_things.enter_context(writer)
        result = run.result(theta=wanted.theta or "cgsp", phi=wanted.phi or "auto", documents=add)
    if wanted.state:
        result.model.parents["state"] = result.state.save(wanted.state)
        log.tell(f"wrote the state to {wanted.state}", "wrote", what="state", file=wanted.state)
    if wanted.doc_topics:
        of = "the whole texts of " if wanted.join_chunks else ""
        log.tell(f"wrote θ of {of}{state.n_documents:,} documents to {wanted.doc_topics}", "wrote",
                 what="doc-topics", file=wanted.doc_topics)  # fmt: skip
    if wanted.trace:
        run.chain.trace.write(wanted.trace)
    model, chains = result.model, ""
    if before is not None:
        earlier = Model.load(wanted.model) if before else None
        held = earlier.meta.get("chains") if earlier else 0
        if held == before + 1:  # it was written before the run was interrupted
            return
        if held != before:
            raise InputError(f"{wanted.model}: is not the average of {before} chains that this run goes on with")
        model, chains = pooled(earlier, before, model), f" of {before + 1} chains"
    model.save(wanted.model)
    _tell_noise(model, log)
    stopped = model.meta.get("stopped_after")
    done = f" so far ({stopped} sweeps)" if stopped is not None else ""
    log.tell(f"wrote the model{chains}{done} to {wanted.model}", "wrote", what="model", file=wanted.model)


def _tell_noise(model: Model, log: Log) -> None:
    """A line, if top words look like noise: and which option of import helps."""
    from topicx.views.noisy_topics import noise_message

    noise = noise_message([[word for word, _ in topic] for topic in model.top_words(10)], model.meta)
    if noise:
        log.tell(noise)
