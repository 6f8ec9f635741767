"""Corpora that pieces of work on other machines read."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator

from topicx.corpus.corpus import Corpus
from topicx.engines.places import Places


@contextlib.contextmanager
def shared_corpora(places: Places, *corpora: Corpus) -> Iterator[list[str]]:
    """Files of these corpora that all machines see, as long as the block lasts."""
    files = [places.folder / f"{secrets.token_hex(4)}.corpus" for _ in corpora]
    try:
        for corpus, file in zip(corpora, files, strict=True):
            corpus.save(file)
        yield [str(file) for file in files]
    finally:
        for file in files:
            file.unlink(missing_ok=True)
