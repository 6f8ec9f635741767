"""Held-out perplexity by slice of time: topics that drift (`--model slices`), LDA, and tomotopy's DTModel.

    python benchmarks/statistics/slices.py sotu.corpus --topics 50 --iterations 300 -o slices.json
    python benchmarks/statistics/slices.py sotu.corpus --peer /path/to/python/with/tomotopy --peer-iterations 500 …

Every tenth document with words is held out: the first half of its words estimates θ under fixed topics (those of its
own slice), the second half is scored; the same fold-in with α = 0.1 for all. Seconds are of a processor, with one
thread, and of training: the peer's without its reading of documents.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import topicx
from topicx.corpus.slices import time_slices, times_of
from topicx.evaluate import completion
from topicx.model import Model

PEER = """
import json, sys, time
import numpy as np, tomotopy as tp
job = json.load(open(sys.argv[1]))
model = tp.DTModel(k=job["topics"], t=job["slices"], seed=job["seed"], **job["settings"])
for words, at in zip(job["documents"], job["of"]):
    model.add_doc(words, timepoint=at)
begin = time.process_time()
model.train(job["iterations"], workers=1)
seconds = time.process_time() - begin
used = list(model.used_vocabs)
phi = np.array([[model.get_topic_word_dist(k, timepoint=t) for k in range(model.k)] for t in range(job["slices"])])
np.savez(sys.argv[2], phi=phi.astype(np.float32), words=np.array(used), seconds=seconds)
"""


def split(corpus: topicx.Corpus) -> tuple[topicx.Corpus, topicx.Corpus]:
    """The documents that are trained on, and every tenth one."""
    full = np.flatnonzero(np.diff(corpus.offsets) > 3)
    held = np.zeros(corpus.n_documents, bool)
    held[full[::10]] = True
    return corpus.select(np.flatnonzero(~held)), corpus.select(np.flatnonzero(held))


def told(name: str, found: list[tuple[float, int]], seconds: float, names: list[str]) -> dict[str, Any]:
    """Perplexity of all, and slice by slice."""
    total, tokens = sum(one for one, _ in found), sum(number for _, number in found)
    by_slice = {
        at: round(float(np.exp(-one / number)), 1)
        for at, (one, number) in zip(names, found, strict=True) if number
    }  # fmt: skip
    row = {"model": name, "seconds": round(seconds, 2), "perplexity": round(float(np.exp(-total / tokens)), 1),
           "slices": by_slice}  # fmt: skip
    print(json.dumps(row), flush=True)
    return row


def by_slice(model: Any, test: topicx.Corpus, slices: np.ndarray, number: int, alpha: Any) -> list[tuple[float, int]]:
    found = completion.completion(model, alpha, test)
    return [
        (float(found.documents[slices == at].sum()), int(found.scored[slices == at].sum())) for at in range(number)
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--bins", default="decade")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", default="", help="lda,slices: what is not run")
    parser.add_argument("--peer", default="", help="a Python that has tomotopy")
    parser.add_argument("--peer-iterations", type=int, default=500)
    parser.add_argument("--peer-settings", default="{}", help="JSON: further arguments of DTModel")
    parser.add_argument("-o", "--output", default="")
    given = parser.parse_args()
    corpus = topicx.Corpus.load(given.corpus)
    times = times_of(corpus.table["time"], "--over time")
    cut = time_slices(times, unit=given.bins)
    train, test = split(corpus)
    of = time_slices(times_of(test.table["time"], "time"), unit=given.bins)
    place = {name: at for at, name in enumerate(cut.names)}
    slices = np.array([place[of.names[at]] for at in of.of_documents(test.n_documents)])
    alpha = np.full(given.topics, 0.1)
    common = {"topics": given.topics, "iterations": given.iterations, "seed": given.seed, "threads": 1, "alpha": 0.1}
    rows: list[dict[str, Any]] = []

    def trained(name: str, **options: Any) -> None:
        if name in given.skip.split(","):
            return
        begin = time.process_time()
        kind = topicx.SlicedLDA if name == "slices" else topicx.LDA
        model: Model = kind(**common, start="soft", **options).fit(train).model
        seconds = time.process_time() - begin
        rows.append(told(name, by_slice(model, test, slices, len(cut.names), None), seconds, cut.names))
        if name == "slices":
            rows[-1]["closeness"] = float(model.side["closeness"].mean())

    trained("lda")
    trained("slices", over="time", bins=given.bins, phi="cgs")  # words of slices are counts either way
    if given.peer:
        peer_of = time_slices(times_of(train.table["time"], "time"), unit=given.bins)
        names = list(train.vocabulary)
        job = {
            "topics": given.topics, "slices": len(cut.names), "seed": given.seed, "iterations": given.peer_iterations,
            "settings": json.loads(given.peer_settings),
            "documents": [
                [names[w] for w in train.words[a:b]] for a, b in zip(train.offsets[:-1], train.offsets[1:], strict=True)
            ],
            "of": [place[peer_of.names[at]] for at in peer_of.of_documents(train.n_documents)],
        }  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            task, out = Path(folder, "job.json"), Path(folder, "out.npz")
            task.write_text(json.dumps(job))
            subprocess.run([given.peer, "-c", PEER, str(task), str(out)], check=True)
            found = np.load(out)
            phi, words, seconds = found["phi"], found["words"].tolist(), float(found["seconds"])
        number = {word: at for at, word in enumerate(words)}
        order = np.array([number.get(word, -1) for word in test.vocabulary])
        results = []
        for at in range(len(cut.names)):
            own = np.flatnonzero(slices == at)
            if not len(own):
                results.append((0.0, 0))
                continue
            here = phi[at][:, np.maximum(order, 0)].astype(np.float64)
            here[:, order < 0] = 1e-9
            here /= here.sum(axis=1, keepdims=True)
            one = completion.completion(here, alpha, test.select(own))
            results.append((one.log_likelihood, one.tokens))
        rows.append(told(f"DTModel, {given.peer_iterations} iterations", results, seconds, cut.names))
    if given.output:
        Path(given.output).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
