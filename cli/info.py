"""topicx info"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import json_output, option, print_json
from topicx.strings import one_line

if TYPE_CHECKING:
    from topicx.corpus.corpus_on_disk import StoredCorpus


@click.command("info")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@option("--arrays", is_flag=True, help="List the arrays inside, too.", show_default=False)
@json_output
def command(files: tuple[str, ...], arrays: bool, as_json: bool) -> None:
    """Say what a file is, what it holds, and where it came from.

    Every byte of a topicx file is verified. Of other programs' files it says what they are, where that is
    easy to see.

    \b
    Examples:
      topicx info texts.corpus texts.model
      topicx info texts.model --json | jq .meta
    """
    found = [describe_file(name) for name in files]
    if as_json:
        print_json(found[0] if len(found) == 1 else found)
        return
    for number, about in enumerate(found):
        if number:
            click.echo()
        _print_lines(about, arrays)


def describe_file(name: str) -> dict[str, Any]:
    """Everything about a file as a dictionary for JSON."""
    from topicx.corpus.corpus_on_disk import StoredCorpus
    from topicx.files import container
    from topicx.files.file_kinds import KINDS

    path = Path(name)
    if name != "-" and not container.is_topicx(name) and not (path.is_file() and path.suffix == ".topicx"):
        return _describe_foreign(name)
    with container.open_file(name, KINDS) as file:
        table = {one: {"dtype": str(file.dtype(one)), "shape": list(file.shape(one))} for one in file.names()}
        about: dict[str, Any] = {
            "file": name,
            "kind": file.kind,
            "software": file.software,
            "created": file.created,
            "digest": file.digest,
            "parents": file.parents,
            "bytes": path.stat().st_size if path.is_file() else None,
        }
        if file.kind == "corpus":
            about["corpus"] = _describe_corpus(StoredCorpus(file))
        about["meta"] = file.meta
        about["arrays"] = table
    return about


def _describe_corpus(corpus: StoredCorpus) -> dict[str, Any]:
    """What a corpus holds, from its arrays."""
    import numpy as np

    from topicx.corpus.time_texts import told_time

    lengths = np.diff(corpus.offsets(0, corpus.n_documents))
    about: dict[str, Any] = {
        "documents": corpus.n_documents,
        "empty_documents": int((lengths == 0).sum()),
        "tokens": corpus.n_tokens,
        "words": corpus.n_words,
        "labels": corpus.n_labels,
        "collections": corpus.n_collections,
    }
    if len(lengths):
        low, middle, high = np.quantile(lengths, [0, 0.5, 1]).tolist()
        about["tokens_per_document"] = {"least": int(low), "median": middle, "most": int(high)}
    times = corpus.times
    times = times[np.isfinite(times)]
    if len(times):
        dates = corpus.meta.get("time") == "date"
        about["time"] = {
            "kind": corpus.meta.get("time"),
            "first": told_time(float(times.min()), dates),
            "last": told_time(float(times.max()), dates),
        }
    return about


def _describe_foreign(name: str) -> dict[str, Any]:
    """What another program's file is."""
    from topicx.corpus.formats.document_reader import ReadOptions, detect_format
    from topicx.corpus.formats.format_table import FORMATS
    from topicx.corpus.formats.input_bytes import InputSource
    from topicx.errors import InputError

    if Path(name).is_dir():
        count = sum(1 for path in Path(name).rglob("*") if path.is_file())
        return {
            "file": name,
            "kind": "directory",
            "what": f"a folder with {count:,} files ('topicx import' reads texts)",
        }
    with InputSource(name) as source:
        start = source.peek()
    about: dict[str, Any] = {"file": name, "kind": "other", "bytes": source.size}
    if not start:
        return about | {"what": "an empty file"}
    first = start.split(b"\n", 1)[0]
    known = [
        (b"#doc source pos typeindex type topic", "MALLET's state ('topicx estimate' reads it)"),
        (
            b"\xac\xed\x00\x05",
            "a file of Java objects, MALLET's instances or model perhaps (export its state instead)",
        ),
        (b"PAR1", "a Parquet table ('topicx import' reads it)"),
        (b"\x80\x04\x95", "a pickle: topicx never opens these"),
        (b"PK\x03\x04", "a zip archive"),
        (b"%PDF", "a PDF: take the text out of it first"),
        (b"<?xml", "an XML file"),
    ]
    what = next((text for mark, text in known if start.startswith(mark)), None)
    if what is None and start[8:].startswith(b'{"__metadata__"'):
        what = "a safetensors file that topicx did not write"
    if what is None and (b"\0" in start or not _is_text(start)):
        what = "a binary file that topicx does not know"
    if what is None:
        try:
            chosen, _ = detect_format(name, start, ReadOptions())
            what = f"text; 'topicx import' would read it as {chosen} ({FORMATS[chosen][1]})"
        except InputError:
            what = "text"
    about["what"] = what
    if _is_text(first):
        about["first_line"] = first.decode("utf-8", "replace")[:100]
    return about


def _is_text(start: bytes) -> bool:
    try:
        start[:-4].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(start) - 8
    return b"\0" not in start


def _print_lines(about: dict[str, Any], arrays: bool) -> None:
    """Print a description as lines for people."""
    click.echo(one_line(f"{about['file']}: ") + (about["what"] if "what" in about else f"a topicx {about['kind']}"))
    for key in ("created", "software", "digest", "bytes", "first_line"):
        if about.get(key) not in (None, ""):
            value = f"{about[key]:,}" if isinstance(about[key], int) else about[key]
            click.echo(one_line(f"  {key.replace('_', ' ')}: {value}"))
    for role, digest in about.get("parents", {}).items():
        click.echo(one_line(f"  made from the {role}: {digest}"))
    for key in ("corpus", "meta"):
        if about.get(key):
            _print_tree(about[key], 1)
    if arrays:
        for name, array in about.get("arrays", {}).items():
            click.echo(one_line(f"  array {name}: {array['dtype']} {' × '.join(map(str, array['shape']))}"))


def _print_tree(values: dict[str, Any], depth: int) -> None:
    for key, value in values.items():
        pad, title = "  " * depth, str(key).replace("_", " ")
        if isinstance(value, dict) and value:
            click.echo(one_line(f"{pad}{title}:"))
            _print_tree(value, depth + 1)
        else:
            click.echo(one_line(f"{pad}{title}: {_shorten_value(value)}"))


def _shorten_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        shown = ", ".join(
            _shorten_value(one) if not isinstance(one, list) else "+".join(map(str, one)) for one in value[:8]
        )
        return shown + (f", … ({len(value):,})" if len(value) > 8 else "")
    text = " ".join(str(value).split())
    return text if len(text) <= 160 else text[:157] + "…"
