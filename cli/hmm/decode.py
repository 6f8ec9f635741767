"""topicx hmm decode: the hidden states of a corpus."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from topicx.cli.common import check_outputs, option, quiet, stack_options, threads
from topicx.cli.hmm.reading import load_model_and_corpus, say_unknown
from topicx.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from topicx.corpus.corpus import Corpus

METHODS = ("viterbi", "posterior")


@click.command()
@click.argument("model")
@click.argument("corpus")
@stack_options(
    option("--output", "-o", default="-", metavar="FILE", help="The table to write; - is standard output."),
    option("--method", "-m", type=click.Choice(METHODS), default="viterbi",
           help="viterbi: the most probable path as a whole; posterior: the most probable state of each symbol."),
    option("--tokens", is_flag=True, show_default=False,
           help="A row a symbol (posterior: with the probability of every state) in the place of a row a document."),
)  # fmt: skip
@threads
@quiet
def command(model: str, corpus: str, output: str, method: str, tokens: bool, threads: int, quiet: bool) -> None:
    """Find the hidden states of CORPUS under MODEL.

    \b
    A row a document:         document, log p, states separated by spaces
    --tokens, a row a symbol: document, position, symbol, state (and p_0, p_1 … by --method posterior)

    log p is that of path and symbols together (viterbi), or of the symbols (posterior).
    """
    from topicx.engines.threads import Threads
    from topicx.files import container

    check_outputs([output], [model, corpus])
    loaded, documents = load_model_and_corpus(model, corpus)
    data, unknown = loaded.sequences(documents)
    gamma: NDArray[np.float64] | None = None
    with Threads(threads) as engine:
        if method == "viterbi":
            states, logs = loaded.viterbi(data, engine)
        else:
            gamma, logs = loaded.posteriors(data, engine)
            states = gamma.argmax(axis=1)
    impossible = [documents.ids[int(d)] for d in range(len(logs)) if logs[d] == -math.inf]
    if impossible:
        raise InputError(
            f"{corpus}: the model cannot produce document {impossible[0]} ({len(impossible):,} such in all)"
        )
    with container.atomic_output(output, binary=False) as out:
        if tokens:
            states_of = range(loaded.n_states) if gamma is not None else ()
            out.write("\t".join(["document", "position", "symbol", "state", *(f"p_{s}" for s in states_of)]) + "\n")
            out.writelines(_token_rows(documents, states, gamma))
        else:
            out.write("document\tlog_p\tstates\n")
            for d, name in enumerate(documents.ids):
                row = states[documents.offsets[d] : documents.offsets[d + 1]].tolist()
                out.write(f"{name}\t{logs[d]:.6f}\t{' '.join(map(str, row))}\n")
    say_unknown(unknown, data.n_symbols, quiet)


def _token_rows(documents: Corpus, states: Any, gamma: Any) -> Iterator[str]:
    names = list(documents.vocabulary)
    for d, name in enumerate(documents.ids):
        begin, end = int(documents.offsets[d]), int(documents.offsets[d + 1])
        rows = gamma[begin:end].tolist() if gamma is not None else [()] * (end - begin)
        symbols, found = documents.words[begin:end].tolist(), states[begin:end].tolist()
        for position, (symbol, state, row) in enumerate(zip(symbols, found, rows)):
            further = "".join(f"\t{p:.6g}" for p in row)
            yield f"{name}\t{position}\t{names[symbol]}\t{state}{further}\n"
