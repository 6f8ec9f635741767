"""Instance lists made of others: words dropped, vectors as sequences, labels hidden, documents parted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from topicx.mallet.instance_lists import VALUES, Instances
from topicx.mallet.option_language import Parsed
from topicx.mallet.word_selection import by_gain, information_gain, keep_words, within_limits
from topicx.strings import Strings

PRUNING = ("prune-count", "prune-document-freq", "min-idf", "max-idf", "prune-infogain")
"""The options that drop words."""


def changed_instances(
    instances: Instances, parsed: Parsed, seed: int, say: Callable[[str], None], show: Callable[[str], None]
) -> Instances:
    """What pruning and the other options make of them. `say` is told of words, `show` of the limit on documents."""
    before = instances.corpus.n_words
    if {"prune-count", "prune-document-freq", "min-idf", "max-idf"} & parsed.given:
        if "prune-document-freq" in parsed.given:
            show(f"min docs: {parsed['prune-document-freq']}")
        instances = keep_words(instances, within_limits(instances, parsed))
    if parsed["prune-infogain"] > 0:
        keep = np.zeros(instances.corpus.n_words, np.bool_)
        keep[by_gain(information_gain(instances), parsed["prune-infogain"])] = True
        instances = keep_words(instances, keep)
    if set(PRUNING) & parsed.given:
        say(f"features: {before} -> {instances.corpus.n_words}")
    if parsed["vector-to-sequence"] and not instances.is_sequence:
        instances = as_sequences(instances, seed)
    if parsed["hide-targets"] or parsed["reveal-targets"]:
        instances = replace(instances, hidden=parsed["hide-targets"])
    return instances


def as_sequences(instances: Instances, seed: int) -> Instances:
    """Tokens for the values of vectors, in a random order: a value of 2.5 is three tokens, one below 0 is none."""
    draw = np.random.default_rng(seed & 0xFFFFFFFF)
    documents = []
    for d in range(len(instances)):
        words, values = instances.vector(d)
        documents.append(draw.permutation(np.repeat(words, np.maximum(np.ceil(values), 0).astype(np.int64))))
    corpus = instances.corpus
    columns = {name: column for name, column in corpus.columns.items() if name != VALUES}
    made = replace(
        corpus, words=np.concatenate([*documents, np.zeros(0, np.uint32)]).astype(np.uint32),
        offsets=np.concatenate([[0], np.cumsum([len(one) for one in documents])]).astype(np.int64),
        columns=columns, meta=dict(corpus.meta), digest="",
    )  # fmt: skip
    pipe = replace(instances.pipe, form="sequence", binary=False) if instances.pipe else None
    return replace(instances, corpus=made, form="sequence", pipe=pipe)


def split_instances(instances: Instances, shares: tuple[float, float, float], seed: int) -> list[Instances]:
    """Shuffled documents, cut at the rounded running shares: the same parts as MALLET's for the same seed."""
    order = java_shuffle(len(instances), seed)
    ends = np.rint(np.cumsum(np.array(shares) / sum(shares)) * len(instances)).astype(np.int64)
    bounds = [0, *np.maximum.accumulate(ends).tolist()]
    parts = [order[begin:end] for begin, end in zip(bounds[:-1], bounds[1:])]
    return [_part_of_instances(instances, part) for part in parts]


def _part_of_instances(instances: Instances, documents: list[int]) -> Instances:
    chosen = np.array(documents, np.int64)
    if len(chosen):
        return instances.select(chosen)
    return replace(instances, corpus=replace(instances.corpus, offsets=np.zeros(1, np.int64), ids=Strings.of([])))


def java_shuffle(n: int, seed: int) -> list[int]:
    """0 … n-1 in the order of Java's Collections.shuffle with java.util.Random(seed): a linear congruential
    generator of 48 bits (its constants are part of Java's documentation)."""
    state = (seed ^ 0x5DEECE66D) & ((1 << 48) - 1)
    order = list(range(n))
    for size in range(n, 1, -1):
        while True:
            state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
            bits = state >> 17
            if size & (size - 1) == 0:
                at = (size * bits) >> 31
                break
            at = bits % size
            if bits - at + size - 1 < 1 << 31:
                break
        order[size - 1], order[at] = order[at], order[size - 1]
    return order
