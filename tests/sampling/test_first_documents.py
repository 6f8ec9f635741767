"""A soft start that has a part of the documents: when, that the sampler sweeps the same ones, and that others join."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.conftest import state_bits, state_of
from topicx.datasets import make
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.evaluate.completion import completion_perplexity
from topicx.files import container
from topicx.files.file_kinds import CHECKPOINT
from topicx.run import Run
from topicx.sampling import sampler_registry, starts
from topicx.sampling.chain import Chain
from topicx.sampling.run_length import AUTO_HOT_SWEEPS, AUTO_SOFT_SWEEPS
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import NONE, Seeds
from topicx.variational.first_documents import FirstDocuments
from topicx.variational.soft_start import Opening

TOPICS = 8
CORPUS = make("zipf", 3, documents=90, tokens=120, words=2000, topics=TOPICS)
SOFT, HOT, PART_HOT = starts.PART_SOFT, AUTO_HOT_SWEEPS, starts.PART_HOT


def run_of(threads: int = 1, **options: Any) -> Run:
    return Run.start(CORPUS, Options(**{"topics": TOPICS, "start": "soft", "seed": 5} | options), Threads(threads))


# -- when --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "topics", "n_words", "part"),
    [
        (starts.PART_LENGTH, 40, 400, True),
        (starts.LONG, 40, 5_000, True),
        (starts.LONG + 1, 40, 5_000, False),  # long ones begin with a share of their tokens
        (starts.PART_LENGTH, 40, 50, False),  # so do those of few words
        (starts.PART_LENGTH, 40, 3_000_000, False),  # nothing to anneal
        (starts.PART_LENGTH, starts.SOFT_TOPICS + 1, 40, False),
    ],
)
def test_when_a_soft_start_has_a_part_of_the_documents(length: int, topics: int, n_words: int, part: bool) -> None:
    state, options = state_of(60, length, topics, n_words), Options(topics=topics)
    expected = (starts.PART, starts.PART_HOT) if part else (1.0, 0)
    assert starts.soft_part(state, options, "soft") == expected
    assert starts.soft_part(state, options, "hot") == (1.0, 0)
    assert starts.soft_part(state, Options(topics=topics, iterations=100), "soft") == (1.0, 0)
    if part:
        assert starts.soft_sweeps(state, options) == starts.PART_SOFT != AUTO_SOFT_SWEEPS
    state.seeds = Seeds.of([(3, 1, 50)])
    assert starts.soft_part(state, options, "soft") == (1.0, 0)


def test_every_sampler_of_a_run_that_ends_by_itself_can_sweep_a_part() -> None:
    able = [
        entry.capabilities
        for entry in sampler_registry.ENTRIES.values()
        if sampler_registry.SOFTENS in entry.capabilities
    ]
    assert able and all(sampler_registry.GROWS in capabilities for capabilities in able)


def test_the_plan() -> None:
    chain = run_of().chain
    steps = [(step.kind, step.share) for step in chain.steps[: SOFT + HOT + 1]]
    part, rest = PART_HOT, HOT - PART_HOT
    assert steps == [
        *[("soft", starts.PART)] * SOFT, *[("hot", starts.PART)] * part, *[("hot", 1.0)] * rest, ("sweep", 1.0),
    ]  # fmt: skip
    assert chain.hardens == SOFT and chain.hot == HOT


# -- what --------------------------------------------------------------------------------------------------------------


def placed_documents(z: NDArray[np.uint16]) -> NDArray[np.bool_]:
    whole = np.array([(z[first:last] != NONE).all() for first, last in pairwise(CORPUS.offsets.tolist())])
    some = np.array([(z[first:last] != NONE).any() for first, last in pairwise(CORPUS.offsets.tolist())])
    assert np.array_equal(whole, some)  # a document is in it or is not
    return whole


@pytest.mark.parametrize("partitions", [1, 3, "2x2"])
def test_the_sampler_sweeps_the_documents_that_cvb0_had(partitions: int | str) -> None:
    chain = run_of(partitions=partitions).chain
    chain.begin()
    while chain.position < chain.hardens:
        assert isinstance(chain.method, FirstDocuments)
        chain.advance(1)
    z = chain.method.sync().z.copy()
    first = placed_documents(z)
    assert starts.PART <= first.mean() < starts.PART + 0.06
    assert np.array_equal(first, starts.first_documents(chain.state, chain.options, starts.PART))
    for _ in range(PART_HOT):
        chain.advance(1)
        now = chain.method.sync().z
        assert np.array_equal(now == NONE, z == NONE) and not np.array_equal(now, z)
    chain.advance(1)
    now = chain.method.sync().z
    assert not np.any(now == NONE)
    assert np.bincount(now, minlength=TOPICS).sum() == CORPUS.n_tokens


def test_it_is_cvb0_of_these_documents_alone() -> None:
    run = run_of()
    state, options = run.chain.state, run.options
    method = FirstDocuments(state, options, Threads(1), 0.5)
    first = starts.first_documents(state, options, 0.5)
    assert 0.5 <= first.mean() < 0.53
    alone = Opening(state.thinned(np.repeat(first, state.lengths)), options, Threads(1))
    method.start(random=True)
    alone.start(random=True)
    for sweep in range(3):
        assert method.sweep(sweep) == alone.sweep(sweep)
    assert method.word_topics()[2].sum() == pytest.approx(state.lengths[first].sum(), rel=1e-3)
    assert method.score() == alone.score()
    assert np.array_equal(method.drawn(7)[np.repeat(first, state.lengths)], alone.drawn(7))
    assert np.array_equal(method.document_statistics().gain(state.alpha), alone.document_statistics().gain(state.alpha))
    assert (method.sync().z[np.repeat(~first, state.lengths)] == NONE).all()


def test_alpha_is_learnt_from_the_part_and_waits_for_documents_that_join() -> None:
    chain = run_of().chain
    learnt: list[int] = []
    chain._update = lambda sweep, position: learnt.append(position - chain.hardens)  # type: ignore[method-assign]
    chain.begin()
    alphas = [chain.state.alpha.copy()]
    for _ in range(SOFT + HOT):
        chain.advance(1)
        alphas.append(chain.state.alpha.copy())
    assert all(not np.array_equal(a, b) for a, b in pairwise(alphas[: SOFT + 1]))
    joining = range(PART_HOT, PART_HOT + starts.SETTLING)
    assert learnt == [number for number in range(HOT) if number not in joining]


# -- runs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sampler", ["sparse", "dense"])
def test_a_run_that_is_killed_ends_in_the_same_bits(sampler: str, tmp_path: Path) -> None:
    expected = state_bits(run_of(sampler=sampler).train())
    for at in (1, SOFT - 1, SOFT, SOFT + 2, SOFT + PART_HOT, SOFT + PART_HOT + 1, SOFT + HOT + 3):
        run, asked = run_of(sampler=sampler), iter(range(1, 1000))
        with pytest.raises(Interrupted):
            run.train(checkpoints=Checkpoints(str(tmp_path / "c")), stop=lambda asked=asked, at=at: next(asked) == at)
        again = Run.resume(tmp_path / "c", Threads(2))
        assert again.chain.position == at and again.chain.part == (starts.PART, PART_HOT)
        assert state_bits(again.train()) == expected, at


def test_threads_do_not_matter() -> None:
    one, two = (run_of(threads, partitions=3).train() for threads in (1, 2))
    assert state_bits(one) == state_bits(two)


@pytest.mark.parametrize("wrong", [[0.2], [0, 9], [2.0, 9], ["a", 9], [0.2, -1], [0.2, 1.5], 7])
def test_a_checkpoint_with_another_part_is_refused(wrong: Any, tmp_path: Path) -> None:
    chain = run_of().chain
    chain.begin()
    chain.advance(1)
    chain.save(tmp_path / "good")
    assert Chain.load(tmp_path / "good", Threads(1)).part == (starts.PART, PART_HOT)
    file = container.read(tmp_path / "good", CHECKPOINT)
    container.write(tmp_path / "bad", "checkpoint", file.arrays, file.meta | {"part": wrong}, file.parents)
    with pytest.raises(InputError, match="the metadata 'part', which must be a share and a number of sweeps"):
        Chain.load(tmp_path / "bad", Threads(1))


def test_tokens_that_no_sweep_has_reached_must_not_be_missing_later(tmp_path: Path) -> None:
    chain = run_of().chain
    chain.begin()
    while chain.position < SOFT + PART_HOT + 1:
        chain.advance(1)
    chain.method.sync()
    chain.save(tmp_path / "good")
    file = container.read(tmp_path / "good", CHECKPOINT)
    z = file.arrays["z"].copy()
    z[:50] = NONE
    container.write(tmp_path / "bad", "checkpoint", {**file.arrays, "z": z}, file.meta, file.parents)
    with pytest.raises(InputError, match="tokens without a topic, which have been swept"):
        Chain.load(tmp_path / "bad", Threads(1))


def test_it_gives_topics_as_good_as_those_of_all_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = make("zipf", 6, documents=400, tokens=150, words=1500, topics=20)
    train, test = corpus.select(np.arange(350)), corpus.select(np.arange(350, 400))
    monkeypatch.setattr(starts, "THIN_DENSE", 1e9)
    found = []
    for part, sweeps in (starts.PART, starts.PART_SOFT), (1.0, AUTO_SOFT_SWEEPS):
        monkeypatch.setattr(starts, "PART", part)
        monkeypatch.setattr(starts, "PART_SOFT", sweeps)
        run = Run.start(train, Options(topics=20, start="soft"), Threads(1)).train()
        assert run.chain.part[0] == part
        found.append(completion_perplexity(run.result(examples=0).model, None, test))
    assert found[0] < 1.02 * found[1], found
