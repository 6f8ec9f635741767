"""topicx train: a corpus becomes a model."""

from __future__ import annotations

import math
import shlex
import signal
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from topicx.cli import priors
from topicx.cli.common import (
    Number,
    check_outputs,
    on_command_line,
    option,
    positive,
    quiet,
    refuse,
    say,
    seed,
    stack,
    threads,
    verbose,
)
from topicx.errors import InputError
from topicx.sampling import registry

if TYPE_CHECKING:
    from topicx.sampling.chain import Chain, Checkpoints, Event

SAMPLER_HELP = (
    "How assignments are found. "
    + "; ".join(f"{group}: {', '.join(members)}" for group, members in registry.groups().items())
    + ". auto is sparse, the fastest exact one in our benchmarks at every number of topics."
)

model_options = stack(
    option("--topics", "-k", type=click.IntRange(1, 65535), default=100, help="Number of topics."),
    option(
        "--sampler", type=click.Choice(registry.names()),
        default="auto", help=SAMPLER_HELP, metavar="NAME",
    ),
    option("--iterations", type=click.IntRange(0), default=1000, help="Sweeps over the whole corpus."),
    option(
        "--start", type=click.Choice(["auto", "growing", "progressive", "random"]), default="auto",
        help="growing: from a few documents to all of them; progressive: each token given those before it; "
        "random. auto: growing for large corpora of long documents.",
    ),
    option(
        "--alpha", type=str, default=None, metavar="NUMBER|FILE", show_default="0.1",
        help="α of each topic (not their sum): one number, or a file with one number a topic.",
    ),
    option("--alpha-sum", type=positive(), default=None, help="Σα over all topics, spread evenly (MALLET's --alpha)."),
    option("--beta", type=positive(), default=0.01, help="β of each word."),
    option("--word-prior", type=str, default=None, metavar="FILE", help="Lines 'word β': a prior for single words."),
    option(
        "--seed-words", type=str, default=None, metavar="FILE",
        help="Lines 'topic word word …' (topics from 0): words that a topic shall have.",
    ),
    option("--seed-weight", type=click.IntRange(1, 1_000_000), default=50, help="Tokens that a seed word counts as."),
    option(
        "--optimize-interval", type=click.IntRange(0), default=0,
        help="Re-estimate the priors every N sweeps (0: never). MALLET users often take 10.",
    ),
    option("--optimize-burn-in", type=click.IntRange(0), default=50, help="Sweeps before the first re-estimation."),
    option(
        "--optimize", default="alpha+beta", metavar="WHAT",
        help="What is re-estimated, joined by +: alpha (a weight a topic), symmetric-alpha, beta.",
    ),
    option("--mh-steps", type=click.IntRange(1, 64), default=2, help="Proposals a token (alias, light, warp)."),
    option("--sparse-phi", is_flag=True, help="Draw φ sparsely, by Poisson variables (partial).", show_default=False),
    option("--batch-documents", type=click.IntRange(1), default=256, help="Documents in a minibatch (scvb0)."),
    option("--document-passes", type=click.IntRange(1, 1000), default=2, help="Passes over a document (scvb0)."),
    option("--rate-scale", type=positive(), default=1.0, help="Learning rate: scale·(delay+batch)^-power (scvb0)."),
    option("--rate-delay", type=positive(), default=4.0, help="The delay in the learning rate (scvb0)."),
    option("--rate-power", type=Number(0, 1, above=0), default=0.6, help="The power in the learning rate (scvb0)."),
    option("--icm", type=click.IntRange(0), default=0, help="Last sweeps, in which tokens take their best topic."),
    option(
        "--partitions", type=click.IntRange(0, 1024), default=0, show_default="by the size of the corpus",
        help="Shards and blocks of the schedule: at most that many threads work at once. Part of the result.",
    ),
    option(
        "--samples", type=click.IntRange(1), default=1,
        help="Average the model (and --doc-topics) over so many states at the end of the chain.",
    ),
    option("--lag", type=click.IntRange(1), default=10, help="Sweeps from one of these states to the next."),
    option("--trace-interval", type=click.IntRange(1), default=10, help="Sweeps between records of the likelihood."),
    seed,
)  # fmt: skip


