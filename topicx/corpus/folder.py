"""A folder of texts: a document a file, and the folder it lies in is its label."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from topicx.corpus.read import Batch, ReadOptions
from topicx.corpus.source import BLOCK, Source
from topicx.errors import InputError


def read(
    root: str, options: ReadOptions, say: Callable[[str], None] = lambda text: None
) -> Iterator[tuple[Batch, int]]:
    """Batches, and the bytes that each took. Files are read in the order of their names; hidden ones are left
    out, and links that lead out of the folder."""
    ids: list[str | None] = []
    texts: list[str] = []
    labels: list[tuple[str, ...]] = []
    size = taken = 0
    found = False
    outside: list[Path] = []
    for name in _walk(Path(root), Path(root).resolve(), outside):
        found = True
        with Source(str(name)) as source:
            text = "".join(source.texts(options.encoding, options.encoding_errors))
            taken += source.consumed
        inside = name.relative_to(root)
        label = inside.parent.as_posix()
        ids.append(inside.as_posix())
        texts.append(text)
        labels.append(() if label in (".", *options.no_label) else (label,))
        size += len(text)
        if size >= BLOCK or len(texts) >= 10_000:
            yield Batch(root, None, texts, ids, labels), taken
            ids, texts, labels, size, taken = [], [], [], 0, 0
    if outside:
        more = f" and {len(outside) - 1:,} others" if len(outside) > 1 else ""
        say(f"{root}: left out {outside[0]}{more}: links that lead out of the folder")
    if not found:
        raise InputError(f"{root}: has no files in it")
    if texts:
        yield Batch(root, None, texts, ids, labels), taken


def _walk(folder: Path, root: Path, outside: list[Path]) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror or error}") from None
    for name, is_folder in names:
        if name.startswith("."):
            continue
        path = folder / name
        if is_folder:
            yield from _walk(path, root, outside)
        elif path.is_file():
            if path.is_symlink() and not path.resolve().is_relative_to(root):
                outside.append(path)
            else:
                yield path
