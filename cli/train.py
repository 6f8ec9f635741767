"""topicx train: a corpus becomes a model."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx import model_registry as models
from topicx.cli import declared, folds, priors
from topicx.cli.common import (
    check_outputs,
    cluster_options,
    log_option,
    memory,
    metadata,
    on_command_line,
    open_engine,
    option,
    quiet,
    refuse_given,
    stack_options,
    threads,
    verbose,
)
from topicx.cli.import_ import LanguagesFirst
from topicx.cli.log import JsonLog, Log
from topicx.cli.reading import NAMES
from topicx.cli.train_texts import TEXT_OPTIONS, WORDS, corpus_of, text_options
from topicx.cli.training import Wanted
from topicx.errors import InputError
from topicx.sampling.run_options import Options

if TYPE_CHECKING:
    from topicx.run import Run
    from topicx.sampling.sweep_loop import Checkpoints

OWN = {name: models.find_definition(name).Own for name in models.model_names()}
"""The options that each model has of its own."""
ON_CLUSTERS = 50
"""Steps between checkpoints of a run on a cluster, unless the call says another number."""
OF_OTHERS = "topicx.models"
"""Where a call's context keeps the own options of another package's model."""

model_options = stack_options(
    option(
        "--model", type=declared.ModelName(models.model_names()), default="lda",
        help="What is learnt: "
        + "; ".join(f"{name}: {models.find_definition(name).summary}" for name in models.model_names()) + ".",
    ),
    *declared.click_options(Options),
    option("--word-prior", type=str, default=None, metavar="FILE", help="Lines 'word β': a prior for single words."),
    option(
        "--seed-words", type=str, default=None, metavar="FILE",
        help="Lines 'topic word word …' (topics from 0): words that a topic shall have.",
    ),
    option(
        "--seed-weight", type=click.IntRange(1, 1_000_000), default=None, help="Tokens that a seed word counts as.",
        show_default="as many as it has in the corpus, 50 at least",
    ),
)  # fmt: skip


HEADINGS = {
    "Options that most runs have": (
        "output", "topics", "iterations", "optimize_interval", "state_path", "doc_topics", "seed", "threads",
        "show_topics_interval", "quiet",
    ),
    "Model and priors": (
        "model", "alpha", "alpha_sum", "beta", "optimize", "optimize_burn_in", "seed_words", "seed_weight",
        "word_prior",
    ),
    "Results": (
        "chains", "keep", "samples", "lag", "estimator", "theta", "phi", "join_chunks", "metadata", "trace_path",
        "trace_interval",
    ),
    "Stopping, going on, large corpora": (
        "checkpoint", "checkpoint_interval", "resume", "init_state", "memory", "stream", "partitions", "log_form",
        "verbose",
    ),
    "Several machines": ("cluster", "shared"),
    "Texts instead of a corpus: how they are read": ("corpus_path", *NAMES),
    "Texts instead of a corpus: what becomes of words": WORDS,
    "Samplers": (
        "sampler", "start", "paths", "icm", "mh_steps", "sparse_phi", "batch_documents", "document_passes",
        "rate_scale", "rate_delay", "rate_power",
    ),
}  # fmt: skip
"""Headings of the help."""


class TrainCommand(LanguagesFirst):
    """`topicx train`: where a model of another package is named, the options that it has of its own are there, too."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *ctx.meta.get(OF_OTHERS, ((), ()))[1]]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        name = next((value for value in declared.values_given("--model", args) if value not in OWN), None)
        if name is not None and models.is_known_model(name):
            try:
                own = models.find_definition(name).Own
            except InputError as error:
                raise click.UsageError(str(error), ctx) from None
            known = {one.name for one in self.params}
            ctx.meta[OF_OTHERS] = {name: own}, declared.own_parameters({name: own}, known)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if models.outside_models():
            with formatter.section("Models of other packages (--model NAME --help shows their options)"):
                formatter.write_dl([(name, declared.told_summary(name)) for name in models.outside_models()])


