"""The embedded demonstration corpus and the synthetic generators.

>>> from topicx import datasets
>>> datasets.embedded()  # short texts, with label, collection and year
Corpus(440 documents, 18,705 tokens, 6,438 words)
>>> datasets.make("bars", seed=1)  # synthetic, its true parameters in `.truth`
Corpus(2,000 documents, 200,000 tokens, 25 words)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib import resources
from typing import Any, NamedTuple

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError

__all__ = ["Text", "embedded", "embedded_texts", "make", "names"]


class Text(NamedTuple):
    """One embedded text."""

    id: str
    """Name of the text."""
    label: str
    """Field of life."""
    collection: str
    """Kind of writing."""
    year: int
    """Year, 1990 to 2019."""
    text: str
    """The text itself."""


def embedded_texts() -> Iterator[Text]:
    """Texts that come with topicx: eight fields of life, three kinds of writing, 1990 to 2019.

    Yields
    ------
    Text
        A text with its id, label, collection and year, ordered by id.
    """
    folder = resources.files(__name__) / "texts"
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".tsv"):
            for line in file.read_text(encoding="utf-8").splitlines():
                name, label, collection, year, text = line.split("\t")
                yield Text(name, label, collection, int(year), text)


def embedded() -> Corpus:
    """The embedded texts as a corpus, without English stop words.

    Returns
    -------
    Corpus
        440 documents with labels, collections and times.

    Examples
    --------
    >>> corpus = embedded()
    >>> corpus.n_documents
    440
    """
    from topicx.corpus.text.tokenizer import Tokenizer, load_stopwords

    texts = list(embedded_texts())
    corpus = Corpus.from_texts(
        [text.text for text in texts],
        ids=[text.id for text in texts],
        labels=[text.label for text in texts],
        collections=[text.collection for text in texts],
        times=[text.year for text in texts],
        tokenizer=Tokenizer(stopwords=load_stopwords("en")),
    )
    corpus.meta["dataset"] = "embedded"
    return corpus


def names() -> list[str]:
    """Names of the synthetic datasets.

    Returns
    -------
    list of str
        Names for `make`.

    Examples
    --------
    >>> "bars" in names()
    True
    """
    from topicx.datasets.generators import GENERATORS

    return list(GENERATORS)


def make(name: str, seed: int = 1, **sizes: Any) -> Corpus:
    """Make a synthetic corpus. The same name, seed and sizes give the same corpus on every machine.

    Parameters
    ----------
    name : str
        Name of the dataset, one of `names()`.
    seed : int, default 1
        Seed of all random numbers.
    **sizes
        Options of the dataset (`topicx datasets list` has them).

    Returns
    -------
    Corpus
        The corpus. What it was drawn from is in `truth`.

    Examples
    --------
    >>> corpus = make("bars", seed=7, documents=20)
    >>> corpus.n_documents, sorted(corpus.truth)
    (20, ['document_topic', 'topic_word', 'z'])
    """
    from topicx.datasets.generators import GENERATORS, SIZES

    if name not in GENERATORS:
        raise InputError(f"there is no dataset {name!r}; there are {', '.join(GENERATORS)}")
    generator = GENERATORS[name]
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed: {seed!r} is not a whole number from 0 up")
    chosen = dict(generator.sizes)
    for key, value in sizes.items():
        if key not in chosen:
            raise InputError(f"dataset {name} has no option {key}; it has {', '.join(chosen)}")
        size = SIZES[key]
        whole = size.kind is int
        number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value):
            raise InputError(f"{key}: {value!r} is not a {'whole ' if whole else ''}number")
        if not size.low <= value <= size.high:
            raise InputError(f"{key}: {value} is not from {size.low:g} to {size.high:.15g}")
        chosen[key] = size.kind(value)
    corpus = generator.function(seed, **chosen)
    corpus.meta |= {"dataset": name, "seed": seed, "sizes": chosen}
    return corpus
