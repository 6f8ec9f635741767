"""Estimates of a group's effect beside topica's `estimate_effect`, on documents whose effects are known.

    python benchmarks/statistics/effects_peers.py --peer ~/peers/bin/python --runs 20 --tokens 30,100 -o beside.jsonl
    python benchmarks/statistics/effects_peers.py --peer ~/peers/bin/python --cost 20000

Two groups of documents, as effects_coverage.py makes them. Each program learns the topics from the same documents whose
effects are asked, and they are matched with the true ones. topica: its LDA with draws of θ, its DMR and its STM with
the group as a column. Ours: LDA, then effects. Told are estimate / truth by regression through 0, and how many of the
95% intervals hold the truth. --cost: seconds and memory of topica's draws and regressions alone, θ being given, for so
many documents, 100 topics and 10 columns.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

TOPICS, DOCUMENTS, SWEEPS, DRAWS = 5, 400, 300, 25


def peers_run(path: str) -> None:
    """In the peer's Python: topics, and the effects of each topic by each of its ways."""
    import topica

    given = json.loads(Path(path).read_text())
    texts = [[f"w{word}" for word in words] for words in given["documents"]]
    group = np.array(given["group"], dtype=float)[:, None]
    corpus = topica.Corpus.from_documents(texts)
    found: dict[str, Any] = {}
    for name in ("LDA", "DMR", "STM"):
        if name == "STM":
            model = topica.STM(TOPICS, seed=given["seed"])
            model.fit(corpus, prevalence=group, prevalence_names=["group"], num_threads=1)
        elif name == "DMR":
            model = topica.DMR(TOPICS, seed=given["seed"], burn_in=50)
            model.fit(corpus, group, feature_names=["group"], iters=SWEEPS)
        else:
            model = topica.LDA(TOPICS, seed=given["seed"], optimize_interval=10, burn_in=50)
            model.fit(corpus, iters=SWEEPS)
        effects = topica.estimate_effect(
            model, group, feature_names=["group"], nsims=DRAWS, seed=given["seed"], corpus=corpus, uncertainty="local"
        )
        rows = effects.to_frame()
        rows = rows[rows["feature"] == "group"]
        place = {word: number for number, word in enumerate(model.vocabulary)}
        phi = np.concatenate([np.asarray(model.topic_word), np.full((TOPICS, 1), 1e-9)], axis=1)
        order = [place.get(f"w{word}", -1) for word in range(given["words"])]
        found[name] = {
            "phi": phi[:, order].tolist(), "estimate": rows[given["columns"][0]].tolist(),
            "low": rows[given["columns"][1]].tolist(), "high": rows[given["columns"][2]].tolist(),
        }  # fmt: skip
    Path(path + ".out").write_text(json.dumps(found))


def peers_cost(documents: int) -> None:
    """In the peer's Python: draws of θ and their regressions, for one θ."""
    import topica

    rng = np.random.Generator(np.random.Philox(1))
    theta = rng.standard_gamma(0.05, (documents, 100)) + 1e-9
    theta /= theta.sum(axis=1, keepdims=True)
    design = rng.integers(0, 2, (documents, 9)).astype(float)
    before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    draws = topica.dirichlet_theta_samples(theta, [150] * documents, nsims=20, prior=5.0)
    middle = time.process_time()
    topica.estimate_effect(draws, design)
    end, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{documents:,}: draws {middle - begin:.1f} s, regressions {end - middle:.1f} s; "
          f"{before * 1024 / 1e6:,.0f} MB before, {most * 1024 / 1e6:,.0f} MB at most")  # fmt: skip


