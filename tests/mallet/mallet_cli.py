"""Small texts, and MALLET's commands run in this process: what the tests of `topicx mallet` share."""

from __future__ import annotations

import contextlib
import io
import random
import re
from pathlib import Path

import numpy as np

from topicx.cli.mallet import dispatch_command
from topicx.state import State
from topicx.strings import Strings

WORDS = {
    "sky": ["star", "moon", "planet", "orbit", "telescope", "comet", "galaxy", "light", "dust", "night"],
    "kitchen": ["butter", "salt", "oven", "flour", "garlic", "sauce", "onion", "pepper", "bread", "sugar"],
    "money": ["bank", "market", "price", "share", "debt", "trade", "profit", "money", "credit", "loan"],
}


def texts(seed: int = 1, documents: int = 24, length: int = 30) -> list[tuple[str, str, str]]:
    """Names, labels and texts: each mostly about one of three things."""
    draw = random.Random(seed)
    found = []
    for d in range(documents):
        label = sorted(WORDS)[d % 3]
        words = [
            draw.choice(WORDS[label if draw.random() < 0.8 else draw.choice(sorted(WORDS))]) for _ in range(length)
        ]
        words[0] = words[0].title()
        words.insert(4, "the")
        words.insert(8, f"{words[8]},")
        found.append((f"doc{d}", label, " ".join(words) + " café."))
    return found


def write_texts(folder: Path) -> None:
    """The same texts as lines, as a folder of files, and as SVMlight."""
    rows = texts()
    (folder / "a.txt").write_text("".join(f"{name} {label} {text}\n" for name, label, text in rows))
    (folder / "b.txt").write_text("".join(f"{name} {label} {text} extra words\n" for name, label, text in texts(2, 7)))
    (folder / "tabs.txt").write_text("".join(f"{name}\t{label}\t{text}\n" for name, label, text in rows))
    for name, label, text in rows:
        place = folder / "dir" / label
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.txt").write_text(f"Subject: {name}\n\n<p>{text}</p>\n")
    (folder / "v.svm").write_text("+1 a:1 café:2\n-1 b:1 c:3 # note\n# comment\n1 d:2.5 a:0.5\n")
    (folder / "w.svm").write_text("1 a:2 e:1\n")
    (folder / "stop.txt").write_text("star moon\nbutter\n")
    (folder / "more.txt").write_text("orbit\n")
    (folder / "patterns.txt").write_text("g.*\n")
    (folder / "replace.txt").write_text("star\tsun\n")
    (folder / "delete.txt").write_text("salt\n")


def mallet(*arguments: object) -> tuple[str, str]:
    """Run one of MALLET's commands here; standard output and standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        dispatch_command([str(argument) for argument in arguments])
    out.flush()
    return out.buffer.getvalue().decode("utf-8", "replace"), err.getvalue()  # type: ignore[attr-defined]


def run(line: str) -> tuple[str, str]:
    """The same from one line, parted at blanks."""
    return mallet(*line.split())


TIMES = re.compile(r"Total time: .*|\t\d+ms\t|random seed: \d+")


def everything(folder: Path, before: set[str], output: tuple[str, str]) -> dict[str, object]:
    """What a call has left: its messages without times, and its files."""
    found: dict[str, object] = {"stdout": output[0], "stderr": TIMES.sub("", output[1])}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and str(path) not in before:
            found[path.name] = path.read_bytes()
    return found


def small_state() -> State:
    """Three topics, one of them empty; a word and a document without tokens; ties."""
    words = np.array([0, 1, 1, 2, 0, 3, 3, 1], np.uint32)
    z = np.array([0, 2, 2, 2, 2, 0, 0, 2], np.uint16)
    return State(
        words=words, offsets=np.array([0, 5, 5, 8]), z=z, alpha=np.array([[0.1, 0.029954, 1e-5]]),
        beta=np.full(5, 1e-4), vocabulary=Strings.of(["a<b", "new", "york", "x&y", "none"]),
        ids=Strings.of(["d\t0", "", "d 2"]),
    )  # fmt: skip
