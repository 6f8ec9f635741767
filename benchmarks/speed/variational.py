"""CVB0 and SCVB0 against the LDA of scikit-learn and of gensim: seconds to the same held-out quality, and memory.

    python benchmarks/speed/variational.py --data DIR --peers PYTHON --out DIR

DIR holds the folder 20news-bydate (docs.tsv.gz and split.tsv.gz). Each program runs alone, in one thread, in a process
of its own; PYTHON is an interpreter that has scikit-learn and gensim. The peers make 20 passes; ours stops at the first
sweep whose completion perplexity on the held-out documents is at most theirs. All are judged by the same evaluator on
their φ and α; its time is not counted. Seconds are of processor time, all in one thread: other work on the machine does
not count. What has been run is in --out and is not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from topicx.corpus.corpus import Corpus

PEERS = ("sklearn", "sklearn-online", "gensim")
OURS = ("cvb0", "scvb0")
ALPHA, BETA = 0.1, 0.01


def peak() -> float:
    """The most memory this process has had, in MB (VmHWM; the other figure counts the parent's on Linux)."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = [line for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if lines:
            return int(lines[0].split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ---- the peers: run by their own interpreter, without topicx -------------------------------------------------------


def run_peer(name: str, corpus: Path, passes: int, alpha: float, beta: float, out: Path) -> None:
    import scipy.sparse

    data = np.load(corpus)
    topics = int(data["topics"])
    matrix = scipy.sparse.csr_matrix((data["counts"], data["words"], data["offsets"]), shape=data["shape"])
    del data
    if name.startswith("sklearn"):
        from sklearn.decomposition import LatentDirichletAllocation

        method = "online" if name.endswith("online") else "batch"
        base = peak()
        model = LatentDirichletAllocation(
            topics, doc_topic_prior=alpha, topic_word_prior=beta, learning_method=method, max_iter=passes, n_jobs=1,
            batch_size=256, total_samples=matrix.shape[0], random_state=1,
        )  # fmt: skip
        began = time.process_time()
        model.fit(matrix)
        seconds = time.process_time() - began
        phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    else:
        from gensim.matutils import Sparse2Corpus
        from gensim.models import LdaModel

        documents = list(Sparse2Corpus(matrix, documents_columns=False))
        base = peak()
        began = time.process_time()
        words = {w: str(w) for w in range(matrix.shape[1])}
        lda = LdaModel(
            documents, topics, id2word=words, passes=passes, alpha=np.full(topics, alpha, np.float32), eta=beta,
            eval_every=None, random_state=1,
        )  # fmt: skip
        seconds = time.process_time() - began
        phi = lda.get_topics()
    np.savez(out, phi=phi.astype(np.float32), seconds=seconds, memory=peak(), base=base)


# ---- ours ----------------------------------------------------------------------------------------------------------


def run_ours(
    name: str, folder: Path, target: float, options: dict[str, Any], limit: int, threads: int
) -> dict[str, Any]:
    """Sweep until the perplexity is at most `target`; the evaluations are not counted."""
    from topicx.corpus.corpus import Corpus
    from topicx.engines.threads import Threads
    from topicx.evaluate.completion import completion_perplexity
    from topicx.models.definition import initial_state
    from topicx.sampling import sampler_registry
    from topicx.sampling.run_options import Options

    held_out = Corpus.load(folder / "held-out.topicx")
    given = Options(sampler=name, **options)
    with Threads(threads) as engine:
        began = time.process_time()
        state = initial_state(Corpus.load(folder / "train.topicx"), given)
        method = sampler_registry.find_sampler(name).load()(state, given, engine)
        method.start(random=True)
        seconds = time.process_time() - began
        path, memory = [], 0.0
        for sweep in range(limit):
            began = time.process_time()
            method.sweep(sweep)
            seconds += time.process_time() - began
            if sweep == 0:
                memory = peak()  # before the evaluator has used any
            if sweep < 10 or sweep % 5 == 4:
                indptr, _, values = method.word_topics()
                counts = values.reshape(len(indptr) - 1, given.topics) + method.state.beta[:, None]
                phi = np.ascontiguousarray((counts / counts.sum(axis=0)).T, dtype=np.float64)
                perplexity = completion_perplexity(phi, method.state.alpha, held_out)
                path.append({"sweep": sweep + 1, "seconds": seconds, "perplexity": perplexity})
                print(f"    {name}: sweep {sweep + 1}, {seconds:.1f} s, {perplexity:.0f}", flush=True)
                if perplexity <= target:
                    break
    return {"path": path, "memory": memory, "reached": path[-1]["perplexity"] <= target}


# ---- the comparison ------------------------------------------------------------------------------------------------


def prepare(data: Path, folder: Path, topics: int, quick: bool) -> None:
    """The training split without words that appear less than 3 times; 1,000 test documents are held out."""
    import gzip

    from topicx.corpus.corpus import Corpus

    with gzip.open(data / "20news-bydate" / "split.tsv.gz", "rt", encoding="utf-8") as lines:
        split = dict(line.rstrip("\n").split("\t") for line in lines)
    train: list[list[str]] = []
    test: list[list[str]] = []
    with gzip.open(data / "20news-bydate" / "docs.tsv.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            name, _, text = line.rstrip("\n").split("\t", 2)
            (train if split[name] == "train" else test).append(text.split())
    if quick:
        train, test = train[::20], test[::20]
    corpus = Corpus.from_documents(train).prune(min_count=3)
    chosen = np.random.default_rng(1).choice(len(test), min(1000, len(test)), replace=False)
    known = set(corpus.vocabulary)
    held_out = Corpus.from_documents([[w for w in test[i] if w in known] for i in sorted(chosen.tolist())])
    position = {word: number for number, word in enumerate(corpus.vocabulary)}
    renumber = np.array([position[word] for word in held_out.vocabulary], np.uint32)
    held_out = Corpus(renumber[held_out.words], held_out.offsets, corpus.vocabulary)
    corpus.save(folder / "train.topicx")
    held_out.save(folder / "held-out.topicx")
    matrix: Any = corpus.to_matrix().tocsr()
    np.savez(
        folder / "train.npz", counts=matrix.data.astype(np.int32), words=matrix.indices, offsets=matrix.indptr,
        shape=matrix.shape, topics=topics,
    )  # fmt: skip


def measure_peers(args: argparse.Namespace, shared: list[str], held_out: Corpus, results: dict[str, Any]) -> None:
    """Other programs: seconds, perplexity, memory."""
    from topicx.evaluate.completion import completion_perplexity

    for name in PEERS:
        file = args.out / f"{name}.npz"
        if not file.exists():
            command = [args.peers, __file__, *shared, "--peer", name, str(file)]
            if subprocess.run(command, check=False).returncode != 0:
                print(f"{name:16} failed or is not there: left out")
                continue
        found = np.load(file)
        phi, alpha = found["phi"].astype(np.float64), np.full((1, args.topics), ALPHA)
        perplexity = completion_perplexity(phi, alpha, held_out)
        results[name] = {"seconds": float(found["seconds"]), "perplexity": perplexity, "memory": float(found["memory"])}
        print(f"{name:16} {args.passes} passes: {results[name]['seconds']:8.1f} s, perplexity {perplexity:6.0f}, "
              f"memory {results[name]['memory']:.0f} MB", flush=True)  # fmt: skip


def measure_ours(args: argparse.Namespace, shared: list[str], results: dict[str, Any]) -> None:
    """Ours, until the best of theirs is reached; and how much sooner each is."""
    goal = min((results[name]["perplexity"] for name in PEERS if name in results), default=0)
    for name in OURS:
        file = args.out / f"{name}.json"
        if not file.exists():
            command = [sys.executable, __file__, *shared, "--threads", str(args.threads), "--ours", name, str(goal)]
            subprocess.run(command, check=True)
        results[name] = json.loads(file.read_text())
        for peer in PEERS:
            if peer not in results:
                continue
            there = [row for row in results[name]["path"] if row["perplexity"] <= results[peer]["perplexity"]]
            if there:
                ratio = results[peer]["seconds"] / there[0]["seconds"]
                took = f"{there[0]['seconds']:.1f} s ({there[0]['sweep']} sweeps)"
                memory = f"memory {results[name]['memory']:.0f} MB"
                print(f"{name:6} reaches {peer}'s perplexity in {took}: {ratio:.0f} times faster; {memory}", flush=True)
            else:
                print(f"{name:6} does not reach {peer}'s perplexity")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("variational-speed"))
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has scikit-learn and gensim")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the documents, few topics and passes")
    parser.add_argument("--peer", nargs=2, metavar=("NAME", "OUT"), help=argparse.SUPPRESS)
    parser.add_argument("--ours", nargs=2, metavar=("NAME", "TARGET"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.quick:
        args.topics, args.passes = 20, 3
    folder = args.out
    if args.peer:
        run_peer(args.peer[0], folder / "train.npz", args.passes, ALPHA, BETA, Path(args.peer[1]))
        return
    options = {"topics": args.topics, "alpha": ALPHA, "beta": BETA, "seed": 1}
    if args.ours:
        found = run_ours(args.ours[0], folder, float(args.ours[1]), options, 200, args.threads)
        (folder / f"{args.ours[0]}.json").write_text(json.dumps(found))
        return
    folder.mkdir(parents=True, exist_ok=True)
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    if not (folder / "train.npz").exists():
        prepare(args.data, folder, args.topics, args.quick)
    from topicx.corpus.corpus import Corpus

    corpus, held_out = Corpus.load(folder / "train.topicx"), Corpus.load(folder / "held-out.topicx")
    pairs = int(np.load(folder / "train.npz")["counts"].size)
    print(f"{corpus}, {pairs:,} pairs, {args.topics} topics; held out: {held_out}")
    results: dict[str, Any] = {
        "pairs": pairs, "topics": args.topics, "tokens": corpus.n_tokens, "words": corpus.n_words,
    }  # fmt: skip
    shared = ["--out", str(folder), "--passes", str(args.passes), "--topics", str(args.topics)]
    if args.quick:
        shared.append("--quick")
    measure_peers(args, shared, held_out, results)
    measure_ours(args, shared, results)
    (folder / "results.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