def one_run(peer: str, run: int, tokens: int, columns: list[str]) -> dict[str, Any]:
    """Estimates, truths and whether intervals hold, by program."""
    from effects_coverage import WORDS, Truth, made_model

    import topicx
    from topicx.estimate.topic_alignment import align_topics

    rng = np.random.Generator(np.random.Philox(key=[run, TOPICS * 1000 + tokens]))
    phi = rng.dirichlet(np.full(WORDS, 0.05), TOPICS) + 1e-6
    phi /= phi.sum(axis=1, keepdims=True)
    truth = Truth(rng, TOPICS, "groups")
    corpus = truth.documents(rng, phi, DOCUMENTS, tokens)
    a, b = truth.shares([0, 1])
    lists = np.asarray(corpus.words).reshape(DOCUMENTS, tokens).tolist()
    given = {"documents": lists, "group": (np.arange(DOCUMENTS) % 2).tolist(), "words": WORDS, "seed": run,
             "columns": columns}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.json"
        path.write_text(json.dumps(given))
        subprocess.run([peer, __file__, "--peers-run", str(path)], check=True, stdout=subprocess.DEVNULL)
        theirs = json.loads(Path(str(path) + ".out").read_text())
    model = topicx.LDA(topics=TOPICS, iterations=SWEEPS, optimize_interval=10, seed=run, verbose=False, threads=1)
    fitted = model.fit(corpus).model
    rows = [row for row in topicx.effects(fitted, corpus, "~ group", seed=run, threads=1).rows()
            if row["term"] != "Intercept"]  # fmt: skip
    programs = {f"topica {name}": one for name, one in theirs.items()}
    programs["topicx"] = {
        "phi": fitted.topic_word, "estimate": [row["estimate"] for row in rows],
        "low": [row["conf_low"] for row in rows], "high": [row["conf_high"] for row in rows],
    }  # fmt: skip
    found: dict[str, Any] = {"run": run, "tokens": tokens, "truth": (b - a).tolist()}
    for name, one in programs.items():
        pairs = align_topics(made_model(phi), made_model(np.maximum(np.asarray(one["phi"]), 1e-9)))
        order = [pair.b for pair in pairs if pair.a is not None]
        estimate, low, high = (np.asarray(one[what])[order] for what in ("estimate", "low", "high"))
        found[name] = {"estimate": estimate.tolist(), "held": ((low <= b - a) & (b - a <= high)).tolist(),
                       "width": (high - low).tolist()}  # fmt: skip
    return found


def told(runs: list[dict[str, Any]]) -> str:
    """A table of what the runs found."""
    lines = ["| Tokens | Program | Estimate / truth | Held | Mean width | Runs |", "|---|---|---|---|---|---|"]
    for tokens in sorted({run["tokens"] for run in runs}):
        mine = [run for run in runs if run["tokens"] == tokens]
        truth = np.array([run["truth"] for run in mine])
        for name in sorted(set(mine[0]) - {"run", "tokens", "truth"}):
            estimate, held, width = (
                np.array([run[name][what] for run in mine]) for what in ("estimate", "held", "width")
            )
            ratio = float((estimate * truth).sum() / (truth * truth).sum())
            lines.append(f"| {tokens} | {name} | {ratio:.2f} | {held.mean():.3f} | {width.mean():.4f} | {len(mine)} |")
    return "\n".join(lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--peer", default=sys.executable, help="a Python that has topica and pandas")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--tokens", default="30,100")
    parser.add_argument("--columns", default="coef,ci_low,ci_high", help="of the peer's table")
    parser.add_argument("--cost", type=int, default=0, help="time the peer's draws for so many documents")
    parser.add_argument("--peers-run", default="", help=argparse.SUPPRESS)
    parser.add_argument("--peers-cost", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", default="beside.jsonl")
    chosen = parser.parse_args()
    if chosen.peers_run:
        peers_run(chosen.peers_run)
    elif chosen.peers_cost:
        peers_cost(chosen.peers_cost)
    elif chosen.cost:
        subprocess.run([chosen.peer, __file__, "--peers-cost", str(chosen.cost)], check=True)
    else:
        path = Path(chosen.output)
        runs = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        done = {(one["run"], one["tokens"]) for one in runs}
        for run in range(1, chosen.runs + 1):
            for tokens in map(int, chosen.tokens.split(",")):
                if (run, tokens) not in done:
                    runs.append(one_run(chosen.peer, run, tokens, chosen.columns.split(",")))
                    with path.open("a") as out:
                        out.write(json.dumps(runs[-1]) + "\n")
        print(told(runs))


if __name__ == "__main__":
    main()
