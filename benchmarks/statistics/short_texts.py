"""Texts of a line: the mixture (`--model mixture`) beside LDA, tomotopy's PTModel and topica's GSDMM.

    python benchmarks/statistics/short_texts.py --data DIR --peer /path/to/python -o short.json
    python benchmarks/statistics/short_texts.py --million --peer /path/to/python

Three corpora are cut to snippets: the subjects of 20 Newsgroups, the first words of imdb's reviews and of Reuters'
stories with one label. NMI and purity compare each document's most probable topic with its label. --million makes
a million texts of ten words with 300 topics, and tells seconds a sweep and memory; the peer has the first texts of it.
DIR has a folder a corpus, with docs.tsv.gz: id, label and text, a document a line. Seconds are of a processor.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from peer_process import run_peer

import topicx

AFTER_A_SUBJECT = {
    "summary", "keywords", "organization", "lines", "distribution", "nntp", "expires", "reply", "message", "sender",
    "originator", "references", "article", "writes", "followup", "supersedes", "approved", "archive", "version",
    "mime", "content",
}  # fmt: skip
PEERS = {
    "tomotopy's PTModel": """
import tomotopy as tp
model = tp.PTModel(k=job["topics"], alpha=0.1, eta=0.01, seed=job["seed"])
for words in job["documents"]:
    model.add_doc(words)
begin = time.process_time()
model.train(job["iterations"], workers=1)
seconds = time.process_time() - begin
own = np.array([int(np.argmax(doc.get_topic_dist())) for doc in model.docs])
np.savez(sys.argv[2], own=own, seconds=seconds)
""",
    "topica's GSDMM": """
