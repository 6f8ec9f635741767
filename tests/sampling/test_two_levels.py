"""Schedules of two levels: machines and the threads of each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from tests import harness
from tests.twins.schedule import outcomes_of_a_sweep
from topicx.errors import InputError
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.gibbs import Gibbs
from topicx.sampling.schedule import Schedule, ScheduleLevels

EXACT = ("dense", "sparse", "tree")
DOCUMENTS = [[0, 1, 2], [1, 3], [2, 0, 3], [3, 1]]
REPLICATES = 700
START = (0, 1, 1, 0, 0, 1, 0, 1, 0, 0)


@pytest.mark.parametrize("partitions", ["2x2", "4x1"])
def test_a_sweep_leads_where_its_twin_says(partitions: int | str) -> None:
    """Ten tokens: every outcome of a sweep from one start, and how often each sampler comes there."""
    alpha, beta = np.array([0.4, 0.9]), np.array([0.3, 0.5, 0.2, 0.4])

    def begun(name: str, seed: int) -> Gibbs:
        state = harness.make_state(DOCUMENTS, alpha, beta)
        state.z = np.array(START, np.uint16)
        method = harness.make_method(name, state, partitions=partitions, seed=seed)
        assert isinstance(method, Gibbs)
        method.start(random=True)
        return method

    method = begun("dense", 1)
    schedule, state = method.schedule, method.state
    document = np.repeat(np.arange(4), state.lengths)
    assert [shard.tolist() for shard in schedule.shards] == [[0], [1], [2], [3]]  # whatever the seed
    words = schedule.arranged(state.words).astype(np.int64)
    twin = outcomes_of_a_sweep(
        words, document, document, schedule.block_of_word[words].astype(np.int64),
        tuple(schedule.arranged(state.z).tolist()), *schedule.levels, alpha, beta,
    )  # fmt: skip
    assert sum(twin.values()) == pytest.approx(1)
    place = {outcome: at for at, outcome in enumerate(twin)}
    expected = np.array(list(twin.values()))
    for name in EXACT:
        counts = np.zeros(len(twin))
        for seed in range(REPLICATES):
            method = begun(name, seed)
            method.sweep(0)
            counts[place[tuple(method.z.tolist())]] += 1
        order = np.argsort(expected)  # outcomes that are rarer than five of the replicates together
        group = np.minimum(np.cumsum(expected[order]) * len(counts) // 20, len(counts) // 20).astype(int)
        seen, wanted = (np.bincount(group, some[order]) for some in (counts, REPLICATES * expected))
        kept = wanted > 5
        p = stats.chisquare(seen[kept], wanted[kept] * seen[kept].sum() / wanted[kept].sum()).pvalue
        assert p > harness.LEVEL / 6, (name, p)


def test_every_token_once_and_a_machine_in_one_block_at_a_time() -> None:
    state = harness.synthetic()
    schedule = Schedule(state.words, state.offsets, state.n_words, 6, seed=1, chain=0, outer=2)
    assert schedule.levels == (2, 3) and len(schedule.outer_bounds()) == 3
    seen = np.zeros((6, 6), int)
    for epochs in schedule.rounds():
        held: dict[int, set[int]] = {0: set(), 1: set()}
        for cells in epochs:
            assert len({cell.shard for cell in cells}) == len({cell.block for cell in cells}) == 6
            for cell in cells:
                seen[cell.shard, cell.block] += 1
                held[cell.shard // 3].add(cell.block // 3)
        assert sorted(len(blocks) for blocks in held.values()) == [1, 1] and held[0] != held[1]
    assert np.all(seen == 1)


def test_one_machine_is_the_schedule_of_one_level() -> None:
    state = harness.synthetic()
    schedule = Schedule(state.words, state.offsets, state.n_words, 3, seed=1, chain=0)
    assert [cells for epochs in schedule.rounds() for cells in epochs] == schedule.epochs()
    assert Options(partitions="1x3").partitions == 3 == Options(partitions="3").partitions


@pytest.mark.parametrize("name", ["dense", "sparse", "tree", "alias", "light"])
def test_two_levels_have_bits_of_their_own_whatever_the_threads(name: str) -> None:
    found = []
    for threads, partitions in ((1, "2x2"), (3, "2x2"), (1, 4), (1, "4x1")):
        method = harness.make_method(name, harness.synthetic(), threads, partitions)
        method.start(random=True)
        for step in range(3):
            method.sweep(step)
        assert isinstance(method, Gibbs)
        method.verify()
        found.append(method.sync().z.copy())
    assert np.array_equal(found[0], found[1])
    assert all(not np.array_equal(found[0], other) for other in found[2:])


@pytest.mark.parametrize("documents, words", [(1, 9), (2, 9), (3, 9), (9, 1), (9, 3), (100, 100)])
def test_nothing_is_cut_into_more_than_it_has(documents: int, words: int) -> None:
    levels = ScheduleLevels.of("4x4", 1000, documents, words)
    assert 1 <= levels.partitions <= max(1, min(documents, words, 16))
    assert levels.outer == min(4, documents, words)


@pytest.mark.parametrize("text", ["4x", "x4", "4x0", "0x4", "a", "2x3x4", "64x64", "-1", "1025", "9" * 30])
def test_what_is_no_schedule_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="partitions: "):
        Options(partitions=text)


def test_a_sampler_of_one_level_says_so() -> None:
    from topicx.sampling.sampler_registry import find_sampler

    with pytest.raises(InputError, match="partitions: cvb0 has partitions of one level"):
        Options(partitions="2x2", sampler="cvb0").check_sampler(find_sampler("cvb0"))
    with pytest.raises(InputError, match="partitions: warp has no partitions"):
        Options(partitions="2x2", sampler="warp").check_sampler(find_sampler("warp"))
