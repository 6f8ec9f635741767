"""topicx evaluate: measure a model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from topicx.cli import labels
from topicx.cli.common import check_fit, json_output, option, print_json, quiet, say, seed, stack, threads
from topicx.cli.reading import is_corpus, read_corpus, reading
from topicx.strings import one_line

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus
    from topicx.model import Model
    from topicx.state import State

MEASURES = ("umass", "uci", "npmi", "cv")
METHODS = (
    "completion", "left-to-right", "chib", "likelihood", "coherence", "diagnostics", "labels", "predictive", "clusters",
    "prediction",
)  # fmt: skip


SAMPLED = ("completion", "chib", "likelihood", "diagnostics", "labels", "clusters", "prediction")
USES = {
    "share": ("completion",), "burn_in": SAMPLED, "samples": SAMPLED,
    "particles": ("left-to-right",), "form": ("left-to-right",),
    "reference": ("coherence",), "measures": ("coherence",), "window": ("coherence",), "convention": ("coherence",),
    "top": ("coherence", "diagnostics", "labels"),
    **dict.fromkeys(("score", "threshold", "chains", "lag", "theta", "compare"), ("labels",)),
    "rest": ("predictive",), "further": ("predictive",), "clusters": ("clusters",),
    "target": ("prediction",),
}  # fmt: skip
"""The methods that an option is for."""


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


@click.command()
@click.argument("model")
@click.argument("inputs", nargs=-1, required=True, metavar="CORPUS...")
@stack(
    option("--method", "-m", "methods", type=click.Choice(METHODS), multiple=True, default=("completion",),
           help="What to measure (may be repeated; see above).", show_default="completion"),
    option("--share", type=Share(), default="half", metavar="half|NUMBER",
           help="completion: the part that estimates θ: the first half of a document, or a random share."),
    option("--burn-in", type=click.IntRange(1), default=None, show_default="50; likelihood, diagnostics: 10",
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
           help="coherence, diagnostics: top words of a topic; labels: the size of a set."),
    option("--rest", metavar="CORPUS", default=None, help="predictive: the held-out words of the state's documents."),
    option("--further", metavar="STATE", multiple=True, help="predictive: average over this state, too (repeatable)."),
    option("--clusters", type=click.IntRange(2), multiple=True, default=(5, 10, 20), show_default="5, 10, 20",
           help="clusters: numbers of clusters (may be repeated)."),
    option("--target", metavar="COLUMN", show_default="as in training",
           help="prediction: the column that holds what is to be predicted."),
)  # fmt: skip
@reading("--input-format", "corpus")
@labels.evaluate_options
@json_output
@seed
@threads
@quiet
@click.pass_context
def command(
    context: click.Context,
    model: str, inputs: tuple[str, ...], methods: tuple[str, ...], share: str | float, burn_in: int | None,
    samples: int | None, particles: int, form: str, reference: str | None, measures: tuple[str, ...],
    window: int | None, convention: str, top: int | None, rest: str | None, further: tuple[str, ...],
    clusters: tuple[int, ...], target: str | None, score: str, threshold: float | None, chains: int, lag: int,
    theta: str | None, compare: str | None, as_json: bool, seed: int, threads: int, quiet: bool, **reading_options: Any,
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

    \b
    Examples:
      topicx evaluate news.model heldout.corpus
      topicx evaluate news.model heldout.corpus -m completion -m left-to-right --json
      topicx evaluate news.model news.corpus -m coherence --measure npmi --top 15
      topicx evaluate news.model news.state -m likelihood -m diagnostics
    """
    from topicx.corpus.corpus import Corpus
    from topicx.errors import InputError
    from topicx.evaluate import chib as chib_module
    from topicx.evaluate.coherence import coherence
    from topicx.evaluate.completion import completion
    from topicx.evaluate.diagnostics import topic_diagnostics
    from topicx.evaluate.left_to_right import left_to_right
    from topicx.evaluate.likelihood import joint_log_likelihood, training_likelihood
    from topicx.model import Model
    from topicx.state import State

    if model == "-" and "-" in inputs:
        raise InputError("MODEL and CORPUS: only one of them can be standard input")
    corpus = inputs[0]
    check_fit(context, USES, "--method", methods)
    loaded = Model.load(model)
    documents, state = _load(inputs, loaded, reading_options, quiet)
    given = {"burn_in": burn_in, "samples": samples}
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if state is not None and chosen and not {"completion", "chib"} & set(methods):
        raise InputError(f"--{next(iter(chosen)).replace('_', '-')}: nothing is sampled where {corpus} is a state")
    usual: dict[str, Any] = {"seed": seed, "threads": threads}

    def by_completion() -> dict[str, Any]:
        found = completion(loaded, None, documents, share=share, **chosen, **usual)
        return _figures(found.log_likelihood, found.tokens, found.unknown, documents) | {"share": share}

    def by_particles() -> dict[str, Any]:
        found = left_to_right(loaded, None, documents, particles=particles, form=form, **usual)
        figures = _figures(found.log_likelihood, found.tokens, found.unknown, documents)
        forms = {name: float(values.sum()) / found.tokens for name, values in found.further.items()}
        return figures | {"form": form, "particles": particles, "forms": forms}

    def by_chib() -> dict[str, Any]:
        found = chib_module.chib(loaded, None, documents, **chosen, **usual)
        return _figures(found.log_likelihood, found.tokens, found.unknown, documents)

    def by_likelihood() -> dict[str, Any]:
        options = {} if state is not None else chosen | usual
        found = training_likelihood(loaded, documents if state is None else state, **options)
        figures = _figures(found.log_likelihood, found.tokens, found.unknown, documents)
        return figures if state is None else figures | {"joint_per_token": joint_log_likelihood(state)}

    def by_coherence() -> dict[str, Any]:
        counted = documents if reference is None else _load((reference,), loaded, reading_options, quiet)[0]
        result: dict[str, Any] = {}
        for measure in measures:
            found = coherence(loaded, counted, measure, top=top or 10, window=window, convention=convention)
            topics = [None if math.isnan(value) else value for value in found.topics]
            mean = None if math.isnan(found.mean) else found.mean
            result[measure] = {"mean": mean, "window": found.window, "topics": topics, "missing": found.missing}
        return result

    def by_diagnostics() -> list[dict[str, Any]]:
        options = {} if state is not None else chosen | usual
        return topic_diagnostics(loaded, documents if state is None else state, top or 20, **options)

    def by_prediction() -> dict[str, Any]:
        from topicx.evaluate.prediction import predictions

        if state is not None:
            raise InputError(f"prediction: {corpus} is a state, which holds no targets; give a corpus")
        return predictions(loaded, documents, target, **chosen, **usual)

    def by_predictive() -> dict[str, Any]:
        if state is None or rest is None:
            raise InputError("--method predictive: give a state in the place of CORPUS, and --rest with held-out words")
        return _predictive([(corpus, state), *((name, State.load(name)) for name in further)], Corpus.load(rest))

    def by_clusters() -> dict[str, Any]:
        return _clusters(loaded, documents, clusters, chosen | usual)

    work: dict[str, Callable[[], Any]] = {
        "completion": by_completion, "left-to-right": by_particles, "chib": by_chib, "likelihood": by_likelihood,
        "coherence": by_coherence, "diagnostics": by_diagnostics,
        "labels": lambda: labels.measured(
            loaded, documents, compare, top, {"score": score, "threshold": threshold},
            chosen | usual | {"chains": chains, "lag": lag, "theta": theta},
        ),
        "predictive": by_predictive, "clusters": by_clusters,
        "prediction": by_prediction,
    }  # fmt: skip
    results: dict[str, Any] = {}
    for method in dict.fromkeys(methods):
        results[method] = work[method]()
        if not as_json:
            _print(method, results[method])
    if as_json:
        print_json(results)
    unknown = next((r["unknown"] for r in results.values() if isinstance(r, dict) and "unknown" in r), 0)
    unknown += documents.meta.get("counts", {}).get("unknown_tokens", 0) if documents.meta.get("inputs_read") else 0
    if unknown:
        say(f"{unknown:,} tokens are words that the model does not know: they were left out", quiet=quiet)


