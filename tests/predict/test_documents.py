"""Documents in any form become the same words, unknown words and columns of a model."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topicx import LDA, Corpus, Model
from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.corpus.formats.document_reader import ReadOptions, read_documents
from topicx.corpus.table import Labels, Names, Numbers, Table, Texts, Times
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.errors import InputError
from topicx.files import spooled_arrays
from topicx.predict.documents import BatchSource, CorpusSource, Documents, Source, StoredSource, source_of
from topicx.predict.inference import Inference

pandas = pytest.importorskip("pandas")
WORDS = [["bank", "unheardof", "rates"], [], ["river", "river", "the", "bank", "zebra"], ["the"]]
TEXTS = [" ".join(words) for words in WORDS]
ROWS: list[dict[str, Any]] = [
    {"label": ["a", "b"], "collection": "x", "time": "1990-05-01", "rating": 4.0, "author": "Ann"},
    {"label": [], "collection": None, "time": None, "rating": None, "author": None},
    {"label": ["b"], "collection": "y", "time": "1991-01-01T12:00:00", "rating": 0.5, "author": "Ödön"},
    {"label": ["c"], "collection": "x", "time": "1990-05-01", "rating": -2.0, "author": "Ann"},
]
COLUMNS = ["label", "collection", "time", "rating", "author"]


@pytest.fixture(scope="module")
def model() -> Model:
    texts = ["the bank raises rates", "river and bank", "the river floods", "rates of the bank"] * 5
    return LDA(2, iterations=5, seed=1, verbose=False).fit(texts, tokenizer=Tokenizer(stopwords="en")).model


def frame(content: list[Any]) -> Any:
    rows = [row | {"text": one, "label": row["label"] or None} for row, one in zip(ROWS, content, strict=True)]
    return pandas.DataFrame(rows, index=[f"d{at}" for at in range(len(rows))])


def corpus() -> Corpus:
    """The documents with a vocabulary of their own, in which nothing is left out."""
    return Corpus.from_dataframe(
        frame(WORDS), label="label", collection="collection", time="time", columns=["rating", "author"]
    )


def as_jsonl(path: Path, key: str, content: list[Any]) -> None:
    rows = [row | {"id": f"d{at}", key: one} for at, (row, one) in enumerate(zip(ROWS, content, strict=True))]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def read(path: str) -> BatchSource:
    return BatchSource(read_documents([path], ReadOptions(format="jsonl", columns=("rating", "author"))))


@pytest.fixture
def sources(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Source]]:
    as_jsonl(tmp_path / "a.jsonl", "text", TEXTS)
    corpus().save(tmp_path / "c")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "a.jsonl").read_bytes())))
    names = sorted({word for words in WORDS for word in words})
    counts = np.array([[words.count(name) for name in names] for words in WORDS])
    with StoredCorpus.open(tmp_path / "c") as stored:
        yield {
            "texts": source_of(TEXTS, model.vocabulary),
            "generator": source_of((text for text in TEXTS), model.vocabulary),
            "words": source_of(WORDS, model.vocabulary),
            "frame": source_of(frame(TEXTS), model.vocabulary),
            "frame of words": source_of(frame(WORDS), model.vocabulary),
            "matrix": source_of(pandas.DataFrame(counts, columns=names), model.vocabulary),
            "corpus": CorpusSource(corpus()),
            "corpus file": StoredSource(stored),
            "file": read(str(tmp_path / "a.jsonl")),
            "pipe": read("-"),
        }


def test_every_form_has_the_same_known_and_unknown_words(model: Model, sources: dict[str, Source]) -> None:
    inference = Inference(model, threads=1)
    known = set(model.vocabulary)
    assert "bank" in known and "the" not in known and "unheardof" not in known
    for name, source in sources.items():
        (found,) = inference.documents(source)
        words = [
            [model.vocabulary[int(word)] for word in found.words[begin:end]]
            for begin, end in zip(found.offsets[:-1], found.offsets[1:])
        ]
        expected = [[word for word in each if word in known] for each in WORDS]
        assert [sorted(each) for each in words] == [sorted(each) for each in expected], name
        assert name == "matrix" or words == expected
        assert found.unknown.tolist() == [1, 0, 1, 0], name  # "the" is left out of every text: nobody misses it
        assert source.n_documents in (4, None) and len(found) == 4


def test_every_form_that_carries_columns_has_the_same(model: Model, sources: dict[str, Source]) -> None:
    inference = Inference(model, threads=1)
    types = {"label": Labels, "collection": Names, "time": Times, "rating": Numbers, "author": Texts}
    for name in ("frame", "frame of words", "corpus", "corpus file", "file", "pipe"):
        source = sources[name]
        assert {column: kind.__name__ for column, kind in source.kinds().items()} == {
            "label": "list", "collection": "str", "time": "str", "author": "str", "rating": "Digits",
        }, name  # fmt: skip
        (found,) = inference.documents(source, [*COLUMNS, "nothing"])
        assert isinstance(found.carried, Table) and list(found.carried) == [
            "label",
            "collection",
            "time",
            "author",
            "rating",
        ]
        assert list(found.ids) == ["d0", "d1", "d2", "d3"]
        for column in COLUMNS:
            assert type(found.carried[column]) is types[column], (name, column)
            assert found.told(column) == [row[column] for row in ROWS], (name, column)
        assert found.told("nothing") == [None] * 4


def test_unknown_words_of_texts_and_lists_agree_from_python(model: Model) -> None:
    for documents in (TEXTS[:1], WORDS[:1], frame(TEXTS)[:1], corpus()[:1]):
        assert model.infer(documents).unknown.tolist() == [1]
    found = model.infer(frame(TEXTS))
    assert found.metadata["author"] == ["Ann", None, "Ödön", "Ann"] and found.ids == ["d0", "d1", "d2", "d3"]
    same = model.infer(WORDS)
    assert np.array_equal(found.theta, same.theta) and np.array_equal(found.theta, model.infer(corpus()).theta)


def test_documents_are_frozen_and_parted(model: Model, sources: dict[str, Source]) -> None:
    (found,) = Inference(model, threads=1).documents(sources["corpus"], COLUMNS)
    with pytest.raises(AttributeError):
        found.words = found.words[:1]  # type: ignore[misc]
    for begin, end in ((0, 4), (1, 3), (2, 2)):
        part = found.part(begin, end)
        assert isinstance(part, Documents) and len(part) == end - begin == len(part.ids)
        assert part.words.tolist() == found.words[found.offsets[begin] : found.offsets[end]].tolist()
        assert part.told("rating") == found.told("rating")[begin:end]


@pytest.fixture
def files_made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The temporary files that are made from here on."""
    made: list[Any] = []
    for name in ("TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile", "mkstemp", "mkdtemp"):
        real = getattr(tempfile, name)
        monkeypatch.setattr(tempfile, name, lambda *a, real=real, **k: made.append(k) or real(*a, **k))
    return made


