"""What the typical documents of a model's topics carry."""

from __future__ import annotations

from typing import Any

from topicx.corpus.table import SNIPPET, choose_columns
from topicx.model import Model


def carried_by_examples(model: Model, metadata: str = "all") -> list[dict[str, Any]]:
    """A map for each typical document, topic after topic: the columns that `metadata` names; empty: none are kept."""
    if not model.example_columns:
        return []
    names = choose_columns(metadata, model.example_columns.kinds() | {SNIPPET: str})
    told = {name: model.example_columns.told(name) for name in names if name in model.example_columns}
    return [
        {name: column[at] for name, column in told.items() if document >= 0 and column[at] not in (None, [])}
        for at, document in enumerate(model.example_documents.ravel().tolist())
    ]
