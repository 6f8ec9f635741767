"""From text to a model, on real text of 50 million tokens and more: reading in one thread and in two, and training,
beside tomotopy.

    python benchmarks/speed/text.py collect FOLDER TEXT.jsonl    # a document for each page of HTML or plain text
    python benchmarks/speed/text.py compare TEXT.jsonl --topics 200 --sweeps 20 --peer PYTHON-WITH-TOMOTOPY
    python benchmarks/speed/text.py formats TEXT.jsonl --megabytes 100    # its beginning, by format and threads
    python benchmarks/speed/text.py --quick        # all three on a few pages, to see that they run

A large text that everybody can have is Debian's documentation: `apt-get download openjdk-17-doc rust-doc scala-doc …`,
and `dpkg -x` of each into one folder. tomotopy is given the words by a regular expression, without stop words, numbers
and words of one letter, as our import leaves them out.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from topicx.corpus.corpus import Corpus
from topicx.corpus.text.tokenizer import load_stopwords

PEER = """
import json, re, sys, time, tomotopy as tp
path, topics, sweeps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
stop, words = set(json.loads(sys.argv[4])), re.compile(r"[^\\W\\d_][\\w]+").findall
began = time.perf_counter(); spent = time.process_time()
model = tp.LDAModel(k=topics, alpha=0.1, eta=0.01, min_cf=5, seed=1)
with open(path) as lines:
    for line in lines:
        model.add_doc([word for word in words(json.loads(line)["text"].lower()) if word not in stop])
model.train(0, workers=1)
read = time.perf_counter() - began; cpu = time.process_time() - spent
model.train(sweeps, workers=1)
print(json.dumps({"tokens": model.num_words, "read": read, "read_cpu": cpu, "all": time.perf_counter() - began,
                  "all_cpu": time.process_time() - spent, "likelihood": model.ll_per_word}))
