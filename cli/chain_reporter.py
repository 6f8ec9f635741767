"""What `topicx train` shows of chains while they are trained, and what it writes of them."""

from __future__ import annotations

import contextlib
import math
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from topicx.chain_series import ChainListener, ChainSeries
from topicx.cli.log import Log
from topicx.cli.training import Wanted, is_unfinished, with_number
from topicx.engines.memory_limits import told_size
from topicx.errors import TopicxError
from topicx.sampling.run_length import MOST_SWEEPS
from topicx.sampling.sampler_registry import GROWS
from topicx.sampling.starts import holds_priors, soft_topics
from topicx.stop_signals import Stopper

if TYPE_CHECKING:
    from topicx.model import Model
    from topicx.run import Result, Run
    from topicx.sampling.chain import Chain
    from topicx.sampling.sweep_loop import Checkpoints, Event
    from topicx.state import State


TOLD_MEMORY = 500_000_000
"""Bytes from which the user is told what a run will take, without asking."""


def _announce_run(run: Run, log: Log) -> None:
    chain = run.chain
    state, options, threads = chain.state, chain.options, chain.engine.threads
    starts = {"state": "the state's assignments as"}
    start = starts.get(chain.start) or (chain.start if GROWS in chain.sampler.capabilities else "its own")
    how = chain.sampler.name + (f" ({chain.sampler.group})" if options.sampler == "auto" else "")
    log.tell(
        f"{state.n_documents:,} documents, {state.n_tokens:,} tokens, {state.n_words:,} words; "
        f"{state.n_topics} topics, "
        f"sampler {how}, {start} start, {_told_length(chain)}, seed {options.seed}",
        "start", documents=state.n_documents, tokens=state.n_tokens, words=state.n_words, topics=state.n_topics,
        model=options.model, sampler=chain.sampler.name, start=chain.start, iterations=options.iterations,
        seed=options.seed, chain=options.chain, objective=chain.sampler.load().objective,
    )  # fmt: skip
    if chain.memory >= TOLD_MEMORY or getattr(chain.engine, "memory", None) is not None:
        taken = told_size(chain.memory)
        log.tell(f"it takes about {taken} of memory, corpus and estimates included", "memory", bytes=chain.memory)
    if chain.engine.places is not None:
        _announce_places(chain, log)
    if chain.start == "growing" and chain.position == 0:
        log.tell("note: a growing start begins with a few documents, whose score falls as others come")
    if chain.start == "soft" and chain.position == 0:
        topics = soft_topics(state, options)
        few = "" if topics == state.n_topics else f" (with {topics} topics, each of which is then divided)"
        hot = f", and swept {chain.hot} times with {_told_heat(chain)}" if chain.hot else ""
        share, thin = chain.thin
        tokens = f"{share:.0%} of the tokens of every document" if share < 1 else "all tokens"
        begun = f"{thin} sweeps over {tokens} come first, then {chain.soft} of cvb0" if thin else (
            f"{chain.soft} sweeps of cvb0 come first{few}"
        )  # fmt: skip
        part, alone = chain.part
        if chain.by_scvb0:
            begun = f"{round(chain.soft * part)} passes of scvb0 come first"
        begun += f" (of {part:.0%} of the documents; the others join {alone} sweeps later)" if alone else ""
        log.tell(
            f"note: {begun}, then every token's topic is drawn from what they "
            f"found{hot}; from there the likelihood may fall for some sweeps while the topics get better"
        )
    if chain.start == "hot" and chain.position == 0:
        told = f"{chain.hot} sweeps come first, with {_told_heat(chain)}"
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


def _told_heat(chain: Chain) -> str:
    """What is hot in hot sweeps."""
    if holds_priors(chain.state, chain.options):
        return "priors as at the beginning, which go over to what is learnt meanwhile"
    return "a larger beta that falls to its own"


def _told_length(chain: Chain) -> str:
    """How many sweeps there will be."""
    if not chain.length:
        return f"{chain.options.iterations} iterations"
    options = chain.options
    learnt = options.optimize.replace("+", " and ") if options.optimize_interval else ""
    parts = [f"sweeps until it has settled ({MOST_SWEEPS} at most)"]
    parts += [f"{learnt} learnt on the way"] if learnt else []
    return ", ".join([*parts, *([f"{options.samples} states averaged"] if options.samples > 1 else [])])


