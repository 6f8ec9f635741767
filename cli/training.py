"""One chain of `topicx train`: with progress, signals and checkpoints; and what is written of it."""

from __future__ import annotations

import math
import shlex
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import say
from topicx.engines.memory import told_size
from topicx.errors import InputError
from topicx.sampling.registry import GROWS
from topicx.schema import lists, whole

if TYPE_CHECKING:
    from topicx.model import Model
    from topicx.run import Run
    from topicx.sampling.chain import Checkpoints, Event

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
            and whole(series.get("chains"), 1, 1000)
            and series.get("keep") in ("best", "all", "average")
            and lists(series.get("scores"), (int, float))
            and notes.get("theta") in (None, "cgs", "cgsp")
            and notes.get("phi") in (None, "auto", "cgs", "cgsp")
        )
        if not good or not isinstance(series, dict):
            raise InputError("--resume: the checkpoint has notes that are not those of 'topicx train'")
        return cls(series["chains"], series["keep"], [float(score) for score in series["scores"]])

    def add(self, run: Run, number: int, wanted: Wanted, quiet: bool) -> None:
        """A chain has ended: write it, if it is to be kept."""
        score = run.score
        if self.chains > 1:
            say(f"chain {number}: {run.chain.method.objective} {score:.5f}", quiet=quiet)
        if self.keep == "all":
            write(run, wanted.numbered(number), quiet)
        elif self.keep == "average":
            write(run, wanted, quiet, number)
        elif score > max(self.scores, default=-math.inf):  # the best so far: an interruption loses nothing
            write(run, wanted, quiet)
        self.scores.append(score)

    def tell(self, run: Run | None, quiet: bool) -> None:
        from topicx.report.histogram import histogram

        known = [score for score in self.scores if math.isfinite(score)]
        if len(known) > 1 and run is not None:
            objective = run.chain.method.objective
            say("\n".join([f"{len(known)} chains by {objective}:", *histogram(known)]), quiet=quiet)


@dataclass
class Wanted:
    """What a run is to leave."""

    model: str
    state: str | None
    doc_topics: str | None
    trace: str | None
    theta: str | None
    phi: str | None
    checkpoint: str = ""
    """The options that say where and how often the chain is saved."""
    join_chunks: bool = False
    """Whether θ is that of whole texts, where documents are chunks of them."""
    metadata: str = "all"
    """What documents carry that stands beside their θ."""

    def files(self) -> list[str | None]:
        return [self.model, self.state, self.doc_topics, self.trace]

    def numbered(self, number: int) -> Wanted:
        """The same for one of several chains: every file with the chain's number."""
        state, doc_topics, trace = (
            _numbered(name, number) if name else None for name in (self.state, self.doc_topics, self.trace)
        )
        numbered = Wanted(_numbered(self.model, number), state, doc_topics, trace, self.theta, self.phi)
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
        return " ".join(f"{option} {shlex.quote(name)}" for option, name in pairs.items() if name) + self.checkpoint


def _numbered(name: str, number: int) -> str:
    """The number goes before the endings, which say what the file is: theta.npz, theta.0.npz."""
    path = Path(name)
    packed = ".gz" if path.name.endswith(".gz") else ""
    plain = Path(name.removesuffix(packed))
    return str(plain.with_name(f"{plain.stem}.{number}{plain.suffix}{packed}"))


TOLD_MEMORY = 500_000_000
"""Bytes from which the user is told what a run will take, without asking."""


def _announce(run: Run) -> None:
    chain = run.chain
    state, options, threads = chain.state, chain.options, chain.engine.threads
    starts = {"state": "the state's assignments as"}
    start = starts.get(chain.start) or (chain.start if GROWS in chain.sampler.capabilities else "its own")
    how = chain.sampler.name + (f" ({chain.sampler.group})" if options.sampler == "auto" else "")
    say(
        f"{state.n_documents:,} documents, {state.n_tokens:,} tokens, {state.n_words:,} words; "
        f"{state.n_topics} topics, "
        f"sampler {how}, {start} start, {options.iterations} iterations, seed {options.seed}"
    )
    if chain.memory >= TOLD_MEMORY or getattr(chain.engine, "memory", None) is not None:
        say(f"it takes about {told_size(chain.memory)} of memory, the corpus included")
    if state.n_topics > state.n_words:
        say(f"note: there are more topics ({state.n_topics}) than different words ({state.n_words})")
    schedule = getattr(chain.method, "schedule", None)
    if schedule is not None and threads > schedule.partitions > 1:
        say(f"note: {schedule.partitions} partitions keep as many threads busy; --partitions N allows more")
    for note in run.definition.notes(state):
        say(f"note: {note}")
    empty = int((state.lengths == 0).sum())
    if empty:
        say(f"note: {empty:,} documents are empty; they get the prior's topic proportions")