def test_texts_in_memory_make_no_temporary_file(model: Model, files_made: list[Any]) -> None:
    for documents in (TEXTS, WORDS, frame(TEXTS), corpus()):  # a corpus is built here, too
        model.infer(documents)
    LDA(2, iterations=2, verbose=False).fit(TEXTS, stopwords=None)
    assert not files_made


def test_what_is_long_waits_on_disk_as_it_waits_in_memory(
    monkeypatch: pytest.MonkeyPatch, files_made: list[Any]
) -> None:  # fmt: skip
    in_memory = corpus()
    monkeypatch.setattr(spooled_arrays, "IN_MEMORY", 16)
    on_disk = corpus()
    assert files_made and on_disk == in_memory


def test_what_is_no_document_is_refused(model: Model) -> None:
    for wrong, message in (("bank", "one string was given"), ([], "no documents"), ([1], "not a list of words"),
                           (["a", 1], r"texts\[1\] is not a string"), (7, "is needed, not a int"),
                           (np.ones((2, 3)), "the matrix has 3 columns, but the model has"),
                           (["a"] * 1000 + [1], r"texts\[1000\] is not a string")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            model.infer(wrong)


def test_a_column_that_comes_late_is_carried_where_it_is_wanted(model: Model, tmp_path: Path) -> None:
    """The reader of a model asks for a column by its name, whatever the first batch had."""
    from topicx.corpus.formats.document_reader import Batch

    batches = [Batch("", range(1), ["bank"], collections=[None]), Batch("", range(1), ["bank"], collections=["x"])]
    first, second = Inference(model, threads=1).documents(BatchSource(batches), ["collection"])
    assert first.told("collection") == [None] and second.told("collection") == ["x"]