@click.command(cls=TrainCommand, headings=HEADINGS)
@click.argument("inputs", nargs=-1, metavar="CORPUS | TEXTS...")
@option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.", show_default=False)
@model_options
@option("--chains", type=click.IntRange(1, 1000), default=1, help="Independent chains, one after another.")
@option(
    "--keep", type=click.Choice(["best", "all", "average"]), default=None,
    show_default="best; models of labels: average",
    help="Of several chains: the one with the best score, all (with their numbers: news.0.model), or their average "
    "(models of labels, whose topics are the same in all chains; medlda: all topics side by side, scores averaged).",
)  # fmt: skip
@option("--estimator", type=click.Choice(["cgs", "cgsp"]), default=None, help="Sets both --theta and --phi.")
@option("--theta", type=click.Choice(["cgs", "cgsp"]), default=None, show_default="cgsp", help="Estimator of θ.")
@option(
    "--phi", type=click.Choice(["cgs", "cgsp"]), default=None,
    show_default="cgsp where φ of all averaged states has at most 10 million numbers (and the corpus 100 million "
    "tokens), else cgs",
    help="Estimator of φ: cgsp is better, and dense; cgs keeps the counts.",
)  # fmt: skip
@option("--state", "state_path", default=None, metavar="FILE", help="Also write the state: every token's topic.")
@option(
    "--doc-topics",
    default=None,
    metavar="FILE",
    help="Also write θ of every document (tsv, csv, jsonl, npz, parquet or feather, by the name).",
)
@option("--join-chunks", is_flag=True, show_default=False,
        help="--doc-topics: one row for each text that import --chunk has cut up, by its chunks' lengths.")  # fmt: skip
