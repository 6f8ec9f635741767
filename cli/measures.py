"""What `topicx evaluate` can measure: a function a method, its figures by name, and how they are shown."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import click

from topicx.cli import labels
from topicx.cli import show as lines
from topicx.cli.common import refuse_given
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.progress import Progress
from topicx.strings import one_line

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus
    from topicx.corpus.slices import DocumentSlices
    from topicx.engines.places import Places
    from topicx.model import Model
    from topicx.state import State


class Watched(Threads):
    """Threads, and the places of a cluster if there are some, that tell a progress of every batch of documents that is
    done."""

    def __init__(self, threads: int, progress: Progress, places: Places | None = None) -> None:
        super().__init__(threads)
        self.progress = progress
        self.places = None if places is None else cast("Places", WatchedPlaces(places, progress))

    def stream(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        return _stream_with_progress(lambda counted: super(Watched, self).stream(work, counted), items, self.progress)


class WatchedPlaces:
    """The places of a cluster, which tell a progress; all else is as they have it."""

    def __init__(self, places: Places, progress: Progress) -> None:
        self._places, self._progress = places, progress

    def __getattr__(self, name: str) -> Any:
        return getattr(self._places, name)

    def stream(self, function: Callable[..., Any], items: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        return _stream_with_progress(lambda counted: self._places.stream(function, counted), items, self._progress, -1)


def _stream_with_progress(
    stream: Callable[[Iterator[Any]], Iterator[Any]], items: Iterable[Any], progress: Progress, at: int | None = None
) -> Iterator[Any]:
    """The results of a stream of batches. A batch is an item, or one of its parts: documents, or the numbers of the
    first and of the one after the last."""
    sizes: deque[int] = deque()

    def counted() -> Iterator[Any]:
        for item in items:
            batch = item if at is None else item[at]
            sizes.append(batch[1] - batch[0] if isinstance(batch, tuple) else len(batch))
            yield item

    for result in stream(counted()):
        progress.advance(sizes.popleft())
        yield result


@dataclass
class Question:
    """A model, what it is measured on, and the options of the call."""

    model: Model
    documents: Corpus
    state: State | None
    """Where it is measured on a state: the state, whose documents these are."""
    name: str
    """The file that was named."""
    options: dict[str, Any]
    """The options of the command, by name."""
    other: Callable[[str], Corpus]
    """Reads another corpus."""
    engine: Watched | None = None
    """Runs what is done document by document, and reports on it."""

    @property
    def chosen(self) -> dict[str, Any]:
        """How documents are sampled, as far as it was said."""
        return {name: self.options[name] for name in ("burn_in", "samples") if self.options[name] is not None}

    @property
    def usual(self) -> dict[str, Any]:
        return {"seed": self.options["seed"], "threads": self.engine or self.options["threads"]}

    @property
    def sampled(self) -> dict[str, Any]:
        """What those take that sample the documents of a corpus, and read those of a state."""
        return {} if self.state is not None else self.chosen | self.usual

    @property
    def fit(self) -> Any:
        return self.documents if self.state is None else self.state


def by_completion(asked: Question) -> dict[str, Any]:
    from topicx.evaluate.completion import completion
    from topicx.evaluate.completion_groups import completion_by_group

    share = asked.options["share"]
    groups = _groups_of(asked)  # a wrong column is told before anything is measured
    found = completion(asked.model, None, asked.documents, share=share, **asked.chosen, **asked.usual)
    figures = _likelihood_figures(found.log_likelihood, found.tokens, found.unknown, asked.documents) | {"share": share}
    return figures if groups is None else figures | {"groups": completion_by_group(found, groups)}


def _groups_of(asked: Question) -> DocumentSlices | None:
    """The groups of documents that a table is wanted of: by --by, or the slices of the model."""
    from topicx.evaluate.completion_groups import groups_of_column, groups_of_model

    options, documents = asked.options, asked.documents
    if options["by"] is not None:
        return groups_of_column(documents, options["by"], options["bins"], options["every"])
    refuse_given(("bins", "every"), "is for --by")
    return groups_of_model(asked.model, documents)


def by_particles(asked: Question) -> dict[str, Any]:
    from topicx.evaluate.left_to_right import left_to_right

    how = {name: asked.options[name] for name in ("form", "particles")}
    found = left_to_right(asked.model, None, asked.documents, **how, **asked.usual)
    figures = _likelihood_figures(found.log_likelihood, found.tokens, found.unknown, asked.documents)
    forms = {name: float(values.sum()) / found.tokens for name, values in found.further.items()}
    return figures | how | {"forms": forms}


def by_chib(asked: Question) -> dict[str, Any]:
    from topicx.evaluate.chib import chib

    found = chib(asked.model, None, asked.documents, **asked.chosen, **asked.usual)
    return _likelihood_figures(found.log_likelihood, found.tokens, found.unknown, asked.documents)


def by_likelihood(asked: Question) -> dict[str, Any]:
    from topicx.evaluate.model_likelihood import joint_log_likelihood, training_likelihood

    found = training_likelihood(asked.model, asked.fit, **asked.sampled)
    figures = _likelihood_figures(found.log_likelihood, found.tokens, found.unknown, asked.documents)
    return figures if asked.state is None else figures | {"joint_per_token": joint_log_likelihood(asked.state)}


def by_coherence(asked: Question) -> dict[str, Any]:
    from topicx.evaluate.coherence import coherence

    options = asked.options
    counted = asked.documents if options["reference"] is None else asked.other(options["reference"])
    how = {"top": options["top"] or 10, "window": options["window"], "convention": options["convention"]}
    result: dict[str, Any] = {}
    for measure in options["measures"]:
        found = coherence(asked.model, counted, measure, **how)
        topics = [None if math.isnan(value) else value for value in found.topics]
        mean = None if math.isnan(found.mean) else found.mean
        result[measure] = {"mean": mean, "window": found.window, "topics": topics, "missing": found.missing}
    return result


def by_diagnostics(asked: Question) -> list[dict[str, Any]]:
    from topicx.evaluate.diagnostics import topic_diagnostics

    model = asked.model
    rows = topic_diagnostics(model, asked.fit, asked.options["top"] or 20, **asked.sampled)
    return [{"topic": row["topic"], **model.named(row["topic"]), **row} for row in rows if model.shown[row["topic"]]]


def by_labels(asked: Question) -> Any:
    options = asked.options
    sets = {name: options[name] for name in ("score", "threshold")}
    sampling = asked.chosen | asked.usual | {name: options[name] for name in ("chains", "lag", "theta")}
    return labels.measure_labels(asked.model, asked.documents, options["compare"], options["top"], sets, sampling)


def by_prediction(asked: Question) -> dict[str, Any]:
    from topicx.evaluate.prediction_measures import measure_predictions

    if asked.state is not None:
        raise InputError(f"prediction: {asked.name} is a state, which holds no targets; give a corpus")
    return measure_predictions(asked.model, asked.documents, asked.options["target"], **asked.chosen, **asked.usual)


def by_predictive(asked: Question) -> dict[str, Any]:
    """Perplexity of the rest of the states' documents, found by their ids."""
    from topicx.evaluate.predictive import Predictive
    from topicx.state import State

    if asked.state is None or asked.options["rest"] is None:
        raise InputError("--method predictive: give a state in the place of CORPUS, and --rest with held-out words")
    rest = asked.other(asked.options["rest"])
    judge = Predictive(rest)
    for name, state in [(asked.name, asked.state), *((name, State.load(name)) for name in asked.options["further"])]:
        if list(state.ids) != list(rest.ids) or list(state.vocabulary) != list(rest.vocabulary):
            raise InputError(f"{name}: its documents and words are not those of --rest (see topicx split --halves)")
        judge.add(state)
    return _likelihood_figures(judge.log_likelihood, rest.n_tokens, 0, rest) | {"states": judge.states}


