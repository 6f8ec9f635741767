"""Places that share files and nothing else: the workers of a cluster, as a run sees them.

A task is a function of a module and its arguments, which travel; what it returns stays where it was made until another
task or the run asks for it. Tasks are pure: a place that is lost is replaced by doing its tasks again elsewhere.
`topicx.engines.dask_cluster` has the places of a Dask cluster; here is one that needs none.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from topicx.engines.threads import Threads


class Places(Protocol):
    """What a run asks of a cluster."""

    @property
    def number(self) -> int:
        """How many places there are at present."""
        ...

    @property
    def threads(self) -> int:
        """Threads of a place."""
        ...

    folder: Path
    """A folder that all of them see, for the scratch files of this run."""

    def submit(
        self, function: Callable[..., Any], *arguments: Any, name: tuple[Any, ...], at: int | None = None
    ) -> Any:
        """A task, and what stands for its result among the arguments of others. The name is its own in this run. It is
        done at place `at` (counted on beyond their number), if that is there; None: where its arguments are."""
        ...

    def take(self, results: Sequence[Any]) -> list[Any]:
        """The results themselves, when they are there."""
        ...

    def stream(self, function: Callable[..., Any], items: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """function(*item) for every item, some at the same time; the results in the items' order."""
        ...

    def measured(self) -> dict[str, float]:
        """What a task takes here (task, step: seconds) and a byte from place to place (rate: bytes a second)."""
        ...

    def close(self) -> None: ...


def item_of(result: Sequence[Any], at: int) -> Any:
    """One of several things that a task returned: a task of its own, so that no other part travels."""
    return result[at]


class OnePlace:
    """A place in this process: every task is done at once, its arguments and result copied as if they had travelled."""

    def __init__(self, folder: Path, threads: int = 1, number: int = 1) -> None:
        self.folder, self.threads, self.number = folder, threads, number
        self.tasks = 0
        """How many tasks were done."""

    def submit(
        self, function: Callable[..., Any], *arguments: Any, name: tuple[Any, ...], at: int | None = None
    ) -> Any:
        self.tasks += 1
        function, arguments = _carried((function, arguments))
        return _carried(function(*arguments))

    def take(self, results: Sequence[Any]) -> list[Any]:
        return list(results)

    def stream(self, function: Callable[..., Any], items: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for number, item in enumerate(items):
            yield self.submit(function, *item, name=("stream", number))

    def measured(self) -> dict[str, float]:
        return {"task": 0.0, "step": 0.0, "rate": 1e10}

    def close(self) -> None:
        """Nothing is held."""


class Spread(Threads):
    """An engine whose places train; what is not in cells is done by threads of this process."""

    def __init__(self, places: Places, threads: int = 0, memory: int | None = None) -> None:
        super().__init__(threads, memory)
        self.places = places

    def alone(self) -> Threads:
        """The threads of this process without the places."""
        return Threads(self.threads, self.memory)

    def close(self) -> None:
        super().close()
        if self.places is not None:
            self.places.close()


def _carried(value: Any) -> Any:
    """A copy, by the bytes that would travel."""
    return pickle.loads(pickle.dumps(value, protocol=5))
