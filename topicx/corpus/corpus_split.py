"""Parts of a corpus: by random shares, by shares within each label, or by lists of document ids.

The random order comes from a hash of the seed and the document's place, so it is the same everywhere and for
ever.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.formats.input_bytes import InputSource
from topicx.errors import InputError
from topicx.splitmix import GOLDEN, mix_bits


def random_parts(
    corpus: Corpus, fractions: Sequence[float], *, seed: int = 1, stratify: bool = False
) -> list[NDArray[np.int64]]:
    """The documents of each part, in the order of the corpus. Fractions that sum to less than 1 leave
    documents out.

    With `stratify`, each part has each label's (or combination of labels') documents in the same share, as
    nearly as whole documents allow.
    """
    check_fractions(fractions)
    if "chunk" in corpus.columns and "document" in corpus.columns:
        return _texts_together(corpus, fractions, seed=seed, stratify=stratify)
    n = corpus.n_documents
    order = np.argsort(_document_keys(n, seed), kind="stable")
    part = np.full(n, -1, dtype=np.int64)
    if stratify:
        if not len(corpus.label_offsets):
            raise InputError("--stratify needs labels, and the corpus has none")
        groups = np.array(_label_combinations(corpus), dtype=np.int64)
        order = order[np.argsort(groups[order], kind="stable")]
        part[order] = _spread_over_parts(n, fractions)
    else:
        ends = np.floor(np.cumsum(fractions) * n + 0.5 - 1e-9).astype(np.int64)
        for number, (begin, end) in enumerate(zip([0, *ends[:-1]], ends)):
            part[order[begin:end]] = number
    return [np.flatnonzero(part == number) for number in range(len(fractions))]


def _texts_together(
    corpus: Corpus, fractions: Sequence[float], *, seed: int, stratify: bool
) -> list[NDArray[np.int64]]:
    """Parts of documents that are chunks of texts: a text goes into one part with all of its chunks."""
    names = list(corpus.columns["document"])
    begins = [i for i in range(len(names)) if not i or names[i] != names[i - 1]]
    texts = corpus.select(np.array(begins))
    texts.columns = {}
    text_of = np.cumsum(np.isin(np.arange(len(names)), begins)) - 1
    parts = random_parts(texts, fractions, seed=seed, stratify=stratify)
    return [np.flatnonzero(np.isin(text_of, part)) for part in parts]


def check_fractions(fractions: Sequence[float]) -> None:
    for fraction in fractions:
        if not 0 < fraction <= 1:
            raise InputError(f"--fractions: {fraction:g} is not above 0 and at most 1")
    if sum(fractions) > 1 + 1e-9:
        raise InputError(f"--fractions sum to {sum(fractions):g}, which is more than 1")


def _document_keys(n: int, seed: int) -> NDArray[np.uint64]:
    """splitmix64 of the seed and the document's place."""
    places = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(GOLDEN)
    keys: NDArray[np.uint64] = mix_bits(places + np.uint64((seed * 0xD1B54A32D192ED03 + 1) % 2**64))
    return keys


def _label_combinations(corpus: Corpus) -> list[int]:
    """A number for each combination of labels."""
    offsets = corpus.label_offsets.tolist()
    labels = corpus.label_ids
    numbers: dict[bytes, int] = {}
    combined = (np.sort(labels[begin:end]).tobytes() for begin, end in itertools.pairwise(offsets))
    return [numbers.setdefault(combination, len(numbers)) for combination in combined]


def _spread_over_parts(n: int, fractions: Sequence[float]) -> NDArray[np.int64]:
    """Parts for places 0 … n - 1, such that any run of places has the fractions: each goes where most is
    lacking."""
    shares = [*fractions, max(1.0 - sum(fractions), 0.0)]
    lacking = [0.0] * len(shares)
    result = np.empty(n, dtype=np.int64)
    for place in range(n):
        for number, share in enumerate(shares):
            lacking[number] += share
        chosen = max(range(len(shares)), key=lacking.__getitem__)
        lacking[chosen] -= 1.0
        result[place] = chosen
    result[result == len(fractions)] = -1
    return result


def parts_by_ids(corpus: Corpus, names: Sequence[str]) -> tuple[dict[str, NDArray[np.int64]], list[str]]:
    """Parts from files of ids: `id` lines make a part named by the file, `id <TAB> part` lines name it
    themselves.

    Documents that no file names are left out. Also returns the ids that the corpus does not have.
    """
    part_of: dict[str, str] = {}
    parts: dict[str, list[int]] = {}
    for name in names:
        stem = name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".gz").split(".")[0] or name
        with InputSource(name) as source:
            for first, lines in source.lines("utf-8", "strict"):
                for number, line in enumerate(lines, first):
                    document, tab, part = line.rstrip().partition("\t")
                    if not document:
                        continue
                    part = part.strip() if tab else stem
                    if not part or "/" in part:
                        raise InputError(f"{source.shown}:{number}: {part!r} is no name of a part")
                    if part_of.setdefault(document, part) != part:
                        was = part_of[document]
                        raise InputError(
                            f"{source.shown}:{number}: {document!r} is in {was!r} already, and now in {part!r}"
                        )
                    parts.setdefault(part, [])
    found: set[str] = set()
    for number, document in enumerate(corpus.ids):
        if document in part_of:
            parts[part_of[document]].append(number)
            found.add(document)
    missing = [document for document in part_of if document not in found]
    return {part: np.array(documents, dtype=np.int64) for part, documents in parts.items()}, missing


def halve_documents(corpus: Corpus, documents: NDArray[np.bool_]) -> tuple[Corpus, Corpus]:
    """The corpus with the first halves of these documents and all of the others, and the second halves alone: both
    have all documents."""
    lengths = corpus.lengths
    first = np.where(documents, lengths - lengths // 2, lengths)
    position = np.arange(corpus.n_tokens) - np.repeat(corpus.offsets[:-1], lengths)
    kept = position < np.repeat(first, lengths)
    return with_tokens(corpus, kept), with_tokens(corpus, ~kept)


def with_tokens(corpus: Corpus, tokens: NDArray[np.bool_]) -> Corpus:
    """All documents with these of their tokens alone."""
    offsets = np.concatenate([[0], np.cumsum(tokens)])[corpus.offsets].astype(np.int64)
    return replace(corpus, words=corpus.words[tokens], offsets=offsets, meta=dict(corpus.meta), truth={}, digest="")