def by_clusters(asked: Question) -> dict[str, Any]:
    """Quartiles of topics' sizes, and of silhouettes of topics and of documents by the number of clusters."""
    import numpy as np

    from topicx.evaluate.silhouettes import measure_silhouettes, thin_documents
    from topicx.predict.inference import infer

    model, documents, numbers = asked.model, asked.documents, asked.options["clusters"]
    chosen = documents.select(thin_documents(documents.n_documents))
    theta = infer(model, chosen, **asked.chosen, **asked.usual)
    result: dict[str, Any] = {"sizes": np.percentile(model.totals, [0, 25, 50, 75, 100]).tolist()}
    for what, rows in (("topics", model.topic_word), ("documents", theta)):
        fit = [number for number in sorted(set(numbers)) if number < len(rows)]
        if not fit and what == "topics":
            raise InputError(f"--clusters: the model has {len(rows)} topics; give a number below")
        result[what] = {found.clusters: found.quartiles() for found in measure_silhouettes(rows, fit)}
    return result


def by_keywords(asked: Question) -> dict[str, Any]:
    from topicx.evaluate.keyword_hold import measure_keywords

    if asked.state is not None:
        raise InputError(f"keywords: {asked.name} is a state; give a corpus, whose topics are inferred")
    return measure_keywords(asked.model, asked.documents, **asked.chosen, **asked.usual)


