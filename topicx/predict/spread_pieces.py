"""Inference on the workers of a cluster: batches of documents go there, what was read of them comes back in order."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from topicx.engines.places import Places
from topicx.model import Model
from topicx.predict.documents import Documents
from topicx.predict.reader import Read
from topicx.predict.sampling_plan import Sampling

if TYPE_CHECKING:
    from topicx.predict.predictor import Predictor


def read_on_places(predictor: Predictor, places: Places, pieces: Iterable[Documents]) -> Iterator[Read]:
    """The pieces as `predictor` reads them, each on a worker. The model goes there by a file that all of them see."""
    path = places.folder / f"{id(predictor):x}.model"
    model = predictor.model
    model.save(path)
    sent: deque[Documents] = deque()

    def tasks() -> Iterator[tuple[Any, ...]]:
        for piece in pieces:
            sent.append(piece)
            yield str(path), predictor.sampling, predictor.group, piece

    try:
        for read in places.stream(read_piece, tasks()):
            yield replace(read, documents=sent.popleft())
    finally:
        path.unlink(missing_ok=True)


def read_piece(path: str, sampling: Sampling, group: str | int | None, piece: Documents) -> Read:
    """One batch, on a worker. The documents themselves do not come back."""
    return replace(_predictor(path, sampling, group).run(piece), documents=piece.part(0, 0))


@functools.lru_cache(maxsize=2)
def _predictor(path: str, sampling: Sampling, group: str | int | None) -> Predictor:
    """What reads documents, made once on each worker."""
    from topicx.predict.predictor import Predictor

    return Predictor(Model.load(path), sampling, 1, group=group)
