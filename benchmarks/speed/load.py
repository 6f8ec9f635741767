"""Seconds of the processor to load files, verified: `python benchmarks/speed/load.py FILE...`

Each is loaded a few times; the least counts, as the disk's cache is warm then. To compare two versions, run both by
turns: `PYTHONPATH=OTHER python benchmarks/speed/load.py FILE...`. `--checksums FILE...` leaves out what the schemas say
of the values: the rest of the time is theirs. `--make DIRECTORY` writes a corpus, a state, a model and a checkpoint of
50 million tokens there, by the version that runs it.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.files import container
from topicx.model import Model
from topicx.state import State
from topicx.strings import Strings

TIMES, TOKENS, WORDS = 5, 50_000_000, 100_000


def load(name: str) -> str:
    """Load a file by its kind."""
    with open(name, "rb") as stream:  # noqa: PTH123
        start = stream.read(64)
    kind = start.split(b"topicx-", 1)[1].split(b'"')[0].decode()
    loaders = {"corpus": Corpus.load, "state": State.load, "model": Model.load}
    if kind in loaders:
        loaders[kind](name)
        return kind
    if hasattr(container, "Schema"):
        from topicx.files.file_kinds import KINDS

        State.from_file(container.read(name, KINDS[kind]))
    else:  # a version that has no schemas
        State.from_file(container.read(name, kind))
    return kind


def unchecked() -> None:
    """From now on values are not looked at."""
    from topicx.files.schema import Check, Schema

    Check.feed = lambda self, values: None  # type: ignore[method-assign]
    Check.finish = lambda self: None  # type: ignore[method-assign]
    Schema.relate = lambda self, arrays: None  # type: ignore[method-assign]


def make(directory: Path) -> None:
    """A corpus with words by a power law, and what a sweep over it leaves."""
    from topicx.engines.threads import Threads  # here, for old versions have other places
    from topicx.run import Run
    from topicx.sampling.run_options import Options
    from topicx.sampling.sweep_loop import Checkpoints

    rng = np.random.default_rng(1)
    words = np.minimum(rng.pareto(1.0, TOKENS) * 20, WORDS - 1).astype(np.uint32)
    offsets = np.arange(0, TOKENS + 1, 100, dtype=np.int64)
    corpus = Corpus(words, offsets, Strings.of(f"w{i}" for i in range(WORDS)))
    corpus.save(str(directory / "load.corpus"))
    options = Options(topics=100, iterations=1, start="random")
    with Threads(1) as engine:
        run = Run.start(corpus, options, engine)
        checkpoints = Checkpoints(str(directory / "load.checkpoint"), 1)
        run.train((), checkpoints)
        result = run.result(phi="cgs", theta="cgs")
    result.state.save(str(directory / "load.state"))
    result.model.save(str(directory / "load.model"))


def main() -> None:
    if "--make" in sys.argv[1:2]:
        make(Path(sys.argv[2]))
        return
    if "--checksums" in sys.argv[1:2]:
        del sys.argv[1]
        unchecked()
    for name in sys.argv[1:]:
        seconds = []
        for _ in range(TIMES):
            began = time.process_time()
            kind = load(name)
            seconds.append(time.process_time() - began)
        print(f"{kind:10} {min(seconds):.4f} s (of {TIMES})", flush=True)


if __name__ == "__main__":
    main()
