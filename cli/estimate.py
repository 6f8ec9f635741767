"""topicx estimate: a state becomes a model."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import (
    Number,
    above_zero,
    check_outputs,
    json_output,
    metadata,
    option,
    print_json,
    print_note,
    quiet,
    refuse_given,
    threads,
)
from topicx.errors import InputError
from topicx.interop.format_names import READ

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from topicx.model import Model
    from topicx.state import State

ESTIMATOR = click.Choice(["cgs", "cgsp"])


@click.command("estimate")
@click.argument("states", nargs=-1, required=True, metavar="STATE...")
@option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.", show_default=False)
@option(
    "--doc-topics", default=None, metavar="FILE", show_default=False,
    help="Also write θ of every document, as infer does: tsv, csv, jsonl, npz, parquet or feather, by the name.",
)  # fmt: skip
@metadata
@option("--doc-topics-threshold", type=Number(0, 1), default=0.0, help="Show a document's topics from this share on.")
@option("--doc-topics-max", type=click.IntRange(1), default=None, help="Show a document's N largest topics.")
@option("--estimator", type=ESTIMATOR, default=None, help="Sets both --theta and --phi.", show_default=False)
@option("--theta", type=ESTIMATOR, default=None, show_default="cgsp", help="Estimator of the documents' topics.")
@option("--phi", type=ESTIMATOR, default=None, show_default="cgsp", help="Estimator of the topics' words.")
@option("--align", is_flag=True, show_default=False, help="Of several states, renumber the topics before averaging.")
@option("--input-format", type=click.Choice(READ), default=None, show_default="found by itself", help="Its program.")
@option("--alpha", type=above_zero(), default=None, show_default="0.1", help="α of each topic (LightLDA has none).")
@option("--beta", type=above_zero(), default=None, show_default="0.01", help="β of each word (LightLDA has none).")
@option("--topics", "-k", type=click.IntRange(1, 65535), default=None, help="Number of topics (LightLDA).")
@option("--corpus", default=None, metavar="CORPUS", show_default=False, help="The documents of LightLDA's count dumps.")
@option(
    "--phi-entries", type=click.IntRange(1), default=50_000_000,
    help="Keep at most so many numbers of φ^p: the largest, and for each word the mass of the others.",
)  # fmt: skip
@threads
@json_output
@quiet
def command(
    states: tuple[str, ...], output: str, doc_topics: str | None, metadata: str, doc_topics_threshold: float,
    doc_topics_max: int | None, estimator: str | None, theta: str | None, phi: str | None, align: bool,
    input_format: str | None, alpha: float | None, beta: float | None, topics: int | None, corpus: str | None,
    phi_entries: int, threads: int, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Make a model from a sampler's STATE: every token's topic, as topicx, MALLET, WarpLDA, LightLDA, GibbsLDA++,
    JGibbLDA or tomotopy left it.

    cgsp takes for each token the probabilities of its topics instead of the one topic that was drawn; it costs about as
    much as one more sweep. α and β come from the files. Several states (samples of one chain) are averaged.

    \b
    Examples:
      topicx estimate mallet-state.gz -o better.model --doc-topics doc-topics.txt
      topicx estimate train.z.estimate -o better.model         train.model and train.vocab beside it
      topicx estimate run.1.state run.2.state --align -o mean.model
    """
    from topicx.tables.theta_writers import state_writer

    if output == "-" and as_json:
        raise InputError("--output -: standard output can take one thing only")
    check_outputs([output, doc_topics], states)
    if len(states) == 1:
        refuse_given(("align",), "is for several states")
    if not doc_topics:
        refuse_given(("doc_topics_threshold", "doc_topics_max", "metadata"), "is for --doc-topics")
    if (phi or estimator) == "cgs":
        refuse_given(("phi_entries",), "is for φ by cgsp")
    chosen = {"theta": theta or estimator, "phi": phi or estimator}
    shares: dict[str, Any] = {"threshold": doc_topics_threshold, "most": doc_topics_max, "metadata": metadata}
    writer = functools.partial(state_writer, doc_topics, **shares) if doc_topics else None
    if len(states) == 1 and _is_dump(states[0], input_format):
        model, notes = _from_dump(states[0], chosen, writer, corpus, alpha, beta, topics, phi_entries, threads)
    else:
        if corpus is not None:
            raise InputError("--corpus: is for LightLDA's count dumps; a state holds its documents")
        estimators = {name: value or "cgsp" for name, value in chosen.items()}
        settings = {"format": input_format, "alpha": alpha, "beta": beta, "topics": topics}
        model, notes = _from_states(states, settings, estimators, align, writer, phi_entries, threads)
    if len(model.remainder):
        share = float(model.remainder.sum() / model.totals.sum())
        notes.append(
            f"{len(model.values):,} of {model.n_words * model.n_topics:,} numbers of φ^p are kept; the others "
            f"({share:.3%} of the mass) are kept as one remainder a word (--phi-entries)"
        )
    model.save(output)
    for note in notes:
        print_note(f"note: {note}", quiet=quiet)
    about = f"{model.n_topics} topics, {model.n_words:,} words, {model.meta['documents']:,} documents"
    used = model.meta["estimator"]
    print_note(f"wrote {output}: {about}, θ by {used['theta']}, φ by {used['phi']}", quiet=quiet)
    if as_json:
        print_json({
            "model": output, "topics": model.n_topics, "words": model.n_words, "documents": model.meta["documents"],
            "tokens": model.meta["tokens"], "estimator": model.meta["estimator"], "notes": notes,
            "format": model.meta.get("format", "topicx"),
            "remainder": float(model.remainder.sum()) if len(model.remainder) else 0.0,
        })  # fmt: skip


