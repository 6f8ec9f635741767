"""The Python API as the README shows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import topicx
from tests.conftest import lda_corpus
from topicx.datasets import embedded, embedded_texts, make


def test_fit_and_attributes(tmp_path: Path) -> None:
    corpus = lda_corpus()
    seen = []
    lda = topicx.LDA(topics=4, seed=3, iterations=30, alpha=0.2, threads=1).fit(corpus, callbacks=[seen.append])
    assert len(seen) == 30
    assert lda.topic_word.shape == (4, 60)
    assert np.allclose(lda.topic_word.sum(axis=1), 1)
    assert lda.document_topic.shape == (120, 4)
    assert np.allclose(lda.document_topic.sum(axis=1), 1)
    assert lda.topic_word_counts.shape == (4, 60)
    assert lda.topic_word_counts.sum() == lda.document_topic_counts.sum() == corpus.n_tokens
    assert np.array_equal(np.asarray(lda.document_topic_counts.sum(axis=1)).ravel(), corpus.lengths)
    assert lda.alpha.tolist() == [0.2] * 4
    assert lda.trace["sweep"].tolist() == [10, 20, 30]
    assert all(len(words) == 5 for words in lda.top_words(5))
    theta = lda.transform(corpus.select([0, 1, 2]))
    assert theta.shape == (3, 4)
    lda.save(str(tmp_path / "m"))
    loaded = topicx.Model.load(tmp_path / "m")
    assert np.array_equal(loaded.topic_word, lda.topic_word)
    assert loaded.top_words(5) == lda.top_words(5)


def test_the_command_line_and_python_give_the_same_model(tmp_path: Path) -> None:
    from tests.conftest import run_topicx

    lda_corpus().save(tmp_path / "c")
    assert run_topicx("train", "c", "-k", 4, "--iterations", 20, "-o", "m", cwd=tmp_path).returncode == 0
    lda = topicx.LDA(topics=4, iterations=20).fit(topicx.Corpus.load(tmp_path / "c"))
    lda.save(str(tmp_path / "p"))
    assert topicx.Model.load(tmp_path / "p").digest == topicx.Model.load(tmp_path / "m").digest


def test_use_before_fit_says_so() -> None:
    with pytest.raises(topicx.InputError, match="not trained yet"):
        _ = topicx.LDA(topics=3).topic_word


def test_bars_are_found() -> None:
    """The ten bars of Griffiths & Steyvers 2004: each true topic has a learnt one close to it."""
    corpus = make("bars", seed=1)
    truth = corpus.truth["topic_word"]
    lda = topicx.LDA(topics=len(truth), alpha=1.0, beta=0.1, iterations=300, seed=2).fit(corpus)
    distance = np.abs(truth[:, None, :] - lda.topic_word[None, :, :]).sum(axis=2) / 2
    assert np.all(distance.min(axis=1) < 0.2)


def test_the_demo_settings_separate_the_fields() -> None:
    """With the demo's settings most texts share their strongest topic with texts of their own field."""
    corpus = embedded().prune(min_count=2)
    lda = topicx.LDA(topics=10, alpha=0.5, beta=0.1, iterations=1000).fit(corpus)
    strongest = lda.document_topic.argmax(axis=1)
    labels = np.array([text.label for text in embedded_texts()])
    right = sum(np.unique(labels[strongest == k], return_counts=True)[1].max(initial=0) for k in range(10))
    assert right / len(labels) > 0.7


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'LSA'"):
        _ = topicx.LSA
