"""`topicx.sklearn.TopicModel` in scikit-learn's own checks, pipelines and searches."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from tests.conftest import lda_corpus
from topicx import InputError
from topicx.datasets import embedded_texts, make
from topicx.variational.weighted_counts import fold_in, learn_weighted_topics

sklearn = pytest.importorskip("sklearn")


def of(**more: Any) -> Any:
    from topicx.sklearn import TopicModel

    return TopicModel(**{"n_components": 4, "max_iter": 30, "random_state": 1} | more)


def test_scikit_learns_own_checks() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(of(), on_fail=None)
    assert len(found) > 30
    assert [(one["check_name"], one["exception"]) for one in found if one["status"] == "failed"] == []


def test_counts_and_attributes() -> None:
    X = lda_corpus().to_matrix()
    model = of()
    theta = model.fit_transform(X)
    assert theta.shape == (120, 4) and np.allclose(theta.sum(axis=1), 1) and not model.weighted_
    assert np.array_equal(theta, model.transform(X))
    assert np.array_equal(theta[::-1], model.transform(X[::-1]))  # a row depends on no other
    assert np.array_equal(theta[5:8], of(n_jobs=-1).fit(X).transform(X)[5:8])
    assert np.allclose(model.components_ / model.components_.sum(axis=1, keepdims=True), model.model_.topic_word)
    assert model.doc_topic_.shape == (120, 4) and model.n_iter_ == 30
    assert list(model.get_feature_names_out()) == ["topic0", "topic1", "topic2", "topic3"]
    assert model.perplexity(X) == pytest.approx(np.exp(-model.score(X))) and model.perplexity(X) < 60
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(X), theta)
    assert len(model.top_words(5)[0]) == 5
    with pytest.raises(InputError, match=r"X\[0, 0\] is 0.5, not a count: the model was fitted on counts"):
        model.transform(np.full((1, 60), 0.5))


def test_the_model_is_that_of_lda() -> None:
    from topicx import LDA

    corpus = lda_corpus()
    names = [str(i) for i in range(corpus.n_words)]
    lda = LDA(topics=4, iterations=30, seed=1).fit(corpus.to_matrix(), vocabulary=names)
    assert of().fit(corpus.to_matrix()).model_ == lda.model


def test_weights_are_learnt_or_refused() -> None:
    corpus = make("bars", seed=1)
    truth, counts = corpus.truth["topic_word"], corpus.to_matrix()
    X = scipy.sparse.csr_array(counts * 0.75)  # no counts, and bars still
    model = of(n_components=len(truth), doc_topic_prior=1.0, topic_word_prior=0.1, max_iter=200).fit(X)
    assert model.weighted_ and model.model_.meta["sampler"] == "weighted-cvb0"
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    distance = np.abs(truth[:, None, :] - phi[None, :, :]).sum(axis=2) / 2
    assert (distance.min(axis=1) < 0.25).sum() >= len(truth) - 2
    assert np.allclose(model.transform(X), model.doc_topic_)
    assert np.allclose(model.transform(X[::-1]), model.doc_topic_[::-1], atol=1e-10)
    assert -np.log(corpus.n_words) < model.score(X) < 0
    with pytest.raises(InputError, match="not a count: the sampler sparse needs counts"):
        of(sampler="sparse").fit(X)
    with pytest.raises(InputError, match="not a count: optimize_interval needs counts"):
        of(optimize_interval=10).fit(X)


def test_weighted_expectations_by_hand() -> None:
    """One entry alone has θ = (α + x γ) / (Kα + x) with γ at its fixed point; sums of counts are kept."""
    table = scipy.sparse.csr_array(np.array([[2.5]]))
    phi, alpha = np.array([[0.2], [0.6]]), np.array([0.5, 0.5])
    theta = fold_in(table, phi, alpha, sweeps=500)
    g = (theta[0] * 3.5 - 0.5) / 2.5
    ours = (1.5 * g + 0.5) * phi[:, 0]
    assert np.allclose(g, ours / ours.sum(), atol=1e-9)
    X = lda_corpus().to_matrix() * 0.3
    found = learn_weighted_topics(scipy.sparse.csr_array(X), 3, 0.1, 0.01, sweeps=20, seed=1)
    assert np.allclose(found.word_topics.sum(axis=1), np.asarray(X.sum(axis=0)).ravel())
    assert np.array_equal(
        found.word_topics, learn_weighted_topics(scipy.sparse.csr_array(X), 3, 0.1, 0.01, sweeps=20, seed=1)[0]
    )


def test_a_pipeline_and_a_grid_search_by_held_out_score() -> None:
    pandas = pytest.importorskip("pandas")
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    texts = [text.text for text in embedded_texts()]
    pipeline = make_pipeline(
        CountVectorizer(stop_words="english", min_df=2), of(doc_topic_prior=0.5, topic_word_prior=0.1)
    )
    search = GridSearchCV(pipeline, {"topicmodel__n_components": [1, 8], "topicmodel__max_iter": [60]}, cv=3)
    search.fit(texts)
    assert search.best_params_["topicmodel__n_components"] == 8  # eight fields of life
    best = search.best_estimator_
    names = best[0].get_feature_names_out()
    assert {word for words in best[1].top_words(10, names) for word in words} & {"bank", "team", "oven", "soil"}
    frame = best[1].set_output(transform="pandas").transform(best[0].transform(texts[:3]))
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns)[:2] == ["topic0", "topic1"]


def test_scikit_learn_clones_lda() -> None:
    from sklearn.base import clone

    from topicx import LDA, LabeledLDA, MedLDA

    for made in (LDA(5, alpha=[0.1] * 5, seed_words={0: ["a"]}), MedLDA(3, lambda_=2.0), LabeledLDA(background=1)):
        assert clone(made).get_params() == made.get_params()
        assert clone(made) is not made and clone(made).options == made.options
