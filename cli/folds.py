"""topicx train --folds: the number of topics and λ that predict best, by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import option, refuse_given, stack_options
from topicx.cli.log import Log
from topicx.errors import InputError

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus
    from topicx.sampling.run_options import Options

fold_options = stack_options(
    option("--folds", type=click.IntRange(0), default=0,
           help="medlda: choose among --try-topics and --try-lambda by cross-validation (0: do not)."),
    option("--try-topics", metavar="K,K,…", default=None, help="medlda, --folds: numbers of topics to try."),
    option("--try-lambda", metavar="λ,λ,…", default=None, help="medlda, --folds: values of --lambda to try."),
)  # fmt: skip


def check_folds(folds: int, model: str, resume: str | None) -> None:
    """Refuse what would do nothing."""
    if not folds:
        refuse_given(("try_topics", "try_lambda"), "is for --folds")
    elif model != "medlda" or resume:
        raise InputError("--folds is for a new run of --model medlda")


def parse_list(name: str, text: str | None, kind: type) -> list[Any]:
    """The numbers of an option, which commas separate."""
    try:
        return [kind(part) for part in text.split(",")] if text else []
    except ValueError:
        raise InputError(f"--{name}: {text!r} is not a list of numbers with commas between") from None


def best_by_folds(
    corpus: Corpus, options: Options, engine: Any, folds: int, try_topics: str | None, try_lambda: str | None,
    log: Log,
) -> Options:  # fmt: skip
    """The options with the best number of topics and λ; the table goes to standard error as it grows."""
    from topicx.evaluate.cross_validation import cross_validate

    log.tell(f"{'topics':>6} {'lambda':>8}  mean ± spread over {folds} folds")

    def tell(row: dict[str, Any]) -> None:
        weight = "-" if row["lambda"] is None else f"{row['lambda']:g}"
        log.tell(f"{row['topics']:>6} {weight:>8}  {row['figure']} {row['mean']:.4f} ± {row['spread']:.4f}", "fold",
                 **row)  # fmt: skip

    rows = cross_validate(
        corpus, options, engine, folds=folds, topics=parse_list("try-topics", try_topics, int),
        weights=parse_list("try-lambda", try_lambda, float), each=tell,
    )  # fmt: skip
    weight = rows[0]["lambda"]
    own = options.own if weight is None else options.own | {"lambda_": weight}
    chosen = "" if weight is None else f", lambda {weight:g}"
    log.tell(f"chosen: {rows[0]['topics']} topics{chosen}", "chosen", topics=rows[0]["topics"], **{"lambda": weight})
    return replace(options, topics=rows[0]["topics"], own=own)
