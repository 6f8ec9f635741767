"""topicx evaluate: measure a model."""

from __future__ import annotations

import contextlib
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from topicx.cli import labels
from topicx.cli.common import (
    above_zero,
    any_state,
    check_fit,
    check_state,
    cluster_options,
    json_output,
    open_places,
    option,
    print_json,
    print_note,
    quiet,
    seed,
    stack_options,
    threads,
)
from topicx.cli.declared import Grouped
from topicx.cli.reading import NAMES, is_corpus, read_corpus, reading_options
from topicx.corpus.slices import UNITS

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus
    from topicx.model import Model
    from topicx.state import State

MEASURES = ("umass", "uci", "npmi", "cv")
METHODS = (
    "completion", "left-to-right", "chib", "likelihood", "coherence", "diagnostics", "labels", "predictive", "clusters",
    "prediction", "agreement", "time", "keywords",
)  # fmt: skip


SAMPLED = ("completion", "chib", "likelihood", "diagnostics", "labels", "clusters", "prediction", "time", "keywords")
USES = {
    **dict.fromkeys(("share", "by", "bins", "every"), ("completion",)), "burn_in": SAMPLED, "samples": SAMPLED,
    "particles": ("left-to-right",), "form": ("left-to-right",),
    "reference": ("coherence",), "measures": ("coherence",), "window": ("coherence",), "convention": ("coherence",),
    "top": ("coherence", "diagnostics", "labels", "agreement", "time"),
    **dict.fromkeys(("score", "threshold", "chains", "lag", "theta", "compare"), ("labels",)),
    "rest": ("predictive",), "further": ("predictive",), "clusters": ("clusters",),
    "target": ("prediction",),
    **dict.fromkeys(("times", "span", "buckets", "path", "plot"), ("time",)),
}  # fmt: skip
"""The methods that an option is for."""
HERE = ("coherence", "predictive", "agreement")
"""The methods that read no documents by topics, and work on this machine alone."""