@click.command()
@click.argument("corpus", required=False)
@option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.", show_default=False)
@model_options
@option("--chains", type=click.IntRange(1, 1000), default=1, help="Independent chains, one after another.")
@option(
    "--keep", type=click.Choice(["best", "all"]), default="best",
    help="Of several chains: the one with the best score, or all (with their numbers: news.0.model).",
)  # fmt: skip
@option("--estimator", type=click.Choice(["cgs", "cgsp"]), default=None, help="Sets both --theta and --phi.")
@option("--theta", type=click.Choice(["cgs", "cgsp"]), default=None, show_default="cgsp", help="Estimator of θ.")
@option(
    "--phi", type=click.Choice(["cgs", "cgsp"]), default=None,
    show_default="cgsp where φ has at most 10 million numbers, else cgs",
    help="Estimator of φ: cgsp is better, and dense; cgs keeps the counts.",
)  # fmt: skip
@option("--state", "state_path", default=None, metavar="FILE", help="Also write the state: every token's topic.")
@option("--doc-topics", default=None, metavar="FILE", help="Also write θ of every document (tsv, jsonl, npz by name).")
@option("--trace", "trace_path", default=None, metavar="FILE", help="Also write the trace, with seconds, as a table.")
@option("--init-state", default=None, metavar="STATE", help="Start from the assignments of a state (ours, MALLET's …).")
@option("--checkpoint", default=None, metavar="FILE", show_default="MODEL.checkpoint", help="Where to save the chain.")
@option(
    "--checkpoint-interval", type=click.IntRange(0), default=0,
    help="Save the chain every N sweeps, those of a growing start included, and at the end (0: only when interrupted).",
)  # fmt: skip
@option(
    "--stream", is_flag=True, show_default=False,
    help="Read the corpus from disk in minibatches: corpora larger than memory (scvb0).",
)  # fmt: skip
@option(
    "--resume",
    default=None,
    metavar="FILE",
    help="Go on from a checkpoint; of its options only --iterations may change.",
)
@threads
@quiet
@verbose
@click.pass_context
def command(
    context: click.Context, corpus: str | None, output: str, chains: int, keep: str, estimator: str | None,
    theta: str | None, phi: str | None, state_path: str | None, doc_topics: str | None, trace_path: str | None,
    init_state: str | None, checkpoint: str | None, checkpoint_interval: int, stream: bool, resume: str | None,
    threads: int, quiet: bool, verbose: bool, **settings: Any,
) -> None:  # fmt: skip
    """Learn a topic model from CORPUS (a file that 'topicx import' wrote).

    \b
      topicx train news.corpus -k 100 -o news.model
      topicx train news.corpus -k 100 -o news.model --optimize-interval 10 --state news.state
      topicx train --resume news.model.checkpoint -o news.model

    The same corpus, options and seed give the same model, whatever the threads, and whether or not the run was
    interrupted and resumed. Ctrl-C finishes the sweep, saves a checkpoint and says how to go on.
    """
    from topicx.engines.threads import Threads
    from topicx.models import lda
    from topicx.report.histogram import histogram
    from topicx.sampling.chain import Chain, Checkpoints

    if resume and (corpus or init_state or chains > 1):
        raise InputError("--resume goes on with a checkpoint's own corpus: give no CORPUS, --init-state or --chains")
    if keep == "all" and chains == 1:
        raise InputError("--keep all is for several chains: give --chains")
    if keep == "all" and "-" in (output, state_path, doc_topics, trace_path):
        raise InputError("--keep all: several models cannot go to standard output")
    if chains > 1 and init_state:
        raise InputError("--chains: chains that begin with one state are not independent (--init-state)")
    given = on_command_line(context)
    wanted = Wanted(output, state_path, doc_topics, trace_path, theta or estimator, phi or estimator)
    outputs = [output, state_path, doc_topics, trace_path, checkpoint if checkpoint != resume else None]
    check_outputs(outputs, [corpus, init_state, resume, *_side_inputs(settings)])
    if stream:
        if settings["sampler"] != "scvb0":
            raise InputError(f"--stream is for --sampler scvb0, not for {settings['sampler']}")
        _train_stream(corpus, output, given, threads, quiet, settings)
        return
    if not resume and not settings["optimize_interval"]:
        refuse(("optimize", "optimize_burn_in"), "is for --optimize-interval")
    if not settings["seed_words"]:
        refuse(("seed_weight",), "is for --seed-words")
    if not resume and settings["samples"] == 1:
        refuse(("lag",), "is for --samples")
    if settings["sampler"] in ("warp", "scvb0"):
        refuse(("partitions",), f"{settings['sampler']} has none")
    default = "topicx.checkpoint" if output == "-" else f"{output}.checkpoint"
    checkpoints = Checkpoints(checkpoint or default, checkpoint_interval)
    if checkpoint:
        wanted.checkpoint += f" --checkpoint {shlex.quote(checkpoint)}"
    if checkpoint_interval:
        wanted.checkpoint += f" --checkpoint-interval {checkpoint_interval}"
    series = Series(chains, keep)
    with Threads(threads) as engine:
        chain: Chain | None = None
        if resume:
            stray = [name for name in given if name in settings and name != "iterations"]
            if stray:
                raise InputError(f"--{stray[0].replace('_', '-')} cannot change when a run is resumed")
            chain = Chain.load(resume, engine, settings["iterations"] if "iterations" in given else None)
            notes = chain.notes  # empty, if a Python program saved it
            wanted.theta, wanted.phi = wanted.theta or notes.get("theta"), wanted.phi or notes.get("phi")
            before = chain.options.chain
            series = Series(**notes["series"]) if notes else Series(before + 1, "best", [-math.inf] * before)
        elif word_prior := settings["word_prior"]:
            series.word_prior = priors.word_prior(word_prior)
        wanted.theta, wanted.phi = wanted.theta or "cgsp", wanted.phi or "auto"
        for number in range(len(series.scores), series.chains):
            if chain is None:
                chain = _new_chain(corpus, init_state, number, settings, given, engine, quiet)
            elif chain.options.chain != number:
                chain = series.next(chain, number)
            lda.check_phi(chain, wanted.phi)
            chain.notes = {"theta": wanted.theta, "phi": wanted.phi, "series": asdict(series)}
            _run(chain, checkpoints, wanted, engine.threads, quiet, verbose)
            score = chain.trace.columns["score"][-1] if chain.trace.columns else 0.0
            if series.chains > 1:
                say(f"chain {number}: {chain.method.objective} {score:.5f}", quiet=quiet)
            if series.keep == "all":
                _write(chain, wanted.numbered(number), quiet)
            elif score > max(series.scores, default=-math.inf):  # the best so far: an interruption loses nothing
                _write(chain, wanted, quiet)
            series.scores.append(score)
        known = [score for score in series.scores if math.isfinite(score)]
        if len(known) > 1 and chain is not None:
            say("\n".join([f"{len(known)} chains by {chain.method.objective}:", *histogram(known)]), quiet=quiet)
    ours = checkpoints.written or (resume is not None and Path(resume).resolve() == Path(default).resolve())
    if not checkpoint and ours:  # it has served its purpose; a file that this run did not write stays
        Path(default).unlink(missing_ok=True)


