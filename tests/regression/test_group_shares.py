"""Mean shares of groups: not shrunk where documents are short, with intervals that hold what they say; texts in chunks;
groups that overlap."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.conftest import run_topicx
from tests.places import ROOT
from tests.regression.test_effects import TOPICS, WORDS, planted
from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Labels, Names, Numbers, Table
from topicx.regression.group_shares import Membership, group_shares
from topicx.views.topics_by_column import by_documents


def test_short_documents_are_not_shrunk() -> None:
    """Six tokens a document: the plug-in has three quarters of the difference of two parties."""
    model, corpus = planted(600, 6, 3)
    found, groups, _ = by_documents(model, "party", corpus=corpus, threads=1)
    plug_in, _, _ = by_documents(model, "party", corpus=corpus, threads=1, method="plug-in")
    assert groups.names == ["A", "B"] and found.documents.sum() == 600 and found.tokens.sum() == 3600
    np.testing.assert_allclose(found.mean.sum(axis=1), 1, atol=1e-9)
    difference, plain = (one.mean[1, 0] - one.mean[0, 0] for one in (found, plug_in))
    # Of α = exp(-.5) and exp(.5), and about .64 and twice .6 beside.
    assert 0.13 < difference < 0.27 and plain < 0.85 * difference
    assert np.all(found.errors > plug_in.errors)
    low, high = found.intervals()
    assert np.all((low < found.mean) & (found.mean < high))


def test_chunks_of_a_text_are_no_sample() -> None:
    """Each document four times: as texts of their own they have half of the errors, as chunks the same."""
    model, corpus = planted(150, 12, 5)
    words = np.concatenate([np.tile(corpus.words[12 * d : 12 * d + 12], 4) for d in range(150)])
    column = {"party": Names.of(np.repeat(corpus.table.told("party"), 4).tolist())}
    chunks = column | {
        "document": Names.of([f"t{d // 4}" for d in range(600)]), "chunk": Numbers(np.arange(600) % 4 + 1.0)
    }  # fmt: skip
    found = [
        by_documents(
            model, "party", threads=1,
            corpus=Corpus(words, 12 * np.arange(601, dtype=np.int64), corpus.vocabulary, columns=Table(table).packed()),
        )[0]
        for table in (column, chunks)
    ]  # fmt: skip
    ratio = np.sqrt((found[1].sampling / found[0].sampling).mean())
    assert 1.6 < ratio < 2.2
    np.testing.assert_array_equal(found[0].documents, found[1].documents)


def test_groups_that_overlap_and_spans_of_time() -> None:
    model, corpus = planted()
    party = corpus.table.told("party")
    labels = [["all", name] if d % 3 else [name] for d, name in enumerate(party)]
    more = Corpus(corpus.words, corpus.offsets, corpus.vocabulary, columns=corpus.columns)
    table = Table(dict(corpus.table) | {"tags": Labels.of(labels)})
    members = Labels.of(labels)
    found = group_shares(
        model, more, Membership(list(members.names), np.repeat(np.arange(300), np.diff(members.offsets)),
                                members.ids.astype(np.int64), np.full(3, np.nan), False), threads=1,
    )  # fmt: skip
    assert found.documents.tolist() == [party.count("A"), party.count("B"), 200] and len(table) == 5
    assert found.mean.shape == (3, TOPICS) and found.mean[1, 0] > found.mean[2, 0] > found.mean[0, 0]
    spans, groups, _ = by_documents(model, "year", corpus=corpus, every=5, threads=1)
    assert groups.ordered and len(spans.names) == 6
    trends = {trend.topic: trend for trend in spans.trends(True)}
    assert trends[1].sign == "rises" and trends[1].low > 0


def test_the_command_names_the_attenuation(tmp_path: Path) -> None:
    folder = tmp_path
    model, corpus = planted()
    model.save(folder / "p.model")
    corpus.save(folder / "p.corpus")
    call = ["topics", "p.model", "--by", "party", "--corpus", "p.corpus", "--threads", "1"]
    done = run_topicx(*call, cwd=folder)
    assert done.returncode == 0 and "shrink" not in done.stderr, done.stderr
    plug_in = run_topicx(*call, "--shares", "plug-in", cwd=folder)
    assert "shrink to about 0.83 of what they are" in plug_in.stderr and plug_in.stdout != done.stdout
    assert model.n_words == WORDS


def test_the_simulation_of_coverage_runs(tmp_path: Path) -> None:
    out = tmp_path / "coverage.json"
    script = ROOT / "benchmarks/statistics/effects_coverage.py"
    call = [sys.executable, str(script), "--quick", "--design", "groups,curve,by", "-o", str(out)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text(encoding="utf-8"))
    assert [row["design"] for row in rows] == ["groups", "curve", "by"]
    assert all(0.5 < row["coverage"] <= 1 and row["runs"] == 3 for row in rows)
