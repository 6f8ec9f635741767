"""topicx hmm: hidden Markov models over the tokens of a corpus."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import (
    Number,
    check_fit,
    check_outputs,
    force_output,
    json_output,
    on_command_line,
    option,
    positive,
    print_json,
    quiet,
    say,
    seed,
    stack,
    threads,
    verbose,
)
from topicx.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from topicx.corpus.corpus import Corpus
    from topicx.hmm.run import Run

SAMPLERS = ("collapsed", "partial", "baum-welch")
METHODS = ("viterbi", "posterior")
OPTIONS = (
    "states", "sampler", "paths", "iterations", "restarts", "start_prior", "alpha", "beta", "tolerance",
    "trace_interval", "seed",
)  # fmt: skip
USES = {"paths": ("collapsed", "partial"), "tolerance": ("baum-welch",)}


@click.group()
def command() -> None:
    """Hidden Markov models: documents are sequences, words are symbols.

    \b
    Examples:
      topicx hmm train texts.corpus -k 4 --paths 5 -o texts.hmm
      topicx hmm train texts.corpus -k 4 --sampler baum-welch --restarts 4 -o texts.hmm
      topicx hmm decode texts.hmm new.corpus -o states.tsv
      topicx hmm evaluate texts.hmm new.corpus
    """


@command.command()
@click.argument("corpus", required=False)
@force_output
@stack(
    option("--states", "-k", type=click.IntRange(1, 256), default=2, help="Number of hidden states."),
    option("--sampler", type=click.Choice(SAMPLERS), default="collapsed",
           help="collapsed: parameters integrated out. partial: parameters drawn, then the paths. baum-welch: "
           "expectation-maximisation."),
    option("--paths", type=click.IntRange(1, 10_000), default=1,
           help="State sequences that share their counts (collapsed, partial): more find better optima."),
    option("--iterations", type=click.IntRange(0), default=1000, help="Sweeps; baum-welch: at most so many rounds."),
    option("--restarts", type=click.IntRange(1), default=1,
           help="Independent starts; the one with the highest likelihood is kept."),
    option("--start-prior", type=positive(), default=1.0, help="Dirichlet prior of the first state, for each state."),
    option("--alpha", type=positive(), default=1.0, help="Dirichlet prior of each transition."),
    option("--beta", type=positive(), default=1.0, help="Dirichlet prior of each symbol in a state."),
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
@click.pass_context
def train(
    context: click.Context, corpus: str | None, output: str, trace_path: str | None, checkpoint: str | None,
    checkpoint_interval: int, resume: str | None, threads: int, quiet: bool, verbose: bool, **settings: Any,
) -> None:  # fmt: skip
    """Learn a hidden Markov model from CORPUS. Its documents are independent sequences.

    The result depends on the corpus, the options and the seed: never on the threads, or on whether the run was
    interrupted and resumed. Ctrl-C finishes the sweep, saves a checkpoint, writes the model so far and says how to go
    on.
    """
    from topicx.corpus.corpus import Corpus
    from topicx.engines.threads import Threads
    from topicx.hmm.options import Options
    from topicx.hmm.run import Interrupted, Run

    given = on_command_line(context)
    check_outputs([output, trace_path, checkpoint if checkpoint != resume else None], [corpus, resume])
    with Threads(threads) as engine:
        if resume:
            if corpus:
                raise InputError("--resume goes on with a checkpoint's own corpus: give no CORPUS")
            stray = [name for name in given if name in OPTIONS and name != "iterations"]
            if stray:
                raise InputError(f"--{stray[0].replace('_', '-')} cannot change when a run is resumed")
            run = Run.load(resume, engine, settings["iterations"] if "iterations" in given else None)
        elif not corpus:
            raise InputError("give a CORPUS to train on (or --resume)")
        else:
            check_fit(context, USES, "--sampler", [settings["sampler"]])
            run = Run.of(Corpus.load(corpus), Options(**settings), engine)
        default = "topicx.checkpoint" if output == "-" else f"{output}.checkpoint"
        again = f"-o {shlex.quote(output)}" + (f" --trace {shlex.quote(trace_path)}" if trace_path else "")
        if checkpoint:
            again += f" --checkpoint {shlex.quote(checkpoint)}"
        if checkpoint_interval:
            again += f" --checkpoint-interval {checkpoint_interval}"
        try:
            written = _run(run, checkpoint or default, checkpoint_interval, quiet, verbose)
        except Interrupted:
            _tell_stopped(run, checkpoint or default, output, again)
            raise click.exceptions.Exit(130) from None
        model = run.model()
    if trace_path:
        run.write_trace(trace_path)
    model.save(output)
    _say_result(run, model.meta, quiet)
    say(f"wrote the model to {output}", quiet=quiet)
    ours = written or (resume is not None and Path(resume).resolve() == Path(default).resolve())
    if not checkpoint and ours:  # it has served its purpose; a file that this run did not write stays
        Path(default).unlink(missing_ok=True)


def _run(run: Run, checkpoint: str, interval: int, quiet: bool, verbose: bool) -> bool:
    """Train with progress; a signal ends it after the sweep, with a checkpoint. Whether one was written."""
    from topicx.cli.log import Log
    from topicx.cli.training import Stopper
    from topicx.progress import for_terminal

    o, begun = run.options, run.position
    say(f"{len(run.data.offsets) - 1:,} sequences, {run.data.n_symbols:,} symbols, {len(run.vocabulary):,} different; "
        f"{o.states} states, sampler {o.sampler}" + (f", {o.paths} paths" if o.paths > 1 else "")
        + (f", {o.restarts} restarts" if o.restarts > 1 else "") + f", {o.iterations} iterations, seed {o.seed}",
        quiet=quiet)  # fmt: skip
    with Stopper(Log(quiet)) as stopper, for_terminal("training", o.iterations, "sweeps", quiet=quiet) as progress:
        progress.advance(run.position)

        def report(now: Run) -> None:
            note = f"log-likelihood {max(now.scores):.2f}"
            progress.advance(now.position - progress.done, note)
            if verbose and not quiet:
                progress.message(f"sweep {now.position}: {note}, {now.seconds:.1f} s")

        run.train(report, checkpoint, interval, lambda: stopper.asked)
    return bool(interval) and run.position > begun


def _tell_stopped(run: Run, checkpoint: str, output: str, again: str) -> None:
    """How to go on, and a model of what was done to read meanwhile."""
    from topicx.cli.training import unfinished, with_number
    from topicx.hmm.model import HmmModel

    done, resume = run.position, f"topicx hmm train --resume {shlex.quote(checkpoint)}"
    say(f"stopped after {done} of {run.options.iterations} sweeps; the run is saved. To go on with it:")
    say(f"  {resume} {again}")
    if output == "-" or not unfinished(output, HmmModel.load):
        other = shlex.quote(with_number("topicx.hmm" if output == "-" else output, done))
        kept = "" if output == "-" else f"{output} stays as it was. "
        say(f"{kept}For a model of what was done:\n  {resume} --iterations {done} -o {other}")
        return
    model = run.model()
    model.meta["stopped_after"] = done
    model.save(output)
    say(f"wrote the model so far ({done} sweeps) to {output}")


def _say_result(run: Run, meta: dict[str, Any], quiet: bool) -> None:
    scores, o = run.scores, run.options
    if o.sampler == "baum-welch":
        ended = sum(learner.done for learner in run.learners)
        say(f"{run.seconds:.1f} s, {run.position} rounds; {ended} of {o.restarts} restarts have converged", quiet=quiet)
    else:
        draws = run.position * run.data.n_symbols * o.paths * o.restarts
        say(f"{run.seconds:.1f} s, {draws / max(run.seconds, 1e-9) / 1e6:.1f} million draws a second", quiet=quiet)
    if "agreement" in meta:
        say(f"two paths agree on {meta['agreement']:.1%} of the symbols", quiet=quiet)
    if len(scores) > 1:
        near = sum(score > max(scores) - 1 for score in scores)
        say(f"{len(scores)} restarts: log-likelihood {min(scores):.2f} to {max(scores):.2f}; {near} near the best",
            quiet=quiet)  # fmt: skip
    best = max(scores)
    say(f"log-likelihood {best:.4f}, {best / run.data.n_symbols:.5f} a symbol", quiet=quiet)


@command.command()
@click.argument("model")
@click.argument("corpus")
@stack(
    option("--output", "-o", default="-", metavar="FILE", help="The table to write; - is standard output."),
    option("--method", "-m", type=click.Choice(METHODS), default="viterbi",
           help="viterbi: the most probable path as a whole; posterior: the most probable state of each symbol."),
    option("--tokens", is_flag=True, show_default=False,
           help="A row a symbol (posterior: with the probability of every state) in the place of a row a document."),
)  # fmt: skip
@threads
@quiet
def decode(model: str, corpus: str, output: str, method: str, tokens: bool, threads: int, quiet: bool) -> None:
    """Find the hidden states of CORPUS under MODEL.

    \b
    A row a document:         document, log p, states separated by spaces
    --tokens, a row a symbol: document, position, symbol, state (and p_0, p_1 … by --method posterior)

    log p is that of path and symbols together (viterbi), or of the symbols (posterior).
    """
    from topicx import files
    from topicx.engines.threads import Threads

    check_outputs([output], [model, corpus])
    loaded, documents = _load(model, corpus)
    data, unknown = loaded.sequences(documents)
    gamma: NDArray[np.float64] | None = None
    with Threads(threads) as engine:
        if method == "viterbi":
            states, logs = loaded.viterbi(data, engine)
        else:
            gamma, logs = loaded.posteriors(data, engine)
            states = gamma.argmax(axis=1)
    impossible = [documents.ids[int(d)] for d in range(len(logs)) if logs[d] == -math.inf]
    if impossible:
        raise InputError(
            f"{corpus}: the model cannot produce document {impossible[0]} ({len(impossible):,} such in all)"
        )
    with files.atomic_output(output, binary=False) as out:
        if tokens:
            states_of = range(loaded.n_states) if gamma is not None else ()
            out.write("\t".join(["document", "position", "symbol", "state", *(f"p_{s}" for s in states_of)]) + "\n")
            out.writelines(_token_rows(documents, states, gamma))
        else:
            out.write("document\tlog_p\tstates\n")
            for d, name in enumerate(documents.ids):
                row = states[documents.offsets[d] : documents.offsets[d + 1]].tolist()
                out.write(f"{name}\t{logs[d]:.6f}\t{' '.join(map(str, row))}\n")
    _say_unknown(unknown, data.n_symbols, quiet)


def _token_rows(documents: Corpus, states: Any, gamma: Any) -> Iterator[str]:
    names = list(documents.vocabulary)
    for d, name in enumerate(documents.ids):
        begin, end = int(documents.offsets[d]), int(documents.offsets[d + 1])
        rows = gamma[begin:end].tolist() if gamma is not None else [()] * (end - begin)
        symbols, found = documents.words[begin:end].tolist(), states[begin:end].tolist()
        for position, (symbol, state, row) in enumerate(zip(symbols, found, rows)):
            further = "".join(f"\t{p:.6g}" for p in row)
            yield f"{name}\t{position}\t{names[symbol]}\t{state}{further}\n"


@command.command()
@click.argument("model")
@click.argument("corpus")
@json_output
@threads
@quiet
def evaluate(model: str, corpus: str, as_json: bool, threads: int, quiet: bool) -> None:
    """The log-likelihood of CORPUS under MODEL, exactly, by the forward algorithm.

    Symbols are matched by name. One that the model does not know tells nothing of its state and counts nothing.
    """
    from topicx.engines.threads import Threads

    loaded, documents = _load(model, corpus)
    data, unknown = loaded.sequences(documents)
    scored = data.n_symbols - unknown
    if not scored:
        raise InputError(f"{corpus}: has no symbol that {model} knows")
    with Threads(threads) as engine:
        logs = loaded.parameters().log_likelihoods(data, engine)
    total = float(logs.sum())
    if total == -math.inf:
        name = documents.ids[int(logs.argmin())]
        raise InputError(f"{corpus}: the model cannot produce document {name}: its likelihood is zero")
    figures = {
        "log_likelihood": total, "log_likelihood_per_symbol": total / scored, "perplexity": math.exp(-total / scored),
        "sequences": documents.n_documents, "symbols": scored, "unknown": unknown,
    }  # fmt: skip
    if as_json:
        print_json(figures)
    else:
        click.echo(
            f"log-likelihood {total:.4f}, {total / scored:.5f} a symbol, perplexity {figures['perplexity']:.4f}  "
            f"({documents.n_documents:,} sequences, {scored:,} symbols scored)"
        )
    _say_unknown(unknown, data.n_symbols, quiet)


def _load(model: str, corpus: str) -> Any:
    from topicx.corpus.corpus import Corpus
    from topicx.hmm.model import HmmModel

    if model == "-" and corpus == "-":
        raise InputError("MODEL and CORPUS: only one of them can be standard input")
    return HmmModel.load(model), Corpus.load(corpus)


def _say_unknown(unknown: int, symbols: int, quiet: bool) -> None:
    if unknown:
        say(f"{unknown:,} of {symbols:,} symbols are not known to the model: they count nothing", quiet=quiet)