class TrainingReporter(ChainListener):
    """What `topicx train` does while chains are trained: it shows them, saves them, and writes what is wanted."""

    def __init__(
        self, wanted: Wanted, checkpoints: Checkpoints, stopper: Stopper, log: Log, show_topics: int = 0
    ) -> None:  # fmt: skip
        self.wanted, self.checkpoints, self.stopper = wanted, checkpoints, stopper
        self.log, self.show_topics = log, show_topics

    def begin_chain(self, series: ChainSeries) -> None:
        from topicx.corpus.table import choose_columns
        from topicx.corpus.text.chunks import parent_of_chunk

        run, wanted = series.run, self.wanted
        if run.definition.joins and series.keep == "average" and series.total > 1:
            wanted.check_joined()
        run.check_phi(series.phi)
        run.check_memory(theta=series.theta, phi=series.phi, documents=bool(wanted.doc_topics))
        if wanted.join_chunks:
            parent_of_chunk(run.chain.state.ids[0])  # before hours of work: are there chunks?
        if wanted.doc_topics:
            choose_columns(wanted.metadata, run.chain.state.table.kinds())
        run.chain.notes = series.notes()

    def train_chain(self, series: ChainSeries) -> bool:
        """Run the chain with progress until it ends or is stopped; its topics are shown every so many sweeps."""
        from topicx.sampling.sweep_loop import Interrupted
        from topicx.views.topic_descriptions import describe_topics

        run, log, stopper, show_topics = series.run, self.log, self.stopper, self.show_topics
        chain = run.chain
        try:
            if not log.quiet:
                _announce_run(run, log)
            with log.progress(chain.work) as progress:
                progress.begin(sum(step.share for step in chain.steps[: chain.position]))

                def report(event: Event) -> None:
                    progress.replan(chain.work)
                    log.swept(progress, event, chain.method.objective, chain.seconds)
                    sweep = event.step.sweep
                    if show_topics and sweep and sweep % show_topics == 0:
                        log.topics(progress, sweep, describe_topics(run.glance(), 10, 0))

                run.train([report], self.checkpoints, lambda: stopper.asked)
        except TopicxError:
            if chain.engine.places is not None and self.checkpoints.written:
                _tell_lost(self.checkpoints, self.wanted, log)
            raise
        except Interrupted:
            _tell_stopped(series, self.checkpoints, self.wanted, log)
            raise click.exceptions.Exit(130) from None
        _tell_end(run, log)
        return True

    def guard_result(self, series: ChainSeries) -> contextlib.AbstractContextManager[object]:
        return kept_at_failure(series.run, self.checkpoints, self.wanted, self.log)

    def end_chain(self, series: ChainSeries, score: float) -> None:
        if series.total > 1:
            number, objective = len(series.scores), series.run.chain.method.objective
            self.log.tell(f"chain {number}: {objective} {score:.5f}", "chain", chain=number, score=score)

    def find_result(self, series: ChainSeries) -> Result:
        return found_result(series, self._files(series))

    def keep_result(self, series: ChainSeries, result: Result) -> None:
        average = series.keep == "average"
        chains = f" of {len(series.scores) + 1} chains" if average else ""
        # A model that holds the chain already was written before the run was interrupted.
        write_result(series.run, result, self._files(series), self.log, chains, average and series.counted)

    def _files(self, series: ChainSeries) -> Wanted:
        return self.wanted.numbered(len(series.scores)) if series.keep == "all" else self.wanted


class ReporterOfChainsApart(TrainingReporter):
    """What `topicx train` does with chains that workers train, one each: it takes them when they have ended."""

    def __init__(self, reporter: TrainingReporter, runs: Iterator[Run]) -> None:
        super().__init__(reporter.wanted, reporter.checkpoints, reporter.stopper, reporter.log)
        self.runs = runs

    def train_chain(self, series: ChainSeries) -> bool:
        log, done = self.log, len(series.scores)
        if done == 0 and not log.quiet:
            _announce_run(series.run, log)
        if self.stopper.asked:
            log.tell(
                f"stopped after {done} of {series.total} chains, which are kept", "stopped", always=True, chains=done
            )
            raise click.exceptions.Exit(130)
        series.run = next(self.runs)
        series.run.chain.notes = series.notes()
        _tell_end(series.run, log)
        return True


