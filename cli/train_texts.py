"""Texts in the place of a corpus: `topicx train` imports them on the way, as `topicx import` would."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from topicx.cli.common import option, print_note, refuse_given, refuse_overwriting, stack_options
from topicx.cli.import_ import import_texts, limits, tokenising
from topicx.cli.log import Log
from topicx.cli.reading import NAMES, is_corpus, reading_options
from topicx.errors import InputError

WORDS = (
    "token_regex", "preserve_case", "min_length", "keep_numbers", "unicode", "dehyphenate", "stem", "remove_stopwords",
    "stoplist_file", "extra_stopwords", "keep_stopwords", "bigrams", "bigram_min_count", "bigram_npmi", "min_count",
    "min_doc_freq", "max_doc_freq", "drop_empty",
)  # fmt: skip
"""The options that say what becomes of words, as import names them."""
TEXT_OPTIONS = (*NAMES, *WORDS)
"""All that is for texts alone."""

text_options = stack_options(
    option("--corpus", "corpus_path", default=None, metavar="FILE", show_default=False,
           help="Of texts: also keep the corpus that they become."),
    reading_options("--input-format"),
    tokenising,
    limits,
)  # fmt: skip


@contextlib.contextmanager
def corpus_of(
    inputs: tuple[str, ...], chosen: dict[str, Any], kept: str | None, output: str, threads: int, log: Log
) -> Iterator[str | None]:
    """The corpus file to train on: the one that is named, or what texts become, which is gone afterwards unless it is
    to be `kept`; None: no input was named."""
    if not inputs or is_corpus(inputs):
        if len(inputs) > 1:
            raise InputError(f"train: one corpus at a time, not {len(inputs)}; texts may be several")
        refuse_given(("corpus_path", *TEXT_OPTIONS), "is for texts")
        yield inputs[0] if inputs else None
        return
    if not chosen["bigrams"]:
        refuse_given(("bigram_min_count", "bigram_npmi"), "is for --bigrams")
    sides = [chosen["vocab"], chosen["label_names"], *chosen["stoplist_file"], *chosen["extra_stopwords"]]
    folder = Path(output).resolve().parent if output != "-" else None
    with contextlib.ExitStack() as stack:
        if kept:
            refuse_overwriting(kept, [*inputs, *sides])
            path = kept
        else:
            beside = folder if folder is not None and folder.is_dir() else None
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix=".topicx-", dir=beside))
            path = str(Path(place) / "corpus")
        told = kept or "read " + (", ".join(inputs) if len(inputs) < 4 else f"{len(inputs)} inputs")
        meta = import_texts(inputs, path, chosen, threads=threads, quiet=log.quiet or log.is_json, told=told)
        if log.is_json:
            log.tell("", "imported", **meta["counts"])
        elif not kept:
            print_note("the corpus is not kept (--corpus FILE keeps it)", quiet=log.quiet)
        yield path
