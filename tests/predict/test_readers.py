"""Readers: what documents mean under each model, wherever it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.models.test_labeled import tagged, trained
from tests.models.test_medlda import SETTINGS
from tests.models.test_medlda import corpus as graded
from tests.predict.test_inference import make_model
from topicx import LabeledLDA, MedLDA
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.evaluate.chib import chib
from topicx.evaluate.completion import completion
from topicx.evaluate.left_to_right import left_to_right
from topicx.evaluate.predictive import Predictive
from topicx.predict.document_prior import DocumentPrior, state_priors
from topicx.predict.inference import Inference
from topicx.predict.label_reader import label_reader
from topicx.predict.sampling_plan import Sampling, chain_seed
from topicx.predict.topic_rows import known_tokens, match_vocabulary

# -- priors --------------------------------------------------------------------------------------------------------


def test_priors_of_all_of_groups_and_of_each() -> None:
    alpha = np.array([[0.5, 1.0], [2.0, 0.0]])
    one = DocumentPrior.constant(alpha[0], 3)
    assert one.rows(1, 3).tolist() == [[0.5, 1.0]] * 2
    groups = DocumentPrior.by_group(alpha, np.array([1, 0, 1], np.uint32), strangers=2)
    assert np.allclose(groups.rows(0, 3), alpha[[1, 0, 1]]) and groups.rows(0, 1)[0, 1] > 0
    assert groups.of_topics(1, 2).rows(0, 2).tolist() == groups.rows(0, 2)[:, 1:].tolist()
    each = DocumentPrior.of_each(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))
    assert each.part(1, 3).rows(0, 2).tolist() == [[3, 4], [5, 6]]
    rows, of = state_priors(alpha, [each.part(0, 2), each.part(2, 3)])
    assert rows[of].tolist() == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(InputError, match="not a positive number for every topic"):
        DocumentPrior.of_each(np.array([[1.0, np.nan]]))


# -- labels --------------------------------------------------------------------------------------------------------


def test_labels_are_predicted_from_python() -> None:
    corpus = tagged()
    model = LabeledLDA(iterations=30, seed=2).fit(corpus)
    found = model.model.infer(corpus.select(np.arange(20)), seed=3)
    assert set(found.predicted) == {"labels", "scores"}
    assert found.predicted["labels"] == model.predict(corpus.select(np.arange(20)), seed=3)
    scores = model.scores(corpus.select(np.arange(20)), seed=3)
    for names, told, row in zip(found.predicted["labels"], found.predicted["scores"], scores, strict=True):
        assert told == [f"{row[model.labels.index(name)]:.6f}" for name in names]
    frame = [list(corpus.document(0))]
    assert model.model.infer(frame).predicted["labels"][0]
    del model.model.side["label_number"]  # a model that doesn't say how many there are
    assert model.model.infer(frame).predicted == {}
    with pytest.raises(InputError, match="give top or threshold"):
        label_reader(model.model)


def test_states_of_labels_are_scored_by_the_topics_that_documents_may_have() -> None:
    corpus = tagged()
    result = trained("labeled", corpus).result(examples=0)
    state = result.state
    assert state.allowed is not None
    judge = Predictive(replace(corpus, words=corpus.words.copy()))
    judge.add(state)
    phi = np.zeros((state.n_words, state.n_topics))
    np.add.at(phi, (state.words, state.z), 1)
    phi = (phi + state.beta[:, None]) / (phi + state.beta[:, None]).sum(axis=0)
    expected = 0.0
    for d in range(20):
        topics = state.allowed[1][state.allowed[0][d] : state.allowed[0][d + 1]]
        own = slice(state.offsets[d], state.offsets[d + 1])
        theta = np.bincount(state.z[own], minlength=state.n_topics)[topics] + state.alpha[0, topics]
        expected += np.log(phi[state.words[own]][:, topics] @ (theta / theta.sum())).sum()
    assert np.isclose(np.log(judge.total[: state.offsets[20]]).sum(), expected)


# -- models side by side -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [{"chains": 2}, {"strategy": "one-vs-all"}])
def test_models_side_by_side_are_read_one_by_one(more: dict[str, Any]) -> None:
    new = graded(20, seed=1)
    both = MedLDA(**SETTINGS, lambda_=20.0, **more).fit(graded()).model
    number = both.meta["chains"]
    assert number > 1
    match = match_vocabulary(both.vocabulary, new.vocabulary)
    words, offsets, _ = known_tokens(new.words, new.offsets, match)
    # Two words a document, of which one is scored: its probability is the mean of those in each model.
    pairs = np.concatenate([words[begin : begin + 2] for begin in offsets[:-1]])
    short = Corpus(pairs, np.arange(0, len(pairs) + 1, 2), both.vocabulary, new.ids)
    found = completion(both, None, short, seed=3)
    assert found.scored.tolist() == [1] * len(short)
    each: list[Any] = []
    for at, block in enumerate(Inference(both).reader.blocks):  # type: ignore[attr-defined]
        topics = both.topic_word[at * 6 : at * 6 + 6]
        each.append(np.exp(completion(topics, block.alpha, short, seed=chain_seed(3, at)).documents))
    np.testing.assert_allclose(np.exp(found.documents), np.mean(each, axis=0), rtol=1e-5)


def test_a_document_of_several_models_has_no_one_probability() -> None:
    new = graded(20, seed=1)
    both = MedLDA(**SETTINGS, lambda_=20.0, chains=2).fit(graded()).model
    asked: list[Callable[[], Any]] = [
        lambda: chib(both, None, new), lambda: left_to_right(both, None, new),
    ]  # fmt: skip
    for ask, name in zip(asked, ("chib", "left-to-right"), strict=True):
        with pytest.raises(InputError, match=f"{name}: a document of 2 models side by side has a probability in each"):
            ask()


def test_counts_without_the_prior_are_those_of_the_tokens() -> None:
    pairs = (
        (MedLDA(**SETTINGS, lambda_=20.0, chains=2).fit(graded()).model, graded(20, seed=1)),
        (trained("labeled", tagged()).result(examples=0).model, tagged()),
        (MedLDA(**SETTINGS, lambda_=20.0).fit(graded()).model, graded(20, seed=1)),
    )
    for model, corpus in pairs:
        inference = Inference(model, threads=1)
        for read in inference.stream(inference.corpus(corpus)):
            counts = inference.reader.token_counts(read)
            np.testing.assert_allclose(counts.sum(axis=1), np.diff(read.documents.offsets), rtol=1e-3)


def test_a_sampling_that_is_said_is_one_that_is_done() -> None:
    assert Sampling(burn_in=3, samples=4, lag=5).iterations == 18
    with pytest.raises(InputError, match="no group"):
        Inference(make_model(groups=2), group="elsewhere")
