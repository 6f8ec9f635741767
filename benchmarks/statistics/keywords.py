"""Topics with keywords (`--model keyword`) beside seed words, tomotopy's word priors and topica's KeyATM.

    python benchmarks/statistics/keywords.py --planted --peer /path/to/python -o planted.json
    python benchmarks/statistics/keywords.py --data DIR --peer /path/to/python -o labels.json

--planted: 20 topics, ten of which have 1 to 10 keywords each among their 30 most frequent words; a keyword is wrong
(another topic's word) with a chance of 5%. A topic is found if its words' probabilities have a correlation of .8 with
the planted ones, under its own name. --data: eight classes of Reuters and 20 Newsgroups, with the labels' names
as keywords; a document is right if its label's topic is the most probable of those with keywords. DIR has a folder a
corpus, with docs.tsv.gz: id, label and text, a document a line. Seconds are of a processor.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from peer_process import run_peer

import topicx

Keywords = dict[str, list[str]]
REUTERS: Keywords = {
    "acq": ["acquisition", "acquire"], "crude": ["crude", "oil"], "earn": ["earnings", "earned"],
    "grain": ["grain", "grains"], "interest": ["interest"], "money-fx": ["money", "exchange"],
    "ship": ["ship", "shipping", "ships"], "trade": ["trade"],
}  # fmt: skip
NEWSGROUPS: Keywords = {
    "alt.atheism": ["atheism", "atheist", "atheists"], "comp.graphics": ["graphics"],
    "comp.os.ms-windows.misc": ["windows"], "comp.sys.ibm.pc.hardware": ["ibm", "pc", "hardware"],
    "comp.sys.mac.hardware": ["mac", "hardware"], "comp.windows.x": ["window", "windows"], "misc.forsale": ["sale"],
    "rec.autos": ["auto", "autos", "car"], "rec.motorcycles": ["motorcycle", "motorcycles"],
    "rec.sport.baseball": ["baseball"], "rec.sport.hockey": ["hockey"], "sci.crypt": ["crypt", "cryptography"],
    "sci.electronics": ["electronics"], "sci.med": ["med", "medical", "medicine"], "sci.space": ["space"],
    "soc.religion.christian": ["religion", "christian", "christians"], "talk.politics.guns": ["politics", "guns"],
    "talk.politics.mideast": ["politics", "mideast"], "talk.politics.misc": ["politics"],
    "talk.religion.misc": ["religion"],
}  # fmt: skip
PEERS = {
    "tomotopy's word priors": """
import tomotopy as tp
model = tp.LDAModel(k=job["topics"], alpha=0.1, eta=0.01, seed=job["seed"])
for words in job["documents"]:
    model.add_doc(words)
for k, words in enumerate(job["keywords"].values()):
    for word in words:
        model.set_word_prior(word, [1.0 if j == k else 0.001 for j in range(job["topics"])])
begin = time.process_time()
model.train(job["iterations"], workers=1)
seconds = time.process_time() - begin
theta = np.array([doc.get_topic_dist() for doc in model.docs])
phi = np.array([model.get_topic_word_dist(k) for k in range(model.k)])
np.savez(sys.argv[2], theta=theta, phi=phi, words=np.array(list(model.used_vocabs)), seconds=seconds)
""",
    "topica's KeyATM": """
import topica
begin = time.process_time()
model = topica.KeyATM(job["keywords"], num_topics=job["topics"], seed=job["seed"])
model.fit(job["documents"], iters=job["iterations"], progress_interval=1000000)
seconds = time.process_time() - begin
np.savez(sys.argv[2], theta=np.array(model.doc_topic), phi=np.array(model.topic_word), words=np.array(model.vocabulary),
         seconds=seconds)
""",
}


def fitted(
    given: argparse.Namespace, documents: list[list[str]], keywords: Keywords, residual: int, seed: int
) -> Iterator[tuple[str, np.ndarray, np.ndarray, list[str], float]]:
    """Each model's name, θ, φ, words and seconds; the topics of keywords come first."""
    corpus = topicx.Corpus.from_documents(documents)
    words, topics = list(corpus.vocabulary), len(keywords) + residual
    common: dict[str, Any] = {"iterations": given.iterations, "seed": seed, "threads": 1, "verbose": False}
    learn = {"optimize_interval": 10, "optimize_burn_in": 20, "optimize": "alpha", "start": "random"}
    known = set(words)
    for name in ("keyword", "seed words"):
        begin = time.process_time()
        if name == "keyword":
            own = {"keywords": keywords, "residual": residual}
            found = topicx.LDA(model="keyword", own=own, **common, **learn).fit(corpus)
        else:
            seeds = {k: [w for w in own if w in known] for k, own in enumerate(keywords.values())}
            found = topicx.LDA(topics=topics, seed_words=seeds, **common, **learn).fit(corpus)
        seconds = time.process_time() - begin
        yield name, np.asarray(found.document_topic), np.asarray(found.topic_word), words, seconds
    for name, program in PEERS.items() if given.peer else ():
        if name.split("'")[0] not in given.peers.split(","):
            continue
        job = {"documents": documents, "keywords": keywords, "topics": topics, "seed": seed,
               "iterations": given.peer_iterations}  # fmt: skip
        out = run_peer(given.peer, program, job)
        yield name, out["theta"], out["phi"], [str(w) for w in out["words"]], float(out["seconds"])


