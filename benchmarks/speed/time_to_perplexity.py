"""Seconds to the held-out perplexity (and the joint likelihood) that tomotopy has after 200 sweeps, and the ratio.

One thread, α=0.1, β=0.01, our defaults (`auto`), and one evaluator for both programs' φ.
"""

from __future__ import annotations

from collections.abc import Sequence

import common

from topicx.report import bench, comparison, comparison_views

CASES = [
    ("nips0-12", 100, 2), ("20news-lda", 100, 2), ("imdb", 100, 2), ("nips0-12", 1000, 6), ("20news-lda", 1000, 6),
]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    given = common.start(__doc__ or "", arguments)
    store = given.store("time_to_perplexity")
    figures = []
    for name, topics, must in CASES[:1] if given.quick else CASES:
        found: dict[str, list[float]] = {"perplexity": [], "likelihood": []}
        seconds = []
        for seed in given.seeds:
            settings = comparison.Settings(
                topics=topics, iterations=200, seed=seed, limit=1e9, density=1.35, clock=given.clock
            )
            if given.quick:
                settings = comparison.Settings(
                    topics=5, iterations=20, seed=seed, burn_in=5, samples=5, clock=given.clock
                )

            def run(name: str = name, settings: comparison.Settings = settings) -> object:
                programs = ["auto:iterations=300", "tomotopy"] if bench.installed("tomotopy") else ["auto", "dense"]
                result = bench.compare(given.corpus(name), programs, settings, say=common.note)
                comparison_views.plot(
                    result, given.out / f"time_to_perplexity-{name}-{settings.topics}-{settings.seed}.png"
                )
                return result.to_json()

            result = comparison.load_result(store.get(f"{name} K={topics} seed={seed}", run))
            print(f"\n{name}, seed {seed}\n{comparison_views.table(result)}", flush=True)
            ours = next(line for line in result.comparison() if line["program"].startswith("auto"))
            for what, ratios in found.items():
                if ours[what]["ratio"]:
                    ratios.append(ours[what]["ratio"])
            if ours["perplexity"]["seconds"]:
                seconds.append(ours["perplexity"]["seconds"])
        command = "python benchmarks/speed/time_to_perplexity.py --data DIR"
        label = f"tomotopy's seconds for 200 sweeps / ours to its perplexity, {name}, K={topics}"
        measured = f"{common.spread(found['perplexity'])}; ours {common.spread(seconds, '.1f')} s"
        if len(seconds) < len(given.seeds):
            measured += (
                f"; not within our 300 sweeps with {len(given.seeds) - len(seconds)} of {len(given.seeds)} seeds"
            )
        figures.append(common.Figure(label, str(must), measured, command))
        label = f"the same by joint likelihood, {name}, K={topics}"
        figures.append(common.Figure(label, "reported", common.spread(found["likelihood"]), command))
    return figures


if __name__ == "__main__":
    common.show(main())
