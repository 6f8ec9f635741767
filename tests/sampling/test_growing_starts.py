"""A growing start of a run that ends by itself: its parts, and when priors are learnt from them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.conftest import lda_corpus, state_of
from topicx.engines.threads import Threads
from topicx.models.definition import initial_state
from topicx.sampling import starts
from topicx.sampling.chain import Chain
from topicx.sampling.run_options import Options
from topicx.state import NONE

CORPUS = lda_corpus()


def test_the_parts_of_a_growing_start() -> None:
    """The first has so many tokens a topic, if the corpus has; the others are as many times larger, and leave some."""
    tokens, grows = starts.FIRST_TOKENS, starts.GROWTH_FACTOR

    def shares(documents: int) -> list[float]:
        return [share for share, _ in starts.growth_of(state_of(documents, 100, 2))]

    assert shares(100) == [starts.MOST_GROWN]
    assert shares(4 * tokens // 100) == [0.5]
    assert shares(40 * tokens // 100) == pytest.approx([0.05, 0.05 * grows, 0.05 * grows**2])


@pytest.mark.parametrize("partitions", [1, 3, "2x2"])
def test_a_growing_start_begins_with_random_topics_of_its_first_part(partitions: int | str) -> None:
    options = Options(topics=12, start="growing", partitions=partitions, seed=4)
    chain = Chain(initial_state(CORPUS, options), options, Threads(1))
    share = chain.growth[0][0]
    chain.begin()
    z, offsets = chain.method.sync().z.copy(), CORPUS.offsets
    tokens = [z[begin:end] for begin, end in pairwise(offsets) if begin < end]
    placed = np.array([(topics != NONE).any() for topics in tokens])
    whole = np.array([(topics != NONE).all() for topics in tokens])
    assert np.array_equal(placed, whole) and 0.4 < share <= placed.mean() < share + 0.05
    assert np.bincount(z[z != NONE], minlength=12).min() > 0
    chain.advance(1)
    assert np.array_equal(chain.method.sync().z != NONE, z != NONE)  # it sweeps over these documents
    while chain.steps[chain.position].kind == "grow":
        chain.advance(1)
    assert (chain.method.sync().z != NONE).all() and np.ptp(chain.state.alpha) > 0


def test_new_documents_settle_before_priors_are_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "growth_of", lambda state: ((0.2, 4), (0.5, 5)))
    monkeypatch.setattr("topicx.sampling.chain.growth_of", starts.growth_of)
    options = Options(topics=4, start="growing")
    chain = Chain(initial_state(CORPUS, options), options, Threads(1))
    learnt: list[int] = []
    chain._update = lambda sweep, position: learnt.append(position) if sweep % 2 == 0 else None  # type: ignore[method-assign]
    chain.begin()
    for _ in range(4 + 5 + 1 + 4):
        chain.advance(1)
    first, second, whole = [1, 3], [7], [11, 13]  # places 4, 5 and 9 (all) are the first two of larger parts
    assert learnt == [*first, *second, *whole]
