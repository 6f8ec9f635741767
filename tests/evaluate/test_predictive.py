"""Perplexity averaged over states, and silhouettes, against plain loops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import harness
from tests.conftest import lda_corpus, run_topicx
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_split import halve_documents
from topicx.errors import InputError
from topicx.evaluate.predictive import Predictive
from topicx.evaluate.silhouettes import measure_silhouettes, thin_documents
from topicx.state import State
from topicx.strings import Strings


def test_predictive_perplexity_is_the_mean_over_states_of_each_word() -> None:
    random = np.random.default_rng(1)
    docs = [random.integers(0, 6, n).tolist() for n in (5, 8, 1, 0, 7)]
    words, offsets = np.concatenate(docs).astype(np.uint32), np.concatenate([[0], np.cumsum([len(d) for d in docs])])
    corpus = Corpus(words, offsets.astype(np.int64), Strings.of([f"w{i}" for i in range(6)]))
    first, rest = halve_documents(corpus, np.array([True, True, True, True, False]))
    assert first.lengths.tolist() == [3, 4, 1, 0, 7] and rest.lengths.tolist() == [2, 4, 0, 0, 0]
    assert rest.document(1) == corpus.document(1)[4:]
    groups, judge, states = [0, 1, 0, 1, 0], Predictive(rest), []
    for _ in range(3):
        alpha = random.gamma(1, 1, (2, 4))
        given = [first.words[first.offsets[d] : first.offsets[d + 1]].tolist() for d in range(5)]
        state = harness.make_state(given, alpha, random.gamma(1, 1, 6), groups=groups)
        state.z = random.integers(0, 4, state.n_tokens).astype(np.uint16)
        states.append(state)
        judge.add(state)
    total = 0.0
    for d in range(5):
        for w in rest.words[rest.offsets[d] : rest.offsets[d + 1]]:
            p = 0.0
            for state in states:
                z = state.z[state.offsets[d] : state.offsets[d + 1]]
                for k in range(4):
                    a = state.alpha[groups[d]]
                    theta = (np.sum(z == k) + a[k]) / (len(z) + a.sum())
                    n_kw = np.sum((state.z == k) & (state.words == w))
                    p += theta * (n_kw + state.beta[w]) / (np.sum(state.z == k) + state.beta.sum()) / 3
            total += np.log(p)
    assert judge.log_likelihood == pytest.approx(total)
    assert judge.perplexity == pytest.approx(np.exp(-total / 6))
    with pytest.raises(InputError, match="documents"):
        judge.add(harness.make_state([[0]], [1.0], [1.0]))


def test_silhouettes_against_their_definition() -> None:
    random = np.random.default_rng(2)
    rows = np.concatenate([random.dirichlet(row, 6) for row in np.eye(3) * 30 + 0.3])
    found = measure_silhouettes(rows, [2, 3, 5, 17])
    truth = np.repeat(np.arange(3), 6)
    expected = []
    for i, row in enumerate(rows):
        distances = np.abs(rows - row).sum(axis=1)
        a = distances[truth == truth[i]].sum() / 5
        b = min(distances[truth == c].mean() for c in range(3) if c != truth[i])
        expected.append((b - a) / max(a, b))
    assert np.allclose(found[1].widths, expected)
    assert found[1].quartiles()[1] > 0.8 > found[2].quartiles()[1]
    assert np.count_nonzero(found[3].widths == 0) == 16  # each of them alone in its cluster
    with pytest.raises(InputError, match="clusters: 18"):
        measure_silhouettes(rows, [18])
    assert len(thin_documents(10)) == 10 and len(thin_documents(100_000)) == 4000


def test_predictive_and_clusters_on_the_command_line(tmp_path: Path) -> None:
    corpus = lda_corpus()
    corpus.save(str(tmp_path / "c"))
    lda_corpus(30).save(str(tmp_path / "texts"))

    def run(command: str, status: int = 0) -> Any:
        done = run_topicx(*command.split(), cwd=tmp_path)
        assert done.returncode == status, done.stderr
        return done

    run("split c -o h --halves 0.5 -q")
    for seed in (1, 2):
        run(f"train h.first.corpus -k 4 --iterations 40 --seed {seed} -o m --state {seed}.state -q")
    single = json.loads(run("evaluate m 1.state -m predictive --rest h.rest.corpus --json").stdout)["predictive"]
    both = json.loads(
        run("evaluate m 1.state -m predictive --rest h.rest.corpus --further 2.state --json").stdout
    )["predictive"]  # fmt: skip
    judge = Predictive(Corpus.load(tmp_path / "h.rest.corpus"))
    judge.add(State.load(tmp_path / "1.state"))
    assert single["perplexity"] == pytest.approx(judge.perplexity) and single["tokens"] == judge.rest.n_tokens
    judge.add(State.load(tmp_path / "2.state"))
    assert both["perplexity"] == pytest.approx(judge.perplexity) and both["states"] == 2
    found = json.loads(run("evaluate m c -m clusters --clusters 2 --clusters 3 --clusters 50 --json").stdout)[
        "clusters"
    ]
    assert list(found["topics"]) == ["2", "3"] and list(found["documents"]) == ["2", "3", "50"]
    assert "silhouettes" in run("evaluate m c -m clusters --clusters 2").stdout
    assert "--rest" in run("evaluate m c -m predictive", 2).stderr
    assert "documents and words" in run("evaluate m 1.state -m predictive --rest texts", 2).stderr
    assert "--clusters" in run("evaluate m c -m clusters --clusters 9", 2).stderr
    assert "second half" in run("split c -o h --halves 0.001", 2).stderr
    assert "--halves" in run("split c -o h --halves 0.5 --stratify", 2).stderr
