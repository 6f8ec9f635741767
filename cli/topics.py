"""topicx topics: read a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from topicx.cli import edit, groups, slices
from topicx.cli.common import json_output, metadata, on_command_line, option, print_json, print_note, refuse_given
from topicx.cli.declared import Grouped
from topicx.cli.show import print_hanging, told_topic

if TYPE_CHECKING:
    from topicx.model import Model


HEADINGS = {
    "Options": (
        "words", "documents", "passages", "chosen", "probabilities", "sort", "metadata", "compare", "label_topics",
        "weights", "coefficients", "as_json",
    ),
    "Topics by what documents carry": ("by", *groups.NAMES),
    "Models with slices": ("over", "word_names"),
    "Names, merging, hiding": ("merge", "names", "hide", "edits", "name_by", "dry_run", "output"),
}  # fmt: skip

SHOWN = 160
"""Characters of a text that the terminal shows; --json has all that was kept."""


@click.command(cls=Grouped, headings=HEADINGS)
@click.argument("model")
@option("--words", "-n", type=click.IntRange(0), default=10, help="Words a topic.")
@option("--documents", "-d", type=click.IntRange(0), default=0, help="Typical documents a topic (a model keeps 20).")
@option("--passages", is_flag=True, show_default=False,
        help="Of each typical document the passage that says most of the topic, in full, where else the text's "
        "beginning stands (three documents, unless -d says otherwise).")  # fmt: skip
@metadata
@option("--probabilities", "-p", is_flag=True, help="Print each word's probability too.", show_default=False)
@option("--topic", "-t", "chosen", type=click.IntRange(0), multiple=True, help="Only these topics (repeatable).")
@option("--sort", type=click.Choice(["weight", "number"]), default="number", help="Order of the topics.")
@option("--label-topics", is_flag=True, show_default=False,
        help="Instead of topics: which labels go together (models of Dependency-LDA).")  # fmt: skip
@option("--weights", is_flag=True, show_default=False,
        help="Of a model that predicts: the strongest topics of each class or of the scale, "
        "with the weights' spread.")  # fmt: skip
@option("--coefficients", is_flag=True, show_default=False,
        help="Of a model with a formula (dmr): what each topic's prior depends on, with the coefficients' spread, and "
        "the prior for each value.")  # fmt: skip
@option("--compare", default=None, metavar="OTHER", help="Align with another model's topics and show what changed.")
@groups.options
@slices.options
@edit.options
@json_output
def command(
    model: str, words: int, documents: int, passages: bool, metadata: str, probabilities: bool,
    chosen: tuple[int, ...], sort: str, label_topics: bool, weights: bool, coefficients: bool, compare: str | None,
    by: str | None, merge: tuple[str, ...], names: tuple[str, ...], hide: tuple[str, ...], edits: str | None,
    name_by: str | None, dry_run: bool, output: str | None, as_json: bool, over: bool, word_names: tuple[str, ...],
    **by_options: Any,
) -> None:  # fmt: skip
    """Show MODEL's topics: share of the tokens, α, most probable words, most typical documents.

    \b
      topicx topics news.model -n 15 -d 3
      topicx topics news.model -t 4 --passages
      topicx topics news.model --json | jq '.[0].words'
      topicx topics new.model --compare old.model
      topicx topics news.model --merge 3,17 --name 4="school" --hide 2 -o mine.model
      topicx topics papers.model --by time --corpus papers.corpus --bins decade --plot trends.png
      topicx topics speeches.model --over -t 3 --plot drift.png
    """
    from topicx.errors import InputError
    from topicx.model import Model

    if edit.edit_if_asked(model, merge, names, hide, output, edits, name_by, dry_run):
        return
    loaded = Model.load(model)
    for topic in chosen:
        if topic >= loaded.n_topics:
            raise InputError(f"--topic {topic}: the model has topics 0 to {loaded.n_topics - 1}")
    if by:
        refuse_given(("sort", "probabilities", "documents", "passages", "compare"), "does not go with --by")
        groups.show_groups(loaded, model, by, words, chosen, as_json, **by_options)
        return
    if slices.show_if_asked(loaded, model, over, word_names, words, chosen, probabilities, as_json, by_options):
        return
    refuse_given(groups.NAMES, "is for --by")
    if compare:
        refuse_given(("sort", "probabilities", "documents", "passages"), "does not go with --compare")
        _print_comparison(loaded, Model.load(compare), words, as_json, chosen)
        return
    if label_topics:
        refuse_given(("sort", "documents", "passages", "chosen"), "does not go with --label-topics")
        _label_topics(loaded, words, probabilities, as_json)
        return
    if weights:
        refuse_given(("sort", "probabilities", "documents", "passages", "chosen"), "does not go with --weights")
        _print_weights(loaded, words, as_json)
        return
    if coefficients:
        refuse_given(("sort", "probabilities", "documents", "passages"), "does not go with --coefficients")
        _print_coefficients(loaded, words, as_json, chosen)
        return
    if passages:
        documents = documents if "documents" in on_command_line(click.get_current_context()) else 3
        _check_texts(loaded, documents)
    _print_topics(loaded, words, documents, passages, metadata, probabilities, chosen, sort, as_json)


def _print_topics(
    loaded: Model, words: int, documents: int, passages: bool, metadata: str, probabilities: bool,
    chosen: tuple[int, ...], sort: str, as_json: bool,
) -> None:  # fmt: skip
    """Topics one after the other: share, words, and documents if some are wanted."""
    from topicx.views.topic_descriptions import describe_topics

    topics = sorted(set(chosen)) if chosen else [k for k in range(loaded.n_topics) if loaded.shown[k]]
    rows = describe_topics(loaded, words, documents, metadata, passages, topics)
    if sort == "weight":
        rows.sort(key=lambda row: -row["weight"])
    if as_json:
        print_json(rows)
        return
    labels = "topic_label" in loaded.side  # whose numbers nobody knows them by
    digits = len(str(loaded.n_topics - 1))
    titles = [row["name"] if labels else told_topic(row, digits) for row in rows]
    width = max(map(len, titles), default=0)
    for row, title in zip(rows, titles, strict=True):
        words_told = [(w["word"] + "✓" * w.get("keyword", False), w["probability"]) for w in row["words"]]
        named = (f"{word} ({probability:.4f})" if probabilities else word for word, probability in words_told)
        share = f"π {row['keyword_share']:.0%}  " if "keyword_share" in row else ""
        print_hanging(f"{title:<{width}}  {row['weight']:6.2%}  {share}", " ".join(named))
        for document in row["documents"]:
            begin = document["snippet"]
            if passages:
                begin = document["passage"]
            elif len(begin) > SHOWN:
                begin = begin[: SHOWN - 1].rstrip() + "…"
            text = f"  {begin}" if begin else ""
            carried = "; ".join(f"{name} {_as_text(value)}" for name, value in document.get("metadata", {}).items())
            text = (f"  [{carried}]" if carried else "") + text
            print_hanging(f"{'':>{width}}    {document['weight']:4.0%}  ", f"{document['id']}{text}", colour=None)


def _check_texts(model: Model, documents: int) -> None:
    """Refuse passages of a model without texts, and say so where all that was kept of them is short."""
    from topicx.errors import InputError

    if not documents:
        raise InputError("--passages: needs documents; -d 0 shows none")
    if not len(model.example_snippets):
        raise InputError("--passages: the model keeps no texts (import --snippet N keeps so many characters of each)")
    longest = max(map(len, model.example_snippets), default=0)
    if longest <= SHOWN:
        print_note(f"--passages: the texts kept have {longest} characters at most; import --snippet 100000 keeps more")


def _as_text(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _label_topics(model: Model, number: int, probabilities: bool, as_json: bool) -> None:
    """The topics of the LDA on the labels."""
    from topicx.errors import InputError
    from topicx.models.dependency import DependencyLDA

    if model.meta.get("model") != "dependency" or "label_topic_word" not in model.side:
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


def _print_weights(model: Model, words: int, as_json: bool) -> None:
    """Each class's topics by falling weight (of a scale: both ends), as many as half of them, eight at most."""
    from topicx.views.class_weights import strongest_topics

    rows = strongest_topics(model, words)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(row["of"])
        for each in row["topics"]:
            weight = f"{each['weight']:>+8.3f} ± {each['spread']:<6.3f}"
            print_hanging(f"  {weight} topic {told_topic(each)}  ", " ".join(each["words"]))


