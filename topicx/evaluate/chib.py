"""log p(w | φ, α) by a Chib-style estimate (Murray & Salakhutdinov 2009; Wallach et al. 2009, section 4.2).

log p(w) = log p(w, z*) - log p(z* | w) for any z*. Here z* is a state of high probability, and p(z* | w) is the mean
probability of stepping to z* by one Gibbs sweep from the states of a chain that was itself grown from z*, in both
directions from a place drawn at random; that makes the estimate of p(w) unbiased.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.infer import infer as kernel
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError
from topicx.evaluate.held_out import HeldOut, held_out
from topicx.evaluate.spread_measures import measure_on_places
from topicx.model import Model

__all__ = ["chib"]


def chib(
    phi: Model | NDArray[Any], alpha: Any, corpus: Corpus, *, samples: int = 100, burn_in: int = 50, seed: int = 1,
    groups: NDArray[np.uint32] | None = None, threads: int | Engine = 1,
) -> HeldOut:  # fmt: skip
    """Log probability of every document by a Chib-style estimate.

    Parameters
    ----------
    phi : Model or ndarray of shape (topics, words)
        A model, or φ of any program for a corpus with the same vocabulary.
    alpha : float or sequence of float, optional
        α. By default the model's own.
    corpus : Corpus
        Documents.
    samples : int, default 100
        States of the chain around z*.
    burn_in : int, default 50
        Iterations that find z*.
    seed : int, default 1
        Seed of all random numbers.
    groups : ndarray, optional
        Row of α that each document uses.
    threads : int or Engine, default 1
        Threads; 0: all cores. No result depends on it.

    Returns
    -------
    HeldOut
        log p(w) by document, and in all.
    """
    engine = engine_of(threads)
    if engine.places is not None:
        settings: dict[str, Any] = {"samples": samples, "burn_in": burn_in, "seed": seed}
        found: HeldOut = measure_on_places(chib, engine, phi, alpha, corpus, groups=groups, **settings)
        return found
    for name, value in (("samples", samples), ("burn-in", burn_in)):
        if value < 1:
            raise InputError(f"{name}: {value} must be at least 1")

    def work(words: Any, offsets: Any, keys: Any, rows: Any, alphas: Any, rows_of: Any) -> Any:
        values = np.zeros(len(offsets) - 1)
        kernel.chib_likelihoods(words, offsets, keys, rows, alphas, rows_of, burn_in, samples, values)
        return values, {}

    return held_out(phi, alpha, corpus, work, method="chib", seed=seed, groups=groups, threads=engine)
