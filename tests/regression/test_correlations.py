"""Correlations of topics over documents: against θ that is drawn many times; planted ones; errors; the table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import run_topicx
from tests.regression.test_effects import TOPICS, estimated, planted
from topicx.errors import InputError
from topicx.regression.correlations import correlation_variances, prior_correlations, share_correlations


def test_correlations_are_those_of_drawn_shares() -> None:
    """Moments given the words' topics, against 4,000 draws of θ; those of mean shares are others."""
    random = np.random.Generator(np.random.Philox(2))
    documents, topics = 40, 3
    alpha = random.uniform(0.2, 2, (4, topics))
    groups = random.integers(0, 4, documents).astype(np.uint32)
    n = random.poisson(1.5, (documents, topics))
    place = np.nonzero(n)
    counts = (np.concatenate([[0], np.cumsum((n > 0).sum(axis=1))]), place[1].astype(np.uint16), n[place])
    found = share_correlations(counts, alpha, groups, n.sum(axis=1))  # type: ignore[arg-type]
    theta = random.standard_gamma(np.broadcast_to(n + alpha[groups], (4_000, documents, topics)))
    theta /= theta.sum(axis=2, keepdims=True)
    product = np.einsum("sdj,sdk->jk", theta, theta) / 4_000 / documents
    mean = theta.mean(axis=(0, 1))
    covariance = product - np.outer(mean, mean)
    spread = np.sqrt(np.diagonal(covariance))
    np.testing.assert_allclose(found, covariance / np.outer(spread, spread), atol=0.01)
    of_means = np.corrcoef(((n + alpha[groups]) / (n + alpha[groups]).sum(axis=1, keepdims=True)).T)
    assert np.abs(found - of_means).max() > 0.02


def test_correlations_of_priors() -> None:
    alpha = np.exp([[0.0, 1.0, 2.0, 0.5], [1.0, 2.0, -1.0, 0.5], [3.0, 4.0, 0.0, 0.5]])
    groups = np.array([0, 1, 1, 2, 2, 2], np.uint32)
    found = prior_correlations(alpha, groups)
    np.testing.assert_allclose(found[:3, :3], np.corrcoef(np.log(alpha[groups, :3]).T), atol=1e-9)
    assert np.isnan(found[3]).all()


def test_errors_of_correlations() -> None:
    """Of normal numbers the variance is (1 - r²)² / n; of shares what 2,000 samples show."""
    random = np.random.Generator(np.random.Philox(3))
    x = random.standard_normal((20_000, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    assert correlation_variances(x)[0, 1] == pytest.approx((1 - 0.36) ** 2 / 20_000, rel=0.05)
    samples = random.dirichlet([0.1, 0.3, 0.5], (2_000, 200))
    seen = np.array([np.corrcoef(one.T)[0, 1] for one in samples]).var()
    told = np.mean([correlation_variances(one)[0, 1] for one in samples[:300]])
    assert told == pytest.approx(seen, rel=0.25)


def test_topics_that_depend_on_one_column() -> None:
    """Topic 0 is party B's, topic 1 is of late years: the columns say that others lose where they gain."""
    found = estimated("~ party + year", correlations=True)
    rows = {(row["of"], row["topic"], row["other"]): row for row in found.correlations()}
    assert len(rows) == 2 * TOPICS * (TOPICS - 1) / 2
    for row in rows.values():
        assert -1 <= row["conf_low"] < row["correlation"] < row["conf_high"] <= 1
    shares = [row["correlation"] for (of, *_), row in rows.items() if of == "shares"]
    assert np.mean(shares) < -0.2  # they sum to 1
    assert found.rows() == estimated("~ party + year").rows()
    alone = estimated("~ 1", correlations=True, topics=[0, 1, 2])
    assert {row["of"] for row in alone.correlations()} == {"shares"} and len(alone.correlations()) == 3
    with pytest.raises(InputError, match="correlations=True"):
        estimated("~ party").correlations()


def test_the_command_writes_them(tmp_path: Path) -> None:
    model, corpus = planted()
    model.save(tmp_path / "p.model")
    corpus.save(tmp_path / "p.corpus")
    done = run_topicx("effects", "p.model", "p.corpus", "-f", "~ party", "--draws", "3", "--burn-in", "9",
                      "--correlations", "c.jsonl", "--threads", "1", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "c.jsonl").read_text().splitlines()]
    assert len(rows) == 12 and list(rows[0]) == ["topic", "other", "of", "correlation", "conf_low", "conf_high"]