class Share(click.ParamType):
    """`half`, or a number between 0 and 1."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        if value == "half":
            return "half"
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number < 1:
            self.fail(f"{value!r} is neither 'half' nor a number between 0 and 1", param, ctx)
        return number


class Span(click.ParamType):
    """A span of the calendar, or a width."""

    name = "span"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        if value in UNITS:
            return str(value)
        try:
            return above_zero().convert(value, param, ctx)
        except click.BadParameter:
            units = ", ".join(UNITS)
            self.fail(f"{value!r} is neither a unit of the calendar ({units}) nor a number above 0", param, ctx)


HEADINGS = {
    "Options that most calls have": ("methods", "top", "burn_in", "samples", "as_json", "seed", "threads", "quiet"),
    "Options of one method": (
        "share", "by", "bins", "every", "particles", "form", "reference", "measures", "window", "convention", "rest",
        "further", "clusters", "target", "times", "span", "buckets", "path", "plot", "any_state", "score", "threshold",
        "chains", "lag", "theta", "compare",
    ),
    "Several machines": ("cluster", "shared"),
    "How texts are read (as in import)": NAMES,
}  # fmt: skip


@click.command(cls=Grouped, headings=HEADINGS)
@click.argument("model")
@click.argument("inputs", nargs=-1, required=True, metavar="CORPUS...")
@stack_options(
    option("--method", "-m", "methods", type=click.Choice(METHODS), multiple=True, default=("completion",),
           help="What to measure (may be repeated; see above).", show_default="completion"),
    option("--share", type=Share(), default="half", metavar="half|NUMBER",
           help="completion: the part that estimates θ: the first half of a document, or a random share."),
    option("--by", metavar="COLUMN", default=None, show_default="of a model with slices: these",
           help="completion: also by the values of this column of the documents (time, label, collection, …)."),
    option("--bins", type=click.Choice(list(UNITS)), default=None, show_default="as narrow as gives 40 bins at most",
           help="completion --by time, or a column of times: bins of the calendar."),
    option("--every", type=click.IntRange(1), default=None, show_default="1",
           help="completion --by: bins of so many of these (years, if --bins is not given; or units, of numbers)."),
    option("--burn-in", type=click.IntRange(1), default=None, show_default="50; prediction and likelihood 10",
           help="Sweeps before the first sample, wherever documents are sampled."),
    option("--samples", type=click.IntRange(1), default=None, show_default="25; chib: 100; others: 10",
           help="Samples of θ that are averaged; chib: states of the chain."),
    option("--particles", type=click.IntRange(1), default=20, help="left-to-right: particles."),
    option("--form", type=click.Choice(["sequential", "wallach"]), default="sequential",
           help="left-to-right: the unbiased sequential form, or Wallach's average at each word."),
    option("--reference", metavar="CORPUS", help="coherence: count words in this corpus.", show_default="CORPUS"),
    option("--measure", "measures", type=click.Choice(MEASURES), multiple=True, default=MEASURES,
           help="coherence: the measures (may be repeated).", show_default="all"),
    option("--window", type=click.IntRange(0), default=None, show_default="umass 0, uci and npmi 10, cv 110",
           help="coherence: words in a window (0: whole documents)."),
    option("--convention", type=click.Choice(["standard", "gensim"]), default="standard",
           help="coherence: as the papers have it, or gensim's numbers."),
    option("--top", type=click.IntRange(2), default=None, show_default="10; diagnostics: 20",
           help="coherence, diagnostics, agreement, time: top words of a topic; labels: the size of a set."),
    option("--rest", metavar="CORPUS", default=None, help="predictive: the held-out words of the state's documents."),
    option("--further", metavar="STATE", multiple=True, help="predictive: average over this state, too (repeatable)."),
    option("--clusters", type=click.IntRange(2), multiple=True, default=(5, 10, 20), show_default="5, 10, 20",
           help="clusters: numbers of clusters (may be repeated)."),
    option("--target", metavar="COLUMN", show_default="as in training",
           help="prediction: the column that holds what is to be predicted."),
    option("--times", metavar="CORPUS", default=None, show_default="the state's own",
           help="time: a corpus with the times of a state's documents."),
    option("--span", type=Span(), default=None, metavar="UNIT|WIDTH", show_default="year; of numbers 1",
           help="time: the spans that are compared: day, week, month, quarter, year, decade or century, or so long (in "
           "days, where times are dates)."),
    option("--buckets", type=click.IntRange(2), default=20,
           help="time: parts of equal weight that a topic's time is cut into (the paper's 1/γ)."),
    option("--path", type=click.IntRange(1), default=None, show_default="all together",
           help="time: of a state with several paths, this one."),
    option("--plot", metavar="FILE", default=None, help="time: draw it (png, svg or pdf)."),
)  # fmt: skip
@reading_options("--input-format", "corpus")
@labels.evaluate_options
@any_state
@json_output
@seed
@cluster_options
@threads
@quiet
@click.pass_context
def command(
    context: click.Context, model: str, inputs: tuple[str, ...], methods: tuple[str, ...], any_state: bool,
    as_json: bool, cluster: str | None, shared: str | None, quiet: bool, **options: Any,
) -> None:  # fmt: skip
    """Measure MODEL on CORPUS: a corpus file, a state file of its training, or text in any format that 'topicx import'
    reads, which is then split into words as the model's own corpus was.

    \b
    completion     perplexity of the rest of each document, given its beginning: how well it predicts (lower is better)
    left-to-right  log p(document) by particles: the whole document, accurate, slow for long ones
    chib           log p(document) from one state of high probability: fast, and too low where a chain mixes badly
    likelihood     the fit to CORPUS: log p(words | θ, φ), and for a state log p(words, topics) as samplers print it
    coherence      do the topics' top words occur together: umass, uci, npmi, cv; what readers notice, not prediction
    diagnostics    MALLET's twelve numbers for each topic, and its nearest other topic
    labels         models of labels: predicted sets and rankings against the labels of CORPUS
    predictive     perplexity of held-out words (--rest) of the documents of a state of the chain
    clusters       sizes of topics, and how well topics, and documents, fall into clusters (silhouettes)
    prediction     accuracy, confusion and F1, or R² and mean error: of models that were trained with targets
    agreement      how far the paths of a state (train --paths) agree on tokens' topics: how certain these are
    time           how far topics keep to a time: weights and entropy by year, intervals of equal weight
    keywords       models with keywords: are the words that a topic was given of this topic in CORPUS?

    \b
    Examples:
      topicx evaluate news.model heldout.corpus
      topicx evaluate news.model heldout.corpus -m completion -m left-to-right --json
      topicx evaluate news.model news.corpus -m coherence --measure npmi --top 15
      topicx evaluate news.model news.state -m likelihood -m diagnostics
    """
    from topicx.cli.measures import METHODS as MEASURED
    from topicx.cli.measures import Question, Watched, show_likelihood
    from topicx.errors import InputError
    from topicx.model import Model
    from topicx.progress import for_terminal

    if model == "-" and "-" in inputs:
        raise InputError("MODEL and CORPUS: only one of them can be standard input")
    check_fit(context, USES, "--method", methods)
    loaded = Model.load(model)
    documents, state = _load_documents(inputs, loaded, options, quiet)
    if state is not None and set(methods) - {"predictive"}:  # which takes φ of the states themselves
        check_state(loaded, state, inputs[0], any_state)
    if state is None and any_state:
        raise InputError(f"--any-state: is for states, and {inputs[0]} is none")
    asked = Question(
        loaded, documents, state, inputs[0], options, lambda name: _load_documents((name,), loaded, options, quiet)[0]
    )
    if state is not None and asked.chosen and not {"completion", "chib"} & set(methods):
        stray = next(iter(asked.chosen)).replace("_", "-")
        raise InputError(f"--{stray}: nothing is sampled where {inputs[0]} is a state")
    results: dict[str, Any] = {}
    with contextlib.ExitStack() as open_things:
        if cluster is not None:
            _check_spread(methods, state, inputs[0])
        places = open_places(cluster, shared, "-", partial(print_note, quiet=quiet))
        if places is not None:
            open_things.callback(places.close)
        for method in dict.fromkeys(methods):
            with for_terminal(method, documents.n_documents, "documents", quiet=quiet) as bar:
                asked.engine = Watched(options["threads"], bar, places)
                results[method] = MEASURED[method](asked)
            if not as_json:
                show_likelihood(method, results[method])
    if as_json:
        print_json(results)
    unknown = next((r["unknown"] for r in results.values() if isinstance(r, dict) and "unknown" in r), 0)
    unknown += documents.meta.get("counts", {}).get("unknown_tokens", 0) if documents.meta.get("inputs_read") else 0
    if unknown:
        print_note(f"{unknown:,} tokens are words that the model does not know: they were left out", quiet=quiet)


def _check_spread(methods: tuple[str, ...], state: State | None, name: str) -> None:
    """InputError, if nothing of this is for the workers of a cluster."""
    from topicx.errors import InputError

    for method in methods:
        if method in HERE:
            raise InputError(f"--cluster: {method} is counted on one machine")
    if state is not None:
        raise InputError(f"--cluster: {name} is a state, of which nothing is sampled; leave it out")


def _load_documents(
    inputs: tuple[str, ...], model: Model, reading_options: dict[str, Any], quiet: bool
) -> tuple[Corpus, State | None]:
    """A corpus, or a state and its documents as a corpus; texts become a corpus with the model's words."""
    from topicx.corpus.corpus import Corpus
    from topicx.corpus.text.tokenizer import Tokenizer
    from topicx.errors import InputError
    from topicx.files import container
    from topicx.files.file_kinds import CORPUS, STATE
    from topicx.state import State

    if reading_options["input_format"] != "corpus" and not is_corpus(inputs):
        like = Tokenizer.from_meta(model.meta.get("tokenizer")), list(model.vocabulary)
        found = read_corpus(inputs, reading_options, quiet, like)
        found.meta["inputs_read"] = True
        return found, None
    if len(inputs) > 1:
        raise InputError(f"{inputs[1]}: a model is measured on one corpus or state at a time")
    file = container.read(inputs[0], (CORPUS, STATE))
    if file.kind == "corpus":
        return Corpus.from_file(file), None
    state = State.from_file(file)
    return Corpus(state.words, state.offsets, state.vocabulary, state.ids), state
