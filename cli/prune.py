"""topicx prune"""

from __future__ import annotations

from typing import Any

import click

from topicx.cli.common import check_outputs, option, print_note, quiet
from topicx.cli.import_ import LanguagesFirst, limits, stop_options


@click.command("prune", cls=LanguagesFirst)
@click.argument("corpus")
@option("--output", "-o", required=True, metavar="CORPUS", help="The corpus file to write; - is standard output.")
@limits
@option("--keep-most", type=click.IntRange(1), metavar="N", help="Keep the N most frequent of the words that are left.",
        show_default="all")  # fmt: skip
@option("--drop-most", type=click.IntRange(0), default=0, metavar="N",
        help="Drop the N most frequent of the words that are left (before --keep-most).")  # fmt: skip
@option("--words", metavar="FILE", help="Keep only the words in this file, one a line.", show_default="all")
@option("--min-length", type=click.IntRange(1), default=1, metavar="N",
        help="Drop words of fewer characters (a Chinese character or Korean syllable alone is a word).")  # fmt: skip
@option("--drop-numbers", is_flag=True, help="Drop words without a letter.", show_default=False)
@stop_options
@quiet
def command(corpus: str, output: str, words: str | None, quiet: bool, **chosen: Any) -> None:
    """Drop words that are too rare or too common from a corpus, or from a state, whose other tokens keep their topics.

    The words that stay keep their order. Words that are in no document are always dropped.

    \b
    Examples:
      topicx prune texts.corpus -o small.corpus --min-count 5 --max-doc-freq 0.5
      topicx prune texts.corpus -o small.corpus --keep-most 10000 --remove-stopwords de
    """
    from topicx.cli.import_ import chosen_stopwords, say_empty
    from topicx.corpus.corpus import Corpus
    from topicx.corpus.formats.input_bytes import read_words
    from topicx.files import container

    check_outputs([output], [corpus, words])
    stop = chosen_stopwords(chosen)
    wanted = None if words is None else read_words(words)
    limits = {"stopwords": stop, "words": wanted} | {
        name: chosen[name]
        for name in ("min_count", "min_doc_freq", "max_doc_freq", "drop_empty", "keep_most", "drop_most", "min_length",
                     "drop_numbers")
    }  # fmt: skip
    if corpus != "-" and container.is_topicx(corpus) and container.kind_of(corpus) == "state":
        _prune_state(corpus, output, limits, quiet)
        return
    whole = Corpus.load(corpus)
    pruned = whole.prune(**limits)
    _remember_removed(pruned.meta, limits)
    pruned.save(output, {"corpus": whole.digest})
    print_note(
        f"{output}: {pruned.n_documents:,} documents, {pruned.n_tokens:,} tokens, {pruned.n_words:,} words; "
        f"left out {whole.n_words - pruned.n_words:,} words, {whole.n_tokens - pruned.n_tokens:,} tokens, "
        f"{whole.n_documents - pruned.n_documents:,} documents",
        quiet=quiet,
    )
    say_empty(pruned.meta["counts"]["empty_documents"], quiet)


def _remember_removed(meta: dict[str, Any], limits: dict[str, Any]) -> None:
    """New text that is read as this was loses the same words."""
    from dataclasses import replace

    from topicx.corpus.text.tokenizer import Tokenizer

    if not meta.get("tokenizer"):
        return
    tokenizer = Tokenizer.from_meta(meta["tokenizer"])
    meta["tokenizer"] = replace(
        tokenizer, stopwords=frozenset(tokenizer.stopwords) | limits["stopwords"],
        min_length=max(tokenizer.min_length or 1, limits["min_length"]),
        keep_numbers=tokenizer.keep_numbers and not limits["drop_numbers"],
    ).to_meta()  # fmt: skip


def _prune_state(path: str, output: str, limits: dict[str, Any], quiet: bool) -> None:
    from topicx import model_registry as models
    from topicx.errors import InputError
    from topicx.estimate.topic_edits import prune_words_of_state
    from topicx.state import State

    if limits["drop_empty"]:
        raise InputError("--drop-empty: the documents of a state stay")
    whole = State.load(path)
    models.of_meta(whole.meta).verify_state(whole)
    left = prune_words_of_state(whole, **limits)
    _remember_removed(left.meta, limits)
    left.parents = dict(whole.parents) | {"state": whole.digest}
    left.save(output)
    print_note(
        f"{output}: {left.n_documents:,} documents, {left.n_tokens:,} tokens, {left.n_words:,} words, with their "
        f"topics; left out {whole.n_words - left.n_words:,} words, {whole.n_tokens - left.n_tokens:,} tokens",
        quiet=quiet,
    )