import topica
begin = time.process_time()
model = topica.GSDMM(job["topics"], alpha=0.1, beta=0.1, seed=job["seed"])
model.fit(job["documents"], iters=job["iterations"], progress_interval=1000000)
seconds = time.process_time() - begin
np.savez(sys.argv[2], own=np.array(model.doc_cluster), seconds=seconds)
""",
}


def snippet(name: str, words: list[str]) -> list[str]:
    """The subject of a posting, or the first words of a text."""
    if not name.startswith("20news"):
        return words[:8] if name.startswith("reuters") else words[:12]
    if "subject" not in words:
        return []
    found: list[str] = []
    for word in words[words.index("subject") + 1 :][:12]:
        if word in AFTER_A_SUBJECT:
            break
        found.append(word)
    return found


def snippets(folder: Path, name: str) -> tuple[list[list[str]], np.ndarray]:
    """Documents of words that three have, and their labels' numbers; documents with two labels are left out."""
    documents, labels = [], []
    with gzip.open(folder / name / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            _, label, text = line.rstrip("\n").split("\t")
            if label not in ("", "-") and "," not in label:
                documents.append(snippet(name, text.split()))
                labels.append(label)
    known = Counter(word for words in documents for word in set(words))
    documents = [[word for word in words if known[word] > 2] for words in documents]
    kept = [at for at, words in enumerate(documents) if len(words) > 1]
    numbers = np.unique([labels[at] for at in kept], return_inverse=True)[1]
    return [documents[at] for at in kept], numbers


def agreement(own: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Normalised mutual information (by the mean of both entropies), and purity."""
    table = np.zeros((own.max() + 1, labels.max() + 1))
    np.add.at(table, (own, labels), 1)
    purity = table.max(axis=1).sum() / table.sum()
    p = table / table.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        shared = np.nansum(p * np.log(p / np.outer(p.sum(axis=1), p.sum(axis=0))))
        entropies = [-np.nansum(q * np.log(q)) for q in (p.sum(axis=0), p.sum(axis=1))]
    return float(2 * shared / sum(entropies)), float(purity)


def told(corpus: str, name: str, own: np.ndarray, labels: np.ndarray, seconds: float) -> dict[str, Any]:
    nmi, purity = agreement(own, labels)
    row = {"corpus": corpus, "model": name, "seconds": round(seconds, 2), "nmi": round(nmi, 3),
           "purity": round(purity, 3), "topics": len(np.unique(own))}  # fmt: skip
    print(json.dumps(row), flush=True)
    return row


def compare(given: argparse.Namespace, name: str) -> Iterator[dict[str, Any]]:
    documents, labels = snippets(Path(given.data), name)
    corpus = topicx.Corpus.from_documents(documents)
    print(f"{name}: {len(documents):,} texts, {corpus.n_tokens:,} tokens, {labels.max() + 1} labels", flush=True)
    common: dict[str, Any] = {"topics": given.topics, "seed": given.seed, "threads": 1, "verbose": False}
    learn = {"optimize_interval": 10, "optimize_burn_in": 20}
    for title, options in (
        ("mixture, 10 iterations", {"model": "mixture", "iterations": 10, "beta": 0.1, "start": "random"}),
        ("mixture, 30 iterations", {"model": "mixture", "iterations": 30, "beta": 0.1, "start": "random"}),
        ("LDA, 300 iterations", {"iterations": 300}),
        ("LDA, α and β learnt, 300 iterations", {"iterations": 300, **learn}),
    ):  # fmt: skip
        begin = time.process_time()
        found = topicx.LDA(**common, **({"optimize": "beta"} if "mixture" in title else {}), **options).fit(corpus)
        own = np.asarray(found.document_topic).argmax(axis=1)
        yield told(name, title, own, labels, time.process_time() - begin)
    for title, program in PEERS.items() if given.peer else ():
        iterations = 30 if "GSDMM" in title else given.peer_iterations
        job = {"documents": documents, "topics": given.topics, "seed": given.seed, "iterations": iterations}
        out = run_peer(given.peer, program, job)
        yield told(name, f"{title}, {iterations} iterations", out["own"], labels, float(out["seconds"]))


def million(given: argparse.Namespace) -> dict[str, Any]:
    """Texts of ten words of 300 topics, over 50,000 words."""
    random, texts, words, topics = np.random.default_rng(given.seed), given.texts, 50_000, 300
    base = 1 / np.arange(1, words + 1) ** 0.9
    lengths = np.maximum(random.poisson(10, texts), 1)
    own = random.integers(0, topics, texts)
    drawn = np.empty(lengths.sum(), np.uint32)
    of_token = np.repeat(own, lengths)
    for k in range(topics):
        p = base * random.gamma(0.1, 1, words)
        here = of_token == k
        drawn[here] = random.choice(words, int(here.sum()), p=p / p.sum())
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    names = [f"w{at}" for at in range(words)]
    corpus = topicx.Corpus(drawn, offsets, topicx.strings.Strings.of(names))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row: dict[str, Any] = {"texts": texts, "tokens": int(offsets[-1])}
    for threads in (1, 2):
        seconds, clock = [], []
        for iterations in (2, given.sweeps + 2):  # the difference is what the sweeps take
            begin, wall = time.process_time(), time.perf_counter()
            found = topicx.LDA(
                model="mixture", topics=topics, iterations=iterations, beta=0.1, optimize="beta", start="random",
                seed=given.seed, threads=threads, verbose=False, theta="cgs", phi="cgs",
            ).fit(corpus)  # fmt: skip
            seconds.append(time.process_time() - begin)
            clock.append(time.perf_counter() - wall)
        row[f"seconds a sweep, {threads} threads"] = round((seconds[1] - seconds[0]) / given.sweeps, 3)
        row[f"by the clock, {threads} threads"] = round((clock[1] - clock[0]) / given.sweeps, 3)
    row["nmi"] = round(agreement(np.asarray(found.document_topic).argmax(axis=1), own)[0], 3)
    row["megabytes"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    row["megabytes before"] = round(before / 1024)
    if given.peer:
        part = [[names[w] for w in drawn[a:b]] for a, b in zip(offsets[:-1], offsets[1:], strict=True)][: given.part]
        spent = []
        for iterations in (1, 4):
            job = {"documents": part, "topics": topics, "seed": given.seed, "iterations": iterations}
            spent.append(float(run_peer(given.peer, PEERS["topica's GSDMM"], job)["seconds"]))
        each = (spent[1] - spent[0]) / 3 / given.part
        row["topica's GSDMM, seconds a sweep of as many"] = round(each * texts, 2)
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="the folder of the corpora")
    parser.add_argument("--corpora", default="20news-bydate,imdb,reuters21578")
    parser.add_argument("--topics", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer", default="", help="a Python that has tomotopy and topica")
    parser.add_argument("--peer-iterations", type=int, default=200, help="of PTModel")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--part", type=int, default=20_000, help="texts that the peer has")
    parser.add_argument("--sweeps", type=int, default=5)
    parser.add_argument("-o", "--output", default="")
    given = parser.parse_args()
    rows = [million(given)] if given.million else []
    for name in given.corpora.split(",") if given.data else ():
        rows += list(compare(given, name))
    if given.output:
        Path(given.output).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
