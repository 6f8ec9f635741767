"""Names, notes and hiding of topics as a file: a report saves it, `topicx topics` and `topicx report` read it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from topicx.errors import InputError
from topicx.estimate.topic_edits import edit_topics
from topicx.model import Model

FORMAT = "topicx-names"


@dataclass(frozen=True)
class NameEdits:
    """What was changed by hand, by the numbers of topics."""

    names: dict[int, str] = field(default_factory=dict)
    notes: dict[int, str] = field(default_factory=dict)
    hidden: dict[int, bool] = field(default_factory=dict)

    def applied(self, model: Model) -> Model:
        """The model with these names, these topics hidden, and those that are shown again."""
        changed = edit_topics(model, [], self.names, [k for k, away in self.hidden.items() if away])
        for k, away in self.hidden.items():
            if not away and len(changed.hidden) and not (len(changed.merged) and changed.merged[k] != k):
                changed.hidden[k] = 0
        if self.notes:
            notes = dict(model.meta.get("topic_notes", {})) | {str(k): note for k, note in self.notes.items()}
            changed.meta = dict(changed.meta) | {"topic_notes": {k: note for k, note in notes.items() if note}}
        return changed


def read_name_edits(path: str | os.PathLike[str], topics: int) -> NameEdits:
    """The edits of a file, for a model of so many topics."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{path}: is not JSON, as a report saves it") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(f'{path}: is not a file of names, which says "format": "{FORMAT}"')
    if found.get("topics") not in (None, topics):
        raise InputError(f"{path}: is for a model of {found['topics']} topics, and this one has {topics}")
    rows = found.get("changes", [])
    if not isinstance(rows, list):
        raise InputError(f"{path}: its changes are not a list")
    edits = NameEdits()
    for row in rows:
        _add_row(edits, row, str(path), topics)
    return edits


def _add_row(edits: NameEdits, row: Any, path: str, topics: int) -> None:
    number = row.get("topic") if isinstance(row, dict) else None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < topics:
        raise InputError(f"{path}: a change is of topic {number!r}; there are 0 to {topics - 1}")
    for key, kind, place in (("name", str, edits.names), ("note", str, edits.notes), ("hidden", bool, edits.hidden)):
        if key in row:
            if not isinstance(row[key], kind):
                raise InputError(f"{path}: {key} of topic {number} is {row[key]!r:.40}")
            place[number] = row[key]
