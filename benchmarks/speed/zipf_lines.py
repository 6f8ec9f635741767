"""Writes synthetic lines `name TAB label TAB words` to measure import by: zipf_lines.py FILE MEGABYTES [WORDS
A DOCUMENT]

200,000 words by a Zipf law, the frequent ones short. The same call writes the same file.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

WORDS = 200_000
DOCUMENTS = 1000


def vocabulary(random: np.random.Generator) -> np.ndarray:
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    words: dict[str, None] = {}
    while len(words) < WORDS:
        length = max(2, int(random.normal(2 + np.log10(len(words) + 2) * 1.2, 1)))
        word = "".join(random.choice(letters, size=length))
        while word in words:
            word += random.choice(letters)
        words[word] = None
    return np.array(list(words), dtype=object)


def main(out: str, megabytes: float, length: int = 120) -> None:
    random = np.random.default_rng(1)
    words = vocabulary(random)
    shares = 1 / (np.arange(WORDS) + 2.7)
    steps = np.cumsum(shares / shares.sum())
    written = document = 0
    with Path(out).open("w", encoding="utf-8") as stream:
        while written < megabytes * 1e6:
            drawn = np.minimum(np.searchsorted(steps, random.random((DOCUMENTS, length))), WORDS - 1)
            for row in words[drawn]:
                line = f"doc{document}\tlabel{document % 20}\t{' '.join(row)}\n"
                written += stream.write(line)
                document += 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], float(sys.argv[2]), *map(int, sys.argv[3:4]))
