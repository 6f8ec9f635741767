"""Intervals that say 95% hold the truth in 95 of 100 simulations; the plug-in's do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.statistics import effects_coverage
from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Names, Numbers, Table
from topicx.model import Model
from topicx.regression.effects import effects
from topicx.strings import Strings

WORDS, TOPICS, DOCUMENTS, TOKENS, RUNS = 40, 3, 120, 6, 120
SCALE = 1e6
Floats = np.ndarray[Any, np.dtype[np.float64]]


def simulated(run: int) -> tuple[Model, Corpus, Floats]:
    """Known topics; documents of two parties and ten years whose prior depends on both by exp; and the true shares of
    parties × years."""
    rng = np.random.Generator(np.random.Philox(key=[run, 7]))
    phi = rng.dirichlet(np.full(WORDS, 0.1), TOPICS) + 1e-4
    phi /= phi.sum(axis=1, keepdims=True)
    party, year = np.arange(DOCUMENTS) % 2, np.arange(DOCUMENTS) // 2 % 10
    level, effect, slope = rng.normal(0.3, 0.3, TOPICS), rng.normal(0, 1, TOPICS), rng.normal(0, 0.5, TOPICS)
    cells = np.exp(level + np.arange(2)[:, None, None] * effect + (np.arange(10)[:, None] / 4.5 - 1) * slope)
    theta = rng.standard_gamma(cells[party, year]) + 1e-300
    theta /= theta.sum(axis=1, keepdims=True)
    z = (rng.random((DOCUMENTS, TOKENS, 1)) > np.cumsum(theta, axis=1)[:, None, :-1]).sum(axis=2).ravel()
    words = (rng.random((len(z), 1)) > np.cumsum(phi, axis=1)[z, :-1]).sum(axis=1).astype(np.uint32)
    vocabulary = Strings.of(f"w{word}" for word in range(WORDS))
    model = Model(
        vocabulary, np.ones((1, TOPICS)), np.full(WORDS, 0.01), np.arange(0, WORDS * TOPICS + 1, TOPICS),
        np.tile(np.arange(TOPICS, dtype=np.uint16), WORDS), np.ascontiguousarray(phi.T * SCALE).ravel(),
    )  # fmt: skip
    columns = Table({"party": Names.of(["AB"[one] for one in party]), "year": Numbers(year + 2000.0)})
    offsets = np.arange(DOCUMENTS + 1, dtype=np.int64) * TOKENS
    return model, Corpus(words, offsets, vocabulary, columns=columns.packed()), cells / cells.sum(axis=2, keepdims=True)


def held(kind: str) -> tuple[int, int]:
    """In how many runs the intervals hold the true difference of parties of topic 0, and its share in a late year."""
    difference = curve = 0
    for run in range(RUNS):
        model, corpus, shares = simulated(run)
        found = effects(
            model, corpus, "~ party + s(year, df=3)", seed=run, threads=1, draws=8, lag=4, burn_in=16, adjust="none",
            uncertainty=kind,
        )  # fmt: skip
        row = found.difference(party=("B", "A"))[0]
        truth = (shares[1] - shares[0])[:, 0].mean()
        difference += row["conf_low"] <= truth <= row["conf_high"]
        row = found.predict(year=2007).rows[0]
        curve += row["conf_low"] <= shares[:, 7, 0].mean() <= row["conf_high"]
    return difference, curve


def test_intervals_hold_what_they_say() -> None:
    """Of 120 runs 95% are 114: 104 or fewer, and all 120, have probabilities of .0003 and .002 by the binomial law."""
    assert binom.cdf(104, RUNS, 0.95) < 4e-4 and 0.95**RUNS < 2.5e-3
    for number in held("local"):
        assert 104 < number < RUNS


def test_those_of_the_plug_in_do_not() -> None:
    difference, _ = held("none")
    assert difference <= 104


def test_the_simulation_runs_through_commands_and_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both ways have the same numbers; a file that is there is continued."""
    found = []
    for way in ("command", "python"):
        out = tmp_path / f"{way}.jsonl"
        call = ["--quick", "--runs", "1", "--phi", "known,global", "--through", way, "-o", str(out)]
        for _ in range(2):
            effects_coverage.main(call)
        assert len(capsys.readouterr().out.splitlines()) == 2 * 7
        rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert [(row["phi"], row["design"]) for row in rows] == [
            ("known", "groups"), ("known", "curve"), ("known", "by"), ("global", "groups"), ("global", "curve")
        ]  # fmt: skip
        found.append(rows)
    for one, other in zip(*found):
        assert one["held"] == other["held"]
        assert one["product"] == pytest.approx(other["product"], rel=1e-9)
