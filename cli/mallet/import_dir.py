"""topicx mallet import-dir: a document a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from topicx.cli.common import say
from topicx.cli.mallet.arguments import Command, Option, Parsed, file, flag, java
from topicx.cli.mallet.importing import PIPE_OPTIONS, TEXT_OPTIONS, batched, build, pipe_of
from topicx.cli.mallet.instances import RawTexts
from topicx.corpus.formats.input_bytes import codec_of
from topicx.errors import InputError

UNQUOTED = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/;:@&=+$,_-!.~'()*")
"""What a URI's path takes as it is, of ASCII."""


def run(parsed: Parsed) -> None:
    folders = [_folder(name) for name in parsed.need("input", "the directories to read")]
    pipe = pipe_of(parsed, directory=True)
    prefix = _common(folders)
    labels = [folder[prefix:] for folder in folders]
    say("Labels = ")
    for folder, label in zip(folders, labels):
        say(f"   {label or folder}")
    found = [(path, label) for folder, label in zip(folders, labels) for path in files_in(folder)]
    codec = codec_of(parsed["encoding"])
    # MALLET asks only whether the option was given: --save-text-in-source FALSE saves as well, there.
    save = parsed["save-text-in-source"]
    build(parsed, pipe, _texts(found, codec, save), len(found))


def _common(folders: list[str]) -> int:
    """How many characters all paths begin with (letters, not parts: `pos` and `part` are labelled `os`, `art`)."""
    return next((at for at, all_there in enumerate(zip(*folders)) if len(set(all_there)) > 1), min(map(len, folders)))


def _folder(name: str) -> str:
    """The path as Java's File shows it: no slash at the end, none doubled."""
    shown = name
    if not Path(name).is_dir() and "\\" in name and Path(name.replace("\\", "/")).is_dir():
        shown = name.replace("\\", "/")
    if not Path(shown).is_dir():
        raise InputError(f"{name}: is not a directory")
    while "//" in shown:
        shown = shown.replace("//", "/")
    return shown.rstrip("/") or "/"


def files_in(folder: str) -> Iterator[str]:
    """Every file below a folder, hidden ones too, sorted by name in each."""
    try:
        names = sorted(path.name for path in Path(folder).iterdir())
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror or error}") from None
    for name in names:
        path = f"{folder.rstrip('/')}/{name}"
        if os.path.isdir(path):  # noqa: PTH112
            yield from files_in(path)
        else:
            yield path


def _texts(found: list[tuple[str, str]], codec: str, save: bool) -> Iterator[RawTexts]:
    for batch in batched(found):
        texts = [_read(path, codec) for path, _ in batch]
        yield RawTexts(
            [file_uri(path) for path, _ in batch], texts, [label for _, label in batch],
            texts if save else [path.replace(" ", "%20") for path, _ in batch],  # one field of the state's six
        )  # fmt: skip


def _read(path: str, codec: str) -> str:
    try:
        return Path(path).read_bytes().decode(codec, "replace")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def file_uri(path: str) -> str:
    """`file:/…` as Java's File.toURI writes it: letters of all scripts stay, blanks and signs are quoted."""
    absolute = path if path.startswith("/") else f"{Path.cwd()}/{path}"
    return "file:" + "".join(c if _stays(c) else "".join(f"%{b:02X}" for b in c.encode()) for c in absolute)


def _stays(c: str) -> bool:
    return c in UNQUOTED if c.isascii() else not (c.isspace() or ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000)


COMMAND = Command(
    "import-dir", "cc.mallet.classify.tui.Text2Vectors", "read the files of directories, a document each", (
        Option("input", "strings", None, "The directories; each is a label. Files are read in the order of names."),
        file("output", "The instances to write; - is standard output.", "text.vectors"),
        *PIPE_OPTIONS, *TEXT_OPTIONS,
        flag("skip-header", "Leave out all text before the first blank line."),
        flag("skip-html", "Leave out tags."),
        flag("binary-features", "Vectors say only whether a word is there."),
        Option("gram-sizes", "integers", [1], "Lengths of the n-grams to make of neighbouring words.", low=1),
        flag("save-text-in-source", "The text itself is the document's source."),
        *java("string-pipe", "token-pipe", "fv-pipe"),
    ), run,
)  # fmt: skip
