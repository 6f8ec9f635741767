"""Small corpora in the form of those that `benchmarks/papers` reads: synthetic words under the same folder names."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

TOPICS, WORDS, DOCUMENTS, TOKENS = 8, 240, 240, 50
KINDS = {
    "20news-bydate": [f"group.{number}" for number in range(TOPICS)],
    "20news-lda": ["alt.atheism", "talk.religion.misc"],
    "imdb": [str(number) for number in range(1, 11)],
    "mulan-delicious": [f"TAG_{number}" for number in range(TOPICS)],
    "news16-clda": ["computers", "politics", "science", "sports"],
    "nips0-12": [str(number) for number in range(1987, 2006)],
    "reuters-lda": ["-"],
    "reuters21578": ["-"],
    "uci-kos": ["-"],
}
"""The labels of each corpus."""


def write_paper_corpora(folder: Path) -> Path:
    """Write all corpora below a folder: documents, and where labels are learnt which are for testing."""
    for number, (name, labels) in enumerate(KINDS.items()):
        draws = np.random.default_rng(number)
        topics = draws.dirichlet(np.full(WORDS, 0.05), TOPICS)
        rows, split = [], []
        for document in range(DOCUMENTS):
            label = labels[document % len(labels)]
            weights = np.full(TOPICS, 0.1)
            weights[document % len(labels) % TOPICS] = 2.0  # labels tell words
            tokens = draws.choice(WORDS, TOKENS, p=draws.dirichlet(weights) @ topics)
            several = f"{label},{labels[(document // 3) % len(labels)]}" if name.startswith("mulan") else label
            rows.append(f"{document}\t{several}\t{' '.join(f'word{token}' for token in tokens)}\n")
            split.append(f"{document}\t{'test' if document // len(labels) % 4 == 3 else 'train'}\n")
        (folder / name).mkdir(parents=True)
        files = {"docs.tsv.gz": rows} | ({"split.tsv.gz": split} if labels != ["-"] and name != "nips0-12" else {})
        for file, lines in files.items():
            with gzip.open(folder / name / file, "wt", encoding="utf-8") as out:
                out.writelines(lines)
    return folder
