"""The same MALLET calls by `topicx mallet` and, where its folder is given, by MALLET itself: seconds, memory, and every
output file of both read by one parser, with fields and notation compared.

    python benchmarks/mallet.py --documents 100000 --words 200000 --tokens 50000000 --topics 50 --sweeps 150
    python benchmarks/mallet.py --corpus texts.txt --topics 20 --sweeps 200 --mallet ~/Mallet --keep-words

Without --corpus the texts are drawn: words by Zipf's law, as in matrices of single cells. `--corpus` is a file of lines
`name label text`. MALLET's heap is set by --memory.
"""

from __future__ import annotations

import argparse
import gzip
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

OUTPUTS = {
    "--output-state": "state.gz", "--output-topic-keys": "keys.txt", "--output-doc-topics": "doc-topics.txt",
    "--topic-word-weights-file": "weights.txt", "--word-topic-counts-file": "counts.txt",
    "--diagnostics-file": "diagnostics.xml", "--xml-topic-report": "report.xml",
    "--output-topic-docs": "topic-docs.txt",
}  # fmt: skip


def draw(path: Path, documents: int, words: int, tokens: int, seed: int) -> None:
    """Lines `number 0 word word …`: lengths vary, words follow Zipf's law with a subject for each document."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, words + 1) ** 1.05
    edges = np.cumsum(weights / weights.sum())
    lengths = rng.multinomial(tokens, rng.dirichlet(np.full(documents, 20.0)))
    subjects = rng.integers(1, words, (50, 1))
    names = np.array([str(i) for i in range(words)], dtype=object)
    with path.open("w") as out:
        for d, length in enumerate(lengths.tolist()):
            ids = np.minimum(np.searchsorted(edges, rng.random(length)), words - 1)
            moved = rng.random(length) < 0.7  # most words are moved to the document's subject's part of the vocabulary
            ids[moved] = (ids[moved] + subjects[d % 50, 0]) % words
            out.write(f"{d}\t0\t{' '.join(names[ids])}\n")


def measured(command: list[str], folder: Path, memory: str) -> tuple[float, float, float, str]:
    """Seconds by the clock and of the processor, the most memory in MB, and standard error."""
    begin = time.monotonic()
    with (folder / "messages").open("w+") as messages:
        process = subprocess.Popen(
            command, cwd=folder, stderr=messages, stdout=messages, env=os.environ | {"MALLET_MEMORY": memory}
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        messages.seek(0)
        text = messages.read()
    if process.returncode:
        sys.exit(f"{' '.join(command)}: exit status {process.returncode}\n{text[-2000:]}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text


def lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode().split("\n")


def compare(ours: Path, theirs: Path) -> str:
    """What one parser finds in both: lines, fields and the notation of numbers."""
    rows = [lines(path) for path in (ours, theirs)]
    parts = re.compile("\t" if "\t" in rows[0][min(3, len(rows[0]) - 1)] else "[ ='<>\"]")
    kinds = [{notation(field) for line in found[:20000] for field in parts.split(line)} for found in rows]
    size = f"{len(rows[0]):,} and {len(rows[1]):,} lines"
    only = sorted(kinds[0] ^ kinds[1])
    return size + (", the same notations" if not only else f", notations of one alone: {', '.join(only[:5])}")


def notation(field: str) -> str:
    """How a field is written: integer, fixed with so many decimals at most, Java's exponent, or text."""
    if re.fullmatch(r"-?\d+", field):
        return "integer"
    if match := re.fullmatch(r"-?\d+\.(\d+)", field):
        return f"decimal.{len(match[1])}" if len(match[1]) in (4, 5, 6) else "decimal"
    return "exponent" if re.fullmatch(r"-?\d\.\d+E-?\d+", field) else "text"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--tokens", type=int, default=2_000_000)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--sweeps", type=int, default=150)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", default="4g")
    parser.add_argument("--mallet", type=Path, help="MALLET's folder, with bin/mallet")
    parser.add_argument("--keep-words", action="store_true", help="MALLET's default words and stop words, not \\S+")
    parser.add_argument("--all-files", action="store_true", help="write every file, and compare them")
    given = parser.parse_args()
    programs = {"topicx": [sys.executable, "-m", "topicx", "mallet"]}
    if given.mallet:
        programs["MALLET"] = [str(given.mallet.resolve() / "bin" / "mallet")]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        texts = given.corpus.resolve() if given.corpus else folder / "texts"
        if not given.corpus:
            draw(texts, given.documents, given.words, given.tokens, 1)
        run(programs, texts, folder, given)


def run(programs: dict[str, list[str]], texts: Path, folder: Path, given: argparse.Namespace) -> None:
    words = ["--remove-stopwords"] if given.keep_words else ["--preserve-case", "--token-regex", r"\S+"]
    outputs = OUTPUTS if given.all_files else {"--word-topic-counts-file": "counts.txt", "--output-doc-topics": "d.txt"}
    print("program  step           seconds  of CPU  memory MB  LL/token")
    for name, command in programs.items():
        own = folder / name
        own.mkdir()
        calls = {
            "import-file": ["--keep-sequence", *words, "--input", str(texts), "--output", "texts.mallet"],
            "train-topics": [
                "--input", "texts.mallet", "--num-topics", str(given.topics), "--alpha", "50", "--beta", "0.1",
                "--optimize-interval", "0", "--num-threads", str(given.threads), "--num-iterations", str(given.sweeps),
                "--random-seed", "555", "--show-topics-interval", "0",
                *(part for option, file in outputs.items() for part in (option, file)),
            ],
        }  # fmt: skip
        for step, arguments in calls.items():
            seconds, processor, memory, text = measured([*command, step, *arguments], own, given.memory)
            likelihoods = re.findall(r"LL/token: (\S+)", text)
            last = likelihoods[-1] if likelihoods else ""
            print(f"{name:8} {step:13} {seconds:8.1f} {processor:7.1f} {memory:10,.0f}  {last}", flush=True)
    if len(programs) == 2:
        for file in outputs.values():
            print(f"{file}: {compare(folder / 'topicx' / file, folder / 'MALLET' / file)}")


if __name__ == "__main__":
    main()
