"""Priors that know the metadata: how soon `--model dmr` is where tomotopy's DMRModel is after 200 sweeps.

    python benchmarks/speed/metadata_race.py --data ../data --peer ~/peers/bin/python --corpus sotu,imdb --topics 50,100

The State of the Union's paragraphs by party and decade; reviews of imdb by rating. A tenth is held out: the perplexity
of its words given its metadata and no word, Σ_k α_dk φ_kw / Σα, with each program's own φ and prior. One thread;
processor seconds of the training alone; ours with more and more iterations, each from the start, until it is there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

SWEEPS = 200
TRIED = (20, 30, 40, 60, 80, 120, 200)
FORMULAS = {"sotu": "~ party + decade", "imdb": "~ rating"}
SHORT, COMMON, RARE = 3, 60, 5


def lines_of(path: Path) -> list[list[str]]:
    """A table's cells."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def read_corpus(data: Path, name: str, most: int) -> tuple[list[list[int]], list[dict[str, str]], int]:
    """Documents as word numbers, what they carry, and the number of words."""
    if name == "sotu":
        head, *rows = lines_of(data / "sotu" / "meta.tsv.gz")
        party = {row[0]: dict(zip(head, row)).get("party", "none") or "none" for row in rows}
        found = lines_of(data / "sotu" / "paragraphs.tsv.gz")
        texts = [row[2] for row in found]
        carried = [
            {"party": re.sub(r"\W+", "_", party.get(re.sub(r"[-.:_/]\d+$", "", row[0]), "none")),
             "decade": f"d{int(row[1]) // 10}"} for row in found
        ]  # fmt: skip
    else:
        rows = lines_of(data / "imdb" / "docs.tsv.gz")[:: max(50_000 // most, 1)]
        texts, carried = [row[2] for row in rows], [{"rating": f"r{row[1]}"} for row in rows]
    words = [re.findall(rf"[a-z]{{{SHORT},}}", text.lower()) for text in texts]
    often = Counter(word for each in words for word in set(each))
    common = {word for word, _ in often.most_common(COMMON)}
    vocabulary = sorted(word for word, number in often.items() if number >= RARE and word not in common)
    place = {word: number for number, word in enumerate(vocabulary)}
    numbers = [[place[word] for word in each if word in place] for each in words]
    kept = [d for d, each in enumerate(numbers) if each]
    return [numbers[d] for d in kept], [carried[d] for d in kept], len(vocabulary)


def perplexity(prior: Any, phi: Any, held: list[list[int]]) -> float:
    """Of held-out documents given their priors (documents × topics)."""
    share = prior / prior.sum(axis=1, keepdims=True)
    total = sum(float(np.log(share[d] @ phi[:, words]).sum()) for d, words in enumerate(held))
    return float(np.exp(-total / sum(map(len, held))))


def peers_run(path: str, topics: int) -> None:
    """In the peer's Python: train, and tell seconds, φ and priors."""
    import tomotopy

    given = json.loads(Path(path).read_text())
    model = tomotopy.DMRModel(k=topics, seed=1)
    for words, carried in zip(given["train"], given["carried"]):
        model.add_doc([f"w{word}" for word in words], multi_metadata=carried)
    begin = time.process_time()
    model.train(SWEEPS, workers=1, show_progress=False)
    seconds = time.process_time() - begin
    place = {word: number for number, word in enumerate(model.used_vocabs)}
    order = [place.get(f"w{word}", -1) for word in range(given["words"])]
    phi = np.array([model.get_topic_word_dist(k) for k in range(topics)])
    phi = np.concatenate([phi, np.full((topics, 1), 1e-7)], axis=1)[:, order]
    prior = [model.get_topic_prior(multi_metadata=carried) for carried in given["held"]]
    np.savez(path + ".npz", phi=phi, prior=np.array(prior), seconds=seconds)


def ours_run(train: Any, carried: list[dict[str, str]], held: list[dict[str, str]], words: int, formula: str,
             topics: int, iterations: int) -> tuple[float, Any, Any]:  # fmt: skip
    """Seconds, φ and priors of ours."""
    import topicx
    from topicx.corpus.corpus import Corpus
    from topicx.corpus.table import Names, Table
    from topicx.models.dmr import design_of
    from topicx.strings import Strings

    def table(rows: list[dict[str, str]]) -> Table:
        return Table({name: Names.of([row[name] for row in rows]) for name in rows[0]})

    flat = np.fromiter((word for each in train for word in each), np.uint32)
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in train])]).astype(np.int64)
    corpus = Corpus(flat, offsets, Strings.of(f"w{word}" for word in range(words)), columns=table(carried).packed())
    lda = topicx.DMR(topics=topics, formula=formula, iterations=iterations, seed=1, threads=1, verbose=False)
    begin = time.process_time()
    model = lda.fit(corpus).model
    seconds = time.process_time() - begin
    rows = design_of(model.meta).rows(table(held), len(held)).matrix
    return seconds, model.topic_word, np.exp(rows @ model.side["coefficients"].T)


def race(data: Path, peer: str, name: str, topics: int, most: int) -> dict[str, Any]:
    """One corpus and number of topics."""
    documents, carried, words = read_corpus(data, name, most)
    chosen = np.random.Generator(np.random.Philox(5)).permutation(len(documents)) < len(documents) // 10
    train = [each for each, out in zip(documents, chosen) if not out]
    held = [each for each, out in zip(documents, chosen) if out]
    known = [each for each, out in zip(carried, chosen) if not out]
    asked = [each for each, out in zip(carried, chosen) if out]
    place = Path(f"metadata_race.{name}.{topics}.json").resolve()
    lists = {"train": train, "carried": [list(one.values()) for one in known], "words": words,
             "held": [list(one.values()) for one in asked]}  # fmt: skip
    place.write_text(json.dumps(lists))
    subprocess.run([peer, __file__, "--peers-run", str(place), "--topics", str(topics)], check=True)
    theirs = np.load(str(place) + ".npz")
    goal = perplexity(theirs["prior"], theirs["phi"], held)
    found: dict[str, Any] = {
        "corpus": name, "topics": topics, "documents": len(train), "tokens": sum(map(len, train)),
        "tomotopy": [float(theirs["seconds"]), goal], "ours": [],
    }  # fmt: skip
    for iterations in TRIED:
        seconds, phi, prior = ours_run(train, known, asked, words, FORMULAS[name], topics, iterations)
        found["ours"].append([iterations, seconds, perplexity(prior, phi, held)])
        if found["ours"][-1][2] <= goal:
            found["times sooner"] = float(theirs["seconds"]) / seconds
            break
    place.unlink()
    Path(str(place) + ".npz").unlink()
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--peer", default=sys.executable, help="a Python that has tomotopy")
    parser.add_argument("--corpus", default="sotu,imdb")
    parser.add_argument("--topics", default="50,100")
    parser.add_argument("--most", type=int, default=10_000, help="reviews of imdb")
    parser.add_argument("--peers-run", default="", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.peers_run:
        peers_run(chosen.peers_run, int(chosen.topics))
        return
    for name in chosen.corpus.split(","):
        for topics in chosen.topics.split(","):
            print(json.dumps(race(chosen.data, chosen.peer, name, int(topics), chosen.most)), flush=True)


if __name__ == "__main__":
    main()
