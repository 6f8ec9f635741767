"""WarpLDA's training results: PREFIX.z.estimate, with PREFIX.model and PREFIX.vocab beside it.

    train.z.estimate    a line a document: N w:k w:k …      (words ascend; the order of the text is lost)
    train.model         V K alpha beta, then a line a word: nnz k:c k:c …
    train.vocab         a word a line; word ids are line numbers from 0

The model's counts must be those of the assignments: a file of another run would otherwise pass unnoticed.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO

import numpy as np

from topicx.errors import InputError
from topicx.files.container import atomic_output
from topicx.interop.text_parsing import (
    PairLines,
    check_distinct_words,
    decode_utf8,
    parse_positive,
    parse_whole_number,
    read_lines,
    shorten_for_message,
)
from topicx.state import MAX_TOPICS, State, word_topics


def prefix_of(path: str) -> Path:
    for ending in (".z.estimate", ".z.inference", ".model", ".vocab"):
        if path.removesuffix(".gz").endswith(ending):
            return Path(path.removesuffix(".gz").removesuffix(ending))
    return Path(path)


def find_beside(prefix: Path, ending: str, why: str) -> str:
    for candidate in (f"{prefix}{ending}", f"{prefix}{ending}.gz"):
        if Path(candidate).is_file():
            return candidate
    raise InputError(f"{prefix}{ending}: is not there ({why})")


def read(path: str) -> State:
    if path.removesuffix(".gz").endswith(".z.inference"):
        raise InputError(
            f"{path}: holds assignments of new documents under topics that are fixed, which are no state of a chain; "
            "give the .z.estimate of the training"
        )
    prefix = prefix_of(path)
    assignments = find_beside(prefix, ".z.estimate", "the assignments")
    model_path = find_beside(prefix, ".model", "the counts and priors that go with the assignments")
    vocabulary_path = find_beside(prefix, ".vocab", "the words that go with the assignments")
    lines = read_lines(vocabulary_path)
    for at, word in enumerate(lines, 1):
        if not word or word.split() != [word]:
            raise InputError(f"{vocabulary_path}:{at}: expected one word, not {shorten_for_message(word)}")
    vocabulary = check_distinct_words(lines, vocabulary_path)

    model = PairLines(model_path, lead=1, names=("topic", "count"), skip=1)
    where = f"{model.shown}:1"
    head = decode_utf8(model.head, where).split()
    if len(head) != 4:
        raise InputError(f"{where}: expected `V K alpha beta`, not {shorten_for_message(' '.join(head))}")
    words = parse_whole_number(head[0], where, "V", low=1, high=1 << 32)
    topics = parse_whole_number(head[1], where, "K", low=1, high=MAX_TOPICS)
    alpha, beta = parse_positive(head[2], where, "alpha"), parse_positive(head[3], where, "beta")
    if len(vocabulary) != words:
        raise InputError(f"{vocabulary_path}: has {len(vocabulary)} words, and {where} declares {words}")
    if len(model.lengths) != words:
        raise InputError(f"{model.shown}: has {len(model.lengths)} words, and its first line declares {words}")
    model.check_declared("topics")
    tokens = PairLines(
        assignments, lead=1, names=("word", "topic"), limits=(words, topics), types=(np.uint32, np.uint16)
    )
    tokens.check_declared("tokens")
    if not len(tokens.left):
        raise InputError(f"{tokens.shown}: has no tokens")
    state = tokens.as_state("warplda", np.full((1, topics), alpha), beta, vocabulary)
    _compare_counts(state, model, tokens)
    return state


def _compare_counts(state: State, model: PairLines, tokens: PairLines) -> None:
    """The model's counts against those of the assignments."""
    indptr, topics, counts = word_topics(state.words, state.z, state.n_words, state.n_topics, state.seeds)
    beyond = np.flatnonzero(model.left >= state.n_topics)
    row = np.repeat(np.arange(state.n_words), model.lengths)
    if len(beyond):
        at = int(beyond[0])
        raise InputError(f"{model.line(int(row[at]))}: topic {model.left[at]} is beyond the last, {state.n_topics - 1}")
    nonzero = model.right > 0
    keys = (row * state.n_topics + model.left)[nonzero]
    order = np.argsort(keys, kind="stable")
    ours = np.repeat(np.arange(state.n_words), np.diff(indptr)) * state.n_topics + topics
    same = len(keys) == len(ours) and np.array_equal(keys[order], ours)
    if same and np.array_equal(model.right[nonzero][order], counts):
        return
    theirs = np.bincount(row, weights=model.right.astype(np.float64), minlength=state.n_words)
    mine = np.bincount(state.words, minlength=state.n_words)
    differ = np.flatnonzero(theirs != mine)
    word = int(differ[0]) if len(differ) else _first_difference(keys[order], ours, model.right[nonzero][order], counts)
    word = word if len(differ) else word // state.n_topics
    raise InputError(
        f"{model.line(word)}: the counts of {shorten_for_message(state.vocabulary[word])} "
        f"are not those of {tokens.shown}: "
        "the two files are not of one run, or one is damaged"
    )


