"""Mean shares of groups: not shrunk where documents are short, with intervals that hold what they say; texts in chunks;
groups that overlap."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import run_topicx
from tests.regression.test_effects import TOPICS, WORDS, planted
from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Labels, Names, Numbers, Table
from topicx.errors import InputError
from topicx.regression.effects import effects
from topicx.regression.group_shares import Membership, group_shares
from topicx.regression.pooling import share_intervals
from topicx.regression.share_curves import share_curves
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


def test_curves_along_a_number() -> None:
    """As the regression's own predictions; with fewer draws about the same; within 0 to 1."""
    model, corpus = planted()
    full, quick = (share_curves(model, corpus, "year", df=3, points=4, threads=1, quick=one) for one in (False, True))
    found = effects(model, corpus, "~ s(year, df=3)", threads=1, level=0.9).predict(year=full.at.tolist())
    for name, values in (("share", full.share), ("conf_low", full.low), ("conf_high", full.high)):
        np.testing.assert_allclose(values.ravel(), [row[name] for row in found.rows], rtol=1e-9)
    np.testing.assert_allclose(full.share.sum(axis=1), 1, atol=1e-9)
    assert full.documents == 300 and np.all((full.low >= 0) & (full.low < full.share) & (full.share < full.high))
    assert full.share[3, 1] - full.share[0, 1] > 0.2
    np.testing.assert_allclose(quick.share, full.share, atol=0.03)
    for column, message in (("party", "no curve"), ("gap", "too few"), ("nobody", "do not carry")):
        with pytest.raises(InputError, match=message):
            share_curves(model, corpus, column)


def test_the_level_of_intervals_is_chosen(tmp_path: Path) -> None:
    model, corpus = planted()
    model.save(tmp_path / "p.model")
    corpus.save(tmp_path / "p.corpus")
    wide = []
    for level in ("0.5", "0.99"):
        done = run_topicx("topics", "p.model", "--by", "party", "--corpus", "p.corpus", "--level", level, "--table",
                          "t.jsonl", "--threads", "1", cwd=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
        wide.append(np.mean([row["high"] - row["low"] for row in rows]))
    assert 2 * wide[0] < wide[1]


def test_intervals_of_shares_are_wilson_s() -> None:
    """The ends p solve (share - p)² = t² p (1 - p) / n, where n is share (1 - share) / error²."""
    shares, errors = np.array([0.5, 0.1, 0.02]), np.array([0.05, 0.02, 0.01])
    low, high = share_intervals(shares, errors, np.array(1.96))
    n = shares * (1 - shares) / errors**2
    for end in (low, high):
        np.testing.assert_allclose((shares - end) ** 2, 1.96**2 * end * (1 - end) / n, rtol=1e-9)
    low, high = share_intervals(np.array([-0.01, 0.0, 1e-4, 1.01]), np.full(4, 0.01), np.array(1.96))
    assert low[0] == -0.01 and np.all(low[1:3] >= 0) and np.all(high[:3] < 0.05) and high[3] == 1.01 and low[3] > 0.95
