"""topicx topics: read a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import check_outputs, json_output, metadata, option, print_json, refuse, say
from topicx.strings import one_line

if TYPE_CHECKING:
    from topicx.model import Model


@click.command()
@click.argument("model")
@option("--words", "-n", type=click.IntRange(0), default=10, help="Words a topic.")
@option("--documents", "-d", type=click.IntRange(0), default=0, help="Typical documents a topic (a model keeps 20).")
@metadata
@option("--probabilities", "-p", is_flag=True, help="Print each word's probability too.", show_default=False)
@option("--topic", "-t", "chosen", type=click.IntRange(0), multiple=True, help="Only these topics (repeatable).")
@option("--sort", type=click.Choice(["weight", "number"]), default="number", help="Order of the topics.")
@option(
    "--label-topics", is_flag=True, show_default=False,
    help="Instead of topics: which labels go together (models of Dependency-LDA).",
)  # fmt: skip
@option(
    "--weights",
    is_flag=True,
    show_default=False,
    help="Of a model that predicts: the strongest topics of each class or of the scale, with the weights' spread.",
)
@option("--compare", default=None, metavar="OTHER", help="Align with another model's topics and show what changed.")
@option(
    "--by",
    type=click.Choice(["collection", "time"]),
    default=None,
    help="Compound models: the topics of each collection, in the order of their names or of their times.",
)
@option("--top", type=click.IntRange(1), default=5, help="--by: topics of a collection; rising and falling topics.")
@option("--plot", "plot_file", default=None, metavar="FILE", help="--by: draw it (png, svg or pdf).")
@option(
    "--contrast",
    default=None,
    metavar="STATE",
    help="--by: words that a topic has in one collection more than in the others, from the run's state.",
)
@json_output
def command(
    model: str, words: int, documents: int, metadata: str, probabilities: bool, chosen: tuple[int, ...], sort: str,
    label_topics: bool, weights: bool, compare: str | None, by: str | None, top: int, plot_file: str | None,
    contrast: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Show MODEL's topics: share of the tokens, α, most probable words, most typical documents.

    \b
      topicx topics news.model -n 15 -d 3
      topicx topics news.model --json | jq '.[0].words'
      topicx topics new.model --compare old.model
      topicx topics papers.model --by time --plot trends.png
    """
    from topicx.errors import InputError
    from topicx.model import Model

    loaded = Model.load(model)
    if by:
        refuse(("sort", "probabilities", "documents", "compare"), "does not go with --by")
        check_outputs([plot_file], [model, contrast])
        _by(loaded, by, words, top, chosen, plot_file, contrast, as_json)
        return
    refuse(("top", "plot_file", "contrast"), "is for --by")
    for topic in chosen:
        if topic >= loaded.n_topics:
            raise InputError(f"--topic {topic}: the model has topics 0 to {loaded.n_topics - 1}")
    if compare:
        refuse(("sort", "probabilities", "documents"), "does not go with --compare")
        _compare(loaded, Model.load(compare), words, as_json, chosen)
        return
    if label_topics:
        refuse(("sort", "documents", "chosen"), "does not go with --label-topics")
        _label_topics(loaded, words, probabilities, as_json)
        return
    if weights:
        refuse(("sort", "probabilities", "documents", "chosen"), "does not go with --weights")
        _weights(loaded, words, as_json)
        return
    rows = describe(loaded, words, documents, metadata)
    rows = [row for row in rows if not chosen or row["topic"] in chosen]
    if sort == "weight":
        rows.sort(key=lambda row: -row["weight"])
    if as_json:
        print_json(rows)
        return
    width = max((len(row["name"]) for row in rows if "name" in row), default=len(str(loaded.n_topics - 1)))
    for row in rows:
        named = (f"{w['word']} ({w['probability']:.4f})" if probabilities else w["word"] for w in row["words"])
        name = f"{row['name']:<{width}}" if "name" in row else f"{row['topic']:>{width}}"
        click.echo(one_line(f"{name}  {row['weight']:6.2%}  {' '.join(named)}"))
        for document in row["documents"]:
            text = f"  {document['snippet']}" if document["snippet"] else ""
            carried = "; ".join(f"{name} {_told(value)}" for name, value in document.get("metadata", {}).items())
            text = (f"  [{carried}]" if carried else "") + text
            click.echo(one_line(f"{'':>{width}}    {document['weight']:4.0%}  {document['id']}{text}"))


