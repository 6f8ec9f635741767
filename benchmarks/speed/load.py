"""Seconds to load the files of a corpus, verified: `python benchmarks/speed/load.py FILE...`

Each is loaded a few times; the least counts, as the disk's cache is warm then. To compare two versions, run both by
turns: `PYTHONPATH=OTHER python benchmarks/speed/load.py FILE...`
"""

from __future__ import annotations

import sys
import time

from topicx import files
from topicx.corpus.corpus import Corpus
from topicx.model import Model
from topicx.state import State

TIMES = 5


def load(name: str) -> str:
    """Load a file by its kind."""
    with open(name, "rb") as stream:  # noqa: PTH123
        start = stream.read(64)
    kind = start.split(b"topicx-", 1)[1].split(b'"')[0].decode()
    loaders = {"corpus": Corpus.load, "state": State.load, "model": Model.load}
    if kind in loaders:
        loaders[kind](name)
        return kind
    if hasattr(files, "Schema"):
        from topicx.kinds import KINDS

        State.from_file(files.read(name, KINDS[kind]))
    else:  # a version that has no schemas
        State.from_file(files.read(name, kind))
    return kind


def main() -> None:
    for name in sys.argv[1:]:
        seconds = []
        for _ in range(TIMES):
            began = time.perf_counter()
            kind = load(name)
            seconds.append(time.perf_counter() - began)
        print(f"{kind:10} {min(seconds):.3f} s (of {TIMES})", flush=True)


if __name__ == "__main__":
    main()
