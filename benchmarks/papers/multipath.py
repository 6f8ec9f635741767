"""Kozdoba & Mannor, "Interdependent Gibbs Samplers": whether paths that share their counts find better optima.

    python benchmarks/papers/multipath.py --out DIR [--part hmm|hmmlearn|all] [--sweeps 20000,50000] [--quick]

hmm (section 4.1, Figures 1-3): 16 runs each of the collapsed and the partially collapsed sampler with one path and
with five, and of Baum-Welch, on one sequence of 200,000 symbols; the log-likelihood of the parameters every 100 sweeps.
The samplers go on from stage to stage of --sweeps, all of them to one stage before any goes to the next; figures and
JSON are written after each. A killed script continues from its checkpoints.

hmmlearn: Baum-Welch from the same start there and here: likelihoods and times.

The paper shows its emissions only as a picture. --emissions linear is `topicx datasets make hmm`: one state's fall
evenly from 0.19 to 0.01, the other's rise. bands: each state has six of the ten symbols evenly, two of them in both,
and 0.05 spread over all, as the paper's topics have. random: two draws from the uniform Dirichlet.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from topicx import datasets
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.hmm.hmm_learners import BaumWelch
from topicx.hmm.hmm_model import Parameters, Sequences
from topicx.hmm.hmm_options import HmmOptions
from topicx.hmm.hmm_run import HmmRun
from topicx.sampling.sweep_loop import Checkpoints
from topicx.strings import Strings

CONFIGURATIONS = {
    "C 1": ("collapsed", 1), "C 5": ("collapsed", 5), "PC 1": ("partial", 1), "PC 5": ("partial", 5),
}  # fmt: skip
MARGINS = (5.0, 20.0)
"""A run has reached Baum-Welch's likelihood if it is less than this below it, in nats of 200,000 symbols."""
PAPER_HMM = "the best results are those of C 5; C 1 and PC 1, the plain samplers, are alike and lowest"


# -- section 4.1: hidden Markov models -------------------------------------------------------------------------------


def truth_of(corpus: Corpus) -> Parameters:
    emit = np.ascontiguousarray(corpus.truth["emissions"].T)
    return Parameters(np.full(2, 0.5), np.ascontiguousarray(corpus.truth["transitions"]), emit)


def sequence(args: argparse.Namespace) -> Corpus:
    """The one sequence that all runs share."""
    if args.emissions == "linear":
        return datasets.make("hmm", args.data_seed, tokens=args.tokens)
    rng = np.random.default_rng(args.data_seed)
    if args.emissions == "bands":
        inside = np.array([np.arange(10) < 6, np.arange(10) >= 4])
        emissions = 0.95 * inside / 6 + 0.05 / 10
    else:
        emissions = rng.dirichlet(np.ones(10), 2)
    states = np.cumsum(rng.random(args.tokens) < 0.45) % 2
    words = np.array([rng.choice(10, args.tokens, p=row) for row in emissions])[states, np.arange(args.tokens)]
    truth = {"emissions": emissions, "transitions": np.array([[0.55, 0.45], [0.45, 0.55]])}
    offsets, names = np.array([0, args.tokens], np.int64), Strings.of(f"s{symbol}" for symbol in range(10))
    return Corpus(words.astype(np.uint32), offsets, names, truth=truth)


