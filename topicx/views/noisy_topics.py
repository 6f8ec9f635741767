"""Topics whose top words are no words to read: which they are, and which option helps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from topicx.corpus.text.tokenizer import LANGUAGES, Tokenizer, load_stopwords

TOP = 10
"""Words of a topic that are looked at."""
FEW = 3
"""Noise words among them from which on a topic is noisy."""


def noisy_words(topics: Sequence[Sequence[str]]) -> tuple[dict[str, str], str | None]:
    """What is noise among the topics' top words, with its kind (short word, number or stop word), and the language of
    the stop words: the one that most of the top words are stop words of."""
    words = Counter(word for topic in topics for word in topic[:TOP])
    language = max(LANGUAGES, key=lambda one: sum(words[word] for word in words if word.lower() in load_stopwords(one)))
    stop = load_stopwords(language)
    short, lettered = Tokenizer(min_length=2, keep_numbers=True), Tokenizer(min_length=1, keep_numbers=False)
    noise: dict[str, str] = {}
    for word in words:
        if lettered.is_noise(word):
            noise[word] = "number"
        elif short.is_noise(word):
            noise[word] = "short word"
        elif word.lower() in stop:
            noise[word] = "stop word"
    return noise, language if "stop word" in noise.values() else None


def noise_message(topics: Sequence[Sequence[str]], meta: Mapping[str, Any]) -> str | None:
    """One line if several of the topics' top words are noise: how many topics, which words, and what helps. `meta` is
    the corpus's."""
    noise, language = noisy_words(topics)
    noisy = [topic for topic in topics if sum(word in noise for word in topic[:TOP]) >= FEW]
    if not noisy:
        return None
    found = list(dict.fromkeys(word for topic in noisy for word in topic[:TOP] if word in noise))
    kinds = {noise[word] for word in found}
    options = []
    if "stop word" in kinds:
        options.append(f"--remove-stopwords {language}")
    if "short word" in kinds:
        options.append("--min-length 2")
    if "number" in kinds:
        options.append("--drop-numbers")
    command = "import" if meta.get("tokenizer") else "prune"
    many = "1 topic has" if len(noisy) == 1 else f"{len(noisy):,} topics have"
    return (
        f"{many} {FEW} or more {', '.join(sorted(f'{kind}s' for kind in kinds))} among the {TOP} top words "
        f"({' '.join(found[:6])}): 'topicx {command}' with {' '.join(options)} drops them"
    )