def _first_difference(keys: np.ndarray, ours: np.ndarray, counts: np.ndarray, our_counts: np.ndarray) -> int:
    for a, b, n, m in zip(keys.tolist(), ours.tolist(), counts.tolist(), our_counts.tolist()):
        if a != b or n != m:
            return int(min(a, b))
    longer = keys if len(keys) > len(ours) else ours
    return int(longer[min(len(keys), len(ours))])


# -- writing -------------------------------------------------------------------------------------------------------


def write(state: State, prefix: str) -> list[str]:
    """PREFIX.z.estimate, PREFIX.model and PREFIX.vocab. α must be the same for every topic, and β for every word."""
    if state.paths > 1:
        raise InputError(
            f"--format warplda: the state has {state.paths} paths, and the file has one: choose it (--path)"
        )
    alpha, beta = np.unique(state.alpha), np.unique(state.beta)
    if len(alpha) > 1 or len(beta) > 1:
        which = "α differs between topics" if len(alpha) > 1 else "β differs between words"
        raise InputError(f"--format warplda: {which}, which WarpLDA's files cannot say")
    if len(state.seeds):
        raise InputError("--format warplda: seed words have a prior of their own, which WarpLDA's files cannot say")
    if np.any(state.z >= state.n_topics):
        raise InputError("--format warplda: some tokens have no topic yet")
    for at, word in enumerate(state.vocabulary):
        if word.split() != [word]:
            raise InputError(
                f"--format warplda: word {at} is {shorten_for_message(word)}, and a word with blanks cannot be written"
            )
    names = [f"{prefix}.z.estimate", f"{prefix}.model", f"{prefix}.vocab"]
    with atomic_output(names[0], binary=False) as out:
        for d in range(state.n_documents):
            span = slice(int(state.offsets[d]), int(state.offsets[d + 1]))
            order = np.argsort(state.words[span], kind="stable")
            _write_pairs(out, state.words[span][order], state.z[span][order])
    with atomic_output(names[1], binary=False) as out:
        out.write(f"{state.n_words} {state.n_topics} {float(alpha[0])!r} {float(beta[0])!r}\n")
        indptr, topics, counts = state.word_topics()
        for w in range(state.n_words):
            span = slice(int(indptr[w]), int(indptr[w + 1]))
            _write_pairs(out, topics[span], counts[span], ending=" ")
    with atomic_output(names[2], binary=False) as out:
        out.writelines(f"{word}\n" for word in state.vocabulary)
    return names


def _write_pairs(out: IO[str], left: np.ndarray, right: np.ndarray, ending: str = "") -> None:
    text = io.StringIO()
    text.write(str(len(left)))
    if ending:
        text.write("\t")
        text.write("".join(f"{a}:{b} " for a, b in zip(left.tolist(), right.tolist())))
    else:
        text.write("".join(f" {a}:{b}" for a, b in zip(left.tolist(), right.tolist())))
    out.write(text.getvalue() + "\n")
