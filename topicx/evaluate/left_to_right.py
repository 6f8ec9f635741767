"""log p(w | φ, α) from left to right (Wallach et al. 2009, algorithm 3), and the unbiased form (Buntine 2009).

Particles walk through the document. At position n a particle draws the topics before n anew, takes p(w_n | those), and
draws topic n. Wallach et al. average p_n over the particles and multiply; that is consistent, and biased. Multiplied
within one particle, the p_n are the weight of an annealed importance sampler (each redrawing leaves p(z_<n | w_<n) as
it is), whose mean over particles is unbiased for p(w); its logarithm is below log p(w) on average.
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

__all__ = ["left_to_right"]


def left_to_right(
    phi: Model | NDArray[Any],
    alpha: Any,
    corpus: Corpus,
    *,
    particles: int = 20,
    form: str = "sequential",
    resample: bool = True,
    seed: int = 1,
    groups: NDArray[np.uint32] | None = None,
    threads: int | Engine = 1,
) -> HeldOut:
    """Log probability of every document from left to right.

    The time grows with the square of a document's length; `resample=False` is linear and far less accurate.

    Parameters
    ----------
    phi : Model or ndarray of shape (topics, words)
        A model, or φ of any program for a corpus with the same vocabulary.
    alpha : float or sequence of float, optional
        α. By default the model's own.
    corpus : Corpus
        Documents.
    particles : int, default 20
        Independent runs that are averaged.
    form : str, default "sequential"
        "sequential" (unbiased) or "wallach"; `further` of the result holds both.
    resample : bool, default True
        Whether the topics before a token are sampled again for each token.
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
        settings: dict[str, Any] = {"particles": particles, "form": form, "resample": resample, "seed": seed}
        found: HeldOut = measure_on_places(left_to_right, engine, phi, alpha, corpus, groups=groups, **settings)
        return found
    if form not in ("sequential", "wallach"):
        raise InputError(f"form: {form!r} is not one of sequential, wallach")
    if particles < 1:
        raise InputError(f"particles: {particles} must be at least 1")

    def work(words: Any, offsets: Any, keys: Any, rows: Any, alphas: Any, rows_of: Any) -> Any:
        averaged = np.zeros(len(offsets) - 1)
        single = np.zeros((len(offsets) - 1, particles))
        kernel.left_to_right(words, offsets, keys, rows, alphas, rows_of, particles, resample, averaged, single)
        top = single.max(axis=1)
        mean = np.log(np.mean(np.exp(single - top[:, None]), axis=1)) + top
        both = {"sequential": mean, "wallach": averaged}
        return both[form], both

    return held_out(phi, alpha, corpus, work, method="left-to-right", seed=seed, groups=groups, threads=engine)
