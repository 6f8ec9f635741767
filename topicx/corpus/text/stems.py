"""Words to stems, by the Snowball stemmers of the library PyStemmer (the extra `stem`)."""

from __future__ import annotations

import functools
from typing import Any

from topicx.errors import InputError

NAMES = {"de": "german", "en": "english", "es": "spanish", "fr": "french", "it": "italian", "nl": "dutch"}
"""Languages that have a list of stop words, as the library calls them."""


class Stems(dict[str, str]):
    """The stem of every word that was asked for. Stop words of the language are their own, and nothing else's (`others`
    does not become `other`): so they can still be told."""

    def __init__(self, stemmer: Any, language: str) -> None:
        from topicx.corpus.text.tokenizer import load_stopwords

        self.known = load_stopwords(language) if language in NAMES else frozenset()
        super().__init__((word, word) for word in self.known)
        self.stemmer = stemmer

    def __missing__(self, word: str) -> str:
        stem: str = self.stemmer.stemWord(word)
        self[word] = found = word if stem in self.known else stem
        return found


@functools.cache
def make_stemmer(language: str) -> Stems:
    """The stems of a language: a code (`en`) or one of the library's names."""
    try:
        import Stemmer  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise InputError("stemming needs the library PyStemmer: pip install 'topicx[stem]'") from None
    code = next((code for code, name in NAMES.items() if name == language), language)
    name = NAMES.get(code, code)
    known = Stemmer.algorithms()
    if name not in known:
        raise InputError(f"stem: there is no stemmer for {language!r}; there are {', '.join(sorted(known))}")
    return Stems(Stemmer.Stemmer(name), code)
