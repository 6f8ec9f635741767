"""What the typical documents of a model's topics carry."""

from __future__ import annotations

import json
from typing import Any

from topicx.corpus.table import SNIPPET, Kinds, choose_columns
from topicx.errors import InputError
from topicx.model import Model


def carried_by_examples(model: Model, metadata: str = "all") -> list[dict[str, Any]]:
    """A map for each typical document, topic after topic: the columns that `metadata` names; empty: none are kept."""
    if not len(model.example_columns):
        return []
    rows: list[dict[str, Any]] = []
    for text in model.example_columns:
        try:
            row = json.loads(text or "{}")
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise InputError("the model's typical documents carry what topicx does not write: the file is damaged")
        rows.append(row)
    kinds: Kinds = {name: str for row in rows for name in row}
    names = choose_columns(metadata, kinds | {SNIPPET: str})
    return [{name: row[name] for name in names if name in row} for row in rows]