def _told(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def describe(model: Model, words: int = 10, documents: int = 3, metadata: str = "all") -> list[dict[str, Any]]:
    """Each topic as plain data: what every report prints."""
    from topicx.report.examples import carried_by_examples

    top = model.top_words(words)
    weights = model.topic_weights
    carries = carried_by_examples(model, metadata) if documents else []
    rows: list[dict[str, Any]] = []
    for topic in range(model.n_topics):
        examples: list[dict[str, Any]] = []
        for rank in range(min(documents, model.example_documents.shape[1])):
            if model.example_documents[topic, rank] < 0:
                break
            flat = topic * model.example_documents.shape[1] + rank
            snippet = model.example_snippets[flat] if len(model.example_snippets) else ""
            carried = {"metadata": carries[flat]} if carries else {}
            weight = round(float(model.example_weights[topic, rank]), 6)
            examples.append({"id": model.example_ids[flat], "weight": weight, **carried, "snippet": snippet})
        rows.append({
            "topic": topic,
            **({"name": model.topic_names[topic]} if len(model.topic_names) else {}),
            "weight": round(float(weights[topic]), 8),
            "alpha": float(model.alpha[0, topic]),
            "words": [{"word": word, "probability": round(value, 8)} for word, value in top[topic]],
            "documents": examples,
        })  # fmt: skip
    return rows


def _label_topics(model: Model, number: int, probabilities: bool, as_json: bool) -> None:
    """The topics of the LDA on the labels."""
    from topicx.errors import InputError
    from topicx.models.dependency import DependencyLDA

    if "label_topic_word" not in model.side:
        raise InputError("--label-topics: the model did not learn which labels go together (--model dependency does)")
    groups = DependencyLDA.groups_of_labels(model, number)
    weights = model.side["label_topic_alpha"] / model.side["label_topic_alpha"].sum()
    if as_json:
        print_json([
            {"topic": t, "weight": float(weights[t]), "labels": [{"label": n, "probability": p} for n, p in group]}
            for t, group in enumerate(groups)
        ])  # fmt: skip
        return
    for t, group in enumerate(groups):
        told = (f"{name} ({p:.4f})" if probabilities else name for name, p in group)
        click.echo(f"{t:>{len(str(len(groups)))}}  {weights[t]:6.2%}  {', '.join(told)}")


def _by(
    model: Model, by: str, words: int, top: int, chosen: tuple[int, ...], plot_file: str | None, contrast: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    from topicx.report import collections, plots
    from topicx.state import State

    if plot_file:
        plots.check_plot(plot_file)
    found = collections.mixtures(model, by)
    result: dict[str, Any] = {"collections": collections.describe(model, found, top, words)}
    if len(found.names) > 1:
        result["trends"] = collections.describe_trends(model, found, by == "time", top, words)
    if contrast:
        state = State.load(contrast)
        several = collections.contrasts(model, state, words)
        names = list(model.group_names)
        result["contrasts"] = [
            {"topic": k, "collection": names[j] if names else str(j), "words": [{"word": w, "z": z} for w, z in row]}
            for k, rows in enumerate(several) if not chosen or k in chosen for j, row in enumerate(rows)
        ]  # fmt: skip
    if plot_file:
        collections.plot(model, found, plot_file, by == "time", top)
    if as_json:
        print_json(result)
        return
    for row in result["collections"]:
        click.echo(f"{row['collection']}  ({row['documents']:,} documents)")
        for topic in row["topics"]:
            share = f"{topic['share']:6.2%}{_interval(topic['low'], topic['high'])}"
            click.echo(f"  {share}  {topic['topic']:>4}  {' '.join(topic['words'])}")
    if not len(found.draws):
        say("no intervals: the run kept no draws of the proportions (it needs more sweeps than --pi-burn-in)")
    unit = "a unit of time" if by == "time" else "a collection"
    if "trends" in result:
        click.echo(f"rising and falling, change of share {unit}:")
    for row in result.get("trends", ()):
        share = f"{row['slope']:+7.3%}{_interval(row['low'], row['high'], sign=True)}"
        click.echo(f"  {share}  {row['trend'] or '-':>5}  {row['topic']:>4}  {' '.join(row['words'])}")
    if contrast:
        click.echo("words of a topic that one collection has more than the others:")
    for row in result.get("contrasts", ()):
        if row["words"]:
            click.echo(f"  {row['topic']:>4}  {row['collection']}: {' '.join(word['word'] for word in row['words'])}")


def _interval(low: float | None, high: float | None, sign: bool = False) -> str:
    """The part of the draws that is between the 5th and the 95th percentile."""
    if low is None or high is None:
        return ""
    return f" ({low:+.3%} to {high:+.3%})" if sign else f" ({low:.2%} to {high:.2%})"


def _weights(model: Model, words: int, as_json: bool) -> None:
    """Each class's topics by falling weight (of a scale: both ends), as many as half of them, eight at most."""
    from topicx.report.weights import strongest

    rows = strongest(model, words)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(row["of"])
        for each in row["topics"]:
            weight = f"{each['weight']:>+8.3f} ± {each['spread']:<6.3f}"
            click.echo(f"  {weight} topic {each['topic']:>4}  {' '.join(each['words'])}")


def _compare(new: Model, old: Model, words: int, as_json: bool, chosen: tuple[int, ...]) -> None:
    from topicx.estimate.align import align

    tops = new.top_words(words), old.top_words(words)
    rows: list[dict[str, Any]] = []
    for pair in align(new, old):
        mine = [word for word, _ in tops[0][pair.a]] if pair.a is not None else []
        theirs = [word for word, _ in tops[1][pair.b]] if pair.b is not None else []
        rows.append({
            "topic": pair.a, "other": pair.b, "distance": pair.distance,
            "kept": [word for word in mine if word in theirs],
            "new": [word for word in mine if word not in theirs],
            "gone": [word for word in theirs if word not in mine],
        })  # fmt: skip
    rows = [row for row in rows if not chosen or row["topic"] in chosen]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        first = "-" if row["topic"] is None else row["topic"]
        second = "-" if row["other"] is None else row["other"]
        distance = "" if row["distance"] is None else f"  distance {row['distance']:.3f}"
        click.echo(f"{first} ~ {second}{distance}  {one_line(' '.join(row['kept']))}")
        if row["new"]:
            click.echo(f"    + {one_line(' '.join(row['new']))}")
        if row["gone"]:
            click.echo(f"    - {one_line(' '.join(row['gone']))}")
