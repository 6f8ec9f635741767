"""topicx hmm evaluate: the likelihood of a corpus."""

from __future__ import annotations

import math

import click

from topicx.cli.common import json_output, print_json, quiet, threads
from topicx.cli.hmm.reading import load_model_and_corpus, say_unknown
from topicx.errors import InputError


@click.command()
@click.argument("model")
@click.argument("corpus")
@json_output
@threads
@quiet
def command(model: str, corpus: str, as_json: bool, threads: int, quiet: bool) -> None:
    """The log-likelihood of CORPUS under MODEL, exactly, by the forward algorithm.

    Symbols are matched by name. One that the model does not know tells nothing of its state and counts nothing.
    """
    from topicx.engines.threads import Threads

    loaded, documents = load_model_and_corpus(model, corpus)
    data, unknown = loaded.sequences(documents)
    scored = data.n_symbols - unknown
    if not scored:
        raise InputError(f"{corpus}: has no symbol that {model} knows")
    with Threads(threads) as engine:
        logs = loaded.parameters().log_likelihoods(data, engine)
    total = float(logs.sum())
    if total == -math.inf:
        name = documents.ids[int(logs.argmin())]
        raise InputError(f"{corpus}: the model cannot produce document {name}: its likelihood is zero")
    figures = {
        "log_likelihood": total, "log_likelihood_per_symbol": total / scored, "perplexity": math.exp(-total / scored),
        "sequences": documents.n_documents, "symbols": scored, "unknown": unknown,
    }  # fmt: skip
    if as_json:
        print_json(figures)
    else:
        click.echo(
            f"log-likelihood {total:.4f}, {total / scored:.5f} a symbol, perplexity {figures['perplexity']:.4f}  "
            f"({documents.n_documents:,} sequences, {scored:,} symbols scored)"
        )
    say_unknown(unknown, data.n_symbols, quiet)