@dataclass
class Series:
    """Several chains, one after another: how many, which have ended, and what a resumed run needs to begin others."""

    chains: int
    keep: str
    scores: list[float] = field(default_factory=list)
    word_prior: dict[str, float] = field(default_factory=dict)

    def next(self, chain: Chain, number: int) -> Chain:
        """Another chain on the same corpus with the same options."""
        import numpy as np

        from topicx.sampling.chain import Chain as NewChain
        from topicx.state import NONE

        state, options = chain.state, replace(chain.options, chain=number)
        beta = np.full(state.n_words, float(options.beta))
        if self.word_prior:
            index = {word: at for at, word in enumerate(state.vocabulary)}
            beta[[index[word] for word in self.word_prior]] = list(self.word_prior.values())
        fresh = replace(
            state, z=np.full(state.n_tokens, NONE, np.uint16), alpha=options.alpha_vector()[None, :], beta=beta,
            meta={name: value for name, value in state.meta.items() if name in ("tokenizer", "time")},
        )  # fmt: skip
        return NewChain(fresh, options, chain.engine)


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

    def numbered(self, number: int) -> Wanted:
        """The same for one of several chains: every file with the chain's number."""
        state, doc_topics, trace = (
            _numbered(name, number) if name else None for name in (self.state, self.doc_topics, self.trace)
        )
        return Wanted(_numbered(self.model, number), state, doc_topics, trace, self.theta, self.phi)

    def options(self) -> str:
        """The options that name them, as a shell takes them."""
        pairs = {"-o": self.model, "--state": self.state, "--doc-topics": self.doc_topics, "--trace": self.trace}
        return " ".join(f"{option} {shlex.quote(name)}" for option, name in pairs.items() if name) + self.checkpoint


def _numbered(name: str, number: int) -> str:
    """The number goes before the endings, which say what the file is: theta.npz, theta.0.npz."""
    path = Path(name)
    packed = ".gz" if path.name.endswith(".gz") else ""
    plain = Path(name.removesuffix(packed))
    return str(plain.with_name(f"{plain.stem}.{number}{plain.suffix}{packed}"))


