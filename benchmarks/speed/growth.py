"""How the cost of a sweep grows with the corpus: synthetic Zipf corpora from half a million to 50 million tokens.

The vocabulary is the same at all sizes, so that tokens are all that grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import common

from topicx import datasets
from topicx.bench import bench_runs, comparison

TOKENS = (500_000, 1_500_000, 5_000_000, 15_000_000, 50_000_000)
LENGTH, WORDS, TOPICS, SWEEPS = 200, 50_000, 100, 30
SAMPLERS = ["sparse", "dense"]


def main(arguments: Sequence[str] | None = None) -> list[common.Figure]:
    given = common.start(__doc__ or "", arguments)
    store = given.store("growth")
    figures = []
    for sampler in SAMPLERS:
        costs: dict[int, float] = {}
        for tokens in (5_000, 10_000, 20_000) if given.quick else TOKENS:

            def run(sampler: str = sampler, tokens: int = tokens) -> Any:
                corpus = datasets.make("zipf", 1, documents=tokens // LENGTH, tokens=LENGTH, words=WORDS, topics=TOPICS)
                settings = comparison.Settings(
                    topics=TOPICS,
                    iterations=SWEEPS,
                    limit=1e9,
                    evaluate=False,
                    clock=given.clock,
                    held_out=1e-3 if tokens > 10**5 else 0.1,
                )
                return bench_runs.compare_programs(corpus, [f"{sampler}:start=random"], settings).to_json()

            result = comparison.load_result(store.get(f"{sampler} {tokens}", run))
            late = result.runs[0].late
            if late:
                costs[tokens] = 1e9 / late
        print(f"\n{sampler}: nanoseconds a token (K={TOPICS}, V={WORDS}, {SWEEPS} sweeps, the last ten)")
        for tokens, cost in costs.items():
            print(f"  {tokens:>12,} tokens  {cost:7.1f} ns  {cost * tokens / 1e9:8.3f} s a sweep")
        if costs:
            middle = common.median(list(costs.values()))
            low, high = min(costs.values()) / middle - 1, max(costs.values()) / middle - 1
            sizes = f"{min(costs):,} to {max(costs):,} tokens"
            measured = f"{low:+.0%} to {high:+.0%} of the median {middle:.0f} ns a token"
            command = "python benchmarks/speed/growth.py"
            figures.append(
                common.Figure(
                    f"seconds a sweep against tokens, {sampler}, K={TOPICS}, {sizes}", "within 20%", measured, command
                )
            )
    return figures


if __name__ == "__main__":
    common.show(main())
