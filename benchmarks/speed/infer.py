"""Inference side by side with tomotopy: documents a second, and how well θ predicts, under the same topics.

tomotopy trains (it cannot take another program's topics), its φ and α become a topicx model, and both infer the first
halves of the held-out documents; the second halves are scored under the same φ. One thread each; CPU seconds (a busy
machine does not matter), the median of --repeats runs. topicx's time includes making its rows of φ and the keys of the
documents.

    python benchmarks/speed/infer.py --data DIR/20news-bydate [--peer PYTHON-WITH-TOMOTOPY] [--quick]
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from topicx._kernels.infer import infer as kernel
from topicx.corpus.corpus import Corpus
from topicx.evaluate.completion import completion
from topicx.predict.sampling_plan import document_keys
from topicx.predict.topic_rows import FixedTopics
from topicx.strings import Strings

PEER = """
import json, sys, time, numpy as np, tomotopy as tp
given = json.load(open(sys.argv[1] + "/given.json"))
model = tp.LDAModel(k=given["topics"], alpha=0.1, eta=0.01, min_cf=5, seed=1)
for words in given["train"]:
    model.add_doc(words)
model.train(given["iterations"], workers=1)
vocabulary = list(model.used_vocabs)
place = {word: i for i, word in enumerate(vocabulary)}
phi = np.array([model.get_topic_word_dist(k) for k in range(model.k)])
test = [[word for word in words if word in place] for words in given["test"]]
test = [words for words in test if len(words) >= 2]
times = []
for together, iterations in given["runs"]:
    spent = []
    for _ in range(given["repeats"]):
        halves = [model.make_doc(words[: len(words) // 2]) for words in test]
        begin = time.process_time()
        model.infer(halves, iterations=iterations, workers=1, together=together)
        spent.append(time.process_time() - begin)
    seconds = sorted(spent)[len(spent) // 2]
    theta = np.array([document.get_topic_dist() for document in halves])
    total = tokens = 0
    for row, words in zip(theta, test):
        held = [place[word] for word in words[len(words) // 2 :]]
        total += np.log(row @ phi[:, held]).sum()
        tokens += len(held)
    times.append([together, iterations, seconds, float(np.exp(-total / tokens))])
np.savez(sys.argv[1] + "/out.npz", phi=phi, alpha=np.array(model.alpha))
json.dump({"vocabulary": vocabulary, "test": test, "times": times, "isa": tp.isa}, open(sys.argv[1] + "/out.json", "w"))
"""


def lines(path: str) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return stream.read().splitlines()


def read(folder: str, quick: bool) -> dict[str, list[list[str]]]:
    """The words of the documents of both parts."""
    split = dict(line.split("\t") for line in lines(f"{folder}/split.tsv.gz"))
    parts: dict[str, list[list[str]]] = {"train": [], "test": []}
    for line in lines(f"{folder}/docs.tsv.gz"):
        name, _, text = line.split("\t")[:3]
        parts[split[name]].append(text.split())
    return {name: documents[::10] for name, documents in parts.items()} if quick else parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="a folder with docs.tsv.gz and split.tsv.gz")
    parser.add_argument("--peer", default=sys.executable, help="a Python that has tomotopy")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", dest="out", help="write the figures to this file, too")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    options = parser.parse_args()
    parts = read(options.data, options.quick)
    runs = [[False, 100], [False, 10], [True, 1], [True, 20], [True, 100]]
    with tempfile.TemporaryDirectory() as folder:
        given: dict[str, object] = parts | {"topics": options.topics, "runs": runs, "repeats": options.repeats}
        given["iterations"] = 30 if options.quick else 300
        Path(folder, "given.json").write_text(json.dumps(given))
        subprocess.run([options.peer, "-c", PEER, folder], check=True)
        found = json.loads(Path(folder, "out.json").read_text())
        arrays = np.load(Path(folder, "out.npz"))
        phi, alpha = arrays["phi"], arrays["alpha"]
    place = {word: i for i, word in enumerate(found["vocabulary"])}
    documents = [np.array([place[word] for word in words], np.uint32) for words in found["test"]]
    offsets = np.concatenate([[0], np.cumsum([len(words) for words in documents])]).astype(np.int64)
    corpus = Corpus(np.concatenate(documents), offsets, Strings.of(found["vocabulary"]))
    rows = []
    for together, iterations, seconds, perplexity in found["times"]:
        name = f"tomotopy ({found['isa']}), {iterations} iterations" + (", together" if together else "")
        rows.append({"run": name, "documents_per_second": len(documents) / seconds, "perplexity": perplexity})
    given_half = np.concatenate([words[: len(words) // 2] for words in documents])
    held_half = np.concatenate([words[len(words) // 2 :] for words in documents])
    given_ends = np.concatenate([[0], np.cumsum([len(words) // 2 for words in documents])])
    held_ends = offsets - given_ends
    for burn_in, samples, soft in ((100, 1, False), (1, 1, True), (5, 1, True), (5, 5, True), (10, 10, True)):
        spent = []
        for _ in range(options.repeats):
            begin = time.process_time()
            topics = FixedTopics(phi, alpha)
            numbers, phi_rows, _ = topics.rows_for(given_half)
            keys = document_keys(given_half, given_ends, 1)
            theta = np.zeros((len(documents), options.topics), np.float32)
            z, groups = np.zeros(len(given_half), np.uint16), np.zeros(len(documents), np.uint32)
            kernel.sample_theta(
                numbers, given_ends, keys, phi_rows, topics.alpha32, groups, burn_in, samples, 1, soft, theta, z
            )
            spent.append(time.process_time() - begin)
        seconds = sorted(spent)[len(spent) // 2]
        perplexity = float(np.exp(-topics.log_probabilities(held_half, held_ends, theta).sum() / len(held_half)))
        name = f"topicx, {burn_in} sweep{'s' * (burn_in > 1)}, {samples} sample{'s' * (samples > 1)} of θ{'^p' * soft}"
        name += " (default)" * ((burn_in, samples, soft) == (10, 10, True))
        rows.append({"run": name, "documents_per_second": len(documents) / seconds, "perplexity": perplexity})
    exact = completion(phi, alpha, corpus, burn_in=100, samples=200, lag=1).perplexity
    print(f"{len(documents):,} documents, {len(given_half):,} tokens inferred, K = {options.topics}, one thread")
    for row in rows:
        print(f"{row['run']:<45} {row['documents_per_second']:>9,.0f} documents/s   perplexity {row['perplexity']:.0f}")
    print(f"{'posterior mean (200 samples)':<45} {'':>21}   perplexity {exact:.0f}")
    if options.out:
        Path(options.out).write_text(json.dumps({"rows": rows, "posterior_mean": exact}, indent=2) + "\n")


if __name__ == "__main__":
    main()
