"""Two versions of topicx side by side: seconds of a sweep, one sweep of each in turn.

    python benchmarks/speed/race.py OLD NEW --corpus FILE

OLD and NEW are checkouts with built kernels (a git worktree of an earlier commit, say). Each is a process of its own
that trains the same chain (same seed, one thread) and stops after every sweep; the two go on in turn, so that whatever
else the machine does falls on both. The ratio of the medians, OLD's seconds by NEW's, is above 1 where NEW is faster. A
chain whose figures differ has not done the same work: this is said.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

CASES = (
    "sparse:100", "sparse:1000", "dense:100", "dense:1000", "alias:100", "light:100", "warp:100", "tree:100",
    "cvb0:100", "infer:100",
)  # fmt: skip

CHILD = r"""
import json, sys, time
import topicx

path, case, warm, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
name, topics = case.split(":")
corpus = topicx.Corpus.load(path)
out = sys.stdout
def tell(**what):
    print(json.dumps(what), file=out, flush=True)
def train(name, sweeps, callbacks):
    lda = topicx.LDA(topics=int(topics), sampler=name, start="random", iterations=sweeps, seed=1, threads=1,
                     trace_interval=1_000_000, phi="cgs")
    return lda.fit(corpus, callbacks)
if name == "infer":
    from topicx.predict.inference import infer
    model = train("sparse", warm, []).model
    for _ in range(rounds):
        sys.stdin.readline()
        begun = time.process_time()
        theta = infer(model, corpus, threads=1, seed=1)
        tell(seconds=time.process_time() - begun, score=float(theta[:, 0].sum()))
else:
    done, begun = 0, time.process_time()
    def hear(event):
        global done, begun
        seconds, done = time.process_time() - begun, done + 1
        if done > warm:
            tell(seconds=seconds, score=event.figures.get("changed", 0.0))
        if done >= warm and done < warm + rounds:
            sys.stdin.readline()
        begun = time.process_time()
    train(name, warm + rounds, [hear])
"""


class Runner:
    """One version, which waits for its turn."""

    def __init__(self, tree: Path, corpus: Path, case: str, warm: int, rounds: int) -> None:
        arguments = [sys.executable, "-c", CHILD, str(corpus), case, str(warm), str(rounds)]
        environment = os.environ | {"PYTHONPATH": str(tree.resolve())}
        self.process = subprocess.Popen(
            arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tree
        )

    def turn(self) -> dict[str, float]:
        """Go on by one sweep."""
        found: dict[str, float] = json.loads(self._say("\n").readline() or sys.exit("race: a version has ended early"))
        return found

    def _say(self, text: str) -> IO[str]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()
        return self.process.stdout

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def race(trees: list[Path], corpus: Path, case: str, warm: int, rounds: int) -> str:
    """A line: the medians and the least seconds of both, and the ratios."""
    runners = [Runner(tree, corpus, case, warm, rounds) for tree in trees]
    seconds: list[list[float]] = [[], []]
    same = True
    for turn in range(rounds):
        order = (0, 1) if turn % 2 == 0 else (1, 0)
        scores = {}
        for side in order:
            found = runners[side].turn()
            seconds[side].append(found["seconds"])
            scores[side] = found["score"]
        same = same and scores[0] == scores[1]
    for runner in runners:
        runner.end()
    old, new = (sorted(values)[rounds // 2] for values in seconds)
    least = min(seconds[0]) / min(seconds[1])
    note = "" if same else "   (the chains differ)"
    return f"{case:12} {old:9.4f} {new:9.4f} s   median {old / new:.3f}   least {least:.3f}{note}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--corpus", type=Path, required=True, metavar="FILE", help="a corpus file that both can read")
    parser.add_argument("--cases", default=",".join(CASES), help="SAMPLER:TOPICS,… (default: %(default)s)")
    parser.add_argument("--warm", type=int, default=3, help="sweeps before the first that is timed")
    parser.add_argument("--rounds", type=int, default=15, help="sweeps that are timed")
    given = parser.parse_args()
    print(f"{'':12} {'old':>9} {'new':>9}")
    for case in given.cases.split(","):
        trees = [given.old, given.new]
        print(race(trees, given.corpus.resolve(), case, given.warm, given.rounds), flush=True)


if __name__ == "__main__":
    main()