def _print_coefficients(model: Model, words: int, as_json: bool, chosen: tuple[int, ...]) -> None:
    """Each topic's coefficients, a line a term, and the share of its prior by the values of each column."""
    from topicx.views.prior_coefficients import coefficient_rows

    rows = coefficient_rows(model, words)
    rows = [row for row in rows if (row["topic"] in chosen if chosen else model.shown[row["topic"]])]
    if as_json:
        print_json(rows)
        return
    width = max((len(one["term"]) for row in rows for one in row["coefficients"]), default=0)
    for row in rows:
        print_hanging(f"{told_topic(row, len(str(model.n_topics - 1)))}  ", " ".join(row["words"]))
        for one in row["coefficients"]:
            click.echo(f"    {one['term']:<{width}}  {one['estimate']:>+9.4g} ± {one['spread']:<9.3g}".rstrip())
        for column in dict.fromkeys(one["column"] for one in row["priors"]):
            shares = [one for one in row["priors"] if one["column"] == column]
            told = "  ".join(f"{_format_level(one['value'])} {one['share']:.1%}" for one in shares)
            print_hanging(f"    {column}:  ", told, colour=None)


def _format_level(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.6g}"


def _print_comparison(new: Model, old: Model, words: int, as_json: bool, chosen: tuple[int, ...]) -> None:
    from topicx.estimate.topic_alignment import align_topics

    tops = new.top_words(words), old.top_words(words)
    rows: list[dict[str, Any]] = []
    for pair in align_topics(new, old):
        if not (pair.a is None or new.shown[pair.a]) or not (pair.b is None or old.shown[pair.b]):
            continue  # hidden, or merged with others
        mine = [word for word, _ in tops[0][pair.a]] if pair.a is not None else []
        theirs = [word for word, _ in tops[1][pair.b]] if pair.b is not None else []
        rows.append({
            "topic": pair.a, **new.named(pair.a), "other": pair.b,
            **{f"other_{key}": name for key, name in old.named(pair.b).items()}, "distance": pair.distance,
            "kept": [word for word in mine if word in theirs],
            "new": [word for word in mine if word not in theirs],
            "gone": [word for word in theirs if word not in mine],
        })  # fmt: skip
    rows = [row for row in rows if not chosen or row["topic"] in chosen]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        first = "-" if row["topic"] is None else told_topic(row, 1)
        other = {"topic": row["other"], "name": row.get("other_name", "")}
        second = "-" if row["other"] is None else told_topic(other, 1)
        distance = "" if row["distance"] is None else f"  distance {row['distance']:.3f}"
        print_hanging(f"{first} ~ {second}{distance}  ", " ".join(row["kept"]))
        for change, sign, colour in (("new", "+", "green"), ("gone", "-", "red")):
            if row[change]:
                print_hanging(f"    {sign} ", " ".join(row[change]), colour=colour)