def by_agreement(asked: Question) -> dict[str, Any]:
    """Measure the agreement of paths over all tokens, of each topic with its top words, and of each document."""
    from topicx.evaluate.path_agreement import measure_agreement

    if asked.state is None:
        raise InputError(f"--method agreement: {asked.name} is a corpus; give a state that was trained with --paths")
    if asked.state.n_topics != asked.model.n_topics:
        raise InputError(f"the model has {asked.model.n_topics} topics, but the state has {asked.state.n_topics}")
    found = measure_agreement(asked.state)
    top = asked.model.top_words(asked.options["top"] or 10)
    topics = [
        {"topic": k, **asked.model.named(k), "agreement": _none_if_nan(share), "words": [word for word, _ in words]}
        for k, (share, words) in enumerate(zip(found.topics, top, strict=True))
        if asked.model.shown[k]
    ]
    documents = [
        {"id": name, "agreement": _none_if_nan(share)}
        for name, share in zip(asked.state.ids, found.documents, strict=True)
    ]
    return {
        "paths": found.paths, "tokens": asked.state.n_tokens, "mean": found.mean, "unanimous": found.unanimous,
        "topics": topics, "documents": documents,
    }  # fmt: skip


def by_time(asked: Question) -> dict[str, Any]:
    """Spans with their entropy; topics with their weights, the lengths of their buckets and their densest half."""
    from topicx.evaluate.time_concentration import time_concentration
    from topicx.views import picture_files, time_concentration_view

    options, state = asked.options, asked.state
    if options["plot"]:
        picture_files.check_plot(options["plot"])
    if state is None and (options["times"] or options["path"]):
        raise InputError(f"--{'times' if options['times'] else 'path'} is for a state; {asked.name} is a corpus")
    if state is not None and options["times"] is None and "time" not in state.table:
        raise InputError(f"--method time: {asked.name} holds no times; give the corpus that has them: --times CORPUS")
    if state is not None and (options["path"] or 1) > state.paths:
        raise InputError(f"--path {options['path']}: the state has {state.paths}")
    times = None if options["times"] is None else asked.other(options["times"])
    path = None if options["path"] is None else options["path"] - 1
    how = {"span": options["span"], "buckets": options["buckets"], "path": path}
    found = time_concentration(asked.model, asked.fit, times, **how, **asked.sampled)
    if options["plot"]:
        time_concentration_view.plot_concentration(asked.model, {"": found}, options["plot"])
    return time_concentration_view.describe_concentration(asked.model, found, options["top"] or 10)