def _load(
    inputs: tuple[str, ...], model: Model, reading_options: dict[str, Any], quiet: bool
) -> tuple[Corpus, State | None]:
    """A corpus, or a state and its documents as a corpus; texts become a corpus with the model's words."""
    from topicx import files
    from topicx.corpus.corpus import Corpus
    from topicx.corpus.tokenize import Tokenizer
    from topicx.errors import InputError
    from topicx.kinds import CORPUS, STATE
    from topicx.state import State

    if reading_options["input_format"] != "corpus" and not is_corpus(inputs):
        like = Tokenizer.from_meta(model.meta.get("tokenizer")), list(model.vocabulary)
        found = read_corpus(inputs, reading_options, quiet, like)
        found.meta["inputs_read"] = True
        return found, None
    if len(inputs) > 1:
        raise InputError(f"{inputs[1]}: a model is measured on one corpus or state at a time")
    file = files.read(inputs[0], (CORPUS, STATE))
    if file.kind == "corpus":
        return Corpus.from_file(file), None
    state = State.from_file(file)
    return Corpus(state.words, state.offsets, state.vocabulary, state.ids), state


def _figures(log_likelihood: float, tokens: int, unknown: int, documents: Corpus) -> dict[str, Any]:
    per_token = log_likelihood / tokens
    return {
        "perplexity": math.exp(-per_token), "log_likelihood_per_token": per_token, "log_likelihood": log_likelihood,
        "tokens": tokens, "unknown": unknown, "documents": documents.n_documents,
    }  # fmt: skip


