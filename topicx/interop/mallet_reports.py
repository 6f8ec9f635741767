"""MALLET's reports on topics: the two XML reports, and the diagnostics. What MALLET leaves unescaped is escaped here,
and a topic without tokens has zeros where MALLET has NaN."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from xml.sax import saxutils

import numpy as np
from numpy.typing import NDArray

from topicx.files.container import atomic_output
from topicx.interop import mallet_numbers as numbers
from topicx.interop.mallet_write import Ranked
from topicx.state import State

# MALLET's twelve, in its order and spelling.
DIAGNOSTICS = (
    "tokens", "document_entropy", "word-length", "coherence", "uniform_dist", "corpus_dist", "eff_num_words",
    "token-doc-diff", "rank_1_docs", "allocation_ratio", "allocation_count", "exclusivity",
)  # fmt: skip
_WORD_DIAGNOSTICS = ("word-length", "coherence", "uniform_dist", "corpus_dist", "token-doc-diff", "exclusivity")

TITLE_WORDS, TITLE_PHRASES, TITLES = 19, 20, 10
UNRELIABLE, PHRASE_WEIGHT = 20, 100
"""A phrase has to occur more often than this to be a title, and then counts so many times."""


NOT_IN_XML = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)), "\ufffd")
"""Characters that no XML has, escaped or not."""


def escape_xml(text: str, entities: dict[str, str] | None = None) -> str:
    """A text as XML has it."""
    return saxutils.escape(text.translate(NOT_IN_XML), entities or {})


# -- diagnostics ---------------------------------------------------------------------------------------------------


def write_diagnostics(rows: Iterable[dict[str, Any]], out: str, top: int) -> None:
    """--diagnostics-file from what `topicx.evaluate.diagnostics.topic_diagnostics` computes.

    MALLET divides word-length and exclusivity by the number of words asked for, also where a topic has fewer, and
    counts the length of a word in UTF-16 units.
    """
    with atomic_output(out, binary=False) as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<model>\n')
        for k, row in enumerate(rows):
            words = row.get("words", [])
            for word in words:
                word["word-length"] = utf16_length(word["word"])
            values = row | {
                "word-length": sum(word["word-length"] for word in words) / top,
                "exclusivity": sum(word["exclusivity"] for word in words) / top,
            }
            stream.write(f"<topic id='{row.get('topic', k)}'{_format_attributes(values, DIAGNOSTICS)}>\n")
            stream.writelines(_diagnosed_word(rank, word) for rank, word in enumerate(words, 1))
            stream.write("</topic>\n")
        stream.write("</model>\n\n")


def utf16_length(word: str) -> int:
    return len(word.encode("utf-16-le", "surrogatepass")) // 2


def _diagnosed_word(rank: int, word: dict[str, Any]) -> str:
    shares = "".join(f" {name}='{numbers.fixed_decimals(word[name], 5)}'" for name in ("prob", "cumulative"))
    start = f"<word rank='{rank}' count='{numbers.fixed_decimals(word['count'], 0)}'{shares} docs='{word['docs']}'"
    return f"{start}{_format_attributes(word, _WORD_DIAGNOSTICS)}>{escape_xml(word['word'])}</word>\n"


def _format_attributes(values: dict[str, Any], names: Iterable[str]) -> str:
    return "".join(f" {name}='{numbers.fixed_decimals(values[name], 4)}'" for name in names)


# -- reports -------------------------------------------------------------------------------------------------------


def topic_report(
    alpha: NDArray[np.float64], totals: NDArray[Any], ranked: Ranked, vocabulary: Sequence[str], out: str, top: int
) -> None:
    """--xml-topic-report."""
    with atomic_output(out, binary=False) as stream:
        stream.write("<?xml version='1.0' ?>\n<topicModel>\n")
        for k, (words, counts) in enumerate(ranked):
            tokens = int(totals[k])
            stream.write(f"  <topic id='{k}' alpha='{numbers.java_double(float(alpha[k]))}' totalTokens='{tokens}'>\n")
            for rank, (w, count) in enumerate(zip(words[:top].tolist(), counts[:top].tolist()), 1):
                shown = f"{numbers.java_double(float(count))}'>{escape_xml(vocabulary[w])}"
                stream.write(f"    <word rank='{rank}' count='{shown}</word>\n")
            stream.write("  </topic>\n")
        stream.write("</topicModel>\n")


def phrase_report(state: State, ranked: Ranked, out: str, top: int, joined: NDArray[np.bool_] | None = None) -> None:
    """--xml-topic-phrase-report. `joined`: whether a token follows the one before it without a gap."""
    phrases = count_phrases(state, joined)
    totals = state.topic_totals()
    with atomic_output(out, binary=False) as stream:
        stream.write("<?xml version='1.0' ?>\n<topics>\n")
        for k, (words, counts) in enumerate(ranked):
            alpha, tokens = numbers.java_double(float(state.alpha[0, k])), int(totals[k])
            found = [(state.vocabulary[w], int(count)) for w, count in zip(words[:top].tolist(), counts[:top].tolist())]
            said = sorted(phrases[k].items(), key=lambda item: (-item[1], item[0]))
            heading = escape_xml(topic_titles(found, said[:top]), {'"': "&quot;"})
            stream.write(f'  <topic id="{k}" alpha="{alpha}" totalTokens="{tokens}" titles="{heading}">\n')
            for word, count in found:
                shown = f'"{numbers.java_double(count / tokens)}" count="{count}">{escape_xml(word)}'
                stream.write(f"    <word weight={shown}</word>\n")
            everything = sum(phrases[k].values())
            for phrase, count in said[:top]:
                shown = f'"{numbers.java_double(count / everything)}" count="{count}">{escape_xml(phrase)}'
                stream.write(f"    <phrase weight={shown}</phrase>\n")
            stream.write("  </topic>\n")
        stream.write("</topics>\n")


def count_phrases(state: State, joined: NDArray[np.bool_] | None = None) -> list[Counter[str]]:
    """How often each phrase occurs in each topic: neighbouring tokens of one topic, two at least.

    As MALLET counts: the token that ends a phrase cannot begin one, and a phrase at a document's end is lost.
    """
    found: list[Counter[str]] = [Counter() for _ in range(state.n_topics)]
    for words, topic in _phrases_of_state(state, joined):
        found[topic][" ".join(state.vocabulary[w] for w in words)] += 1
    return found


def _phrases_of_state(state: State, joined: NDArray[np.bool_] | None) -> Iterator[tuple[list[int], int]]:
    offsets = state.offsets.tolist()
    for first, last in zip(offsets[:-1], offsets[1:]):
        topics, words = state.z[first:last].tolist(), state.words[first:last].tolist()
        close = joined[first:last].tolist() if joined is not None else [True] * len(words)
        previous, phrase = -1, [-1]
        for topic, word, next_to in zip(topics, words, close):
            if topic == previous and next_to:
                phrase.append(word)
            elif len(phrase) > 1:
                yield phrase, previous
                previous, phrase = -1, [-1]
            else:
                previous, phrase = topic, [word]


def topic_titles(words: Sequence[tuple[str, int]], phrases: Sequence[tuple[str, int]]) -> str:
    """Up to ten names for a topic, the weightiest first; what the text so far contains is left out.

    A comma follows each but the last of ten: where there are fewer, the text ends with one.
    """
    weights: dict[str, int] = {}
    for word, count in words[:TITLE_WORDS]:
        weights[word] = weights.get(word, 0) + count
    for phrase, count in phrases[:TITLE_PHRASES]:
        if count > UNRELIABLE:
            weights[phrase] = weights.get(phrase, 0) + PHRASE_WEIGHT * count
    said, most = "", TITLES
    for rank, candidate in enumerate(_by_selection(weights)):
        if rank >= most:
            break
        if candidate in said:
            most += 1
        else:
            said += candidate + (", " if rank < most - 1 else "")
    return said


def _by_selection(weights: dict[str, int]) -> list[str]:
    """Falling weights by selection and exchange, as MALLET sorts: it decides the order of equal ones."""
    names = list(weights)
    for i in range(len(names)):
        largest = max(range(i, len(names)), key=lambda at: (weights[names[at]], -at))
        names[i], names[largest] = names[largest], names[i]
    return names
