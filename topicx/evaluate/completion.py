"""Document completion: part of a document estimates its θ, the rest is scored (Papanikolaou et al. 2017, eq. 55-56).

    log likelihood = Σ_d Σ_{i held out} log Σ_k θ_dk φ_kw,      perplexity = exp(-log likelihood / tokens scored)

One evaluator for any program's φ: θ is the posterior mean under that φ and α, taken from many sweeps with fixed φ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine, engine_of
from topicx.errors import InputError
from topicx.evaluate.judged_documents import Judged
from topicx.evaluate.spread_measures import measure_on_places
from topicx.model import Model
from topicx.predict.predictor import in_batches
from topicx.predict.sampling_plan import Sampling, Streams
from topicx.splitmix import GOLDEN, mix_bits

__all__ = ["Completion", "completion", "completion_perplexity"]


@dataclass(repr=False)
class Completion(Summarized):
    """What document completion found."""

    log_likelihood: float
    """Σ log p of the scored tokens."""
    tokens: int
    """Tokens scored."""
    unknown: int
    """Tokens left out because the model does not know the word."""
    documents: NDArray[np.float64]
    """Σ log p of each document's scored tokens."""
    scored: NDArray[np.int64]
    """Tokens scored in each document."""

    @property
    def perplexity(self) -> float:
        return math.exp(-self.log_likelihood / self.tokens) if self.tokens else math.nan


def completion(
    phi: Model | NDArray[Any], alpha: Any, corpus: Corpus, *, share: str | float = "half", seed: int = 1,
    burn_in: int = 50, samples: int = 25, lag: int = 2, groups: NDArray[np.uint32] | None = None,
    threads: int | Engine = 1,
) -> Completion:  # fmt: skip
    """Score the held-out part of every document, whose other part estimates θ.

    Parameters
    ----------
    phi : Model or ndarray of shape (topics, words)
        A model, whose words are matched by name, or φ of any program for a corpus with the same vocabulary.
    alpha : float or sequence of float, optional
        α. By default the model's own.
    corpus : Corpus
        Documents.
    share : str or float, default "half"
        What estimates θ: "half" (the first half of the words that the model knows), or this share of them, drawn at
        random.
    seed : int, default 1
        Seed of all random numbers.
    burn_in : int, default 50
        Iterations before the first sample of θ.
    samples : int, default 25
        Samples over which θ is averaged.
    lag : int, default 2
        Iterations from one sample to the next.
    groups : ndarray, optional
        Row of α that each document uses.
    threads : int or Engine, default 1
        Threads; 0: all cores. No result depends on it.

    Returns
    -------
    Completion
        Log-likelihood by document, and perplexity.
    """
    engine = engine_of(threads)
    if engine.places is not None:
        settings: dict[str, Any] = {"share": share, "seed": seed, "burn_in": burn_in, "samples": samples, "lag": lag}
        found: Completion = measure_on_places(completion, engine, phi, alpha, corpus, groups=groups, **settings)
        return found
    judged = Judged.of(phi, alpha, corpus, groups)
    if not (share == "half" or (isinstance(share, float | int) and 0 < share < 1)):
        raise InputError(f"share must be 'half' or a number between 0 and 1, not {share!r}")
    for name, value in (("burn-in", burn_in), ("samples", samples), ("lag", lag)):
        if value < 1:
            raise InputError(f"{name}: {value} must be at least 1")
    sampling = Sampling("cgsp", burn_in, samples, lag, seed=seed)

    def score(begin: int, end: int) -> tuple[NDArray[np.float64], NDArray[np.int64], int]:
        documents = judged.documents(begin, end)
        words, offsets = documents.words, documents.offsets
        streams = Streams(words, offsets, seed)
        seen = _tokens_for_theta(offsets, streams.of_chain(0), share)
        before = np.zeros(len(words) + 1, np.int64)
        np.cumsum(seen, out=before[1:])
        inside = before[offsets]
        given = replace(documents, words=np.ascontiguousarray(words[seen]), offsets=inside)
        read = judged.reader.read(given, judged.prior(documents, begin, end), streams, sampling)
        held, held_offsets = np.ascontiguousarray(words[~seen]), offsets - inside
        result = judged.reader.log_predictive(read, held, held_offsets)
        return result, np.diff(held_offsets), int(documents.unknown.sum())

    parts = list(in_batches(score, corpus.offsets, judged.reader, engine))
    documents = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0)
    scored = np.concatenate([part[1] for part in parts]) if parts else np.zeros(0, np.int64)
    total = int(scored.sum())
    if not total:
        raise InputError("no document has a token to score (words that the model knows, at least one a document)")
    return Completion(math.fsum(documents), total, sum(part[2] for part in parts), documents, scored)


def completion_perplexity(phi: Model | NDArray[Any], alpha: Any, corpus: Corpus, **settings: Any) -> float:
    """Perplexity by document completion of any program's φ.

    Parameters
    ----------
    phi : Model or ndarray of shape (topics, words)
        A model, or φ of any program for a corpus with the same vocabulary.
    alpha : float or sequence of float, optional
        α. By default the model's own.
    corpus : Corpus
        Documents.
    **settings
        Further arguments of `completion`.

    Returns
    -------
    float
        Perplexity; lower is better.
    """
    return completion(phi, alpha, corpus, **settings).perplexity


def _tokens_for_theta(offsets: NDArray[np.int64], keys: NDArray[np.uint64], share: str | float) -> NDArray[np.bool_]:
    """Which tokens estimate θ."""
    lengths = np.diff(offsets)
    position = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    if share == "half":
        return position < np.repeat(lengths // 2, lengths)
    # A rank at random within each document: a hash of the document's key and the position.
    x = mix_bits(np.repeat(keys, lengths) ^ ((position.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)))
    order = np.lexsort((x, np.repeat(np.arange(len(lengths)), lengths)))
    rank = np.empty(len(order), np.int64)
    rank[order] = position
    return rank < np.repeat(np.floor(lengths * float(share) + 0.5).astype(np.int64), lengths)