def planted(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """How many of ten planted topics are found under their names, by the number of their keywords."""
    topics, named, words, documents, length = 20, 10, 2000, given.documents, 60
    for number in given.numbers:
        totals: dict[str, list[tuple[float, float, float]]] = {}
        for repeat in range(given.repeats):
            random = np.random.default_rng(1000 * number + repeat)
            phi = random.dirichlet(np.full(words, 0.05), topics)
            theta = random.dirichlet(np.full(topics, 0.1), documents)
            texts = []
            for row in theta:
                z = random.multinomial(length, row)
                texts.append(
                    [f"w{w}" for k in np.flatnonzero(z) for w in random.choice(words, z[k], p=phi[k]).tolist()]
                )
            known = {word for text in texts for word in text}
            keywords: Keywords = {}
            for k in range(named):
                top = [w for w in np.argsort(-phi[k])[:30] if f"w{w}" in known]
                right = random.choice(top, number, replace=False).tolist()
                other = [w for j in range(topics) if j != k for w in np.argsort(-phi[j])[:30] if f"w{w}" in known]
                own = [int(random.choice(other)) if random.random() < 0.05 else w for w in right]
                keywords[f"topic{k}"] = sorted({f"w{w}" for w in own})
            for name, found_theta, found_phi, names, seconds in fitted(
                given, texts, keywords, topics - named, given.seed
            ):
                order = np.array([int(word[1:]) for word in names])
                truth = phi[:named, order]
                alike = [np.corrcoef(truth[k], found_phi[k])[0, 1] for k in range(named)]
                strong = theta[:, :named].max(axis=1) > 0.5
                own_topic = found_theta[strong].argmax(axis=1) == theta[strong].argmax(axis=1)
                totals.setdefault(name, []).append((np.mean(np.array(alike) > 0.8), own_topic.mean(), seconds))
        for name, figures in totals.items():
            found, right_documents, spent = np.mean(figures, axis=0)
            row = {"keywords": number, "model": name, "found": round(float(found), 3),
                   "documents": round(float(right_documents), 3), "seconds": round(float(spent), 2)}  # fmt: skip
            print(json.dumps(row), flush=True)
            yield row


def labelled(given: argparse.Namespace, name: str, keywords: Keywords) -> tuple[list[list[str]], np.ndarray]:
    """The documents with one of these labels, cut to some words, and the labels' numbers."""
    documents, labels, place = [], [], {label: at for at, label in enumerate(keywords)}
    with gzip.open(Path(given.data, name, "docs.tsv.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            _, label, text = line.rstrip("\n").split("\t")
            if label in place:
                documents.append(text.split()[: given.longest])
                labels.append(place[label])
    known = Counter(word for words in documents for word in set(words))
    documents = [[word for word in words if known[word] > 4] for words in documents]
    kept = [at for at, words in enumerate(documents) if words]
    return [documents[at] for at in kept], np.array([labels[at] for at in kept])


def by_labels(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for name in given.corpora.split(","):
        keywords = {"reuters21578": REUTERS, "20news-bydate": NEWSGROUPS}[name]
        documents, labels = labelled(given, name, keywords)
        tokens = sum(len(words) for words in documents)
        print(f"{name}: {len(documents):,} documents, {tokens:,} tokens, {len(keywords)} labels", flush=True)
        totals: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(given.seed, given.seed + given.repeats):
            for title, theta, _, _, seconds in fitted(given, documents, keywords, given.residual, seed):
                right = theta[:, : len(keywords)].argmax(axis=1) == labels
                each = float(np.mean([right[labels == k].mean() for k in range(len(keywords))]))
                totals.setdefault(title, []).append((float(right.mean()), each, seconds))
        for title, figures in totals.items():
            right_mean, each_mean, spent = np.mean(figures, axis=0)
            found = [row[0] for row in figures]
            row = {"corpus": name, "residual": given.residual, "model": title, "right": round(float(right_mean), 3),
                   "from": round(min(found), 3), "to": round(max(found), 3),
                   "mean of classes": round(float(each_mean), 3), "seconds": round(float(spent), 2)}  # fmt: skip
            print(json.dumps(row), flush=True)
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="the folder of the corpora")
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--numbers", type=int, nargs="+", default=[1, 2, 3, 5, 10], help="of keywords, for --planted")
    parser.add_argument("--documents", type=int, default=1000, help="planted ones")
    parser.add_argument("--repeats", type=int, default=3, help="planted corpora for each number, or seeds")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--peer-iterations", type=int, default=200)
    parser.add_argument("--residual", type=int, default=10)
    parser.add_argument("--longest", type=int, default=60, help="words of a document that are taken")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpora", default="reuters21578,20news-bydate")
    parser.add_argument("--peer", default="", help="a Python that has tomotopy and topica")
    parser.add_argument("--peers", default="tomotopy,topica", help="which of them")
    parser.add_argument("-o", "--output", default="")
    given = parser.parse_args()
    rows = list(planted(given)) if given.planted else []
    rows += list(by_labels(given)) if given.data else []
    if given.output:
        Path(given.output).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
