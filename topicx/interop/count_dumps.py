"""Count dumps as a state without assignments, so that the estimators can be applied to them."""

from __future__ import annotations

import numpy as np

from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.estimate.cgsp_counts import DumpCounts
from topicx.interop.lightlda import LightldaTables
from topicx.state import NONE, State
from topicx.strings import Strings


def as_state(dump: LightldaTables, name: str, corpus_path: str | None) -> tuple[State, DumpCounts]:
    """The state (no token placed; without a corpus no token at all), and the counts that go with it.

    The corpus is checked against the dump: its words must be those of the dictionary, each as often as the tables say,
    and its documents as long as doc_topic says.
    """
    empty = (np.zeros(1, np.int64), np.zeros(0, np.uint16), np.zeros(0, np.int64))
    rows = dump.document_rows or empty
    if corpus_path is None:
        documents = len(rows[0]) - 1
        words, offsets = np.zeros(0, np.uint32), np.zeros(documents + 1, np.int64)
        ids = Strings.of(str(d) for d in range(documents))
    else:
        if dump.document_rows is None:
            raise InputError(f"--corpus: without doc_topic.N beside {name} the documents' topics are not known")
        corpus = Corpus.load(corpus_path)
        words, offsets, ids = _word_ids_of_corpus(corpus, corpus_path, dump), corpus.offsets, corpus.ids
        sums = np.add.reduceat(np.append(rows[2], 0), rows[0][:-1]) if len(rows[0]) > 1 else np.zeros(0, np.int64)
        lengths = np.where(np.diff(rows[0]) > 0, sums, 0)
        if len(lengths) != corpus.n_documents:
            raise InputError(f"{corpus_path}: has {corpus.n_documents} documents, and doc_topic has {len(lengths)}")
        differ = np.flatnonzero(lengths != corpus.lengths)
        if len(differ):
            d = int(differ[0])
            raise InputError(
                f"{corpus_path}: document {d} has {corpus.lengths[d]} tokens, and {lengths[d]} in doc_topic: they are "
                "not the same documents"
            )
    state = State(
        words=words,
        offsets=offsets,
        z=np.full(len(words), NONE, np.uint16),
        alpha=dump.alpha,
        beta=dump.beta,
        vocabulary=dump.vocabulary,
        ids=ids,
        meta=dict(dump.meta),
    )
    state.verify()
    return state, DumpCounts(rows, dump.word_rows, dump.totals)


def _word_ids_of_corpus(corpus: Corpus, path: str, dump: LightldaTables) -> np.ndarray:
    """The corpus's tokens as the dump's word ids."""
    index = {word: at for at, word in enumerate(dump.vocabulary)}
    mapping = np.array([index.get(word, -1) for word in corpus.vocabulary], np.int64)
    missing = np.flatnonzero((mapping < 0) & (corpus.word_frequencies > 0))
    if len(missing):
        raise InputError(f"{path}: the word {corpus.vocabulary[int(missing[0])]!r} is not in dict.txt")
    words = mapping[corpus.words].astype(np.uint32)
    found = np.bincount(words, minlength=len(dump.vocabulary))
    indptr, _, counts = dump.word_rows
    declared = np.bincount(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), weights=counts, minlength=len(found))
    differ = np.flatnonzero(found != declared)
    if len(differ):
        w = int(differ[0])
        raise InputError(
            f"{path}: has {dump.vocabulary[w]!r} {found[w]} times, and the tables {int(declared[w])} times: they are "
            "not of the same documents"
        )
    return words