"""

HIDDEN = re.compile(r"(?is)<(script|style|head|nav)\b.*?</\1>|<!--.*?-->")
TAG, SPACE = re.compile(r"(?s)<[^>]*>"), re.compile(r"\s+")
PAGES = (".html", ".htm", ".xhtml")
TEXTS = (".rst", ".txt", ".md", ".1", ".2", ".3", ".7")


def pages(folder: Path) -> Iterator[tuple[str, str]]:
    """The name and the text of every page of some length, a page that begins like another one left out."""
    seen = set()
    for root, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            plain = name.removesuffix(".gz")
            if path.is_symlink() or not plain.endswith(PAGES + TEXTS):
                continue
            data = path.read_bytes()
            data = gzip.decompress(data) if name.endswith(".gz") else data
            text = data.decode("utf-8", "replace")
            if plain.endswith(PAGES):
                text = html.unescape(TAG.sub(" ", HIDDEN.sub(" ", text)))
            text = SPACE.sub(" ", text)
            if len(text) >= 400 and text[:3000] not in seen:
                seen.add(text[:3000])
                yield str(path.relative_to(folder)), text


def collect(folder: Path, out: Path) -> None:
    with out.open("w") as lines:
        for name, text in pages(folder):
            lines.write(json.dumps({"id": name, "text": text}) + "\n")


def timed(command: list[str]) -> tuple[float, float, int]:
    """Seconds on the wall, seconds of processors, and the peak of memory in bytes."""
    began = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)}: failed")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, 1024 * usage.ru_maxrss


def compare(text: Path, topics: int, sweeps: int, peer: str) -> None:
    topicx = [sys.executable, "-m", "topicx"]
    files = [text.with_suffix(f".{threads}.corpus") for threads in (1, 2)]
    for threads, file in zip((1, 2), files, strict=True):
        wall, processors, memory = timed(
            [*topicx, "import", str(text), "-o", str(file), "--min-count", "5", "--threads", str(threads), "-q"]
        )
        corpus = Corpus.load(file)
        print(
            f"import, {threads} threads: {wall:.1f} s ({processors:.1f} of processors), "
            f"{corpus.n_tokens:,} tokens kept, {corpus.n_words:,} words, {memory / 1e6:.0f} MB"
        )
    arrays = [(c.words.tobytes(), c.offsets.tobytes(), c.vocabulary) for c in map(Corpus.load, files)]
    print("the same words in the same order:", arrays[0] == arrays[1])
    for threads in (1, 2):
        wall, processors, memory = timed(
            [*topicx, "train", str(files[0]), "-k", str(topics), "--iterations", str(sweeps), "--alpha", "0.1", "-q",
             "--threads", str(threads), "--start", "random", "-o", str(text.with_suffix(".model"))]
        )  # fmt: skip
        print(
            f"train K={topics}, {sweeps} sweeps, {threads} threads, from file to file: {wall:.1f} s "
            f"({processors:.1f} of processors), {memory / 1e6:.0f} MB"
        )
    if peer:
        stop = json.dumps(sorted(load_stopwords("en")))
        done = subprocess.run(
            [peer, "-c", PEER, str(text), str(topics), str(sweeps), stop], capture_output=True, text=True, check=True
        )
        found = json.loads(done.stdout)
        print(
            f"tomotopy, one thread: {found['tokens']:,} tokens; read {found['read']:.1f} s ({found['read_cpu']:.1f} of "
            f"processors), with {sweeps} sweeps {found['all']:.1f} s ({found['all_cpu']:.1f})"
        )


def written(text: Path, folder: Path, size: int) -> dict[str, Path]:
    """The first `size` bytes of documents in every format, by a name for each; texts have no tabs and no line ends."""
    rows, taken = [], 0
    with text.open() as lines:
        for line in lines:
            if (taken := taken + len(line)) > size:
                break
            rows.append(json.loads(line))
    names = {
        "jsonl": "a.jsonl",
        "jsonl, not escaped": "u.jsonl",
        "text": "a.txt",
        "lines": "l.txt",
        "csv": "a.csv",
        "tsv": "a.tsv",
    }
    files = {name: folder / file for name, file in names.items()}
    files["jsonl"].write_text("".join(json.dumps(row) + "\n" for row in rows))
    files["jsonl, not escaped"].write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    files["text"].write_text("".join(row["text"] + "\n" for row in rows))
    files["lines"].write_text("".join(f"d{i}\tx\t{row['text']}\n" for i, row in enumerate(rows)))
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        with files[name].open("w", newline="") as out:
            writer = csv.writer(out, delimiter=delimiter)
            writer.writerows([["id", "text"], *([row["id"], row["text"]] for row in rows)])
    files["folder of files"] = folder / "docs"
    files["folder of files"].mkdir()
    for i, row in enumerate(rows):
        (files["folder of files"] / f"{i}.txt").write_text(row["text"])
    for name in ("jsonl", "text"):
        packed = files[f"{name}, gzip"] = files[name].with_name(files[name].name + ".gz")
        packed.write_bytes(gzip.compress(files[name].read_bytes(), 6))
    return files


def formats(text: Path, megabytes: float, rounds: int) -> None:
    """Seconds of import in one thread and in two, the least of some rounds, and whether the bytes are the same."""
    topicx = [sys.executable, "-m", "topicx", "import", "--min-count", "5", "-q"]
    os.environ["SOURCE_DATE_EPOCH"] = "1"
    print(f"{'':20} {'MB':>6} {'one thread':>16} {'two threads':>16}   (seconds; of processors)")
    with tempfile.TemporaryDirectory() as folder:
        for name, file in written(text, Path(folder), int(megabytes * 1e6)).items():
            least, outputs = {}, {}
            for _ in range(rounds):
                for threads in (1, 2):
                    out = Path(folder, f"{threads}.corpus")
                    form = ["--format", "lines"] if name == "lines" else []
                    *seconds, _ = timed([*topicx, str(file), "-o", str(out), "--threads", str(threads), *form])
                    least[threads] = min(least.get(threads, seconds), seconds)
                    outputs[threads] = out.read_bytes()
            one, two = least[1], least[2]
            size = sum(path.stat().st_size for path in file.rglob("*")) if file.is_dir() else file.stat().st_size
            print(
                f"{name:20} {size / 1e6:6.1f} {one[0]:8.2f} ({one[1]:5.2f}) {two[0]:8.2f} ({two[1]:5.2f})   "
                f"{one[0] / two[0]:.2f} times, {'the same bytes' if outputs[1] == outputs[2] else 'OTHER BYTES'}",
                flush=True,
            )


def quick() -> None:
    """A few pages through everything."""
    with tempfile.TemporaryDirectory() as folder:
        pages = Path(folder, "pages")
        pages.mkdir()
        for i in range(60):
            words = " ".join(f"word{(i * j) % 89} café" for j in range(300))
            (pages / f"{i}.html").write_text(f"<html><head><title>no</title></head><p>{words}</p></html>")
        text = Path(folder, "text.jsonl")
        collect(pages, text)
        compare(text, topics=5, sweeps=2, peer="")
        formats(text, megabytes=0.1, rounds=1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few pages, to see that it runs")
    commands = parser.add_subparsers(dest="command")
    command = commands.add_parser("collect")
    command.add_argument("folder", type=Path)
    command.add_argument("text", type=Path)
    command = commands.add_parser("compare")
    command.add_argument("text", type=Path)
    command.add_argument("--topics", type=int, default=200)
    command.add_argument("--sweeps", type=int, default=20)
    command.add_argument("--peer", default="", help="a Python that has tomotopy")
    command = commands.add_parser("formats")
    command.add_argument("text", type=Path)
    command.add_argument("--megabytes", type=float, default=100)
    command.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if given.quick:
        quick()
    elif given.command == "collect":
        collect(given.folder, given.text)
    elif given.command == "compare":
        compare(given.text, given.topics, given.sweeps, given.peer)
    elif given.command == "formats":
        formats(given.text, given.megabytes, given.rounds)
    else:
        parser.error("one of collect, compare, formats, --quick is needed")


if __name__ == "__main__":
    main()
