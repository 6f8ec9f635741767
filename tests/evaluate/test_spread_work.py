"""Work of many pieces over places that share files alone: the same results as in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import lda_corpus
from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.engines.places import OnePlace, Spread
from topicx.engines.threads import Engine, Threads
from topicx.errors import InputError
from topicx.evaluate.chib import chib
from topicx.evaluate.completion import completion
from topicx.evaluate.cross_validation import cross_validate
from topicx.evaluate.left_to_right import left_to_right
from topicx.evaluate.search import search
from topicx.predict.documents import StoredSource
from topicx.predict.inference import Inference
from topicx.run import Run
from topicx.sampling.run_options import Options


@pytest.fixture
def spread(tmp_path: Path) -> Spread:
    return Spread(OnePlace(tmp_path, number=2), 1)


def done(engine: Spread) -> int:
    """The pieces that the places have done; nothing of theirs is left in the folder."""
    assert isinstance(engine.places, OnePlace)
    assert not list(engine.places.folder.iterdir())
    return engine.places.tasks


def test_a_search(spread: Spread) -> None:
    def rows(engine: Engine) -> list[dict[str, Any]]:
        found = search(lda_corpus(), (3, 5), chains=2, iterations=5, threads=engine)
        return [{name: value for name, value in row.items() if name != "seconds"} for row in found.rows]

    assert rows(spread) == rows(Threads(1))
    assert done(spread) == 2


def test_a_search_that_is_stopped_keeps_what_is_finished(spread: Spread) -> None:
    found = search(lda_corpus(), (3, 5, 7), chains=1, iterations=5, threads=spread, stop=lambda: done_two(found_rows),
                   each=found_rows.append)  # fmt: skip
    assert found.stopped and [row["topics"] for row in found.rows] == [3, 5]


found_rows: list[Any] = []


def done_two(rows: list[Any]) -> bool:
    return len(rows) >= 2


def test_folds(spread: Spread) -> None:
    corpus = lda_corpus().with_labels("ab"[d % 2] for d in range(120))
    options = Options(topics=3, iterations=3, model="medlda")

    def rows(engine: Engine) -> list[dict[str, Any]]:
        return cross_validate(corpus, options, engine, folds=3, topics=(3, 4), weights=(0.5, 2.0))

    assert rows(spread) == rows(Threads(1))
    assert done(spread) == 12


@pytest.mark.parametrize("group", [None, 0])
def test_inference(group: int | None, spread: Spread) -> None:
    corpus = lda_corpus(300)
    model = Run.start(corpus, Options(topics=5, iterations=5), Threads(1)).train().result().model

    def read(engine: Engine) -> list[Any]:
        inference = Inference(model, threads=engine, samples=3, group=group)
        return list(inference.stream(inference.corpus(corpus)))

    for ours, theirs in zip(read(spread), read(Threads(1)), strict=True):
        assert np.array_equal(ours.theta, theirs.theta) and np.array_equal(ours.z, theirs.z)
        assert list(ours.documents.ids) == list(theirs.documents.ids)
    assert done(spread) >= 1


@pytest.fixture
def new_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents with words that the model does not know."""
    path = tmp_path_factory.mktemp("new") / "new.corpus"
    lda_corpus(300, words=80, seed=1).with_labels("ab"[d % 2] for d in range(300)).save(path)
    return path


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"predictor.BATCH_TOKENS": 200, "spread_pieces.SENT_TOKENS": 700,
                        "documents._TOKENS": 3000, "documents._DOCUMENTS": 90}.items():  # fmt: skip
        monkeypatch.setattr(f"topicx.predict.{name}", value)


def read_shares(path: Path, engine: Engine, lost: bool = False) -> list[Any]:
    """Batch after batch, all that is told of the documents of a file; `lost`: nobody finds it after it was opened."""
    model = Run.start(lda_corpus(), Options(topics=5, iterations=5), Threads(1)).train().result().model
    with StoredCorpus.open(path) as corpus:
        if lost:
            path.rename(path.with_name("elsewhere"))
        reads = Inference(model, threads=engine, samples=3).shares(StoredSource(corpus), ("label",))
        return [
            (list(read.documents.ids), read.documents.offsets.tolist(), read.documents.unknown.tolist(),
             read.documents.told("label"), read.theta.tolist(), read.prior.rows(0, len(read.documents)).tolist())
            for read in reads
        ]  # fmt: skip


def test_workers_read_a_corpus_file_themselves(
    spread: Spread, new_corpus: Path, small_pieces: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batches are those of one machine, too; a piece is some of them."""
    theirs = read_shares(new_corpus, Threads(1))
    monkeypatch.delattr("topicx.predict.spread_pieces.SpreadReading.pieces_of_batches")  # none is sent
    assert read_shares(new_corpus, spread) == theirs
    assert 10 < done(spread) < len(theirs) / 2


def test_a_file_that_workers_do_not_find_is_sent(spread: Spread, new_corpus: Path, small_pieces: None) -> None:
    theirs = read_shares(new_corpus, Threads(1))
    assert read_shares(new_corpus, spread, lost=True) == theirs
    assert done(spread) > 10


def test_another_file_of_the_same_name_is_not_read(new_corpus: Path) -> None:
    with StoredCorpus.open(new_corpus) as corpus:
        known = corpus.digest
    with StoredCorpus.open_known(new_corpus, known) as corpus:
        assert corpus.ids(0, 2) == lda_corpus(300, words=80, seed=1).ids.part(0, 2)
    lda_corpus(300, words=80, seed=2).save(new_corpus)
    with pytest.raises(InputError, match=r"new\.corpus: is another file than the one that was verified"):
        StoredCorpus.open_known(new_corpus, known)


MEASURED = {
    "completion": (completion, {"samples": 3, "burn_in": 3, "share": 0.5}),
    "left-to-right": (left_to_right, {"particles": 3, "form": "wallach"}),
    "chib": (chib, {"samples": 5, "burn_in": 5}),
}


@pytest.mark.parametrize("name", MEASURED)
def test_measures_of_documents(name: str, spread: Spread) -> None:
    measure, settings = MEASURED[name]
    corpus = lda_corpus(300)
    model = Run.start(corpus, Options(topics=5, iterations=5), Threads(1)).train().result().model
    here, there = (measure(model, None, corpus, **settings, threads=engine) for engine in (Threads(1), spread))
    assert np.array_equal(here.documents, there.documents)
    assert here.log_likelihood == there.log_likelihood and here.tokens == there.tokens
    assert done(spread) >= 1


@pytest.mark.parametrize(
    "given", [{"alpha": 0.1}, {"groups": np.zeros(120, np.uint32)}, {"phi": np.full((2, 60), 1 / 60)}]
)
def test_topics_without_a_model_are_not_measured_on_places(given: dict[str, Any], spread: Spread) -> None:
    model = Run.start(lda_corpus(), Options(topics=5, iterations=5), Threads(1)).train().result().model
    asked = {"phi": model, "alpha": None, "corpus": lda_corpus()} | given
    with pytest.raises(InputError, match="on a cluster a model is measured with the priors of its own"):
        completion(**asked, threads=spread)
    assert done(spread) == 0


def test_what_a_measure_refuses_is_refused_without_a_file_left(spread: Spread) -> None:
    model = Run.start(lda_corpus(), Options(topics=5, iterations=5), Threads(1)).train().result().model
    with pytest.raises(InputError, match="samples: 0"):
        completion(model, None, lda_corpus(), samples=0, threads=spread)
    assert done(spread) == 0
