"""`Predictor`: made once from a model, shared by threads and after a fork, and right whatever becomes of the model."""

from __future__ import annotations

import gc
import multiprocessing
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.conftest import lda_corpus
from tests.predict.test_inference import make_model
from topicx.corpus.corpus import Corpus
from topicx.corpus.text.tokenizer import Encoder, Tokenizer
from topicx.errors import InputError
from topicx.estimate.topic_edits import edit_topics
from topicx.model import Model
from topicx.predict.inference import infer
from topicx.strings import Strings

TEXTS = ["w001 w002, W003 the unheard w001", "w059 w059", "", "quarks leptons", "Ünïcode w004 w005"]


@pytest.fixture
def model() -> Model:
    return make_model(topics=20, tokenizer=Tokenizer(stopwords="en").to_meta())


def test_one_text_has_the_topics_of_its_words(model: Model) -> None:
    predictor = model.predictor(seed=4)
    words = [["w001", "w002", "w003", "w001"], ["w059", "w059"], [], [], ["w004", "w005"]]
    expected = infer(model, Corpus.from_documents(words), seed=4)
    for text, row, unknown in zip(TEXTS, expected, [1, 0, 0, 2, 1], strict=True):
        found = predictor.one(text)
        assert np.array_equal(found.theta, row[None])
        assert (found.unknown.tolist(), found.ids) == ([unknown], ["0"])
    assert np.array_equal(predictor.one(["w001", "zzz", "w002"]).theta, predictor.one("w001 w002").theta)


def test_threads_share_a_predictor(model: Model) -> None:
    predictor = model.predictor()
    alone = [model.predictor().one(text).theta for text in TEXTS]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(predictor.one, TEXTS * 40))
    for at, found in enumerate(together):
        assert np.array_equal(found.theta, alone[at % len(TEXTS)])


def _of_a_child(predictor: Any, out: Any) -> None:
    out.put([predictor.one(text).theta for text in TEXTS])


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
def test_a_forked_process_goes_on_with_it(model: Model) -> None:
    predictor = model.predictor()
    mine = [predictor.one(text).theta for text in TEXTS]
    context = multiprocessing.get_context("fork")
    out = context.Queue()
    child = context.Process(target=_of_a_child, args=(predictor, out))
    child.start()
    theirs = out.get(timeout=60)
    child.join()
    assert all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))


def test_what_is_made_of_a_model_is_made_once_and_anew_where_it_changes(model: Model) -> None:
    first = model.predictor()
    assert model.predictor(seed=2).reader is first.reader
    assert model.predictor(theta="cgs").encoder is first.encoder
    before = first.one("w001 w002").theta
    model.alpha = model.alpha * 50
    assert model.predictor().reader is not first.reader
    assert not np.array_equal(model.predictor().one("w001 w002").theta, before)
    assert np.array_equal(first.one("w001 w002").theta, before)
    model.meta["tokenizer"] = Tokenizer(stopwords={"w001"}).to_meta()
    assert np.array_equal(model.predictor().one("w001 w002").theta, model.predictor().one("w002").theta)


def test_it_holds_no_model_in_memory_and_no_file(model: Model) -> None:
    model.predictor().one("w001")
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predictor().one("w001").theta, model.predictor().one("w001").theta)
    assert "_prepared" not in replace(model).__dict__
    watched = weakref.ref(model.predictor().reader)  # type: ignore[type-var]
    gc.disable()
    try:
        model.__dict__.clear()
        assert watched() is None
    finally:
        gc.enable()


def test_hidden_topics_and_names_are_those_of_the_command_line(model: Model) -> None:
    pytest.importorskip("pandas")
    whole = model.infer(["w001 w002 w003"]).theta
    best = int(whole[0].argmax())
    edited = edit_topics(model, names={1: "money"}, hide=[best])
    found = edited.infer(["w001 w002 w003"])
    assert found.theta[0, best] == 0 and found.main_topic[0] != best
    assert np.array_equal(np.delete(found.theta, best, 1), np.delete(whole, best, 1))
    assert np.array_equal(edited.predictor().one("w001 w002 w003").theta, found.theta)
    assert {"money", "topic_0"} <= set(found.to_dataframe().columns)
    assert {"topic_0", "topic_1"} <= set(model.infer(["w001"]).to_dataframe().columns)


def test_a_group_that_is_not_there_is_refused_at_once(model: Model) -> None:
    with pytest.raises(InputError, match="no group 'x'"):
        model.predictor(group="x")
    model.alpha = np.vstack([model.alpha, model.alpha * 9])
    model.group_names = Strings.of(["a", "b"])
    corpus = replace(
        lda_corpus(4), collection=np.array([0, 1, 0, 1], np.int32), collection_names=Strings.of(["b", "a"])
    )
    theta = infer(model, corpus)
    assert np.array_equal(infer(model, corpus, group="b")[::2], theta[::2])
    assert np.array_equal(infer(model, corpus, group=0)[1::2], theta[1::2])


def test_an_encoder_that_is_shared_says_what_one_alone_does() -> None:
    tokenizer = Tokenizer(stopwords="en", phrases=(("new", "york"),), stem=None)
    encoder = Encoder(tokenizer, ["new_york", "cats", "städte"])
    texts = ["New York, new cats", "the Städte 12", "", "cats cats"]
    words, lengths, unknown = encoder.word_ids(texts)
    assert encoder.counts.tokens.sum() == 0
    counted, same = encoder.encode(texts)
    assert (words.tolist(), lengths.tolist()) == (counted.tolist(), same.tolist())
    assert unknown.tolist() == encoder.last_unknown.tolist()
    listed = encoder.word_ids(None, [["cats", "dogs"], ["new", "york"]])
    assert [part.tolist() for part in listed] == [[1, 0], [1, 1], [1, 0]]
