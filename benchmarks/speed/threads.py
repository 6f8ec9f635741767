"""Two threads against one: tokens per second, and whether the likelihood is the same (it is, bit for bit)."""

from __future__ import annotations

from collections.abc import Sequence

import common

from topicx.bench import bench_runs, comparison

CORPUS = "nips0-12"
SAMPLERS = ["auto", "dense"]


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    given = common.start(__doc__ or "", arguments)
    store = given.store("threads")
    figures = []
    for topics in (20,) if given.quick else (100, 1000):
        for sampler in SAMPLERS:
            ratios, equal = [], True
            for seed in given.seeds:
                speeds, ends = [], []
                for threads in (1, 2):
                    settings = comparison.Settings(
                        topics=topics, iterations=12 if given.quick else 60, seed=seed, threads=threads, limit=1e9,
                        density=1000, burn_in=1, samples=1,
                    )  # fmt: skip

                    def run(sampler: str = sampler, settings: comparison.Settings = settings) -> object:
                        program = f"{sampler}:start=random"
                        return bench_runs.compare_programs(given.corpus(CORPUS), [program], settings).to_json()

                    result = comparison.load_result(
                        store.get(f"{sampler} K={topics} seed={seed} threads={threads}", run)
                    )
                    speeds.append(result.runs[0].late or float("nan"))
                    ends.append(result.runs[0].rows[-1].likelihood)
                ratios.append(speeds[1] / speeds[0])
                equal = equal and ends[0] == ends[1]
            measured = f"{common.spread(ratios)}; likelihood {'the same' if equal else 'DIFFERENT'}"
            command = "python benchmarks/speed/threads.py --data DIR"
            name = f"tokens/s of two threads / one, {sampler}, {CORPUS}, K={topics}"
            figures.append(common.Figure(name, "1.75", measured, command))
    return figures


if __name__ == "__main__":
    common.show(main())