def _none_if_nan(share: Any) -> float | None:
    return None if math.isnan(share) else float(share)


METHODS: dict[str, Callable[[Question], Any]] = {
    "completion": by_completion,
    "left-to-right": by_particles,
    "chib": by_chib,
    "likelihood": by_likelihood,
    "coherence": by_coherence,
    "diagnostics": by_diagnostics,
    "labels": by_labels,
    "predictive": by_predictive,
    "clusters": by_clusters,
    "prediction": by_prediction,
    "agreement": by_agreement,
    "keywords": by_keywords,
    "time": by_time,
}


def _likelihood_figures(log_likelihood: float, tokens: int, unknown: int, documents: Corpus) -> dict[str, Any]:
    per_token = log_likelihood / tokens
    return {
        "perplexity": math.exp(-per_token), "log_likelihood_per_token": per_token, "log_likelihood": log_likelihood,
        "tokens": tokens, "unknown": unknown, "documents": documents.n_documents,
    }  # fmt: skip


# -- how they are shown --------------------------------------------------------------------------------------------


def show_prediction(found: dict[str, Any]) -> None:
    left = f", {found['without_target']:,} without target left out" if found["without_target"] else ""
    about = f"({found['task']}, {found['documents']:,} documents{left})"
    names = ("accuracy", "r2", "mae", "micro_f1", "macro_f1", "known_number_micro_f1", "known_number_macro_f1")
    figures = ", ".join(
        f"{name.replace('_', ' ')} {_told_figure(name, found[name])}" for name in names if name in found
    )
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


def _told_figure(name: str, value: float) -> str:
    """Four decimals; of an error, which has the target's unit, four digits if it is small."""
    return f"{value:.4g}" if name == "mae" and value < 0.1 else f"{value:.4f}"


def show_agreement(found: dict[str, Any]) -> None:
    """All tokens in a line, documents by their quartiles, and a line a topic, the least certain first."""
    import numpy as np

    known = [row["agreement"] for row in found["documents"] if row["agreement"] is not None]
    low, middle, high = np.percentile(known, [25, 50, 75])
    click.echo(
        f"{'agreement':<17} {found['mean']:.4f} of {found['paths']} paths, two by two; all agree on "
        f"{found['unanimous']:.1%} of {found['tokens']:,} tokens; "
        f"documents' quartiles {low:.3f} {middle:.3f} {high:.3f}"
    )
    click.echo("topic  agreement  top words")
    rows = [row for row in found["topics"] if row["agreement"] is not None]
    for row in sorted(rows, key=lambda row: row["agreement"]):
        lines.print_hanging(f"{row['topic']:>5} {row['agreement']:>10.3f}  ", lines.told_words(row))


def show_keywords(found: dict[str, Any]) -> None:
    held = "no tokens" if found["held"] is None else f"{found['held']:.1%} of {found['tokens']:,} tokens"
    click.echo(f"{'keywords':<17} {held} are of their topic; topics that do not hold: {found['lost']}")
    width = max(len(row["name"]) for row in found["topics"])
    for row in found["topics"]:
        share = "    -" if row["held"] is None else f"{row['held']:5.0%}"
        words = (
            f"{one['word']} {'-' if one['held'] is None else format(one['held'], '.0%')}" for one in row["keywords"]
        )
        mark = "  " if row["holds"] else " !"
        lines.print_hanging(f"{row['name']:<{width}} {share}{mark} π {row['share']:4.0%}  ", ", ".join(words))