class Stopper:
    """Hears SIGINT, SIGTERM and SIGHUP while chains run and their files are written: the chain at hand (or the next, if
    files are being written) ends after its sweep, with a checkpoint. A second signal stops at once."""

    def __init__(self, quiet: bool) -> None:
        self.quiet, self.asked = quiet, False

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
        say("finishing the sweep (once more: stop at once) …", quiet=self.quiet)


def train_one(
    run: Run, checkpoints: Checkpoints, wanted: Wanted, stopper: Stopper, quiet: bool, verbose: bool
) -> None:  # fmt: skip
    """Run the chain with progress until it ends or is stopped."""
    from topicx.progress import for_terminal
    from topicx.sampling.chain import Interrupted

    chain = run.chain
    total = sum(step.share for step in chain.steps)
    try:
        if not quiet:
            _announce(run)
        with for_terminal("training", total, "sweeps", quiet=quiet) as progress:
            progress.advance(sum(step.share for step in chain.steps[: chain.position]))

            def report(event: Event) -> None:
                note = f"{chain.method.objective} {event.score:.4f}" if event.score is not None else ""
                progress.advance(event.work, note)
                if verbose and event.score is not None:
                    figures = "".join(f", {name} {value:.4g}" for name, value in event.figures.items())
                    progress.message(f"sweep {event.step.sweep}: {note}, {chain.seconds:.1f} s{figures}")

            run.train([report], checkpoints, lambda: stopper.asked)
    except Interrupted:
        done = max((step.sweep for step in chain.steps[: chain.position]), default=0)
        chains = chain.notes["series"]["chains"]
        which = f" in chain {chain.options.chain} of {chains}, counted from 0," if chains > 1 else ""
        say(f"stopped{which} after {done} of {chain.options.iterations} sweeps; the chain is saved. To go on with it:")
        say(f"  topicx train --resume {shlex.quote(checkpoints.path)} {wanted.options()}")
        raise click.exceptions.Exit(130) from None
    _tell_end(run, quiet)


def _tell_end(run: Run, quiet: bool) -> None:
    chain = run.chain
    tokens = chain.state.n_tokens * sum(step.share for step in chain.steps[: chain.position])
    say(f"{chain.seconds:.1f} s, {tokens / max(chain.seconds, 1e-9) / 1e6:.1f} million tokens a second; "
        f"{chain.method.objective} {run.score:.4f}", quiet=quiet)  # fmt: skip
    options, alpha = chain.options, chain.state.alpha
    if options.optimize_interval and max(options.optimize_burn_in, options.optimize_interval) > options.iterations:
        say("note: the priors stay as given: no re-estimation was due (--optimize-burn-in)", quiet=quiet)
    elif options.optimize_interval:
        say(f"priors: Σα {alpha.sum(axis=1).mean():.4g} ({alpha.min():.3g} to {alpha.max():.3g}), "
            f"β {chain.state.beta.mean():.3g}", quiet=quiet)  # fmt: skip


def write(run: Run, wanted: Wanted, quiet: bool, before: int | None = None) -> None:
    """The files that are wanted of a chain that has ended; the model is averaged with that of so many chains before."""
    import contextlib

    from topicx.model import Model
    from topicx.run import pooled

    state = run.chain.state
    with contextlib.ExitStack() as open_things:
        add = None
        if wanted.doc_topics:
            from topicx.report.document_topics import state_writer

            writer = state_writer(
                wanted.doc_topics, state, join_chunks=wanted.join_chunks, metadata=wanted.metadata
            )  # fmt: skip
            add = open_things.enter_context(writer)
        result = run.result(theta=wanted.theta or "cgsp", phi=wanted.phi or "auto", documents=add)
    if wanted.state:
        result.model.parents["state"] = result.state.save(wanted.state)
        say(f"wrote the state to {wanted.state}", quiet=quiet)
    if wanted.doc_topics:
        say(f"wrote θ of {state.n_documents:,} documents to {wanted.doc_topics}", quiet=quiet)
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
    if not quiet:
        _tell_noise(model)
    say(f"wrote the model{chains} to {wanted.model}", quiet=quiet)


def _tell_noise(model: Model) -> None:
    """A line, if top words look like noise: and which option of import helps."""
    from topicx.report.noise import noise_message

    noise = noise_message([[word for word, _ in topic] for topic in model.top_words(10)], model.meta)
    if noise:
        say(noise)