def _side_inputs(settings: dict[str, Any]) -> list[str | None]:
    return [settings[name] for name in ("alpha", "seed_words", "word_prior")]


def _train_stream(
    corpus: str | None, output: str, given: list[str], threads: int, quiet: bool, settings: dict[str, Any]
) -> None:
    """SCVB0 over a corpus that stays on disk: only φ is in memory, so nothing by document or token is written."""
    from topicx.engines.threads import Threads
    from topicx.progress import for_terminal
    from topicx.sampling.options import Options
    from topicx.variational.scvb0 import train_file

    if not corpus:
        raise InputError("--stream: give a CORPUS file")
    unfit = {
        "state_path": "--state", "doc_topics": "--doc-topics", "init_state": "--init-state", "resume": "--resume",
        "checkpoint": "--checkpoint", "checkpoint_interval": "--checkpoint-interval", "chains": "--chains",
        "keep": "--keep", "trace_path": "--trace", "seed_words": "--seed-words", "seed_weight": "--seed-weight",
        "word_prior": "--word-prior", "icm": "--icm", "start": "--start", "theta": "--theta",
        "phi": "--phi", "estimator": "--estimator", "verbose": "--verbose", "partitions": "--partitions",
        "trace_interval": "--trace-interval", "samples": "--samples", "lag": "--lag",
    }  # fmt: skip
    for name, spelling in unfit.items():
        if name in given:
            raise InputError(f"{spelling} does not go with --stream, which keeps the topics' words alone in memory")
    settings = {name: value for name, value in settings.items() if name not in unfit}
    settings["alpha"] = priors.alpha(settings["alpha"], settings["topics"])
    options = Options(**settings)
    done = 0
    with Threads(threads) as engine, for_terminal("training", unit="documents", quiet=quiet) as progress:

        def report(sweep: int, documents: int, fit: float) -> None:
            nonlocal done
            done = documents if documents < done else done
            progress.advance(documents - done, f"pass {sweep} of {options.iterations}")
            done = documents

        model = train_file(corpus, options, engine, report)
    model.save(output)
    say(f"wrote the model to {output}", quiet=quiet)


def _new_chain(
    corpus: str | None, init_state: str | None, number: int, settings: dict[str, Any], given: list[str], engine: Any,
    quiet: bool,
) -> Chain:  # fmt: skip
    from topicx.corpus.corpus import Corpus
    from topicx.models import lda
    from topicx.sampling.chain import Chain
    from topicx.sampling.options import Options

    settings = dict(settings)
    seed_words, word_prior = settings.pop("seed_words"), settings.pop("word_prior")
    seed_weight = settings.pop("seed_weight")
    topics = settings["topics"]
    if init_state:
        from topicx.interop.read import read_state

        if corpus:
            raise InputError("--init-state brings its own corpus: give no CORPUS beside it")
        own = ("topics", "alpha_sum", "word_prior", "seed_words", "seed_weight", "start")
        stray = [name for name in own if name in given]
        if stray:
            raise InputError(f"--{stray[0].replace('_', '-')} does not go with --init-state: a state has its own")
        alpha, beta = (settings[name] if name in given else None for name in ("alpha", "beta"))
        state = read_state(init_state, alpha=priors.one_alpha(alpha), beta=beta)
        for note in state.meta.pop("notes", []):
            say(f"note: {note}", quiet=quiet)
        settings |= {"topics": state.n_topics, "alpha": state.alpha[0].tolist(), "alpha_sum": None}
        options = Options(**settings | {"beta": float(state.beta.mean()), "chain": number})
        return Chain(state, options, engine)
    if not corpus:
        raise InputError("give a CORPUS to train on (or --init-state, or --resume)")
    settings["alpha"] = priors.alpha(settings["alpha"], topics)
    options = Options(**settings, chain=number)
    state = lda.initial_state(
        Corpus.load(corpus), options, seed_weight=seed_weight,
        seed_words=priors.seed_words(seed_words) if seed_words else None,
        word_prior=priors.word_prior(word_prior) if word_prior else None,
    )  # fmt: skip
    return Chain(state, options, engine)


