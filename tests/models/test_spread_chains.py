"""Chains that are trained apart, each from its beginning to its end: those of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import lda_corpus
from topicx.chain_series import ChainListener, ChainSeries
from topicx.engines.places import OnePlace
from topicx.engines.threads import Threads
from topicx.models.definition import Priors
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.spread_chains import run_chains_apart

CASES: dict[str, dict[str, Any]] = {
    "lda": {"optimize_interval": 2, "optimize_burn_in": 1, "samples": 2, "lag": 2},
    "light": {"sampler": "light", "start": "random"}, "cvb0": {"sampler": "cvb0"}, "hdp": {"model": "hdp"},
    "labeled": {"model": "labeled"}, "one-vs-all": {"model": "medlda", "own": {"strategy": "one-vs-all"}},
}  # fmt: skip


class Taken(ChainListener):
    def __init__(self, runs: Any) -> None:
        self.runs = runs

    def train_chain(self, series: ChainSeries) -> bool:
        series.run = next(self.runs)
        return True


@pytest.mark.parametrize("name", CASES)
def test_chains_are_those_of_one_process(name: str, tmp_path: Path) -> None:
    corpus = lda_corpus(60, 15, 30).with_labels("abc"[d % 3] for d in range(60))
    settings = {"iterations": 5} | ({} if name == "labeled" else {"topics": 4}) | CASES[name]
    options, places = Options(**settings), OnePlace(tmp_path)
    priors = Priors({0: list(corpus.vocabulary)[:2]}) if name == "lda" else Priors()
    keep = "average" if name in ("labeled", "one-vs-all") else "all"

    def series() -> ChainSeries:
        return ChainSeries(Run.start(corpus, options, Threads(1), priors), 2, keep, examples=3)

    here, apart = series(), series()
    runs = run_chains_apart(places, corpus, options, priors, range(apart.total), Threads(1))
    for one, other in zip(here.train(), apart.train(Taken(runs)), strict=True):
        assert one.model == other.model
        assert np.array_equal(one.state.z, other.state.z)
    assert here.scores == apart.scores
    assert places.tasks == apart.total and not list(runs) and not list(tmp_path.iterdir())
