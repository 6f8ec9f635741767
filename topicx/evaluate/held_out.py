"""What the estimators of log p(w | φ, α) share: documents in batches, words by name, figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.common_methods import Summarized
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.evaluate.judged_documents import Judged
from topicx.model import Model
from topicx.predict.predictor import in_batches
from topicx.predict.sampling_plan import document_keys
from topicx.predict.topic_rows import sum_log_divisors

__all__ = ["HeldOut"]


@dataclass(repr=False)
class HeldOut(Summarized):
    """log p(w) of each document under fixed topics."""

    documents: NDArray[np.float64]
    """log p(w) of each document."""
    tokens: int
    """Tokens that were scored."""
    unknown: int
    further: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    """Other estimates of the same, by name."""

    @property
    def log_likelihood(self) -> float:
        return math.fsum(self.documents)

    @property
    def per_token(self) -> float:
        return self.log_likelihood / self.tokens

    @property
    def perplexity(self) -> float:
        return math.exp(-self.per_token)


Kernel = Callable[..., tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]]


def held_out(
    phi: Model | NDArray[Any],
    alpha: Any,
    corpus: Corpus,
    kernel: Kernel,
    *,
    method: str,
    seed: int,
    groups: NDArray[np.uint32] | None,
    threads: int | Engine,
) -> HeldOut:
    """Run `kernel(words, offsets, keys, rows, alpha, groups)` over all documents; rows' divisors are added here.
    `method`: what measures, for the message where the model's documents have no such likelihood."""
    judged = Judged.of(phi, alpha, corpus, groups)
    topics = judged.reader.token_topics(method)

    def work(begin: int, end: int) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]], int, int]:
        documents = judged.documents(begin, end)
        words, offsets = documents.words, documents.offsets
        prior = judged.prior(documents, begin, end)
        numbers, rows, logs = topics.rows_for(words)
        keys = document_keys(words, offsets, seed)
        values, further = kernel(numbers, offsets, keys, rows, prior.alpha, prior.groups)
        add = sum_log_divisors(logs, numbers, offsets)
        more = {name: value + add for name, value in further.items()}
        return values + add, more, len(words), int(documents.unknown.sum())

    parts = list(in_batches(work, corpus.offsets, judged.reader, threads, tokens=1 << 13))
    tokens = sum(part[2] for part in parts)
    if not tokens:
        raise InputError("there is no token to score: the model knows none of the words")
    names = parts[0][1]
    return HeldOut(
        np.concatenate([part[0] for part in parts]), tokens, sum(part[3] for part in parts),
        {name: np.concatenate([part[1][name] for part in parts]) for name in names},
    )  # fmt: skip