def _announce(chain: Chain, threads: int) -> None:
    state, options = chain.state, chain.options
    starts = {"state": "the state's assignments as"}
    start = starts.get(chain.start) or (chain.start if chain.method.grows or options.start != "auto" else "its own")
    how = chain.sampler.name + (f" ({chain.sampler.group})" if options.sampler == "auto" else "")
    say(
        f"{state.n_documents:,} documents, {state.n_tokens:,} tokens, {state.n_words:,} words; "
        f"{state.n_topics} topics, "
        f"sampler {how}, {start} start, {options.iterations} iterations, seed {options.seed}"
    )
    if state.n_topics > state.n_words:
        say(f"note: there are more topics ({state.n_topics}) than different words ({state.n_words})")
    schedule = getattr(chain.method, "schedule", None)
    if schedule is not None and threads > schedule.partitions > 1:
        say(f"note: {schedule.partitions} partitions keep as many threads busy; --partitions N allows more")
    empty = int((state.lengths == 0).sum())
    if empty:
        say(f"note: {empty:,} documents are empty; they get the prior's topic proportions")


def _run(chain: Chain, checkpoints: Checkpoints, wanted: Wanted, threads: int, quiet: bool, verbose: bool) -> None:
    """Run the chain with progress; SIGINT and SIGTERM end it after the sweep, with a checkpoint."""
    from topicx.progress import for_terminal
    from topicx.sampling.chain import Interrupted

    total = sum(step.share for step in chain.steps)
    stopping = False

    def stop(signum: int, frame: FrameType | None) -> None:
        nonlocal stopping
        if stopping:  # a second time: at once
            raise KeyboardInterrupt
        stopping = True
        say("finishing the sweep (once more: stop at once) …", quiet=quiet)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        if not quiet:
            _announce(chain, threads)
        with for_terminal("training", total, "sweeps", quiet=quiet) as progress:
            progress.advance(sum(step.share for step in chain.steps[: chain.position]))

            def report(event: Event) -> None:
                note = f"{chain.method.objective} {event.score:.4f}" if event.score is not None else ""
                progress.advance(event.work, note)
                if verbose and event.score is not None:
                    figures = "".join(f", {name} {value:.4g}" for name, value in event.figures.items())
                    progress.message(f"sweep {event.step.sweep}: {note}, {chain.seconds:.1f} s{figures}")

            chain.run([report], checkpoints, lambda: stopping)
    except Interrupted:
        done = max((step.sweep for step in chain.steps[: chain.position]), default=0)
        chains = chain.notes["series"]["chains"]
        which = f" in chain {chain.options.chain} of {chains}, counted from 0," if chains > 1 else ""
        say(f"stopped{which} after {done} of {chain.options.iterations} sweeps; the chain is saved. To go on with it:")
        say(f"  topicx train --resume {shlex.quote(checkpoints.path)} {wanted.options()}")
        raise click.exceptions.Exit(130) from None
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    tokens = chain.state.n_tokens * sum(step.share for step in chain.steps[: chain.position])
    say(f"{chain.seconds:.1f} s, {tokens / max(chain.seconds, 1e-9) / 1e6:.1f} million tokens a second; "
        f"{chain.method.objective} {chain.method.score():.4f}", quiet=quiet)  # fmt: skip
    options, alpha = chain.options, chain.state.alpha
    if options.optimize_interval and max(options.optimize_burn_in, options.optimize_interval) > options.iterations:
        say("note: the priors stay as given: no re-estimation was due (--optimize-burn-in)", quiet=quiet)
    elif options.optimize_interval:
        say(f"priors: Σα {alpha.sum(axis=1).mean():.4g} ({alpha.min():.3g} to {alpha.max():.3g}), "
            f"β {chain.state.beta.mean():.3g}", quiet=quiet)  # fmt: skip


def _write(chain: Chain, wanted: Wanted, quiet: bool) -> None:
    from topicx.models import lda

    model = lda.finish(chain, theta=wanted.theta or "cgsp", phi=wanted.phi or "auto")
    state = chain.method.sync()
    state.meta = dict(state.meta) | lda.run_meta(chain)
    if wanted.state:
        model.parents["state"] = state.save(wanted.state)
        say(f"wrote the state to {wanted.state}", quiet=quiet)
    if wanted.doc_topics:
        from topicx.report.document_topics import state_writer

        with state_writer(wanted.doc_topics, state) as write:
            for begin, rows in lda.document_shares(chain, wanted.theta or "cgsp"):
                write(begin, rows)
        say(f"wrote θ of {state.n_documents:,} documents to {wanted.doc_topics}", quiet=quiet)
    if wanted.trace:
        chain.trace.write(wanted.trace)
    model.save(wanted.model)
    say(f"wrote the model to {wanted.model}", quiet=quiet)
