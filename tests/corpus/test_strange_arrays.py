"""Arrays, frames and strings of other libraries: read as they are meant, or refused in a line."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from topicx import LDA, Corpus, LabeledLDA, MedLDA
from topicx.cli import main
from topicx.errors import InputError
from topicx.tables.theta_reader import read_theta

COUNTS = np.array([[1, 0, 2], [0, 3, 1]])
TOKENS = [0, 2, 2, 1, 1, 1, 2]


def lying(**parts: list[int]) -> sp.csr_array:
    """A sparse matrix whose indices are put there afterwards."""
    found = sp.csr_array((np.array([1, 2]), np.array([0, 1]), np.array([0, 1, 2])), shape=(2, 3))
    for name, values in parts.items():
        setattr(found, name, np.array(values, np.int32))
    return found


@pytest.mark.parametrize("kind", [">i4", ">f8", "<u2", np.float16, np.longdouble, np.int8])
def test_counts_of_any_type_of_number(kind: Any) -> None:
    assert Corpus.from_matrix(COUNTS.astype(kind)).words.tolist() == TOKENS


@pytest.mark.parametrize(
    "matrix, message",
    [
        (np.ma.masked_array(COUNTS, mask=COUNTS == 2), "masked entries"),
        (lying(indices=[-1, 1]), "fits together"),
        (lying(indices=[7, 1]), "fits together"),
        (lying(indptr=[0, 5, 2]), "fits together"),
        (lying(indptr=[0, 1, 9]), "fits together"),
    ],
)
def test_matrices_that_lie_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Corpus.from_matrix(matrix)


def test_double_entries_are_added_and_unmasked_arrays_read() -> None:
    double = sp.csr_array((np.array([1, 2, 1]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    assert Corpus.from_matrix(double).words.tolist() == [0, 0, 0, 1]
    assert Corpus.from_matrix(np.ma.masked_array(COUNTS)).words.tolist() == TOKENS


def test_strings_of_numpy_are_texts() -> None:
    corpus = Corpus.from_texts([np.str_("some cats"), np.str_("dogs sat")], labels=[np.str_("x"), np.str_("y")])
    lda = LDA(2, iterations=2, verbose=False).fit(corpus)
    assert lda.transform([np.str_("cats sat")]).shape == (1, 2)
    assert pickle.loads(pickle.dumps(lda)).document_topic.shape == lda.document_topic.shape
    assert pickle.loads(pickle.dumps(lda)).document_topic.shape == (2, 2)


def frame_of_polars() -> Any:
    class DataFrame:
        columns = ("text",)

    return DataFrame()


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Corpus.from_dataframe(frame_of_polars()), "a frame of pandas is needed, not a DataFrame"),
        (lambda: Corpus.from_documents([["\ud800cat", "dog"]]), "a word with a lone surrogate"),
        (lambda: LDA(2, iterations=1, verbose=False).fit(["a cat", "a dog"]).top_words(-1), "at least 0, not -1"),
    ],
)
def test_mistakes_are_told(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_two_columns_of_one_name() -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="the frame has 2 columns 'text'"):
        Corpus.from_dataframe(pandas.DataFrame([["a cat", "x"], ["a dog", "y"]], columns=["text", "text"]))


def test_labels_beside_the_documents() -> None:
    texts = ["cats and dogs", "dogs bark loudly", "stocks fell", "rates rose today"] * 3
    names = ["pets", "pets", "money", "money"] * 3
    once = MedLDA(2, iterations=4, verbose=False).fit(texts, names)
    assert once.classes == ["money", "pets"]
    assert once.model == MedLDA(2, iterations=4, verbose=False).fit(Corpus.from_texts(texts, labels=names)).model
    numbers = MedLDA(2, iterations=4, task="regression", verbose=False).fit(texts, np.arange(12) / 8)
    assert numbers.task == "regression" and numbers.model.side["scale"][0] == pytest.approx(np.mean(np.arange(12) / 8))
    labels = [["pets", "loud"], ["pets"], None, ["money"]] * 3
    assert sorted(LabeledLDA(iterations=3, verbose=False).fit(texts, labels).model.topic_names)[:1] == ["loud"]
    heard: list[Any] = []
    MedLDA(2, iterations=4, verbose=False).fit(Corpus.from_texts(texts, labels=names), [heard.append])
    assert len(heard) == 4
    with pytest.raises(InputError, match="labels has 3 values"):
        MedLDA(2, iterations=4, verbose=False).fit(texts, ["a", "b", "c"])


def test_theta_for_r(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Feather has what Parquet has; R's own formats are refused, with what R reads."""
    feather = pytest.importorskip("pyarrow.feather")
    parquet = pytest.importorskip("pyarrow.parquet")
    corpus = Corpus.from_texts(["some cats", "dogs sat"], labels=["x", "y"])
    LDA(2, iterations=2, verbose=False).fit(corpus).model.save(tmp_path / "m")
    corpus.save(tmp_path / "c")
    for further in ([], ["--top", "1"]):
        for ending in ("feather", "parquet"):
            with pytest.raises(SystemExit) as stop:
                main(["infer", str(tmp_path / "m"), str(tmp_path / "c"), "-o", str(tmp_path / f"t.{ending}"), *further])
            assert not stop.value.code
        read = feather.read_table(tmp_path / "t.feather"), parquet.read_table(tmp_path / "t.parquet")
        assert read[0].num_rows == 2 and read[0].to_pydict() == read[1].to_pydict()
    with pytest.raises(SystemExit) as stop:
        main(["infer", str(tmp_path / "m"), str(tmp_path / "c"), "-o", str(tmp_path / "t.rds")])
    assert stop.value.code == 2 and "feather is read by arrow::read_feather()" in capfd.readouterr().err


def test_a_column_a_topic(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Wide tables have the shares of lists, are read again as they are, and are refused where they mean nothing."""
    parquet = pytest.importorskip("pyarrow.parquet")
    feather = pytest.importorskip("pyarrow.feather")
    corpus = Corpus.from_texts(["some cats", "dogs sat"], labels=["x", "y"])
    LDA(2, iterations=2, verbose=False).fit(corpus).model.save(tmp_path / "m")
    corpus.save(tmp_path / "c")

    def infer(*arguments: str) -> int:
        with pytest.raises(SystemExit) as stop:
            main(["infer", str(tmp_path / "m"), str(tmp_path / "c"), *arguments])
        return int(stop.value.code or 0)

    assert infer("-o", str(tmp_path / "long.parquet")) == 0
    listed = np.array(parquet.read_table(tmp_path / "long.parquet")["theta"].to_pylist(), np.float32)
    names = ["topic_0", "topic_1"]
    expected = read_theta(str(tmp_path / "long.parquet"), names)
    for name, read in (("wide.parquet", parquet.read_table), ("wide.feather", feather.read_table)):
        assert infer("-o", str(tmp_path / name), "--wide") == 0
        table = read(tmp_path / name)
        assert table.column_names == ["id", "tokens", "unknown", "label", *names]
        assert np.array_equal(np.column_stack([table[one].to_numpy() for one in names]), listed)
        again = read_theta(str(tmp_path / name), names)
        assert again.whole and np.array_equal(again.theta, expected.theta) and [*again.columns] == [*expected.columns]
    capfd.readouterr()
    assert infer("-o", str(tmp_path / "t.csv"), "--wide") == 2
    assert "--wide: is for parquet and feather" in capfd.readouterr().err
    assert infer("-o", str(tmp_path / "t.parquet"), "--wide", "--top", "1") == 2
    assert "--wide: is for all shares" in capfd.readouterr().err