@metadata
@option("--trace", "trace_path", default=None, metavar="FILE", help="Also write the trace, with seconds, as a table.")
@option("--init-state", default=None, metavar="STATE", help="Start from the assignments of a state (ours, MALLET's …).")
@option("--checkpoint", default=None, metavar="FILE", show_default="MODEL.checkpoint", help="Where to save the chain.")
@option(
    "--checkpoint-interval", type=click.IntRange(0), default=0,
    help="Save the chain every N sweeps, those of its start included, and at the end (0: only when interrupted).",
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
@option(
    "--show-topics-interval",
    type=click.IntRange(0),
    default=0,
    help="Show the topics, as they are then, every N sweeps (0: never).",
)
@log_option
@text_options
@folds.fold_options
@stack_options(*declared.of_models(OWN))
@cluster_options
@threads
@memory
@quiet
@verbose
@click.pass_context
def command(
    context: click.Context, inputs: tuple[str, ...], corpus_path: str | None, output: str, chains: int,
    keep: str | None, estimator: str | None, theta: str | None, phi: str | None, state_path: str | None,
    doc_topics: str | None, join_chunks: bool, metadata: str, trace_path: str | None, init_state: str | None,
    checkpoint: str | None, checkpoint_interval: int, stream: bool, cluster: str | None,
    shared: str | None, resume: str | None, show_topics_interval: int,
    log_form: str, threads: int, memory: int | None, quiet: bool, verbose: bool, **settings: Any,
) -> None:  # fmt: skip
    """Learn a topic model from CORPUS (a file that 'topicx import' wrote), or from TEXTS: files, a folder, or - with
    --input-format, read as import reads them and with its options.

    \b
      topicx train news.corpus -k 100 -o news.model
      topicx train news.tsv -k 100 -o news.model --corpus news.corpus
      topicx train news.corpus -k 100 -o news.model --iterations 1000 --state news.state
      topicx train --resume news.model.checkpoint -o news.model

    The same corpus, options and seed give the same model, whatever the threads, and whether or not the run was
    interrupted and resumed. Ctrl-C finishes the sweep, saves a checkpoint, writes the model so far and says how to go
    on.
    """
    if log_form == "json":
        refuse_given(("quiet", "verbose"), "does not go with --log json")
    log = JsonLog() if log_form == "json" else Log(quiet, verbose)
    with log.errors():
        from topicx.sampling.sweep_loop import Checkpoints

        given = on_command_line(context)
        texts = {name: settings.pop(name) for name in TEXT_OPTIONS}
        keep = _what_to_keep(keep, chains, settings, resume)
        wanted = Wanted(output, state_path, doc_topics, trace_path)
        wanted.join_chunks, wanted.metadata = join_chunks, metadata
        if not doc_topics:
            refuse_given(("join_chunks", "metadata"), "is for --doc-topics")
        _check_inputs(inputs, init_state, resume, chains, keep, wanted)
        tried = {name: settings.pop(name) for name in ("folds", "try_topics", "try_lambda")}
        folds.check_folds(tried["folds"], settings["model"], resume or init_state)
        side_inputs = [settings[name] for name in ("alpha", "seed_words", "word_prior")]
        check_outputs([*wanted.files(), checkpoint if checkpoint != resume else None, corpus_path],
                      [*inputs, init_state, resume, *side_inputs])  # fmt: skip
        if not stream:
            _refuse_idle(settings, resume)
        default = "topicx.checkpoint" if output == "-" else f"{output}.checkpoint"
        checkpoints = Checkpoints(checkpoint or default, checkpoint_interval, warn=partial(log.tell, always=True))
        again = [("checkpoint", checkpoint), ("checkpoint-interval", checkpoint_interval)]
        again += [("show-topics-interval", show_topics_interval), ("log", "json" if log_form == "json" else None)]
        again += [("cluster", cluster), ("shared", shared)]
        wanted.further = "".join(f" --{name} {shlex.quote(str(value))}" for name, value in again if value)
        plan = chains, keep, theta or estimator, phi or estimator
        with corpus_of(inputs, texts, corpus_path, output, threads, log) as corpus:
            if stream:
                refuse_given(("memory",), "is for runs that keep their tokens in memory, not for --stream")
                refuse_given(("cluster", "shared"), "is for runs that keep their tokens in memory, not for --stream")
                from topicx.cli.stream import train_stream

                train_stream(corpus, output, given, threads, log, settings)
                return
            source = Beginning(corpus, init_state, resume, settings, given, tried)
            engine = open_engine(cluster, shared, output, threads, memory, log.tell)
            if engine.places is not None and not checkpoints.interval:
                checkpoints.interval = ON_CLUSTERS  # a scheduler that is lost takes everything with it
            _train_chains(source, plan, wanted, checkpoints, log, engine, show_topics_interval)
    ours = checkpoints.written or (resume is not None and Path(resume).resolve() == Path(default).resolve())
    if not checkpoint and ours:  # it has served its purpose; a file that this run did not write stays
        Path(default).unlink(missing_ok=True)


@dataclass
class Beginning:
    """What a run begins with."""

    corpus: str | None
    init_state: str | None
    resume: str | None
    settings: dict[str, Any]
    given: list[str]
    """The settings that stand on the command line."""
    tried: dict[str, Any]
    """What cross-validation is to choose among."""
    priors: Any = None
    """The words' priors, when they have been read."""


def _train_chains(
    source: Beginning, plan: tuple[int, str, str | None, str | None], wanted: Wanted, checkpoints: Checkpoints,
    log: Log, engine: Any, show_topics: int,
) -> None:  # fmt: skip
    """All chains, one after another. `plan`: their number, what is kept, and the estimators of θ and φ."""
    from topicx.chain_series import ChainSeries
    from topicx.cli.chain_reporter import TrainingReporter, tell_chains
    from topicx.model import Model
    from topicx.stop_signals import Stopper

    chains, keep, theta, phi = plan
    with engine, Stopper(told=log.tell_finishing) as stopper:
        if source.resume:
            run = _resume_run(source.resume, source.settings, source.given, engine)
            series = ChainSeries.resume(run, theta=theta, phi=phi)
            if series.keep == "average" and series.scores and series.total > len(series.scores):
                series.take_average(Model.load(wanted.model), wanted.model)
        else:
            apart = engine.places is not None and chains > 1 and not isinstance(source.settings["partitions"], str)
            run = _new_run(source, 0, engine.alone() if apart else engine, log)
            series = ChainSeries(run, chains, keep, theta=theta or "cgsp", phi=phi or "auto")
            if apart:
                _train_chains_apart(series, source, engine, TrainingReporter(wanted, checkpoints, stopper, log), log)
                return
        series.train(TrainingReporter(wanted, checkpoints, stopper, log, show_topics))
        tell_chains(series, log)


def _train_chains_apart(series: Any, source: Beginning, engine: Any, reporter: Any, log: Log) -> None:
    """All chains, each on a worker of a cluster."""
    from topicx.cli.chain_reporter import ReporterOfChainsApart, tell_chains
    from topicx.corpus.corpus import Corpus
    from topicx.spread_chains import run_chains_apart

    refuse_given(("checkpoint", "checkpoint_interval", "show_topics_interval"), "is not for chains on a worker each")
    assert source.corpus is not None
    options, corpus = series.run.options, Corpus.load(source.corpus)
    runs = run_chains_apart(engine.places, corpus, options, source.priors, range(series.total), engine.alone())
    log.tell(f"{series.total} chains, each on one of {engine.places.number} workers", "cluster", chains=series.total,
             workers=engine.places.number, threads=engine.places.threads)  # fmt: skip
    with contextlib.closing(runs):
        series.train(ReporterOfChainsApart(reporter, runs))
    tell_chains(series, log)


def _check_inputs(
    inputs: tuple[str, ...], init_state: str | None, resume: str | None, chains: int, keep: str, wanted: Wanted
) -> None:  # fmt: skip
    """Refuse what does not go together."""
    if resume and (inputs or init_state or chains > 1):
        raise InputError("--resume goes on with a checkpoint's own corpus: give no CORPUS, --init-state or --chains")
    if keep == "all" and chains == 1:
        raise InputError("--keep all is for several chains: give --chains")
    if ((keep == "all" and chains > 1) or keep == "average") and "-" in wanted.files():
        raise InputError(f"--keep {keep}: several models cannot go to standard output")
    if chains > 1 and init_state:
        raise InputError("--chains: chains that begin with one state are not independent (--init-state)")


def _what_to_keep(keep: str | None, chains: int, settings: Mapping[str, Any], resume: str | None) -> str:
    """What is kept of several chains."""
    model = settings["model"]
    labelled, joins = models.find_definition(model).numbered_alike, models.find_definition(model).joins
    if keep == "average" and not (labelled or joins) and not resume:
        raise InputError(
            f"--keep average: is for models of labels and medlda; topics of {model} are numbered anew in each chain"
        )
    if settings["strategy"] == "one-vs-all":
        if keep not in (None, "average"):
            raise InputError(f"--keep {keep}: the models of one-vs-all make one model together")
        return "average"
    return keep or ("average" if labelled and chains > 1 else "best")


def _refuse_idle(settings: dict[str, Any], resume: str | None) -> None:
    """Refuse options that would do nothing."""
    if not settings["seed_words"]:
        refuse_given(("seed_weight",), "is for --seed-words")
    if resume:
        return
    about = ("model", "sampler", "iterations", "icm", "paths")
    ends_itself = Options(**{name: settings[name] for name in about}).ends_itself
    usual = models.find_definition(settings["model"]).defaults.get("optimize_interval", 0) or ends_itself
    interval = settings["optimize_interval"]
    if not (usual if interval is None else interval):
        refuse_given(("optimize", "optimize_burn_in"), "is for --optimize-interval")
    if settings["samples"] == 1 or (settings["samples"] is None and not ends_itself):
        refuse_given(("lag",), "is for --samples")


def _resume_run(path: str, settings: dict[str, Any], given: list[str], engine: Any) -> Run:
    from topicx.run import Run

    stray = [name for name in given if name in settings and name != "iterations"]
    if stray:
        raise InputError(f"--{stray[0].replace('_', '-')} cannot change when a run is resumed")
    return Run.resume(path, engine, settings["iterations"] if "iterations" in given else None)


def _new_run(source: Beginning, number: int, engine: Any, log: Log) -> Run:
    from topicx.corpus.corpus import Corpus
    from topicx.models.definition import Priors
    from topicx.run import Run

    settings, given, tried = dict(source.settings), source.given, source.tried
    seed_words, word_prior = settings.pop("seed_words"), settings.pop("word_prior")
    seed_weight = settings.pop("seed_weight")
    owns = OWN | {settings["model"]: models.find_definition(settings["model"]).Own}
    settings["own"] = declared.take_own_options(owns, settings, given)
    if source.init_state:
        run = _from_state(source.corpus, source.init_state, number, settings, given, engine, log)
    else:
        if not source.corpus:
            raise InputError("give a CORPUS to train on (or --init-state, or --resume)")
        unfit = models.find_definition(settings["model"]).unfit
        for name in given:
            if name in unfit:
                raise InputError(f"--{name.replace('_', '-')}: {unfit[name]} (model {settings['model']})")
        settings |= models.with_defaults(
            settings["model"], {name: settings[name] for name in given if name in settings}
        )
        settings["alpha"] = priors.parse_alpha(settings["alpha"], settings["topics"])
        taken = Priors(
            priors.seed_words(seed_words) if seed_words else {}, seed_weight,
            priors.word_prior(word_prior) if word_prior else {},
        )  # fmt: skip
        loaded, options = Corpus.load(source.corpus), Options(**settings, chain=number)
        if tried["folds"]:
            options = folds.best_by_folds(loaded, options, engine, **tried, log=log)
            engine = engine if engine.places is None else engine.alone()  # one model alone is trained here
        source.priors = taken
        run = Run.start(loaded, options, engine, taken)
    run.options.check_sampler(run.chain.sampler, given)
    return run


def _from_state(
    corpus: str | None, path: str, number: int, settings: dict[str, Any], given: list[str], engine: Any, log: Log
) -> Run:  # fmt: skip
    """A run that goes on from a state's assignments."""
    from topicx.corpus.corpus import Corpus
    from topicx.interop.state_reader import read_state
    from topicx.run import Run

    own = ("topics", "alpha_sum", "word_prior", "seed_words", "seed_weight", "start")
    stray = [name for name in own if name in given]
    if stray:
        raise InputError(f"--{stray[0].replace('_', '-')} does not go with --init-state: a state has its own")
    alpha, beta = (settings[name] if name in given else None for name in ("alpha", "beta"))
    state = read_state(path, alpha=priors.one_alpha(alpha), beta=beta)
    if corpus and not state.is_of(Corpus.load(corpus)):
        raise InputError(f"--init-state: {path} is not a state of {corpus}; without CORPUS it brings its own documents")
    for note in state.meta.pop("notes", []):
        log.tell(f"note: {note}")
    if "model" not in given:
        settings["model"] = state.meta.get("model", "lda")
        settings["own"] = settings["own"] or state.meta.get("options", {}).get("own", {})
    settings |= {"topics": state.n_topics, "alpha": None, "alpha_sum": None}
    if len(state.alpha) == 1:
        settings["alpha"] = state.alpha[0].tolist()
    options = Options(**settings | {"beta": float(state.beta.mean()), "chain": number})
    return Run.from_state(state, options, engine)
