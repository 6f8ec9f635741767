"""Tokens per second of every exact sampler and of tomotopy, early and late in a run from a random start, by K."""

from __future__ import annotations

from collections.abc import Sequence

import common

from topicx.bench import bench_runs, comparison
from topicx.sampling import sampler_registry

CORPUS = "nips0-12"
MUST = {20: 1.1, 100: 1.7, 1000: 5.0}
LARGE, LARGE_MUST = 10_000, 0.4
SLOW_FOR_MANY = ("dense", "partial")
"""Not measured at LARGE: every topic of every token."""
SWEEPS = {20: 200, 100: 200, 1000: 100, LARGE: 40}


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    given = common.start(__doc__ or "", arguments)
    store = given.store("tokens_per_second")
    exact = [
        entry.name
        for entry in sampler_registry.ENTRIES.values()
        if entry.group == sampler_registry.EXACT and given.wants(entry.name)
    ]
    others = [entry.name for entry in sampler_registry.ENTRIES.values() if sampling(entry) and given.wants(entry.name)]
    command = "python benchmarks/speed/tokens_per_second.py --data DIR"
    figures = []
    best: dict[int, float] = {}
    for topics in (20, 100) if given.quick else (*MUST, LARGE):
        late: dict[str, list[float]] = {}
        early: dict[str, list[float]] = {}
        names = [*exact, *others, *(["tomotopy"] if topics <= 1000 and bench_runs.is_installed("tomotopy") else [])]
        if topics > 1000:
            names = [name for name in names if name not in SLOW_FOR_MANY]
        for seed in given.seeds:
            settings = comparison.Settings(
                topics=topics,
                iterations=12 if given.quick else SWEEPS[topics],
                seed=seed,
                limit=1e9,
                evaluate=False,
                clock=given.clock,
            )
            for name in names:
                program = name if name == "tomotopy" else f"{name}:start=random"

                def run(program: str = program, settings: comparison.Settings = settings) -> object:
                    return bench_runs.compare_programs(given.corpus(CORPUS), [program], settings).to_json()

                result = comparison.load_result(store.get(f"K={topics} seed={seed} {program}", run)).runs[0]
                if result.problem or not result.late or not result.early:
                    print(f"{program}, K={topics}: {result.problem or 'too short to time'}")
                    continue
                late.setdefault(name, []).append(result.late / 1e6)
                early.setdefault(name, []).append(result.early / 1e6)
        print(f"\n{CORPUS}, K={topics}: M tokens/s, early and late")
        for name in late:
            print(
                f"  {name:10} {common.spread(early[name], '.1f'):>24} {common.spread(late[name], '.1f'):>24}",
                flush=True,
            )
        if not any(name in exact for name in late):
            continue
        winner = max((name for name in late if name in exact), key=lambda name: common.median(late[name]))
        best[topics] = common.median(late[winner])
        if "tomotopy" in late and topics in MUST:
            ratio = best[topics] / common.median(late["tomotopy"])
            first = common.median(early[winner]) / common.median(early["tomotopy"])
            measured = (
                f"{ratio:.2f} late, {first:.2f} early ({winner} {common.spread(late[winner], '.1f')}, "
                f"tomotopy {common.spread(late['tomotopy'], '.1f')} M tokens/s late)"
            )
            name = f"tokens/s of the best exact sampler / tomotopy's, {CORPUS}, K={topics}"
            figures.append(common.Figure(name, str(MUST[topics]), measured, command))
    if LARGE in best:
        measured = f"{best[LARGE] / best[1000]:.2f} ({best[LARGE]:.1f} M tokens/s)"
        figures.append(common.Figure("tokens/s at K=10,000 / at K=1000", str(LARGE_MUST), measured, command))
    return figures


def sampling(entry: sampler_registry.Entry) -> bool:
    return entry.group in (sampler_registry.MH, sampler_registry.APPROXIMATE)


if __name__ == "__main__":
    common.show(main())
