"""Is every sampler as good as the dense one, sweep for sweep? Likelihood after 200 sweeps from a random start."""

from __future__ import annotations

from collections.abc import Sequence

import common

from topicx.bench import bench_runs, comparison
from topicx.sampling import sampler_registry

CORPUS, TOPICS = "nips0-12", 100


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    given = common.start(__doc__ or "", arguments)
    store = given.store("quality")
    seeds = given.seeds if given.quick else list(range(1, max(len(given.seeds), 5) + 1))
    entries = [
        e
        for e in sampler_registry.ENTRIES.values()
        if e.group != sampler_registry.VARIATIONAL and (given.wants(e.name) or e.name == "dense")
    ]
    likelihoods: dict[str, list[float]] = {}
    perplexities: dict[str, list[float]] = {}
    for entry in entries:
        for seed in seeds:
            settings = comparison.Settings(
                topics=20 if given.quick else TOPICS,
                iterations=12 if given.quick else 200,
                limit=1e9,
                density=1000,
                seed=seed,
            )

            def run(name: str = entry.name, settings: comparison.Settings = settings) -> object:
                return bench_runs.compare_programs(given.corpus(CORPUS), [f"{name}:start=random"], settings).to_json()

            result = comparison.load_result(store.get(f"{entry.name} seed={seed}", run)).runs[0]
            if result.problem:
                print(f"{entry.name}: {result.problem}")
                continue
            likelihoods.setdefault(entry.name, []).append(result.rows[-1].likelihood or float("nan"))
            perplexities.setdefault(entry.name, []).append(result.rows[-1].perplexity or float("nan"))
    figures = []
    dense = likelihoods["dense"]
    width = max(dense) - min(dense)
    for name, values in likelihoods.items():
        difference = sum(values) / len(values) - sum(dense) / len(dense)
        exact = sampler_registry.ENTRIES[name].group == sampler_registry.EXACT
        measured = (
            f"mean {difference:+.4f} from dense, whose seeds range over {width:.4f}; perplexity "
            f"{common.spread(perplexities[name], '.1f')}"
        )
        label = f"likelihood per token after 200 sweeps, {name}, {CORPUS}, K={TOPICS}"
        must = f"within {width:.4f}" if exact else "reported"
        figures.append(common.Figure(label, must, measured, "python benchmarks/speed/quality.py --data DIR"))
    return figures


if __name__ == "__main__":
    common.show(main())
