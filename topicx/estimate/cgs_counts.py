"""The standard estimators of a collapsed Gibbs state (Griffiths & Steyvers 2004; Papanikolaou et al. 2017, eq. 2, 3).

    φ_kw = (n_kw + β_w) / (n_k + B)        θ_dk = (n_dk + α_k) / (N_d + Σα)

The counts are kept as they are: whole numbers, and sparse.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from topicx.state import Csr, State

_BATCH = 1 << 21  # numbers of a batch: 16 MB


def theta_rows(state: State, counts: Csr | None = None) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """θ in batches of documents: the number of the first, and a row for each. `counts`: n_dk from elsewhere."""
    indptr, topics, values = counts or state.document_topics()
    step = max(_BATCH // state.n_topics, 1)
    for begin in range(0, state.n_documents, step):
        end = min(begin + step, state.n_documents)
        groups = state.groups[begin:end] if len(state.groups) else np.zeros(end - begin, np.uint32)
        rows = state.alpha[groups]
        entries = slice(int(indptr[begin]), int(indptr[end]))
        of = np.repeat(np.arange(end - begin), np.diff(indptr[begin : end + 1]))
        rows[of, topics[entries]] += values[entries]
        # Tokens that are not placed are in no count, so the length is what is counted.
        placed = np.bincount(of, weights=values[entries], minlength=end - begin)
        rows /= (state.alpha.sum(axis=1)[groups] + placed)[:, None]
        yield begin, rows