def show_time(found: dict[str, Any]) -> None:
    """All spans in two lines, and a line a topic, the most concentrated first."""
    spans, left = found["spans"], found["left_out"]
    entropies = [row["entropy"] for row in spans]
    out = f" ({left:,} without time or words left out)" if left else ""
    click.echo(
        f"{'time':<17} {len(spans)} spans, {spans[0]['time']} to {spans[-1]['time']}, of {found['documents']:,} "
        f"documents{out}; entropy {found['entropy']:.3f} on average ({min(entropies):.3f} to {max(entropies):.3f})"
    )
    plain, weighted = (
        " ".join(f"{value:.2f}" for value in found[name]) for name in ("quartiles", "weighted_quartiles")
    )
    click.echo(
        f"intervals with 1/{found['buckets']} of a topic's weight: quartiles of their lengths {plain}; weighted by "
        f"topics {weighted}; on average {found['expected']:.2f}"
    )
    click.echo("topic   share  half of it within               top words")
    rows = [row for row in found["topics"] if row["half"] is not None]
    for row in sorted(rows, key=lambda row: row["half"]["length"]):
        half = row["half"]
        within = f"{half['length']:7.2f}: {half['from']} to {half['to']}"
        lines.print_hanging(f"{row['topic']:>5} {row['share']:>7.2%}  {within:<30}  ", lines.told_words(row))


def show_clusters(result: dict[str, Any]) -> None:
    least, low, median, high, most = result["sizes"]
    click.echo(
        f"sizes of topics    {least:.0f}  {low:.0f}  {median:.0f}  {high:.0f}  {most:.0f}  (least, quartiles, most)"
    )
    for what in ("topics", "documents"):
        for number, (low, median, high) in result[what].items():
            click.echo(f"{f'{what} in {number} clusters':<26} silhouettes {low:+.3f}  {median:+.3f}  {high:+.3f}")


def show_coherence(result: dict[str, Any]) -> None:
    for measure, found in result.items():
        mean = "no value" if found["mean"] is None else f"{found['mean']:.4f}"
        where = f"windows of {found['window']}" if found["window"] else "whole documents"
        click.echo(f"{'coherence ' + measure:<17} {mean}  (mean of the topics; {where})")


def show_diagnostics(result: list[dict[str, Any]]) -> None:
    click.echo("topic   tokens  coherence  exclusivity  eff_words  corpus_dist  rank_1  nearest        top words")
    for row in result:
        near = f"{row['nearest']['topic']} ({row['nearest']['cosine']:.2f})"
        lines.print_hanging(
            f"{row['topic']:>5} {row['tokens']:>8.0f} {row['coherence']:>10.1f} {row['exclusivity']:>12.3f} "
            f"{row['eff_num_words']:>10.1f} {row['corpus_dist']:>12.3f} {row['rank_1_docs']:>7.3f}  "
            f"{near:<13}  ",
            lines.told_words(row | {"words": row["words"][:6]}), colour=None,
        )  # fmt: skip


SHOWN: dict[str, Callable[[Any], None]] = {
    "prediction": show_prediction,
    "agreement": show_agreement,
    "keywords": show_keywords,
    "time": show_time,
    "labels": labels.show_measures,
    "clusters": show_clusters,
    "coherence": show_coherence,
    "diagnostics": show_diagnostics,
}
"""Those that are not one line."""


def show_likelihood(method: str, result: Any) -> None:
    if method in SHOWN:
        SHOWN[method](result)
        return
    extra = f"; joint {result['joint_per_token']:.5f} per token" if "joint_per_token" in result else ""
    click.echo(
        f"{method:<17} perplexity {result['perplexity']:.2f}, log likelihood {result['log_likelihood_per_token']:.5f} "
        f"per token  ({result['documents']:,} documents, {result['tokens']:,} tokens scored{extra})"
    )
    for row in show_groups(result.get("groups", ())):
        click.echo(row)


def show_groups(groups: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line for each group of documents."""
    width = max((len(one_line(row["group"])) for row in groups), default=0)
    for row in groups:
        yield (
            f"  {one_line(row['group']):<{width}}  perplexity {row['perplexity']:>9.2f}  "
            f"({row['documents']:,} documents, {row['tokens']:,} tokens scored)"
        )
