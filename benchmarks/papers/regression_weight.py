"""How much numbers should weigh against words in MedLDA: R² of held-out documents by λ and the number of topics.

    python benchmarks/papers/regression_weight.py CORPUS --target rating --topics 20,50 --seeds 2

CORPUS is a corpus file whose documents carry the column. A quarter of the documents is held out. The row `default` is
the λ that is taken where none is given.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from topicx import Corpus, MedLDA

WEIGHTS = (1.0, 3.16, 10.0, 31.6, 102.4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus")
    parser.add_argument("--target", default="score")
    parser.add_argument("--topics", default="20,50")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--sampler", default="auto")
    parser.add_argument("--weights", default=",".join(map(str, WEIGHTS)))
    arguments = parser.parse_args()
    corpus = Corpus.load(arguments.corpus)
    values = np.array([np.nan if x is None else float(x) for x in corpus.table[arguments.target].told()])
    order = np.random.default_rng(1).permutation(np.flatnonzero(np.isfinite(values) & (corpus.lengths > 0)))
    held, kept = np.sort(order[: len(order) // 4]), np.sort(order[len(order) // 4 :])
    train, test = corpus[kept], corpus[held]
    print(f"{len(train):,} documents, {train.n_tokens / len(train):.0f} words each", flush=True)
    for topics in map(int, arguments.topics.split(",")):
        for weight in [*map(float, arguments.weights.split(",")), None]:
            found, began = [], time.process_time()
            for seed in range(1, arguments.seeds + 1):
                given = {} if weight is None else {"lambda_": weight}
                model = MedLDA(
                    topics, task="regression", target=arguments.target, iterations=arguments.iterations, seed=seed,
                    sampler=arguments.sampler, threads=1, verbose=False, **given,
                ).fit(train)  # fmt: skip
                wrong = np.asarray(model.predict(test), float) - values[held]
                found.append(1 - np.sum(wrong**2) / np.sum((values[held] - values[held].mean()) ** 2))
            told = " ".join(f"{value:.3f}" for value in found)
            name = "default" if weight is None else f"{weight:g}"
            print(f"{topics}\t{name}\t{np.mean(found):.3f}\t{told}\t{time.process_time() - began:.1f} s", flush=True)


if __name__ == "__main__":
    main()
