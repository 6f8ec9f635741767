"""topicx hmm train: learn a hidden Markov model."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import (
    Number,
    above_zero,
    check_fit,
    check_outputs,
    force_output,
    log_option,
    on_command_line,
    option,
    quiet,
    refuse_given,
    seed,
    stack_options,
    threads,
    verbose,
)
from topicx.errors import InputError

if TYPE_CHECKING:
    from topicx.cli.log import Log
    from topicx.engines.threads import Engine
    from topicx.hmm.hmm_run import HmmRun
    from topicx.sampling.sweep_loop import Checkpoints

SAMPLERS = ("collapsed", "partial", "baum-welch")
OPTIONS = (
    "states", "sampler", "paths", "iterations", "restarts", "start_prior", "alpha", "beta", "tolerance",
    "trace_interval", "seed",
)  # fmt: skip
USES = {"paths": ("collapsed", "partial"), "tolerance": ("baum-welch",)}


@click.command()
@click.argument("corpus", required=False)
@force_output
@stack_options(
    option("--states", "-k", type=click.IntRange(1, 256), default=2, help="Number of hidden states."),
    option("--sampler", type=click.Choice(SAMPLERS), default="collapsed",
           help="collapsed: parameters integrated out. partial: parameters drawn, then the paths. baum-welch: "
           "expectation-maximisation."),
    option("--paths", type=click.IntRange(1, 10_000), default=1,
           help="State sequences that share their counts (collapsed, partial): more find better optima."),
    option("--iterations", type=click.IntRange(0), default=1000, help="Sweeps; baum-welch: at most so many rounds."),
    option("--restarts", type=click.IntRange(1), default=1,
           help="Independent starts; the one with the highest likelihood is kept."),
    option("--start-prior", type=above_zero(), default=1.0, help="Dirichlet prior of the first state, for each state."),
    option("--alpha", type=above_zero(), default=1.0, help="Dirichlet prior of each transition."),
    option("--beta", type=above_zero(), default=1.0, help="Dirichlet prior of each symbol in a state."),
    option("--tolerance", type=Number(0), default=1e-4, help="baum-welch: end when a round gains less (nats)."),
    option("--trace", "trace_path", metavar="FILE", help="Write each restart's log-likelihood by sweep (TSV)."),
    option("--trace-interval", type=click.IntRange(1), default=10, help="Sweeps between records of the trace."),
    option("--checkpoint", metavar="FILE", help="Where the run is saved.", show_default="OUTPUT.checkpoint"),
    option("--checkpoint-interval", type=click.IntRange(0), default=0,
           help="Sweeps between checkpoints (0: only when interrupted)."),
    option("--resume", metavar="FILE", help="Go on from this checkpoint (no CORPUS then)."),
)  # fmt: skip
@seed
@threads
@quiet
@verbose
@log_option
@click.pass_context
def command(
    context: click.Context, corpus: str | None, output: str, trace_path: str | None, checkpoint: str | None,
    checkpoint_interval: int, resume: str | None, threads: int, quiet: bool, verbose: bool, log_form: str,
    **settings: Any,
) -> None:  # fmt: skip
    """Learn a hidden Markov model from CORPUS. Its documents are independent sequences.

    The result depends on the corpus, the options and the seed: never on the threads, or on whether the run was
    interrupted and resumed. Ctrl-C finishes the sweep, saves a checkpoint, writes the model so far and says how to go
    on.
    """
    from topicx.cli.log import JsonLog, Log
    from topicx.engines.threads import Threads
    from topicx.sampling.sweep_loop import Checkpoints, Interrupted

    if log_form == "json":
        refuse_given(("quiet", "verbose"), "does not go with --log json")
    log = JsonLog() if log_form == "json" else Log(quiet, verbose)
    with log.errors():
        given = on_command_line(context)
        check_outputs([output, trace_path, checkpoint if checkpoint != resume else None], [corpus, resume])
        again = f"-o {shlex.quote(output)}" + (f" --trace {shlex.quote(trace_path)}" if trace_path else "")
        if checkpoint:
            again += f" --checkpoint {shlex.quote(checkpoint)}"
        if checkpoint_interval:
            again += f" --checkpoint-interval {checkpoint_interval}"
        again += " --log json" if log_form == "json" else ""
        default = "topicx.checkpoint" if output == "-" else f"{output}.checkpoint"
        checkpoints = Checkpoints(checkpoint or default, checkpoint_interval, warn=partial(log.tell, always=True))
        with Threads(threads) as engine:
            run = _opened_run(context, corpus, resume, settings, given, engine)
            try:
                _train_with_progress(run, checkpoints, log)
            except Interrupted:
                _tell_stopped(run, checkpoints, output, again, log)
                raise click.exceptions.Exit(130) from None
            model = run.model()
        if trace_path:
            run.write_trace(trace_path)
        model.save(output)
        _tell_result(run, model.meta, log)
        log.tell(f"wrote the model to {output}", "wrote", what="hmm", file=output)
        ours = checkpoints.written or (resume is not None and Path(resume).resolve() == Path(default).resolve())
        if not checkpoint and ours:  # it has served its purpose; a file that this run did not write stays
            Path(default).unlink(missing_ok=True)


def _opened_run(
    context: click.Context, corpus: str | None, resume: str | None, settings: dict[str, Any], given: Collection[str],
    engine: Engine,
) -> HmmRun:  # fmt: skip
    """The run at its beginning, or as a checkpoint has it."""
    from topicx.corpus.corpus import Corpus
    from topicx.hmm.hmm_options import HmmOptions
    from topicx.hmm.hmm_run import HmmRun

    if resume:
        if corpus:
            raise InputError("--resume goes on with a checkpoint's own corpus: give no CORPUS")
        stray = [name for name in given if name in OPTIONS and name != "iterations"]
        if stray:
            raise InputError(f"--{stray[0].replace('_', '-')} cannot change when a run is resumed")
        return HmmRun.load(resume, engine, settings["iterations"] if "iterations" in given else None)
    if not corpus:
        raise InputError("give a CORPUS to train on (or --resume)")
    check_fit(context, USES, "--sampler", [settings["sampler"]])
    return HmmRun.of(Corpus.load(corpus), HmmOptions(**settings), engine)


def _train_with_progress(run: HmmRun, checkpoints: Checkpoints, log: Log) -> None:
    """Train with progress; a signal ends it after the sweep, with a checkpoint."""
    from topicx.sampling.sweep_loop import Event
    from topicx.stop_signals import Stopper

    o = run.options
    several = "".join(f", {n} {what}" for n, what in ((o.paths, "paths"), (o.restarts, "restarts")) if n > 1)
    log.tell(
        f"{len(run.data.offsets) - 1:,} sequences, {run.data.n_symbols:,} symbols, {len(run.vocabulary):,} different; "
        f"{o.states} states, sampler {o.sampler}{several}, {o.iterations} iterations, seed {o.seed}",
        "start", sequences=len(run.data.offsets) - 1, symbols=run.data.n_symbols, words=len(run.vocabulary),
        states=o.states, sampler=o.sampler, paths=o.paths, restarts=o.restarts, iterations=o.iterations, seed=o.seed,
    )  # fmt: skip
    with Stopper(told=log.tell_finishing) as stopper, log.progress(o.iterations) as progress:
        progress.begin(run.position)

        def report(event: Event) -> None:
            log.swept(progress, event, "log-likelihood", run.seconds)

        run.run([report], checkpoints, lambda: stopper.asked)


def _tell_stopped(run: HmmRun, checkpoints: Checkpoints, output: str, again: str, log: Log) -> None:
    """How to go on, and a model of what was done to read meanwhile."""
    from topicx.cli.training import is_unfinished, with_number
    from topicx.hmm.hmm_model import HmmModel

    done, resume = run.position, f"topicx hmm train --resume {shlex.quote(checkpoints.path)}"
    log.tell(f"stopped after {done} of {run.options.iterations} sweeps; the run is saved. To go on with it:\n"
             f"  {resume} {again}", "stopped", always=True, sweep=done, of=run.options.iterations,
             checkpoint=checkpoints.path, resume=f"{resume} {again}")  # fmt: skip
    if output == "-" or not is_unfinished(output, HmmModel.load):
        other = shlex.quote(with_number("topicx.hmm" if output == "-" else output, done))
        kept = "" if output == "-" else f"{output} stays as it was. "
        log.tell(f"{kept}For a model of what was done:\n  {resume} --iterations {done} -o {other}", always=True)
        return
    model = run.model()
    model.meta["stopped_after"] = done
    model.save(output)
    log.tell(f"wrote the model so far ({done} sweeps) to {output}", "wrote", always=True, what="hmm", file=output)


def _tell_result(run: HmmRun, meta: dict[str, Any], log: Log) -> None:
    scores, o = run.scores, run.options
    best = max(scores)
    facts: dict[str, Any] = {"seconds": run.seconds, "score": best, "score_per_symbol": best / run.data.n_symbols}
    if o.sampler == "baum-welch":
        converged = sum(learner.done for learner in run.learners)
        lines = [f"{run.seconds:.1f} s, {run.position} rounds; {converged} of {o.restarts} restarts have converged"]
        facts |= {"rounds": run.position, "converged": converged}
    else:
        draws = run.position * run.data.n_symbols * o.paths * o.restarts
        speed = draws / max(run.seconds, 1e-9)
        lines = [f"{run.seconds:.1f} s, {speed / 1e6:.1f} million draws a second"]
        facts |= {"draws_per_second": speed}
    if "agreement" in meta:
        lines.append(f"two paths agree on {meta['agreement']:.1%} of the symbols")
        facts["agreement"] = meta["agreement"]
    if len(scores) > 1:
        near = sum(score > best - 1 for score in scores)
        lines.append(f"{len(scores)} restarts: log-likelihood {min(scores):.2f} to {best:.2f}; {near} near the best")
        facts["scores"] = [score if math.isfinite(score) else None for score in scores]
    lines.append(f"log-likelihood {best:.4f}, {best / run.data.n_symbols:.5f} a symbol")
    log.tell("\n".join(lines), "end", **facts)
