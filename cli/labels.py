"""Labels on the command line: what `infer` writes and `evaluate` measures for models whose topics are labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import option, refuse_given, stack_options

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus
    from topicx.model import Model
    from topicx.predict.label_reader import LabelReader
    from topicx.predict.reader import Read
    from topicx.tables.theta_writers import Selection

score = option(
    "--score", type=click.Choice(["words", "theta"]), default="words",
    help="Models of labels: a label's score is the share of the document's words that it explains, or its θ.",
)  # fmt: skip

infer_options = stack_options(
    option(
        "--what", type=click.Choice(["labels", "topics"]), default=None, show_default="labels, if the model has them",
        help="labels: the labels of each document (as many as the model expects; --top and --threshold say otherwise) "
        "and a ranking; topics: θ.",
    ),
    option("--ranking", type=click.IntRange(0), default=10, help="Labels in the ranking of a document (0: all)."),
    score,
)  # fmt: skip

evaluate_options = stack_options(
    score,
    option("--threshold", type=float, default=None, help="labels: predict all labels that score as much."),
    option("--chains", type=click.IntRange(1), default=1, help="labels: chains of each document, averaged."),
    option("--lag", type=click.IntRange(1), default=1, help="labels: sweeps from one sample to the next."),
    option("--theta", type=click.Choice(["cgs", "cgsp", "cvb0"]), default=None, help="labels: estimator of θ.",
           show_default="as the model was made"),
    option("--compare", metavar="MODEL", help="labels: another model, with a z-test of each F1 against its."),
)  # fmt: skip


def labeller_of(model: Model, what: str | None, threshold: float, top: int, score: str) -> LabelReader | None:
    """What names the labels of documents; None: topics are written."""
    from topicx.predict.label_reader import label_reader

    has = "topic_label" in model.side
    if what == "topics" or (what is None and not has):
        refuse_given(("ranking", "score"), "is for the labels of models that have them")
        return None
    return label_reader(model, score=score, top=top, threshold=threshold or None)


def table_layout(
    model: Model, labeller: LabelReader | None, selection: Selection, ranking: int, columns: dict[str, type]
) -> tuple[Any, ...]:
    """What a table of documents holds: the arguments of `report.theta_writers.writer` after the format."""
    from topicx.tables.theta_writers import Selection as Chosen

    if labeller is None:
        return model.n_topics, selection, columns, model.called
    names = list(labeller.names)
    return len(names), Chosen(0, ranking or len(names)), {"labels": list}, names, "ranking"


def rows_of(labeller: LabelReader, part: Read) -> tuple[Any, Any]:
    """Scores, and the further columns, of some documents."""
    found = labeller.labelled(part)
    return found.scores, [labeller.names_of_sets(found.sets, found.scores)]


def measure_labels(
    model: Model, documents: Corpus, other: str | None, top: int | None, settings: dict[str, Any],
    sampling: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The method `labels` of `topicx evaluate`."""
    from topicx.evaluate.label_measures import compare_f1, measure_labels
    from topicx.model import Model as Loaded
    from topicx.predict.label_reader import label_reader

    def of(each: Model) -> dict[str, Any]:
        return measure_labels(each, documents, label_reader(each, top=top or 0, **settings), **sampling)

    result = of(model)
    if other is not None:
        reference = of(Loaded.load(other))
        result |= {"reference": reference, "z_test": compare_f1(result, reference)}
    return result


def show_measures(result: dict[str, Any], echo: Callable[[str], object] = click.echo) -> None:
    """The measures as a table."""
    rows = [
        ("micro F1", "micro_f1"), ("macro F1", "macro_f1"), ("example F1", "example_f1"),
        ("subset accuracy", "subset_accuracy"), ("Hamming loss", "hamming_loss"), ("ranking loss", "ranking_loss"),
        ("one-error", "one_error"), ("coverage", "coverage"), ("average precision", "average_precision"),
    ]  # fmt: skip
    other, tests = result.get("reference"), result.get("z_test", {})
    echo(
        f"labels            {result['documents']:,} documents with {result['labels_a_document']:.2f} of "
        f"{result['labels']:,} labels; predicted {result['predicted_a_document']:.2f}"
    )
    for title, name in rows:
        line = f"  {title:<18}{result[name]:.4f}"
        if other is not None:
            line += f"   other {other[name]:.4f}"
        if name in tests:
            line += f"   z {tests[name]['z']:.2f}, p {tests[name]['p']:.3g}"
        echo(line)
    at = ", ".join(f"{value:.4f} at {depth}" for depth, value in result["precision_at"].items())
    echo(f"  {'precision':<18}{at}")
    if result["unlabelled"]:
        echo(f"  {result['unlabelled']:,} documents without labels were left out")
    if result["unseen_labels"]:
        echo(f"  {result['unseen_labels']:,} labels were never seen in training: they count as missed")
