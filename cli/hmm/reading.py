"""What the commands that use a hidden Markov model share."""

from __future__ import annotations

from typing import Any

from topicx.cli.common import print_note
from topicx.errors import InputError


def load_model_and_corpus(model: str, corpus: str) -> Any:
    from topicx.corpus.corpus import Corpus
    from topicx.hmm.hmm_model import HmmModel

    if model == "-" and corpus == "-":
        raise InputError("MODEL and CORPUS: only one of them can be standard input")
    return HmmModel.load(model), Corpus.load(corpus)


def say_unknown(unknown: int, symbols: int, quiet: bool) -> None:
    if unknown:
        print_note(f"{unknown:,} of {symbols:,} symbols are not known to the model: they count nothing", quiet=quiet)
