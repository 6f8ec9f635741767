"""A large report: 1,000 topics and 200,000 documents with titles and dates. How large the file is, how long it takes to
make and how much memory, and how soon a browser shows it.

    python benchmarks/speed/report.py [--topics 1000] [--documents 200000] [--length 60]

The corpus is drawn: words by Zipf's law, four topics a document. Chromium opens the file (Debian's chromium, and
playwright from PyPI); without them the file alone is measured. Processor seconds, since a machine may be busy.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from topicx.corpus.table import Table, Texts, Times
from topicx.estimate import estimate
from topicx.state import State
from topicx.strings import Strings

VOCABULARY = 60_000
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def drawn_state(topics: int, documents: int, length: int) -> State:
    """A state whose words and topics are drawn."""
    rng = np.random.default_rng(1)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(length // 2, length * 3 // 2, documents))])
    document = np.repeat(np.arange(documents), np.diff(offsets))
    mixtures = rng.integers(0, topics, (documents, 4))
    z = mixtures[document, rng.choice(4, len(document), p=[0.5, 0.25, 0.15, 0.1])].astype(np.uint16)
    rank = np.minimum((VOCABULARY ** rng.random(len(document))).astype(np.int64), VOCABULARY - 1)
    own = rng.random(len(document)) < 0.7
    words = np.where(own, (rank * 7 + z.astype(np.int64) * 53) % VOCABULARY, rank).astype(np.uint32)
    names = np.array([f"word{i}" for i in range(VOCABULARY)])
    titles = [" ".join(names[words[begin : begin + 6]]) for begin in offsets[:-1].tolist()]
    table = Table({
        "time": Times(np.round(rng.uniform(0, 20_000, documents)), dates=True), "title": Texts(Strings.of(titles)),
    })  # fmt: skip
    return State(
        words=words, offsets=offsets, z=z, alpha=np.full((1, topics), 0.05), beta=np.full(VOCABULARY, 0.01),
        vocabulary=Strings.of(names.tolist()), ids=Strings.of(f"doc{d}" for d in range(documents)), table=table,
    )  # fmt: skip


def opened(file: Path) -> dict[str, float]:
    """Seconds until the page answers and until its documents are there, and the memory of its script."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium"), args=[*ARGUMENTS, "--enable-precise-memory-info"]
        )
        page = browser.new_context(offline=True).new_page()
        begin = time.perf_counter()
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_selector("html[data-ready]", timeout=120_000)
        usable = time.perf_counter() - begin
        page.goto(file.as_uri() + "#/documents?topic=3&min=0.1")
        page.wait_for_selector("#view table", timeout=120_000)
        documents = time.perf_counter() - begin - usable
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        browser.close()
    return {"usable s": round(usable, 2), "documents s": round(documents, 2), "heap MB": round(heap, 1)}


def main() -> None:
    """Measure, and print a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--length", type=int, default=60)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        state = drawn_state(chosen.topics, chosen.documents, chosen.length)
        state.save(place / "s.state")
        estimate(state, phi="cgs", examples=0).save(place / "s.model")
        tokens = state.n_tokens
        del state
        begin = time.perf_counter()
        line = "report s.model --state s.state -o r.html -q"
        subprocess.run([sys.executable, "-m", "topicx", *line.split()], cwd=place, check=True)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = {
            "topics": chosen.topics, "documents": chosen.documents, "tokens": tokens,
            "file MB": round((place / "r.html").stat().st_size / 1e6, 2),
            "made in processor s": round(used.ru_utime + used.ru_stime, 1),
            "wall s": round(time.perf_counter() - begin, 1), "peak MB": round(used.ru_maxrss / 1024),
        }  # fmt: skip
        if shutil.which("chromium"):
            told |= opened(place / "r.html")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
