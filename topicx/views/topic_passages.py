"""Passages: the part of a text that says most of a topic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import regex
from numpy.typing import NDArray

from topicx.corpus.text.tokenizer import Tokenizer
from topicx.declare import check_whole
from topicx.errors import InputError
from topicx.model import Model

SIZE = 600
"""Characters of a passage."""
_END = regex.compile(
    r"(?<=[.!?…][\"'”’»)\]]*)(?<!\b(?:Mr|Mrs|Ms|Dr|St|Prof|Gen|Sen|Gov|Messrs|Nr|vs|No|\p{Lu})\.)\s+"
    r"(?=[\"'“‘«(\[]*[\p{Lu}\p{N}\p{Lo}])|(?<=[。！？])"
)
"""Where a sentence ends: a mark, a space and a capital, but not after a title or an initial."""


def typical_passages(
    model: Model, topics: Sequence[int] | None = None, *, documents: int = 3, characters: int = SIZE
) -> list[dict[str, Any]]:
    """Find the passages of typical documents that say most of their topic.

    A passage is a run of whole sentences. It is found in the text that import has kept (`snippet=` in Python,
    `--snippet` on the command line: the number of characters).

    Parameters
    ----------
    model : Model
        A model whose documents had texts.
    topics : sequence of int, optional
        Numbers of topics. By default all that are shown.
    documents : int, default 3
        Documents of each topic, of those that the model keeps.
    characters : int, default 600
        Length of a passage at most. Longer sentences are cut between words.

    Returns
    -------
    list of dict
        One for each passage: topic, document (its name), weight (the topic's share of the document) and passage.
        `pandas.DataFrame` takes it as it is.

    Examples
    --------
    >>> import topicx
    >>> corpus = topicx.Corpus.from_texts([text.text for text in topicx.datasets.embedded_texts()], snippet=5000)
    >>> lda = topicx.LDA(topics=8, iterations=50, seed=1, verbose=False).fit(corpus)
    >>> found = typical_passages(lda.model, [0], documents=1, characters=200)
    >>> len(found), sorted(found[0])
    (1, ['document', 'passage', 'topic', 'weight'])
    """
    check_whole("documents", documents, 0, None)
    finder = PassageFinder(model, characters)
    if not len(model.example_snippets):
        raise InputError("the model keeps no texts: import with --snippet N keeps so many characters of each")
    chosen = np.flatnonzero(model.shown).tolist() if topics is None else list(topics)
    found = []
    number = model.example_documents.shape[1]
    for topic in chosen:
        if not 0 <= topic < model.n_topics:
            raise InputError(f"topics: {topic} is not one of 0 to {model.n_topics - 1}")
        there = [r for r in range(min(documents, number)) if model.example_documents[topic, r] >= 0]
        texts = [model.example_snippets[topic * number + r] for r in there]
        for rank, passage in zip(there, finder.passages(topic, texts), strict=True):
            found.append({
                "topic": int(topic), "document": model.example_ids[topic * number + rank],
                "weight": round(float(model.example_weights[topic, rank]), 6), "passage": passage,
            })  # fmt: skip
    return found


class PassageFinder:
    """Finds passages of a model's topics in texts."""

    def __init__(self, model: Model, characters: int = SIZE) -> None:
        check_whole("characters", characters, 20, None)
        self.model, self.characters = model, characters
        self.tokenizer = Tokenizer.from_meta(model.meta.get("tokenizer"))

    def passages(self, topic: int, texts: Iterable[str]) -> list[str]:
        """The passage of each text; one that begins or ends within a text has a mark there."""
        belongs = self._word_weights(topic)
        return [self._passage(belongs, text) for text in texts]

    def _word_weights(self, topic: int) -> NDArray[np.float64]:
        """How probable each word of the vocabulary is this topic's, where nothing but the word is known."""
        first, last = self._columns.indptr[topic : topic + 2]
        own = self.model.beta.copy()
        own[self._columns.indices[first:last]] += self._columns.data[first:last]
        if len(self.model.remainder):
            own += self.model.remainder * self.model.remainder_share[topic]
        return np.divide(own * self._scale[topic], self._everywhere, where=self._everywhere > 0, out=np.zeros(len(own)))

    @cached_property
    def _columns(self) -> Any:
        return self.model.counts().tocsc()

    @cached_property
    def _scale(self) -> NDArray[np.float64]:
        """What makes counts of a topic probabilities of a word and the topic."""
        return self.model.topic_weights / (self.model.totals + self.model.beta_sum)

    @cached_property
    def _everywhere(self) -> NDArray[np.float64]:
        """How probable each word is in all."""
        found: NDArray[np.float64] = self.model.counts() @ self._scale + self.model.beta * self._scale.sum()
        if len(self.model.remainder):
            found = found + self.model.remainder * float(self._scale @ self.model.remainder_share)
        return found

    def _passage(self, belongs: NDArray[np.float64], text: str) -> str:
        if len(text) <= self.characters:
            return text
        room = self.characters - 4  # for the marks
        parts = [part for begin, end in _sentence_spans(text) for part in _cut_long_span(text, begin, end, room)]
        words, offsets, _ = self.tokenizer.encode([text[begin:end] for begin, end in parts], self.model.vocabulary)
        sums = np.concatenate([[0.0], np.cumsum(belongs[words])])[offsets]
        places = np.array([begin for begin, _ in parts] + [len(text)])
        # What a part has beyond what as many characters have throughout the text: a run of parts is as good as its sum.
        excess = sums - sums[-1] * places / len(text)
        best, chosen = -np.inf, (0, 0)
        first = 0
        for last in range(len(parts)):
            while parts[last][1] - parts[first][0] > room:
                first += 1
            start = first + int(np.argmin(excess[first : last + 1]))
            if excess[last + 1] - excess[start] > best:
                best, chosen = excess[last + 1] - excess[start], (start, last)
        begin, end = parts[chosen[0]][0], parts[chosen[1]][1]
        return ("… " if begin else "") + text[begin:end].strip() + (" …" if end < len(text.rstrip()) else "")


def _sentence_spans(text: str) -> list[tuple[int, int]]:
    ends = [match.end() for match in _END.finditer(text)]
    return [(a, b) for a, b in zip([0, *ends], [*ends, len(text)], strict=True) if a < b]


def _cut_long_span(text: str, begin: int, end: int, size: int) -> list[tuple[int, int]]:
    """A sentence, or pieces of it that have at most so many characters, cut between words where there are any."""
    found = []
    while end - begin > size:
        space = text.rfind(" ", begin + size // 2, begin + size)
        cut = space + 1 if space >= 0 else begin + size
        found.append((begin, cut))
        begin = cut
    return [*found, (begin, end)]
