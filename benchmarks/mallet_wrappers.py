"""The programs that wrap MALLET, run with `topicx mallet` in MALLET's place: their own code makes the calls and reads
the files.

    pip install little-mallet-wrapper gensim six pandas matplotlib
    pip download --no-deps gensim==3.8.3     (its models/wrappers/ldamallet.py is the last; give its path by --gensim)
    python benchmarks/mallet_wrappers.py --topicx .venv/bin/topicx --gensim ldamallet.py

What is not installed is left out, and said.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import sys
import tempfile
import types
from pathlib import Path

WORDS = {
    "sky": "star moon planet orbit telescope comet galaxy",
    "kitchen": "butter oven flour garlic sauce onion pepper",
    "money": "bank market price share debt trade profit",
}


def texts(documents: int = 60) -> list[str]:
    draw = random.Random(1)
    kinds = sorted(WORDS)
    return [" ".join(draw.choices(WORDS[kinds[d % 3]].split(), k=40)) for d in range(documents)]


def little_mallet_wrapper(mallet: str, folder: Path) -> None:
    if importlib.util.find_spec("seaborn") is None:  # it draws only
        drawing = types.ModuleType("seaborn")
        drawing.set = lambda *_, **__: None  # type: ignore[attr-defined]
        sys.modules["seaborn"] = drawing
    import little_mallet_wrapper as lmw

    documents, paths = (
        texts(),
        [str(folder / name) for name in ("t.txt", "t.mallet", "model", "keys", "shares", "words")],
    )
    lmw.import_data(mallet, paths[0], paths[1], documents)
    lmw.train_topic_model(mallet, paths[1], paths[2], paths[3], paths[4], paths[5], f"{folder}/diagnostics.xml", 3)
    keys, shares = lmw.load_topic_keys(paths[3]), lmw.load_topic_distributions(paths[4])
    assert len(keys) == 3, keys
    assert len(shares) == 60, len(shares)
    assert all(abs(sum(row) - 1) < 1e-9 for row in shares)
    weights = lmw.load_topic_word_distributions(paths[5])
    assert len(weights) == 3
    best = [max(range(3), key=row.__getitem__) for row in shares]
    assert len({(d % 3, k) for d, k in enumerate(best)}) == 3, "documents of one subject have one topic"
    print(f"little-mallet-wrapper: {len(keys)} topics, {len(shares)} documents; {' '.join(keys[0][:6])} …")


def gensim(mallet: str, source: Path, folder: Path) -> None:
    from gensim import corpora

    spec = importlib.util.spec_from_file_location("ldamallet", source)
    assert spec is not None
    assert spec.loader is not None
    wrapper = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(wrapper)
    documents = [text.split() for text in texts()]
    words = corpora.Dictionary(documents)
    bags = [words.doc2bow(document) for document in documents]
    model = wrapper.LdaMallet(
        mallet, corpus=bags, num_topics=3, id2word=words, iterations=200, prefix=f"{folder}/g.", random_seed=3
    )
    assert model.wordtopics.shape == (3, len(words))
    assert model.wordtopics.sum() == sum(map(len, documents))
    shares = [dict(row) for row in model.load_document_topics()]
    assert len(shares) == 60
    assert all(abs(sum(row.values()) - 1) < 1e-9 for row in shares)
    new = model[words.doc2bow(["star", "moon", "planet", "orbit"])]
    assert len(new) == 3
    print(f"gensim's LdaMallet: {model.show_topic(0, 5)}; a new document: {new}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topicx", default="topicx", help="the command topicx")
    parser.add_argument("--gensim", type=Path, help="ldamallet.py of gensim 3.8")
    given = parser.parse_args()
    mallet = f"{given.topicx} mallet"  # both make a line for the shell, so two words will do
    with tempfile.TemporaryDirectory() as place:
        if importlib.util.find_spec("little_mallet_wrapper") is None:
            print("little-mallet-wrapper is not installed: left out")
        else:
            little_mallet_wrapper(mallet, Path(place))
        if given.gensim is None or importlib.util.find_spec("gensim") is None:
            print("gensim is not installed, or its wrapper is not given: left out")
        else:
            gensim(mallet, given.gensim, Path(place))


if __name__ == "__main__":
    main()