def _estimate_and_write(
    state: State, estimators: dict[str, str], writer: Callable[[State], Any] | None, **options: Any
) -> Model:
    """The model of a state, θ written in the same pass."""
    from topicx.estimate import estimate

    with contextlib.ExitStack() as stack:
        write = stack.enter_context(writer(state)) if writer else None
        return estimate(state, theta=estimators["theta"], phi=estimators["phi"], documents=write, **options)


def _from_states(
    names: tuple[str, ...], settings: dict[str, Any], estimators: dict[str, str], align: bool,
    writer: Callable[[State], Any] | None, phi_entries: int, threads: int,
) -> tuple[Model, list[str]]:  # fmt: skip
    from topicx import model_registry as models
    from topicx.estimate import estimate
    from topicx.estimate.averaging import average_models, order_of
    from topicx.interop import read_state

    settings = dict(settings)
    if len(names) == 1:
        state = read_state(names[0], settings.pop("format"), **settings)
        model = _estimate_and_write(state, estimators, writer, threads=threads, max_entries=phi_entries)
        models.of_meta(state.meta).finish(state, model, [state])
        return model, _notes_on_state(state)
    import numpy as np

    format = settings.pop("format")
    made: list[Model] = []
    sides: list[dict[str, NDArray[Any]]] = []
    samples: list[State] = []
    orders: list[NDArray[np.int64]] = []
    first: State | None = None
    total: NDArray[np.float64] | None = None
    notes: list[str] = []
    for name in names:
        state = read_state(name, format, **settings)
        rows: list[NDArray[np.float64]] = []
        take = (lambda begin, batch, rows=rows: rows.append(batch)) if writer else None
        made.append(
            estimate(
                state, theta=estimators["theta"], phi=estimators["phi"], threads=threads, max_entries=phi_entries,
                documents=take, examples=0 if made else 20,
            )
        )  # fmt: skip
        if first is None:
            first, notes = state, _notes_on_state(state)
        order = np.arange(made[0].n_topics)
        if len(made) > 1 and not models.of_meta(state.meta).numbered_alike:  # labels are the same in every chain
            order = order_of(made[0], made[-1], (names[0], name), align=align)
        orders.append(order)
        sides.append(state.side)
        definition = models.of_meta(state.meta)
        if definition.pools_states:
            samples.append(definition.reordered(state, order))
        if writer:
            if not (np.array_equal(state.offsets, first.offsets) and np.array_equal(state.words, first.words)):
                raise InputError(f"{name} and {names[0]} hold different documents: their θ has no average")
            theta = np.concatenate(rows)[:, order]
            total = theta if total is None else total + theta
    assert first is not None
    model = average_models(made, orders)
    for each in fields(model):
        if each.name.startswith("example_"):
            setattr(model, each.name, getattr(made[0], each.name))
    model.parents = {f"state {at}": m.parents["state"] for at, m in enumerate(made, 1) if "state" in m.parents}
    definition = models.of_meta(first.meta)
    definition.finish(replace(first, side=definition.pooled_side(sides, orders)), model, samples or [first])
    if writer and total is not None:
        with writer(first) as write:
            write(0, total / len(names))
    return model, notes


def _notes_on_state(state: State) -> list[str]:
    notes = list(state.meta.pop("notes", []))
    if state.meta.get("types_without_tokens"):
        notes.append(
            f"{state.meta['types_without_tokens']:,} types of MALLET's alphabet have no token in the state: they are "
            "not in the model, and β stands for the others only"
        )
    return notes


# -- count dumps ---------------------------------------------------------------------------------------------------


def _is_dump(name: str, format: str | None) -> bool:
    """Whether this names LightLDA's count tables, and there are no assignments to prefer."""
    from topicx.interop import lightlda

    if name == "-" or format not in (None, "lightlda"):
        return False
    path = Path(name)
    if path.is_dir():
        names = [file.name for file in path.iterdir()]
        return not any(lightlda.is_block(one) for one in names) and any(lightlda.is_dump(one) for one in names)
    return path.is_file() and lightlda.is_dump(name)


def _from_dump(
    name: str, chosen: dict[str, str | None], writer: Callable[[State], Any] | None, corpus: str | None,
    alpha: float | None, beta: float | None, topics: int | None, phi_entries: int, threads: int,
) -> tuple[Model, list[str]]:  # fmt: skip
    from topicx.interop import count_dumps, lightlda

    dump = lightlda.read_dumps(name, alpha=alpha, beta=beta, topics=topics)
    notes = list(dump.meta.pop("notes", []))
    if corpus is None and "cgsp" in chosen.values():
        raise InputError(
            f"{name}: counts alone do not say which words the documents have, which cgsp needs: give --corpus, or the "
            "blocks (block.N), or take --estimator cgs"
        )
    if writer and dump.document_rows is None:
        raise InputError(f"--doc-topics: there is no doc_topic.N beside {name}")
    default = "cgs" if corpus is None else "cgsp"
    estimators = {key: value or default for key, value in chosen.items()}
    state, counts = count_dumps.as_state(dump, name, corpus)
    if "cgsp" in estimators.values():
        notes.append(
            "from counts without assignments a token's own count cannot be left out: θ^p and φ^p are a little too sure"
        )
    else:
        notes.append("counts without assignments and documents give the standard estimators (cgs); cgsp takes --corpus")
    model = _estimate_and_write(state, estimators, writer, threads=threads, max_entries=phi_entries, counts=counts)
    model.meta |= {"tokens": int(dump.totals.sum())}
    return model, notes