def tell_chains(series: ChainSeries, log: Log) -> None:
    """How the chains of a series differ."""
    from topicx.views.terminal_histogram import histogram_lines

    known = [score for score in series.scores if math.isfinite(score)]
    if len(known) > 1:
        objective = series.run.chain.method.objective
        log.tell("\n".join([f"{len(known)} chains by {objective}:", *histogram_lines(known)]), "chains", scores=known)


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


def _tell_stopped(series: ChainSeries, checkpoints: Checkpoints, wanted: Wanted, log: Log) -> None:
    """How to go on, and a model of what was done to read meanwhile."""
    chain = series.run.chain
    done = max((step.sweep for step in chain.steps[: chain.position]), default=0)
    which = f" in chain {chain.options.chain} of {series.total}, counted from 0," if series.total > 1 else ""
    resume = f"topicx train --resume {shlex.quote(checkpoints.path)}"
    log.tell(
        f"stopped{which} after {done} of {chain.sweeps} sweeps; the chain is saved. To go on with it:\n"
        f"  {resume} {wanted.options()}",
        "stopped", always=True, sweep=done, of=chain.sweeps, checkpoint=checkpoints.path,
        resume=f"{resume} {wanted.options()}",
    )  # fmt: skip
    if chain.steps[chain.position - 1].sweep == 0:
        log.tell(f"there is no model of it yet: it had not come beyond its {chain.start} start")
        return
    only = wanted.numbered(chain.options.chain) if series.keep == "all" else wanted
    if series.keep != "all" and series.scores:
        return  # a chain before has left its model
    if only.model == "-" or not is_unfinished(only.model):
        other = shlex.quote(with_number("topicx.model" if only.model == "-" else only.model, done))
        kept = "" if only.model == "-" else f"{only.model} stays as it was. "
        log.tell(f"{kept}For a model of what was done:\n  {resume} --iterations {done} -o {other}", always=True)
        return
    chain.state.meta["stopped_after"] = done
    only = replace(only, state=None, doc_topics=None, trace=None)
    write_result(series.run, found_result(series, only), only, log)


def _tell_lost(checkpoints: Checkpoints, wanted: Wanted, log: Log) -> None:
    """How to go on after the cluster is gone."""
    resume = f"topicx train --resume {shlex.quote(checkpoints.path)} {wanted.options()}"
    log.tell(f"the last checkpoint stays. To go on from it, on another cluster or on none:\n  {resume}", "saved",
             always=True, checkpoint=checkpoints.path, resume=resume)  # fmt: skip


def _tell_end(run: Run, log: Log) -> None:
    chain = run.chain
    moved = chain.state.n_tokens * chain.state.paths  # every path has a topic of each token
    tokens = moved * sum(step.share for step in chain.steps[: chain.position])
    speed = tokens / max(chain.seconds, 1e-9)
    log.tell(
        f"{chain.seconds:.1f} s, {speed / 1e6:.1f} million tokens a second; {chain.method.objective} {run.score:.4f}",
        "end", seconds=chain.seconds, tokens_per_second=speed, score=run.score,
    )  # fmt: skip
    if chain.length:
        settled = "settled" if chain.length.settled else "has not settled"
        log.tell(
            f"{settled} after {chain.sweeps} sweeps; --iterations N makes N",
            "settled",
            sweeps=chain.sweeps,
            settled=chain.length.settled,
        )
    for note in run.definition.notes_at_end(chain.state, chain.options, chain.figures):
        log.tell(f"note: {note}")
    options, alpha, beta = chain.options, chain.state.alpha, float(chain.state.beta.mean())
    if options.optimize_interval and max(options.optimize_burn_in, options.optimize_interval) > chain.sweeps:
        log.tell("note: the priors stay as given: no re-estimation was due (--optimize-burn-in)")
    elif options.optimize_interval:
        total = float(alpha.sum(axis=1).mean())
        log.tell(f"priors: Σα {total:.4g} ({alpha.min():.3g} to {alpha.max():.3g}), β {beta:.3g}", "priors",
                 alpha_sum=total, alpha=told_rows(alpha), beta=beta)  # fmt: skip


