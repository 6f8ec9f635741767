"""`topicx datasets`: the synthetic corpora with known truth, and the embedded texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from topicx.cli.common import Number, force_output, json_output, option, print_json, print_note, quiet, seed
from topicx.datasets.generators import GENERATORS, SIZES
from topicx.errors import InputError, TopicxError


@click.group()
def command() -> None:
    """List and make synthetic corpora whose topics are known, or write the embedded texts.

    \b
    Example:
      topicx datasets list
      topicx datasets make bars -o bars.corpus
      topicx datasets make zipf --documents 250000 --tokens 200 -o big.corpus
      topicx datasets texts -o texts.tsv
    """


@command.command("list")
@json_output
def list_datasets(as_json: bool) -> None:
    """List the synthetic datasets with their options and defaults."""
    if as_json:
        print_json(
            [{"name": g.name, "summary": g.summary, "source": g.source, "sizes": g.sizes} for g in GENERATORS.values()]
        )
        return
    for generator in GENERATORS.values():
        sizes = " ".join(f"--{name} {_short_value(value)}" for name, value in generator.sizes.items())
        click.echo(f"{generator.name}\n    {generator.summary}\n    from {generator.source}\n    {sizes}")


def _short_value(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _size_options(function: Callable[..., Any]) -> Callable[..., Any]:
    for name, size in reversed(SIZES.items()):
        whole = size.kind is int
        kind: Any = click.IntRange(int(size.low), int(size.high)) if whole else Number(size.low, size.high)
        flags = ["-k", "--topics"] if name == "topics" else [f"--{name}"]
        decorate = option(*flags, type=kind, default=None, show_default="the dataset's own", help=size.help)
        function = decorate(function)
    return function


@command.command("make")
@click.argument("name", metavar="NAME")
@force_output
@seed
@_size_options
@quiet
def make_dataset(name: str, output: str, seed: int, quiet: bool, **sizes: Any) -> None:
    """Make the synthetic corpus NAME, its true parameters with it.

    Each dataset takes some of the options and has its own defaults: see 'topicx datasets list'. The same
    name, seed and sizes give the same corpus on every machine.
    """
    from topicx import datasets

    corpus = datasets.make(name, seed, **{key: value for key, value in sizes.items() if value is not None})
    corpus.save(output)
    truth = ", ".join(sorted(corpus.truth))
    print_note(
        f"{output}: {corpus.n_documents:,} documents, {corpus.n_tokens:,} tokens, {corpus.n_words:,} words; "
        f"its truth: {truth}",
        quiet=quiet,
    )


@command.command("texts")
@force_output
@option(
    "--format",
    "format_",
    type=click.Choice(["tsv", "jsonl", "dir"]),
    default=None,
    show_default="by the file's name, else tsv",
    help="tsv, jsonl: a line a text, with the fields id, label, collection, year and text (tsv begins with their "
    "names); dir: a folder with a file a text, YEAR/ID.txt.",
)
@quiet
def write_texts(output: str, format_: str | None, quiet: bool) -> None:
    """Write the embedded texts to a file, as something to import and play with."""
    from topicx import datasets
    from topicx.files.container import atomic_output

    if format_ is None:
        name = output.removesuffix(".gz")
        format_ = "jsonl" if name.endswith(".jsonl") else "tsv"
        if name.endswith((".csv", ".parquet", ".json", ".xlsx")):
            raise InputError(f"--output {output}: the texts are written as tsv or jsonl; --format says which")
    if format_ == "dir":
        print_note(f"{output}: {_write_folder(Path(output))} texts", quiet=quiet)
        return
    count = 0
    with atomic_output(output, binary=False) as out:
        if format_ == "tsv":
            out.write("\t".join(datasets.Text._fields) + "\n")
        for text in datasets.embedded_texts():
            if format_ == "tsv":
                out.write("\t".join(map(str, text)) + "\n")
            else:
                out.write(json.dumps(text._asdict(), ensure_ascii=False) + "\n")
            count += 1
    print_note(f"{output}: {count} texts", quiet=quiet)


def _write_folder(folder: Path) -> int:
    """Every text as a file in the folder of its year."""
    from topicx import datasets

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"--output {folder}: is there, and no empty folder")
    count = 0
    for text in datasets.embedded_texts():
        path = folder / str(text.year) / f"{text.id}.txt"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.text + "\n", encoding="utf-8")
        except OSError as error:
            raise TopicxError(f"{path}: cannot be written: {error.strerror or error}") from error
        count += 1
    return count
