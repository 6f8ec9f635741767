"""What comes out with no option but -k: noise among the topics and coherence, beside MALLET's defaults.

    python benchmarks/defaults.py --data DIR --mallet ~/Mallet --peer ~/peers/bin/python --topics 50 --documents 4000

For each corpus `import` and `train` run with nothing but -k (and one thread); MALLET's import-file and train-topics
with nothing but --num-topics, and a second time with --remove-stopwords, which its manual recommends; and, on the words
that topicx's import kept, tomotopy with MALLET's defaults (α = 5/K, β = .01, nothing learnt). A topic is noise
if three or more of its ten top words are numbers, single characters or stop words of the language that the words
are in (`topicx.views.noisy_topics`). Coherence is counted in all words of the same texts. `--documents` draws that many
of each corpus (0: takes all). It goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
from pathlib import Path

from topicx.corpus.corpus import Corpus
from topicx.evaluate.coherence import coherence
from topicx.model import Model
from topicx.views.noisy_topics import FEW, TOP, noisy_words

CORPORA = ("nips0-12", "20news-bydate", "sotu", "imdb")
HOW = ("topicx", "tomotopy", "MALLET", "MALLET --remove-stopwords")

PEER = """
import json, sys, tomotopy as tp
topics, sweeps, top = map(int, sys.argv[1:])
model = tp.LDAModel(k=topics, alpha=5 / topics, eta=0.01, seed=1)
model.optim_interval = 0  # as MALLET's --optimize-interval is by default
for line in sys.stdin:
    words = line.rpartition("\\t")[2].split()
    if words:
        model.add_doc(words)
model.train(sweeps, workers=1)
json.dump([[word for word, _ in model.get_topic_words(k, top_n=top)] for k in range(topics)], sys.stdout)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--mallet", type=Path, help="the folder with bin/mallet (else topicx's own is measured alone)")
    parser.add_argument("--peer", help="a Python that has tomotopy")
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--documents", type=int, default=4000)
    parser.add_argument("--sweeps", type=int, default=1000)
    parser.add_argument("--corpora", default=",".join(CORPORA))
    parser.add_argument("--out", type=Path, default=Path("build/bench/defaults"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    given = {"topicx": True, "tomotopy": options.peer}
    chosen = [how for how in HOW if given.get(how, options.mallet)]
    rows = []
    for name in options.corpora.split(","):
        folder = options.out / f"{name}-{options.documents}-{options.topics}-{options.sweeps}"
        folder.mkdir(exist_ok=True)
        texts = sample(options.data / name, folder / "texts.tsv", options.documents)
        for how in chosen:
            done = folder / f"{how.replace(' ', '')}.json"
            if not done.exists():
                done.write_text(json.dumps(measured(how, texts, folder, options), indent=1))
            rows.append({"corpus": name, "how": how, **json.loads(done.read_text())})
    print(f"| corpus | with | topics of {options.topics} that are noise | noise among top words | NPMI | UMass |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| `{row['corpus']}` | {row['how']} | {row['noisy']} | {row['noise']:.1%} | {row['npmi']:.3f} "
            f"| {row['umass']:.1f} |"
        )


def sample(source: Path, path: Path, documents: int) -> Path:
    """That many of a corpus's documents as lines `name label text`, always the same."""
    if not path.exists():
        file = next(one for one in (source / "docs.tsv.gz", source / "paragraphs.tsv.gz") if one.exists())
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            rows = [line for line in lines if line.count("\t") == 2]
        count = min(documents, len(rows)) if documents else len(rows)
        chosen = sorted(random.Random(1).sample(range(len(rows)), count))
        path.write_text("".join(rows[at].replace(" \t", "\t") for at in chosen), encoding="utf-8")
    return path


def measured(how: str, texts: Path, folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """The topics of one program, judged."""
    make = {"topicx": ours, "tomotopy": peers}.get(how, theirs)
    topics = make(texts, folder, options, how.split()[1:])
    whole = folder / "all.corpus"
    if not whole.exists():
        topicx("import", texts, "-o", whole, "--keep-stopwords", "--keep-numbers", "--min-length", 1)
    corpus = Corpus.load(whole)
    noise, _ = noisy_words(topics)
    bad = [sum(word in noise for word in topic[:TOP]) for topic in topics]
    figures = {measure: coherence(topics, corpus, measure, top=TOP).mean for measure in ("npmi", "umass")}
    return {"noisy": sum(n >= FEW for n in bad), "noise": sum(bad) / (TOP * len(topics)), **figures, "topics": topics}  # type: ignore[dict-item]


def ours(texts: Path, folder: Path, options: argparse.Namespace, more: list[str]) -> list[list[str]]:
    corpus, model = folder / "default.corpus", folder / "default.model"
    checkpoint = model.with_name("default.model.checkpoint")
    if checkpoint.exists():  # it was stopped here
        topicx("train", "--resume", checkpoint, "-o", model, "--threads", 1)
    else:
        topicx("import", texts, "-o", corpus, *more)
        how = [] if options.sweeps == 1000 else ["--iterations", options.sweeps]
        topicx("train", corpus, "-k", options.topics, "-o", model, "--threads", 1, *how)
    return [[word for word, _ in topic] for topic in Model.load(model).top_words(TOP)]


def theirs(texts: Path, folder: Path, options: argparse.Namespace, more: list[str]) -> list[list[str]]:
    mallet, listed, keys = options.mallet / "bin" / "mallet", folder / "texts.mallet", folder / "keys.txt"
    call(mallet, "import-file", "--input", texts, "--output", listed, "--keep-sequence", *more)
    how = [] if options.sweeps == 1000 else ["--num-iterations", options.sweeps]
    call(mallet, "train-topics", "--input", listed, "--num-topics", options.topics, "--output-topic-keys", keys,
         "--num-top-words", TOP, *how)  # fmt: skip
    return [line.rstrip("\n").split("\t")[2].split() for line in keys.read_text(encoding="utf-8").splitlines()]


def peers(texts: Path, folder: Path, options: argparse.Namespace, more: list[str]) -> list[list[str]]:
    """Of the words that `ours` imported before."""
    lines = folder / "default.txt"
    topicx("export", folder / "default.corpus", "--format", "lines", "-o", lines)
    command = [options.peer, "-c", PEER, str(options.topics), str(options.sweeps), str(TOP)]
    with lines.open(encoding="utf-8") as tokens:
        return json.loads(subprocess.run(command, stdin=tokens, check=True, capture_output=True, text=True).stdout)


def topicx(*arguments: object) -> None:
    call(sys.executable, "-m", "topicx", *arguments)


def call(*arguments: object) -> None:
    subprocess.run([str(one) for one in arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main()