def _announce_places(chain: Chain, log: Log) -> None:
    """Who works, what it takes of each, and whether it pays."""
    from topicx.sampling.ring.ring import Ring

    places = chain.engine.places
    if not isinstance(chain.method, Ring) or places is None:
        log.tell(f"{places.number if places else 0} workers wait until its start is done here")
        return
    here, alone = chain.method.estimates()
    outer, inner = chain.method.levels
    log.tell(
        f"{places.number} workers of {places.threads} threads, schedule {outer}x{inner}, scratch files in "
        f"{places.folder}; each holds about {told_size(here.worker_bytes)}; a sweep takes about {here.sweep:.2g} s "
        f"({here.compute:.2g} s of sampling, {here.scheduling:.2g} s of {outer * outer} cells, {here.sending:.2g} s "
        f"for {told_size(here.sent_bytes)} on their way); on this machine alone about {alone.sweep:.2g} s",
        "cluster", workers=places.number, threads=places.threads, outer=outer, inner=inner,
        worker_bytes=here.worker_bytes, sent_bytes=here.sent_bytes, seconds=here.sweep, seconds_alone=alone.sweep,
    )  # fmt: skip
    if here.sweep > alone.sweep and chain.engine.room() > alone.worker_bytes:
        log.tell("note: this machine alone would be sooner done, and has the room: without --cluster, the same result")
    if places.number > outer:
        idle = places.number - outer
        log.tell(f"note: {idle} of the workers have nothing to do: --partitions {places.number}x{inner} uses them")


def told_rows(alpha: Any) -> list[list[float]]:
    """Every group's α; of very many groups only their mean: a line of a log is no place for all."""
    rows: list[list[float]] = (alpha if alpha.size <= 1 << 16 else alpha.mean(axis=0, keepdims=True)).tolist()
    return rows


def found_result(series: ChainSeries, wanted: Wanted) -> Result:
    """The result of the run at hand; θ of its documents is written on the way, where it is wanted."""
    if not wanted.doc_topics:
        return series.find_result()
    from topicx.tables.theta_writers import state_writer

    state = series.run.chain.state
    with state_writer(wanted.doc_topics, state, join_chunks=wanted.join_chunks, metadata=wanted.metadata) as add:
        return series.find_result(add)


def write_result(
    run: Run, result: Result, wanted: Wanted, log: Log, chains: str = "", written: bool = False
) -> None:  # fmt: skip
    """Write the files that are wanted of a chain that has ended. `chains`: what the model is an average of; `written`:
    the model is there already."""
    if wanted.state:
        result.model.parents["state"] = result.state.save(wanted.state)
        log.tell(f"wrote the state to {wanted.state}", "wrote", what="state", file=wanted.state)
    if wanted.doc_topics:
        of, pieces = ("the whole texts of ", "chunks") if wanted.join_chunks else ("", "documents")
        text = f"wrote θ of {of}{run.chain.state.n_documents:,} {pieces} to {wanted.doc_topics}"
        log.tell(text, "wrote", what="doc-topics", file=wanted.doc_topics)
    if wanted.trace:
        run.chain.trace.write(wanted.trace)
    if written:
        return
    model = result.model
    model.save(wanted.model)
    if not log.quiet:  # the words of a large model take a while
        _tell_noise(model, log)
        _tell_lost_seeds(model, result.state, log)
    stopped = model.meta.get("stopped_after")
    done = f" so far ({stopped} sweeps)" if stopped is not None else ""
    log.tell(f"wrote the model{chains}{done} to {wanted.model}", "wrote", what="model", file=wanted.model)


def _tell_lost_seeds(model: Model, state: State, log: Log) -> None:
    """A line, if seed words are not among the words of their topics, or these have few of their tokens."""
    from topicx.views.seeds_held import seeds_message

    lost = seeds_message(model, state)
    if lost:
        log.tell(f"note: {lost}")


def _tell_noise(model: Model, log: Log) -> None:
    """A line, if top words look like noise: and which option of import helps."""
    from topicx.views.noisy_topics import noise_message

    noise = noise_message([[word for word, _ in topic] for topic in model.top_words(10)], model.meta)
    if noise:
        log.tell(noise)
