"""Threads: the order of results and of errors, whoever does the work."""

from __future__ import annotations

import threading
import time

import pytest

from topicx.engines.threads import Threads


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_a_stream_keeps_the_order(threads: int) -> None:
    done: list[int] = []

    def work(item: int) -> int:
        time.sleep(0.0005 * (item % 5))
        done.append(item)
        return item * item

    with Threads(threads) as engine:
        taken = 0
        for at, found in enumerate(engine.stream(work, iter(range(100)))):
            assert found == at * at
            taken += 1
            assert len(done) <= taken + 2 * threads + 1  # no more are ahead
        assert taken == len(done) == 100


@pytest.mark.parametrize("how", ["map", "stream"])
def test_who_waits_works(how: str) -> None:
    """With two threads two work: this one does what the other has not begun."""
    workers: set[int] = set()
    both = threading.Barrier(2, timeout=20)

    def work(item: int) -> None:
        workers.add(threading.get_ident())
        both.wait()  # each item needs another one at the same time

    with Threads(2) as engine:
        assert list(getattr(engine, how)(work, range(20))) == [None] * 20
    assert len(workers) == 2 and threading.get_ident() in workers


@pytest.mark.parametrize("bad", [{3}, {3, 4}, {4, 3, 9}])
def test_the_first_error_is_raised_in_its_turn(bad: set[int]) -> None:
    def work(item: int) -> int:
        time.sleep(0.002 if item == 3 else 0)
        if item in bad:
            raise ValueError(f"item {item}")
        return item

    found = []
    with Threads(3) as engine, pytest.raises(ValueError, match="item 3"):
        for one in engine.stream(work, range(50)):
            found.append(one)
    assert found == [0, 1, 2]


def test_a_stream_that_is_left_ends() -> None:
    began = []
    with Threads(2) as engine:
        for found in engine.stream(lambda item: began.append(item) or item, range(1000)):
            if found == 5:
                break
    assert len(began) <= 5 + 6


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("items", [0, 1, 3, 40])
def test_a_map_keeps_the_order(threads: int, items: int) -> None:
    def work(item: int) -> int:
        time.sleep(0.0005 * (item % 3))
        return item * item

    with Threads(threads) as engine:
        assert engine.map(work, range(items)) == [item * item for item in range(items)]


@pytest.mark.parametrize("threads", [1, 3])
def test_of_a_map_the_first_error_is_raised(threads: int) -> None:
    def work(item: int) -> None:
        time.sleep(0.01 if item == 3 else 0)
        if item >= 3:
            raise ValueError(f"item {item}")

    with Threads(threads) as engine:
        with pytest.raises(ValueError, match="item 3"):
            engine.map(work, range(50))
        assert engine.map(abs, range(5)) == [0, 1, 2, 3, 4]  # and it goes on


def test_a_map_in_a_map_ends() -> None:
    """All threads may be taken by the outer one: then each does the inner one by itself."""
    with Threads(2) as engine:
        assert engine.map(lambda row: engine.map(lambda at: row * at, range(4)), range(6)) == [
            [row * at for at in range(4)] for row in range(6)
        ]
