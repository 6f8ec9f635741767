"""The passes that choose the words of a corpus, when all has been read: each takes what was gathered, and returns it as
it is then.

Stop words of the texts' language are flagged, pairs that belong together become one word, and words below the limits go.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.build.gathering import Gathered, LeftOut, flag_new_words, passing_ids
from topicx.corpus.build.spooled_rows import Lengths, read_bounded_pieces
from topicx.corpus.text.bigrams import BigramOptions, find_bigrams
from topicx.corpus.text.language import find_language
from topicx.corpus.text.tokenizer import load_stopwords
from topicx.corpus.text.word_tally import NOISE_WORD, NONE, STOP_WORD, WANTED_WORD, PairTable, WordTally


@dataclass(frozen=True)
class WordLimits:
    """Which words are kept."""

    min_count: int = 1
    min_doc_freq: int = 1
    max_doc_freq: float = 1.0


@dataclass(frozen=True)
class ChosenWords:
    """The words of a corpus, when all have been counted."""

    kept: NDArray[np.int64]
    """Provisional ids of the words that stay, in their final order."""
    tokens: NDArray[np.int64]
    documents: NDArray[np.int64]
    """The tokens and the documents of every kept word."""
    dropped: int
    """Words below the limits."""
    stopped: int
    """Tokens of words that were found to be stop words after they were counted."""

    def mapping(self, n_words: int) -> NDArray[np.uint32]:
        """The final number of each of so many provisional ids."""
        mapping = np.full(n_words, NONE, dtype=np.uint32)
        mapping[self.kept] = np.arange(len(self.kept), dtype=np.uint32)
        return mapping


def drop_stopwords_of_language(gathered: Gathered) -> Gathered:
    """The stop words of the language that most of the text is in, if it is clear, as flags of words."""
    words, counts, tokenizer = gathered.words, gathered.counts, gathered.tokenizer

    def frequency(word: str) -> int:
        at = words.find(word)
        return 0 if at == NONE else int(counts.tokens[at])

    plain = counts.tokens[: len(words)][counts.flags[: len(words)] != NOISE_WORD]
    language = find_language(frequency, int(plain.sum()) + gathered.left_out.stopped)
    if language is None:
        return replace(gathered, keeps_tokenizer=True)
    tokenizer = replace(tokenizer, stopwords=frozenset(tokenizer.stopwords) | load_stopwords(language))
    if tokenizer.lowercase:
        places = (words.find(word) for word in tokenizer.stopwords)
    else:  # capitals do not matter
        places = (i for i in range(len(words)) if tokenizer.is_stopword(words.word(i)))
    found = np.array([at for at in places if at != NONE], dtype=np.int64)
    flags = counts.flags.copy()
    flags[found[flags[found] == WANTED_WORD]] = STOP_WORD
    return replace(
        gathered, tokenizer=tokenizer, keeps_tokenizer=True, counts=replace(counts, flags=flags), language=language
    )


def join_word_pairs(gathered: Gathered, options: BigramOptions) -> Gathered:
    """The second and third pass over the waiting tokens: count pairs, then join the significant ones. The tokens of
    before are given back."""
    words, old = gathered.words, gathered.counts
    pairs = find_bigrams(
        lambda: ((lengths, ids) for lengths, ids, _ in read_bounded_pieces(gathered.lengths, gathered.ids)),
        old.tokens[: len(words)], old.flags[: len(words)], words, options,
    )  # fmt: skip
    names = [(words.word(a), words.word(b)) for a, b in pairs]
    flagged = len(words)
    joined = PairTable.of({pair: words.add(f"{a}_{b}") for pair, (a, b) in zip(pairs, names)})
    counts = WordTally.of(old.flags.copy())
    flag_new_words(words, counts, gathered.tokenizer, flagged)
    ids, lengths = passing_ids(gathered.new), Lengths(gathered.new(np.int64))
    document = stopped = noise = 0
    for part, old_ids, is_open in read_bounded_pieces(gathered.lengths, gathered.ids):
        settled = counts.settle(old_ids, part, joined, document)
        ids.append(settled.ids)
        lengths.add(settled.lengths, is_open)
        stopped, noise = stopped + settled.stopped, noise + settled.noise
        document += len(part) - is_open
    assert document == gathered.n_documents
    gathered.ids.close()
    before = gathered.left_out
    return replace(
        gathered, tokenizer=replace(gathered.tokenizer, phrases=tuple(names)), keeps_tokenizer=True, counts=counts,
        ids=ids, lengths=lengths.spool, left_out=LeftOut(before.unknown, before.stopped + stopped, before.noise + noise),
    )  # fmt: skip


def choose_words(gathered: Gathered, limits: WordLimits) -> ChosenWords:
    """The words within the limits, by falling frequency, ties by the word; or all of a fixed vocabulary."""
    n, counts = len(gathered.words), gathered.counts
    tokens, documents, flags = counts.tokens[:n], counts.documents[:n], counts.flags[:n]
    if gathered.known_words is not None:
        kept = np.arange(gathered.known_words)
        return ChosenWords(kept, tokens[kept], documents[kept], 0, 0)
    most = math.floor(limits.max_doc_freq * gathered.n_documents + 1e-9)
    wanted = flags == WANTED_WORD
    keep = wanted & (tokens >= max(limits.min_count, 1)) & (documents >= limits.min_doc_freq) & (documents <= most)
    kept = gathered.words.ranked(np.flatnonzero(keep), tokens)
    dropped = int((documents > 0)[wanted].sum()) - len(kept)
    stopped = int(tokens[flags == STOP_WORD].sum())
    return ChosenWords(kept, tokens[kept], documents[kept], dropped, stopped)
