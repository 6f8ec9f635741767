"""An engine runs independent pieces of work and returns their results in the order given. Nothing else depends on it:
who runs a piece, and how many at a time, never changes a result. This one uses the threads of this process.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from topicx.engines.memory_limits import free_memory

if TYPE_CHECKING:
    from topicx.engines.places import Places

Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """What a chain asks of an engine."""

    threads: int
    """Threads of this process, for work that is not in cells."""
    places: Places | None
    """The workers of a cluster, where it has some."""

    def room(self, held: int = 0) -> int:
        """Bytes that a run may take beside those that it holds already."""
        ...

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """work(item) for every item, in any order and place; the results in the items' order."""
        ...

    def stream(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Map a function over items as `map` does, for items that come one by one: a few are ahead of the result that
        is taken."""
        ...

    def close(self) -> None: ...


MOST = 1024
"""Threads of a process: more are not made, whatever is asked for."""


class Threads:
    """Threads of this process: the kernels release the GIL.

    Parameters
    ----------
    threads : int, default 0
        Number of threads; 0: all cores.
    memory : int, optional
        Bytes that a run may take; what is free, if nothing is said.
    """

    places: Places | None = None

    def __init__(self, threads: int = 0, memory: int | None = None) -> None:
        self.threads = min(threads, MOST) or available_cores()
        self.memory = memory
        self._pool: ThreadPoolExecutor | None = None

    def room(self, held: int = 0) -> int:
        return free_memory() if self.memory is None else self.memory - held

    def map(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        if self.threads == 1 or len(items) == 1:
            return [work(item) for item in items]
        pool = self._threads()
        waiting = deque((pool.submit(work, item), item) for item in items)
        try:
            return [_take_first_result(waiting, work) for _ in items]
        finally:
            for future, _ in waiting:
                future.cancel()

    def stream(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        if self.threads == 1:
            yield from map(work, items)
            return
        waiting: deque[tuple[Future[Result], Item]] = deque()
        pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="topicx")
        try:
            for item in items:
                waiting.append((pool.submit(work, item), item))
                if len(waiting) > 2 * self.threads:
                    yield _take_first_result(waiting, work)
            while waiting:
                yield _take_first_result(waiting, work)
        finally:
            pool.shutdown(cancel_futures=True)

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="topicx")
        return self._pool

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Threads:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def _take_first_result(waiting: deque[tuple[Future[Result], Item]], work: Callable[[Item], Result]) -> Result:
    """The first result, taken off. While it is not there, this thread does what no other has begun."""
    for at, (future, item) in enumerate(waiting):
        if waiting[0][0].done():
            break
        if future.cancel():
            waiting[at] = Future(), item
            try:
                waiting[at][0].set_result(work(item))
            except Exception as error:  # it is raised in its turn
                waiting[at][0].set_exception(error)
    return waiting.popleft()[0].result()


def make_items_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The items, each made by another thread while the one before it is used."""
    source, end = iter(items), object()
    with ThreadPoolExecutor(1, thread_name_prefix="topicx") as pool:
        coming = pool.submit(next, source, end)
        while (item := coming.result()) is not end:
            coming = pool.submit(next, source, end)
            yield item  # type: ignore[misc]


def engine_of(threads: int | Engine) -> Engine:
    """The engine itself, or one of so many threads (0: all cores)."""
    return Threads(threads) if isinstance(threads, int) else threads


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
