"""Measures of documents on the workers of a cluster, batch by batch.

A measure makes a function of some documents, and has an engine do it for all of them. That function does not travel: a
worker calls the measure with the same model and corpus, takes the function that it makes, and does the batches that
are asked of it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any, NoReturn

from topicx.corpus.corpus import Corpus
from topicx.corpus.shared_corpora import shared_corpora
from topicx.engines.places import Places
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.model import Model

Work = Callable[[Any], Any]


@dataclass(frozen=True)
class MeasureCall:
    """A call of a measure, as it travels."""

    name: str
    """A name that no other call has."""
    module: str
    function: str
    model: str
    corpus: str
    """Files of the model and the corpus."""
    settings: dict[str, Any]


def measure_on_places(
    function: Callable[..., Any], engine: Engine, phi: Any, alpha: Any, corpus: Corpus, **settings: Any
) -> Any:
    """function(phi, alpha, corpus, **settings, threads=…), whose batches of documents are measured by an engine's
    workers. InputError unless `phi` is a model that is measured with its own priors."""
    places = engine.places
    assert places is not None
    if not isinstance(phi, Model) or alpha is not None or settings.pop("groups", None) is not None:
        raise InputError(f"{function.__name__}: on a cluster a model is measured with the priors of its own")
    path = places.folder / f"{secrets.token_hex(4)}.model"
    phi.save(path)
    try:
        with shared_corpora(places, corpus) as files:
            call = MeasureCall(
                secrets.token_hex(6), function.__module__, function.__name__, str(path), files[0], settings
            )
            return function(phi, None, corpus, **settings, threads=_Sent(engine.threads, places, call))
    finally:
        path.unlink(missing_ok=True)


class _Sent(Threads):
    """Sends the batches of a call to the workers."""

    def __init__(self, threads: int, places: Places, call: MeasureCall) -> None:
        super().__init__(threads)
        self._workers, self._call = places, call

    def stream(self, work: Work, items: Iterable[Any]) -> Iterator[Any]:
        yield from self._workers.stream(measure_batch, ((self._call, item) for item in items))


class _WorkFound(Exception):
    def __init__(self, work: Work) -> None:
        super().__init__()
        self.work = work


class _Taken(Threads):
    """Takes what is to be done, and does none of it."""

    def stream(self, work: Work, items: Iterable[Any]) -> NoReturn:
        raise _WorkFound(work)

    def map(self, work: Work, items: Sequence[Any]) -> NoReturn:
        raise _WorkFound(work)


_KNOWN: dict[str, Work] = {}
_LOCK = Lock()


def measure_batch(call: MeasureCall, item: Any) -> Any:
    """One batch, on a worker."""
    with _LOCK:
        if call.name not in _KNOWN:
            _KNOWN.clear()
            _KNOWN[call.name] = _work_of(call)
        work = _KNOWN[call.name]
    return work(item)


def _work_of(call: MeasureCall) -> Work:
    function = getattr(import_module(call.module), call.function)
    try:
        function(Model.load(call.model), None, Corpus.load(call.corpus), **call.settings, threads=_Taken(1))
    except _WorkFound as found:
        return found.work
    raise AssertionError(f"{call.function} asks no engine for batches of documents")
