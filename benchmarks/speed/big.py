"""Corpora of 10⁷ to 10⁹ tokens: memory, what a sweep costs, and what happens beside the sweeps.

    python benchmarks/speed/big.py --out DIR --tokens 1e9 --topics 200
    python benchmarks/speed/big.py --out DIR --corpus big.corpus --topics 100,1000 --threads 1,2

A synthetic corpus is drawn on the way into its file, from a law of Zipf with exponent 1 over a million words; half of a
document's words are of four of 500 topics, each of which has the same law over the words in another order. Training is
in a process of its own, whose memory is watched: its own (anonymous), and what it has mapped of the corpus's file (the
system may take that back at any time).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.files import container
from topicx.files.container import Spool
from topicx.files.file_kinds import CORPUS
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.strings import Strings

WORDS, TOPICS, LENGTH, BATCH = 1_000_000, 500, 250, 20_000


def make(path: Path, tokens: int, seed: int = 1) -> None:
    """Draw a corpus into a file, a batch of documents at a time."""
    documents = tokens // LENGTH
    random = np.random.default_rng(seed)
    factor = random.integers(1, WORDS, TOPICS) * 2 + 1  # odd and not a multiple of 5: an order of all the words
    factor[factor % 5 == 0] += 2
    spool, counts, seen = Spool(np.uint32, path.parent, str(path)), np.zeros(WORDS, np.int64), np.zeros(WORDS, np.int64)
    for begin in range(0, documents, BATCH):
        number = min(BATCH, documents - begin)
        words = np.exp(random.random((number, LENGTH), np.float32) * np.log(WORDS)).astype(np.int64)
        own = random.integers(0, TOPICS, (number, 4))
        which = random.integers(0, 8, (number, LENGTH), np.int8)
        topic = np.take_along_axis(own, np.minimum(which, 3).astype(np.int64), axis=1)
        words = np.where(which < 4, words * factor[topic], words) % WORDS
        spool.append(words.reshape(-1))
        counts += np.bincount(words.reshape(-1), minlength=WORDS)
        row = np.sort(words, axis=1)
        first = np.concatenate([np.ones((number, 1), bool), row[:, 1:] != row[:, :-1]], axis=1)
        seen += np.bincount(row[first], minlength=WORDS)
    empty = Corpus(np.zeros(0, np.uint32), np.zeros(documents + 1, np.int64), Strings.of(f"w{i}" for i in range(WORDS)))
    arrays = dict(empty.arrays())
    arrays |= {"offsets": np.arange(documents + 1, dtype=np.int64) * LENGTH, "words": spool}
    arrays |= {"word_frequencies": counts, "document_frequencies": seen}
    container.write(path, CORPUS, arrays, {"dataset": "big", "columns": []})
    spool.close()


def memory() -> dict[str, int]:
    """Bytes of this process, by kind."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    names = {"RssAnon:": "own", "RssFile:": "mapped", "VmHWM:": "peak"}
    return {names[line[0]]: 1024 * int(line[1]) for line in lines if line and line[0] in names}


def train(path: str, topics: int, sweeps: int, threads: int, out: Path) -> None:
    """Train, and print a JSON object with the seconds of every part and the memory after it."""
    parts: dict[str, Any] = {}
    began = time.monotonic()

    def lap(name: str) -> None:
        nonlocal began
        now = time.monotonic()
        parts[name] = {"seconds": round(now - began, 2), **memory()}
        print(f"  {name:10} {now - began:8.1f} s", file=sys.stderr)
        began = now

    lap("import")
    corpus = Corpus.load(path)
    lap("load")
    with Threads(threads) as engine:
        run = Run.start(corpus, Options(topics=topics, iterations=sweeps, start="random"), engine)
        method = run.chain.method
        lap("arrange")
        method.start(random=True)
        lap("start")
        for sweep in range(sweeps):
            method.sweep(sweep)
            lap(f"sweep {sweep + 1}")
        method.score()
        lap("score")
        run.chain.position = len(run.chain.steps)
        result = run.result(theta="cgs")
        lap("result")
        result.model.save(out / "big.model")
        lap("model")
        result.state.save(out / "big.state")
        lap("state")
    print(json.dumps({"tokens": corpus.n_tokens, "words": corpus.n_words, "documents": corpus.n_documents, **parts}))


def report(found: dict[str, Any], topics: int, threads: int) -> None:
    tokens = found["tokens"]
    sweeps = [part["seconds"] for name, part in found.items() if name.startswith("sweep")]
    outside = {
        name: part["seconds"] for name, part in found.items() if isinstance(part, dict) and not name.startswith("sweep")
    }
    own = max(part["own"] for name, part in found.items() if isinstance(part, dict) and name.startswith("sweep"))
    peak = max(part["own"] for part in found.values() if isinstance(part, dict))
    base = found["import"]["own"]
    print(
        f"{tokens:,} tokens, {found['documents']:,} documents, {found['words']:,} words, K={topics}, "
        f"{threads} threads: "
        f"sweeps {sweeps} s ({tokens / sweeps[-1] / 1e6:.1f} M tokens/s in the last); own memory in the sweeps "
        f"{(own - base) / tokens:.1f} bytes a token, between parts at most {(peak - base) / tokens:.1f}; beside the "
        f"sweeps {sum(outside.values()):.1f} s ({', '.join(f'{name} {s:.1f}' for name, s in outside.items())})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--corpus", help="a corpus file, instead of a synthetic one")
    parser.add_argument("--tokens", type=float, default=1e7)
    parser.add_argument("--topics", default="200")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--train", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        path, topics, sweeps, threads = given.train
        train(path, int(topics), int(sweeps), int(threads), given.out)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.corpus or given.out / f"zipf-{int(given.tokens)}.corpus"
    if not Path(path).exists():
        make(Path(path), int(given.tokens))
    for topics in given.topics.split(","):
        for threads in given.threads.split(","):
            command = [sys.executable, __file__, "--out", str(given.out), "--train", str(path), topics]
            done = subprocess.run([*command, str(given.sweeps), threads], stdout=subprocess.PIPE, text=True, check=True)
            report(json.loads(done.stdout), int(topics), int(threads))


if __name__ == "__main__":
    main()