def stage(corpus: Corpus, name: str, sweeps: int, args: argparse.Namespace) -> HmmRun:
    """Every run of one configuration after this many sweeps: from its checkpoint, if it has one."""
    sampler, paths = CONFIGURATIONS[name]
    path = args.out / f"hmm-{args.emissions}-{args.data_seed}-{sampler}-{paths}-{args.runs}-{args.tokens}.checkpoint"
    options = HmmOptions(
        states=2,
        sampler=sampler,
        paths=paths,
        iterations=sweeps,
        restarts=args.runs,
        seed=args.seed,
        trace_interval=100,
    )
    with Threads(args.threads) as engine:
        if path.exists():
            done = HmmRun.load(path, engine)
            run = done if done.position >= sweeps else HmmRun.load(path, engine, sweeps)
        else:
            run = HmmRun.of(corpus, options, engine)
        if run.position < sweeps:
            began, position = time.monotonic(), run.position
            run.run((), Checkpoints(str(path), max(sweeps // 20, 100)))
            draws = (run.position - position) * args.runs * paths * corpus.n_tokens
            seconds = time.monotonic() - began
            print(f"  {name}: {run.position:,} sweeps, {draws / seconds / 1e6:.0f} M draws a second here", flush=True)
    return run


def baum_welch(corpus: Corpus, args: argparse.Namespace) -> HmmRun:
    path = args.out / f"hmm-{args.emissions}-{args.data_seed}-baum-welch-{args.runs}-{args.tokens}.checkpoint"
    with Threads(args.threads) as engine:
        if path.exists():
            run = HmmRun.load(path, engine)
        else:
            options = HmmOptions(states=2, sampler="baum-welch", iterations=5000, restarts=args.runs, seed=args.seed,
                              tolerance=1e-3, trace_interval=100)  # fmt: skip
            run = HmmRun.of(corpus, options, engine)
        run.run((), Checkpoints(str(path), 500))
    return run


def hmm(args: argparse.Namespace) -> dict[str, Any]:
    corpus = sequence(args)
    data = Sequences(corpus.words, corpus.offsets)
    with Threads(1) as engine:
        ground = truth_of(corpus).log_likelihood(data, engine)
    em = baum_welch(corpus, args)
    best = max(em.scores)
    print(f"section 4.1: {corpus.n_tokens:,} symbols; true parameters {ground:.1f}, Baum-Welch {best:.1f} (best of "
          f"{args.runs}, of which {sum(s > best - 1 for s in em.scores)} are within 1)", flush=True)  # fmt: skip
    results: dict[str, Any] = {}
    for sweeps in args.sweeps:
        runs = {name: stage(corpus, name, sweeps, args) for name in args.configurations}
        results = {"ground": ground, "baum-welch": sorted(em.scores), "symbols": corpus.n_tokens, "runs": {}}
        for name, run in runs.items():
            results["runs"][name] = summarise(run, best, corpus)
        _print_hmm(results, best)
        _draw_hmm(runs, results, corpus, args)
        (args.out / "hmm.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return results


def summarise(run: HmmRun, best: float, corpus: Corpus) -> dict[str, Any]:
    """Figure 2's points of one configuration, the share that reaches Baum-Welch, and Figure 3's emissions."""
    scores = sorted(run.scores)
    model = run.model()
    truth = corpus.truth["emissions"]
    apart = min(float(np.abs(model.emissionprob[order] - truth).max()) for order in ([0, 1], [1, 0]))
    return {
        "sweeps": run.position,
        "log_likelihoods": scores,
        "reached": {f"{margin:g}": float(np.mean([score > best - margin for score in scores])) for margin in MARGINS},
        "emissions of the best": model.emissionprob.tolist(),
        "largest error of an emission": apart,
    }


def _print_hmm(results: dict[str, Any], best: float) -> None:
    print(
        f"\nFigure 2: log-likelihood less Baum-Welch's ({best:.1f}); true parameters: {results['ground'] - best:+.1f}"
    )
    print(f"  {'':5}{'sweeps':>9}{'best':>10}{'median':>10}{'worst':>10}   share within "
          + ", ".join(f"{margin:g}" for margin in MARGINS) + "   error of the best's emissions")  # fmt: skip
    for name, row in results["runs"].items():
        low, middle, high = np.quantile(np.array(row["log_likelihoods"]) - best, [0, 0.5, 1])
        shares = ", ".join(f"{share:.0%}" for share in row["reached"].values())
        print(f"  {name:5}{row['sweeps']:>9,}{high:>10.1f}{middle:>10.1f}{low:>10.1f}   {shares:>18}"
              f"   {row['largest error of an emission']:.4f}")  # fmt: skip
    print(f"  the paper: {PAPER_HMM}", flush=True)


def _draw_hmm(runs: dict[str, HmmRun], results: dict[str, Any], corpus: Corpus, args: argparse.Namespace) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no pictures: matplotlib is not installed")
        return
    figure, axes = pyplot.subplots(2, 2, figsize=(11, 7), sharey=True)
    for axis, (name, run) in zip(axes.flat, runs.items()):
        trace = run.trace()
        axis.plot(trace["sweep"], trace["log_likelihood"], linewidth=0.6)
        axis.set_title(f"{name}: {args.runs} runs")
        axis.set_xlabel("sweeps")
        axis.set_ylabel("log-likelihood")
    bottom = min(float(run.trace()["log_likelihood"][1:].min()) for run in runs.values())
    axes.flat[0].set_ylim(bottom - 20, max(results["baum-welch"]) + 20)
    figure.tight_layout()
    figure.savefig(args.out / "multipath-hmm-figure-1.png", dpi=120)
    pyplot.close(figure)
    figure, axis = pyplot.subplots(figsize=(6.5, 4.5))
    for name, row in results["runs"].items():
        axis.plot(row["log_likelihoods"], marker="o", markersize=3, label=name)
    axis.axhline(max(results["baum-welch"]), color="black", linewidth=0.8, label="BW")
    axis.axhline(results["ground"], color="black", linestyle=":", linewidth=0.8, label="ground")
    axis.set_xlabel("runs, by log-likelihood")
    axis.set_ylabel("log-likelihood")
    axis.legend()
    figure.tight_layout()
    figure.savefig(args.out / "multipath-hmm-figure-2.png", dpi=120)
    pyplot.close(figure)
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.5), sharey=True)
    last = args.configurations[-1] if "C 5" not in args.configurations else "C 5"
    found = np.array(results["runs"][last]["emissions of the best"])
    truth = corpus.truth["emissions"]
    if np.abs(found - truth).max() > np.abs(found[::-1] - truth).max():
        found = found[::-1]
    for state, axis in enumerate(axes):
        axis.plot(truth[state], marker="o", label="ground")
        axis.plot(found[state], marker="x", label=f"{last}, highest likelihood")
        axis.set_title(f"emissions of state {state}")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(args.out / "multipath-hmm-figure-3.png", dpi=120)
    pyplot.close(figure)


# -- beside hmmlearn -------------------------------------------------------------------------------------------------


def hmmlearn(args: argparse.Namespace) -> dict[str, Any]:
    """Rounds of Baum-Welch from one start, one thread each; the faster of hmmlearn's two implementations."""
    try:
        from hmmlearn.hmm import CategoricalHMM
    except ImportError:
        print("hmmlearn is not installed: pip install 'topicx[peers]'")
        return {}
    import logging

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    results: dict[str, Any] = {}
    for states, symbols in ((2, 10), (8, 50)):
        random = np.random.default_rng(args.seed)
        words = (
            datasets.make("hmm", 1, tokens=args.tokens).words
            if states == 2
            else random.integers(0, symbols, args.tokens)
        )
        words = np.ascontiguousarray(words, np.uint32)
        start, trans = random.dirichlet(np.ones(states)), random.dirichlet(np.ones(states), states)
        emit = random.dirichlet(np.ones(symbols), states)
        data = Sequences(words, np.array([0, len(words)], np.int64))
        ours, score = _our_rounds(data, Parameters(start, trans, np.ascontiguousarray(emit.T)), symbols, args.rounds)
        row: dict[str, Any] = {"topicx": {"seconds": ours, "log_likelihood": score}}
        for implementation in ("scaling", "log"):
            peer = CategoricalHMM(
                states, n_iter=args.rounds, tol=-np.inf, init_params="", implementation=implementation
            )
            peer.startprob_, peer.transmat_, peer.emissionprob_, peer.n_features = start, trans, emit, symbols
            began = time.perf_counter()
            peer.fit(words[:, None].astype(np.int64))
            seconds = time.perf_counter() - began
            score = float(peer.score(words[:, None].astype(np.int64)))
            row[f"hmmlearn {implementation}"] = {"seconds": seconds, "log_likelihood": score}
        results[f"{states} states, {symbols} symbols"] = row
        print(f"\nBaum-Welch, {args.rounds} rounds: {len(words):,} symbols, {symbols} different, {states} states")
        for name, cell in row.items():
            print(f"  {name:18}{cell['seconds']:>9.3f} s {cell['seconds'] / ours:>7.1f} ×   log-likelihood "
                  f"{cell['log_likelihood']:.6f}", flush=True)  # fmt: skip
    return results


def _our_rounds(data: Sequences, start: Parameters, symbols: int, rounds: int) -> tuple[float, float]:
    from topicx.hmm.hmm_learners import Layout

    options = HmmOptions(states=len(start.start), sampler="baum-welch", tolerance=0)
    with Threads(1) as engine:
        learner = BaumWelch(Layout(data, symbols, options), 0, engine)
        learner.current = start
        began = time.perf_counter()
        for number in range(rounds):
            learner.done = False
            learner.sweep(number)
        return time.perf_counter() - began, learner.parameters().log_likelihood(data, engine)


# --------------------------------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {"hmmlearn": hmmlearn, "hmm": hmm}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="the folder of corpora (the HMM parts make their own)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/out/multipath"))
    parser.add_argument("--part", choices=[*PARTS, "all"], default="all")
    parser.add_argument("--sweeps", default="20000", help="stages, increasing (the paper: 200000)")
    parser.add_argument("--runs", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=200_000)
    parser.add_argument("--data-seed", type=int, default=1, help="of the one sequence that all runs share")
    parser.add_argument("--emissions", choices=["linear", "bands", "random"], default="linear")
    parser.add_argument("--configurations", default=",".join(CONFIGURATIONS), help="of " + ", ".join(CONFIGURATIONS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20, help="of Baum-Welch, beside hmmlearn")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="hours become seconds: a test that everything runs")
    args = parser.parse_args()
    args.configurations = [name for name in CONFIGURATIONS if name in args.configurations.split(",")]
    args.sweeps = [int(number) for number in args.sweeps.split(",")]
    if args.quick:
        args.sweeps, args.runs, args.tokens, args.rounds = [100, 200], 3, 5_000, 3
    args.out.mkdir(parents=True, exist_ok=True)
    results = {name: part(args) for name, part in PARTS.items() if args.part in (name, "all")}
    target = args.out / ("results-quick.json" if args.quick else f"results-{args.part}.json")
    target.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {target}")


if __name__ == "__main__":
    main()
