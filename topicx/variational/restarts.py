"""Random restarts: the objective of a deterministic method depends on where it starts, so start it more than once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine, Threads
from topicx.models.lda import initial_state
from topicx.sampling.chain import Chain
from topicx.sampling.options import Options, check_whole


def best_of(
    corpus: Corpus,
    options: Options,
    chains: int,
    engine: Engine | None = None,
    each: Callable[[int, float], None] | None = None,
) -> tuple[Chain, list[float]]:
    """The chain with the highest final objective (the first of equals), and the objective of every chain.

    Chain i has `options` with its own `chain` number, so it is the run that these options alone would give. `each` is
    told a chain's number and its objective.
    """
    check_whole("chains", chains, 1, None)
    engine = engine or Threads()
    best: Chain | None = None
    scores: list[float] = []
    for number in range(chains):
        own = replace(options, chain=options.chain + number)
        chain = Chain(initial_state(corpus, own), own, engine)
        chain.run()
        score = chain.method.score()
        if best is None or score > max(scores):
            best = chain
        scores.append(score)
        if each is not None:
            each(number, score)
    assert best is not None
    return best, scores
