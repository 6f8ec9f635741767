"""Which language a text is in, by its stop words."""

from __future__ import annotations

from collections.abc import Callable

from topicx.corpus.text.tokenizer import LANGUAGES, load_stopwords

SHARE = 0.25
"""The share of tokens that a language's stop words have in running text, at the very least (usually .4 to .6)."""
TOKENS, DIFFERENT = 200, 10
"""The least number of tokens and of different stop words to judge by."""


def find_language(frequency: Callable[[str], int], tokens: int) -> str | None:
    """The language whose stop words have the largest share of the tokens, if that is as large as in running text. The
    frequency is that of a word among these tokens."""
    if tokens < TOKENS:
        return None
    best, chosen = 0, None
    for language in LANGUAGES:
        found = [n for n in map(frequency, load_stopwords(language)) if n]
        if len(found) >= DIFFERENT and sum(found) > best:
            best, chosen = sum(found), language
    return chosen if best >= SHARE * tokens else None