def _predictive(states: list[tuple[str, State]], rest: Corpus) -> dict[str, Any]:
    """Perplexity of the rest of the states' documents, found by their ids."""
    from topicx.errors import InputError
    from topicx.evaluate.predictive import Predictive

    judge = Predictive(rest)
    for name, state in states:
        if list(state.ids) != list(rest.ids) or list(state.vocabulary) != list(rest.vocabulary):
            raise InputError(f"{name}: its documents and words are not those of --rest (see topicx split --halves)")
        judge.add(state)
    return _figures(judge.log_likelihood, rest.n_tokens, 0, rest) | {"states": judge.states}


def _clusters(model: Model, documents: Corpus, numbers: tuple[int, ...], options: dict[str, Any]) -> dict[str, Any]:
    """Quartiles of topics' sizes, and of silhouettes of topics and of documents by the number of clusters."""
    import numpy as np

    from topicx.errors import InputError
    from topicx.evaluate.clusters import silhouettes, thinned
    from topicx.evaluate.infer import infer

    theta = infer(model, documents.select(thinned(documents.n_documents)), **options)
    result: dict[str, Any] = {"sizes": np.percentile(model.totals, [0, 25, 50, 75, 100]).tolist()}
    for what, rows in (("topics", model.topic_word), ("documents", theta)):
        fit = [number for number in sorted(set(numbers)) if number < len(rows)]
        if not fit and what == "topics":
            raise InputError(f"--clusters: the model has {len(rows)} topics; give a number below")
        result[what] = {found.clusters: found.quartiles() for found in silhouettes(rows, fit)}
    return result


def _print_prediction(found: dict[str, Any]) -> None:
    left = f", {found['without_target']:,} without target left out" if found["without_target"] else ""
    about = f"({found['task']}, {found['documents']:,} documents{left})"
    names = ("accuracy", "r2", "mae", "micro_f1", "macro_f1", "known_number_micro_f1", "known_number_macro_f1")
    figures = ", ".join(f"{name.replace('_', ' ')} {found[name]:.4f}" for name in names if name in found)
    click.echo(f"{'prediction':<17} {figures}  {about}")
    if "confusion" not in found:
        return
    width = max(5, *map(len, found["classes"]))
    click.echo("rows are the truth, columns the prediction, as the rows are numbered")
    click.echo(f"{'':>4} {'':<{width}} {'F1':>6}" + "".join(f" {i:>5}" for i in range(len(found["classes"]))))
    for number, (name, row) in enumerate(zip(found["classes"], found["confusion"])):
        f1 = found["f1"][name]
        shown = "" if math.isnan(f1) else f"{f1:.4f}"
        click.echo(f"{number:>4} {name:<{width}} {shown:>6}" + "".join(f" {count:>5}" for count in row))


def _print(method: str, result: Any) -> None:
    if method == "prediction":
        _print_prediction(result)
        return
    if method == "labels":
        labels.show(result)
        return
    if method == "clusters":
        least, low, median, high, most = result["sizes"]
        click.echo(
            f"sizes of topics    {least:.0f}  {low:.0f}  {median:.0f}  {high:.0f}  {most:.0f}  (least, quartiles, most)"
        )
        for what in ("topics", "documents"):
            for number, (low, median, high) in result[what].items():
                click.echo(f"{f'{what} in {number} clusters':<26} silhouettes {low:+.3f}  {median:+.3f}  {high:+.3f}")
        return
    if method == "coherence":
        for measure, found in result.items():
            mean = "no value" if found["mean"] is None else f"{found['mean']:.4f}"
            where = f"windows of {found['window']}" if found["window"] else "whole documents"
            click.echo(f"{'coherence ' + measure:<17} {mean}  (mean of the topics; {where})")
        return
    if method == "diagnostics":
        click.echo("topic   tokens  coherence  exclusivity  eff_words  corpus_dist  rank_1  nearest        top words")
        for row in result:
            near = f"{row['nearest']['topic']} ({row['nearest']['cosine']:.2f})"
            words = one_line(" ".join(word["word"] for word in row["words"][:6]))
            click.echo(
                f"{row['topic']:>5} {row['tokens']:>8.0f} {row['coherence']:>10.1f} {row['exclusivity']:>12.3f} "
                f"{row['eff_num_words']:>10.1f} {row['corpus_dist']:>12.3f} {row['rank_1_docs']:>7.3f}  "
                f"{near:<13}  {words}"
            )
        return
    extra = f"; joint {result['joint_per_token']:.5f} per token" if "joint_per_token" in result else ""
    click.echo(
        f"{method:<17} perplexity {result['perplexity']:.2f}, log likelihood {result['log_likelihood_per_token']:.5f} "
        f"per token  ({result['documents']:,} documents, {result['tokens']:,} tokens scored{extra})"
    )
