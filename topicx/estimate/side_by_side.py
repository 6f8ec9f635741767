"""Models side by side: one model of the topics of several, each set of topics a block of its own.

Where models were trained apart, their topics are unlike, and no average of them makes sense. But whatever is linear in
θ can be averaged: with a document's shares inferred in each block alone and θ the blocks' shares, divided by their
number, a score θ·η over all topics is the mean of the models' scores.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from topicx.errors import InputError
from topicx.model import Model
from topicx.strings import Strings

MOST_TOPICS = 65_535


def join_models_side_by_side(before: Model | None, model: Model) -> Model:
    """The model with the topics of the one before (of several blocks, perhaps) before its own."""
    import scipy.sparse

    if before is None:
        return model
    number = before.n_topics + model.n_topics
    if number > MOST_TOPICS:
        raise InputError(f"topics: {number:,} in all, and a model can have {MOST_TOPICS:,}")
    if len(model.remainder) or len(before.remainder):
        raise InputError("phi: models of cut-off counts cannot stand side by side; take cgs")
    counts = scipy.sparse.hstack([before.counts(), model.counts()], format="csr")
    counts.sort_indices()
    return replace(
        model, indptr=counts.indptr.astype(np.int64), topics=counts.indices.astype(np.uint16), values=counts.data,
        alpha=np.hstack([before.alpha, model.alpha]), beta=model.beta,
        example_documents=np.vstack([before.example_documents, model.example_documents]),
        example_weights=np.vstack([before.example_weights, model.example_weights]),
        example_ids=_join_strings(before.example_ids, model.example_ids),
        example_snippets=_join_strings(before.example_snippets, model.example_snippets),
        example_columns=before.example_columns.joined(
            model.example_columns, before.example_documents.size, model.example_documents.size
        ),
    )  # fmt: skip


def _join_strings(first: Strings, second: Strings) -> Strings:
    return Strings(np.concatenate([first.data, second.data]),
                   np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]))  # fmt: skip


def blocks_of(model: Model, number: int) -> list[Model]:
    """The models that stand side by side, each with as many topics: what inference needs of them."""
    counts, topics = model.counts().tocsc(), model.n_topics // number
    found = []
    for begin in range(0, model.n_topics, topics):
        part = counts[:, begin : begin + topics].tocsr()
        part.sort_indices()
        found.append(
            Model(
                vocabulary=model.vocabulary, alpha=np.ascontiguousarray(model.alpha[:, begin : begin + topics]),
                beta=model.beta, indptr=part.indptr.astype(np.int64), topics=part.indices.astype(np.uint16),
                values=part.data, meta={"estimator": model.meta.get("estimator", {})},
            )
        )  # fmt: skip
    return found
