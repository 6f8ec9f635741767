"""Corpora: the builder against a plain twin, files, Python's other forms, pruning, splitting, bigrams,
exports."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from topicx import datasets
from topicx.corpus.build.corpus_builder import Builder, BuildOptions
from topicx.corpus.build.spooled_columns import snippet_of_text
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_split import parts_by_ids, random_parts
from topicx.corpus.formats.corpus_writers import FORMATS, export_corpus
from topicx.corpus.formats.document_reader import Batch, ReadOptions, read_documents
from topicx.corpus.text.bigrams import BigramOptions
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.corpus.time_texts import parse_time
from topicx.errors import InputError

WORD = st.sampled_from(["a", "b", "cc", "é", "हिन्दी", "zz", "don't", "0"])
DOCUMENTS = st.lists(st.lists(WORD, max_size=12), min_size=1, max_size=12)


def twin(documents: list[list[str]], **limits: Any) -> tuple[list[str], list[list[str]]]:
    """The vocabulary and the documents as the builder must make them."""
    tokens = Counter(word for document in documents for word in document)
    frequency = Counter(word for document in documents for word in set(document))
    most = limits.get("max_doc_freq", 1.0) * len(documents)
    kept = [
        word
        for word in tokens
        if tokens[word] >= limits.get("min_count", 1)
        and limits.get("min_doc_freq", 1) <= frequency[word] <= most + 1e-9
    ]
    vocabulary = sorted(kept, key=lambda word: (-tokens[word], word.encode()))
    return vocabulary, [[word for word in document if word in kept] for document in documents]


def words_of(corpus: Corpus) -> list[list[str]]:
    return [corpus.document(i) for i in range(len(corpus))]


def assert_counts(corpus: Corpus) -> None:
    """The stored frequencies are those of the tokens."""
    documents = words_of(corpus)
    tokens = Counter(word for document in documents for word in document)
    frequency = Counter(word for document in documents for word in set(document))
    assert corpus.word_frequencies.tolist() == [tokens[word] for word in corpus.vocabulary]
    assert corpus.document_frequencies.tolist() == [frequency[word] for word in corpus.vocabulary]


@given(
    documents=DOCUMENTS,
    min_count=st.integers(1, 3),
    min_doc_freq=st.integers(1, 3),
    max_doc_freq=st.sampled_from([1.0, 0.75, 0.5]),
    drop_empty=st.booleans(),
    split=st.integers(1, 5),
)
@settings(max_examples=80, deadline=None)
def test_builder_agrees_with_its_twin(
    documents: list[list[str]],
    min_count: int,
    min_doc_freq: int,
    max_doc_freq: float,
    drop_empty: bool,
    split: int,
) -> None:
    limits = {"min_count": min_count, "min_doc_freq": min_doc_freq, "max_doc_freq": max_doc_freq}
    vocabulary, expected = twin(documents, **limits)
    options = BuildOptions(drop_empty=drop_empty, **limits)  # type: ignore[arg-type]
    keep = [i for i, document in enumerate(expected) if document or not drop_empty]
    with Builder(Tokenizer(min_length=1, keep_numbers=True), options) as builder:
        for begin in range(0, len(documents), split):
            part = range(begin, min(begin + split, len(documents)))
            batch = Batch("x", part, [" ".join(documents[i]) for i in part])
            batch.ids = [f"d{i}" for i in part]
            batch.labels = [(f"l{i % 3}", "m") if i % 2 else () for i in part]
            batch.collections = [f"c{i % 3}" if i % 4 else None for i in part]
            batch.times = [i if i % 3 else None for i in part]
            batch.columns = {"n": list(part), "s": [f"s{i}" for i in part]}
            builder.add(batch)
        if not vocabulary:
            with pytest.raises(InputError, match="nothing is left"):
                builder.corpus()
            return
        corpus = builder.corpus()
    assert list(corpus.vocabulary) == vocabulary
    assert words_of(corpus) == [expected[i] for i in keep]
    assert list(corpus.ids) == [f"d{i}" for i in keep]
    assert [corpus.labels(at) for at in range(len(keep))] == [[f"l{i % 3}", "m"] if i % 2 else [] for i in keep]
    assert [corpus.collection_of(at) for at in range(len(keep))] == [f"c{i % 3}" if i % 4 else None for i in keep]
    if len(corpus.time):
        assert [None if math.isnan(t) else t for t in corpus.time] == [i if i % 3 else None for i in keep]
    assert np.asarray(corpus.columns["n"]).tolist() == keep
    assert list(corpus.columns["s"]) == [f"s{i}" for i in keep]
    assert list(corpus.columns["snippet"]) == [" ".join(documents[i]) for i in keep]
    assert_counts(corpus)


def test_pieces_larger_than_the_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("spooled_rows", "corpus_arrays", "spooled_columns", "spooled_table"):
        monkeypatch.setattr(f"topicx.corpus.build.{module}.PIECE", 64)
    random = np.random.default_rng(1)
    documents = [[f"w{i}" for i in random.integers(0, 50, random.integers(0, 200))] for _ in range(300)]
    corpus = Corpus.from_texts(map(" ".join, documents), min_count=300, drop_empty=True, labels=["x"] * 300)
    vocabulary, expected = twin(documents, min_count=300)
    assert list(corpus.vocabulary) == vocabulary
    assert words_of(corpus) == [document for document in expected if document]


def test_file_round_trip(tmp_path: Path) -> None:
    corpus = Corpus.from_texts(
        ["the cat sat", "a dog", ""],
        ids=["x", "y", "z"],
        labels=["p", ["q", "p"], None],
        times=["1990-05-01", None, "1970-01-02"],
    )
    path = tmp_path / "c.corpus"
    digest = corpus.save(path)
    again = Corpus.load(path)
    assert again.digest == digest
    for name, array in corpus.arrays().items():
        assert np.array_equal(again.arrays()[name], array, equal_nan=array.dtype.kind == "f"), name
    assert again.meta == corpus.meta
    assert again.time.tolist()[0] == 7425.0 and again.meta["time"] == "date"
    assert again.save(tmp_path / "d.corpus") == digest


def test_like_counts_unknown_words() -> None:
    old = Corpus.from_texts(["The cat sat, the end", "New dogs"], tokenizer=Tokenizer(stopwords=frozenset({"the"})))
    new = Corpus.from_texts(["the cat saw new new mice"], like=old)
    assert words_of(new) == [["cat", "new", "new"]]
    assert new.vocabulary == old.vocabulary
    assert new.meta["counts"]["unknown_tokens"] == 2
    assert new.meta["counts"]["stopword_tokens"] == 1
    assert new.meta["tokenizer"] == old.meta["tokenizer"]
    assert_counts(new)


# -- bigrams ----------------------------------------------------------------------------------------------------------


def test_bigrams_against_the_formula() -> None:
    random = np.random.default_rng(3)
    texts = []
    for _ in range(200):
        words = [f"w{i}" for i in random.integers(0, 30, 20)]
        words[5:7] = ["new", "york"]
        words[10:12] = ["of", "the"]
        texts.append(" ".join(words))
    tokenizer = Tokenizer(stopwords=frozenset({"of", "the"}))
    options = BigramOptions(min_count=20, npmi=0.6)
    corpus = Corpus.from_texts(texts, tokenizer=tokenizer, bigrams=options)
    tokens, pairs = Counter(), Counter()
    for text in texts:
        words = text.split()
        tokens.update(words)
        pairs.update(itertools.pairwise(words))
    n = tokens.total()
    expected = []
    for (a, b), count in pairs.items():
        npmi = math.log(count * n / (tokens[a] * tokens[b])) / -math.log(count / n)
        if count >= 20 and npmi >= 0.6 and not {a, b} & tokenizer.stopwords:
            expected.append([a, b])
    assert corpus.meta["tokenizer"]["phrases"] == sorted(expected) == [["new", "york"]]
    assert corpus.word_frequencies[list(corpus.vocabulary).index("new_york")] == 200
    assert_counts(corpus)
    again = Tokenizer.from_meta(corpus.meta["tokenizer"])
    assert words_of(corpus) == [again.tokenize(text) for text in texts]
    like = Corpus.from_texts(texts[:5], like=corpus)
    assert words_of(like) == words_of(corpus)[:5]


def test_bigrams_in_a_full_table_keep_the_frequent() -> None:
    random = np.random.default_rng(4)
    texts = [" ".join(f"w{i}" for i in random.integers(0, 300, 30)) + " hong kong" for _ in range(2000)]
    corpus = Corpus.from_texts(texts, bigrams=BigramOptions(min_count=20, npmi=0.9, table=500))
    assert corpus.meta["tokenizer"]["phrases"] == [["hong", "kong"]]


# -- Python's other forms ---------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None)
def test_matrix_round_trip(rows: list[list[int]]) -> None:
    matrix = np.array(rows)
    if not matrix.any():
        return
    for form in (np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_array):
        corpus = Corpus.from_matrix(form(matrix.astype(float)), ["w", "x", "y", "z"])
        assert np.array_equal(corpus.to_matrix().toarray(), matrix)
        assert list(corpus.vocabulary) == ["w", "x", "y", "z"]
    assert np.array_equal(corpus.offsets, Corpus.from_matrix(corpus.to_matrix()).offsets)


def test_matrix_leaves_its_inputs_alone() -> None:
    corpus = Corpus.from_documents([["b", "a", "b"], ["a"]])
    offsets, words = corpus.offsets.copy(), corpus.words.copy()
    corpus.to_matrix()
    assert np.array_equal(corpus.offsets, offsets) and np.array_equal(corpus.words, words)


def test_dataframe_round_trip() -> None:
    corpus = Corpus.from_texts(
        ["the cat", "a dog ran", ""],
        ids=["x", "y", "z"], labels=[["p", "q"], None, "p"], collections=["c", None, "d"],
        times=["2020-01-01", "2020-01-02T12:00", None], columns={"n": [1, 2.5, None]},
    )  # fmt: skip
    frame = corpus.to_dataframe()
    again = Corpus.from_dataframe(
        frame,
        "words",
        id="id",
        label="labels",
        collection="collection",
        time="time",
        columns=["n", "snippet"],
    )
    for name, array in corpus.arrays().items():
        assert np.array_equal(again.arrays()[name], array, equal_nan=array.dtype.kind == "f"), name
    texts = Corpus.from_dataframe(pandas.DataFrame({"text": ["aa bb", None], "year": [1990, 1991]}), time="year")
    assert words_of(texts) == [["aa", "bb"], []] and texts.time.tolist() == [1990.0, 1991.0]


def test_documents_keep_a_given_vocabulary() -> None:
    corpus = Corpus.from_documents([["b", "New York"], ["x"]], vocabulary=["New York", "b", "unused"])
    assert words_of(corpus) == [["b", "New York"], []]
    assert list(corpus.vocabulary) == ["New York", "b", "unused"]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Corpus.from_texts("abc"), "not one string"),
        (lambda: Corpus.from_texts(["abc"], tokenizer=r"\S+"), "tokenizer: a topicx.corpus.Tokenizer is needed"),  # type: ignore[arg-type]
        (lambda: Corpus.from_texts(["abc"], tokenizer=str.split), "for words of your own give lists of words"),  # type: ignore[arg-type]
        (lambda: Corpus.from_texts(["a", 1]), r"texts\[1\] is not a string but a int"),  # type: ignore[list-item]
        (lambda: Corpus.from_texts([]), "no documents"),
        (lambda: Corpus.from_texts(["", " "]), "nothing is left: 2 documents"),
        (lambda: Corpus.from_texts(["a"], ids=["1", "2"]), r"ids has more values than there are texts \(1\)"),
        (
            lambda: Corpus.from_texts(["a", "b"], labels=["1"]),
            "labels has 1 values, but there are more texts",
        ),
        (lambda: Corpus.from_texts(["a"], times=["soon"]), "document 0: the time 'soon' is neither"),
        (
            lambda: Corpus.from_texts(["a", "b"], times=[1990, "1990-01-01"]),
            r"document 1: .* is a date, but .* numbers",
        ),
        (
            lambda: Corpus.from_texts(["a"], min_count=0),
            "min_count must be a whole number of at least 1, not 0",
        ),
        (lambda: Corpus.from_texts(["a"], max_doc_freq=2), "max_doc_freq must be a share .* not 2"),
        (lambda: Corpus.from_documents(["ab"]), r"documents\[0\] is not a list of words"),
        (lambda: Corpus.from_matrix(np.array([[1, -1]])), r"matrix\[0, 1\] is -1, not a count"),
        (lambda: Corpus.from_matrix(np.array([[0, 0], [0.5, 1]])), r"matrix\[1, 0\] is 0.5, not a count"),
        (lambda: Corpus.from_matrix(np.array([[np.nan]])), "is nan, not a count"),
        (lambda: Corpus.from_matrix(np.array([1, 2])), "must be documents × words"),
        (
            lambda: Corpus.from_matrix(np.ones((1, 2)), ["a"]),
            "vocabulary has 1 words, but the matrix has 2 columns",
        ),
        (lambda: Corpus.from_dataframe(pandas.DataFrame({"t": ["a"]})), "no column 'text'; there are: t"),
        (lambda: Corpus.from_texts(["aa"]).prune(min_count=2), "nothing is left"),
    ],
)
def test_python_mistakes(make: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()


# -- pruning and splitting --------------------------------------------------------------------------------------------


@given(DOCUMENTS, st.integers(1, 3), st.integers(1, 3), st.sampled_from([1.0, 0.6]))
@settings(max_examples=60, deadline=None)
def test_prune_is_the_same_as_import_with_limits(
    documents: list[list[str]], min_count: int, min_doc_freq: int, max_doc_freq: float
) -> None:
    limits = {"min_count": min_count, "min_doc_freq": min_doc_freq, "max_doc_freq": max_doc_freq}
    if not twin(documents, **limits)[0]:
        return
    pruned = Corpus.from_documents(documents).prune(**limits)
    direct = Corpus.from_documents(documents, **limits)
    assert pruned.vocabulary == direct.vocabulary
    assert np.array_equal(pruned.words, direct.words) and np.array_equal(pruned.offsets, direct.offsets)
    assert {k: v for k, v in pruned.meta["counts"].items() if v} == {
        k: v for k, v in direct.meta["counts"].items() if v
    }
    assert_counts(pruned)


def test_prune_keeps_the_truth_aligned() -> None:
    corpus = datasets.make("bars", seed=1)
    small = corpus.prune(words=list(corpus.vocabulary)[::2])
    assert len(small.truth["z"]) == small.n_tokens
    assert np.array_equal(small.truth["z"], corpus.truth["z"][corpus.words % 2 == 0])
    assert np.array_equal(small.truth["topic_word"], corpus.truth["topic_word"][:, ::2])


def test_prune_by_words() -> None:
    corpus = Corpus.from_documents([["a", "a", "a", "b", "b", "c", "c", "d"]])
    assert list(corpus.prune(keep_most=2).vocabulary) == ["a", "b"]
    assert list(corpus.prune(words=["d", "a", "x"]).vocabulary) == ["a", "d"]
    assert list(corpus.prune(stopwords=["a"], keep_most=2).vocabulary) == ["b", "c"]
    assert list(corpus.prune(drop_most=1, keep_most=2).vocabulary) == ["b", "c"]
    with pytest.raises(InputError, match="nothing is left"):
        corpus.prune(drop_most=100)


def test_random_parts() -> None:
    corpus = Corpus.from_documents([["a"]] * 103, labels=["x"] * 20 + ["y"] * 80 + [None] * 3)
    parts = random_parts(corpus, [0.8, 0.1, 0.1], seed=5)
    assert [len(part) for part in parts] == [82, 11, 10]
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(103))
    assert all(np.array_equal(a, b) for a, b in zip(parts, random_parts(corpus, [0.8, 0.1, 0.1], seed=5)))
    assert not np.array_equal(parts[1], random_parts(corpus, [0.8, 0.1, 0.1], seed=6)[1])
    assert random_parts(corpus, [0.5], seed=1)[0].tolist()[:5] == [0, 2, 3, 4, 6]  # pinned: the same for ever
    strata = random_parts(corpus, [0.75, 0.25], seed=1, stratify=True)
    for part, share in zip(strata, (0.75, 0.25)):
        assert abs((part < 20).sum() - 20 * share) <= 1
        assert abs(((part >= 20) & (part < 100)).sum() - 80 * share) <= 1
    with pytest.raises(InputError, match="needs labels"):
        random_parts(Corpus.from_texts(["aa"]), [0.5, 0.5], stratify=True)


def test_every_document_is_as_likely_in_each_part() -> None:
    corpus = Corpus.from_documents([["a"]] * 20)
    hits = np.zeros(20)
    for seed in range(400):
        hits[random_parts(corpus, [0.25, 0.75], seed=seed)[0]] += 1
    # 400 draws of .25: mean 100, standard deviation 8.7
    assert hits.min() > 65 and hits.max() < 135 and hits.sum() == 400 * 5


def test_parts_by_ids(tmp_path: Path) -> None:
    corpus = Corpus.from_documents([["a"]] * 4, ids=["w", "x", "y", "z"])
    (tmp_path / "one.txt").write_text("z\nw\n")
    (tmp_path / "two.tsv").write_text("x\tp\ny\tq\nnone\tq\n")
    parts, missing = parts_by_ids(corpus, [str(tmp_path / "one.txt"), str(tmp_path / "two.tsv")])
    assert {name: part.tolist() for name, part in parts.items()} == {"one": [0, 3], "p": [1], "q": [2]}
    assert missing == ["none"]
    (tmp_path / "bad.tsv").write_text("x\tp\nx\tq\n")
    with pytest.raises(InputError, match=r"bad\.tsv:2: 'x' is in 'p' already"):
        parts_by_ids(corpus, [str(tmp_path / "bad.tsv")])


# -- formats out and in again -----------------------------------------------------------------------------------------


def read_again(out: str, format: str, **options: Any) -> Corpus:
    with Builder(Tokenizer("whitespace"), BuildOptions(snippet=0)) as builder:
        for batch in read_documents([out], ReadOptions(format=format, **options)):
            builder.add(batch)
        return builder.corpus()


def equal_corpora(a: Corpus, b: Corpus) -> bool:
    first, second = a.arrays(), b.arrays()
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name], equal_nan=first[name].dtype.kind == "f") for name in first
    )


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("format", FORMATS)
def test_export_and_import(format: str, suffix: str, tmp_path: Path) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    corpus = Corpus.from_texts(
        ["the cat don't sit", "", "हिन्दी में the the dog"],
        ids=["x", "y", "z"], labels=[["q", "p"], None, "p"], collections=["c", None, "d"],
        times=["2020-01-01", None, "2020-01-02T12:00"], columns={"n": [1, 2.5, None], "s": ["u", "v", "w"]},
    )  # fmt: skip
    out = str(tmp_path / ("docword.x" if format == "uci" else f"x.{format}")) + suffix
    if format == "parquet" and suffix:
        with pytest.raises(InputError, match=r"leave \.gz away"):
            export_corpus(corpus, out, format)
        return
    written = export_corpus(corpus, out, format)
    assert [Path(name).name for name in written] == {
        "lines": [f"x.lines{suffix}"],
        "jsonl": [f"x.jsonl{suffix}"],
        "parquet": ["x.parquet"],
        "uci": [f"docword.x{suffix}", "vocab.x"],
        "ldac": [f"x.ldac{suffix}", "x.ldac.vocab"],
        "svmlight": [f"x.svmlight{suffix}", "x.svmlight.vocab", "x.svmlight.labels"],
    }[format]
    columns = ("n", "s", "snippet") if format in ("jsonl", "parquet") else ()
    again = read_again(out, format, columns=columns)
    assert again.vocabulary == corpus.vocabulary
    if format in ("lines", "jsonl", "parquet"):
        assert words_of(again) == words_of(corpus)
    else:
        assert np.array_equal(again.to_matrix().toarray(), corpus.to_matrix().toarray())
    if format in ("lines", "jsonl", "parquet", "svmlight"):
        assert list(again.ids) == list(corpus.ids)
        assert [again.labels(i) for i in range(3)] == [["q", "p"], [], ["p"]]
    if format in ("jsonl", "parquet"):
        assert equal_corpora(again, corpus)


LABELS: list[list[list[str]]] = [
    [["b", "a"], [], ["a"], ["two words", "b"]],
    [[], [], [], []],
    [["0"], [], ["1"], ["0", "1"]],
    [["a"], ["a"], ["a"], ["a"]],
]


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("format", ["lines", "jsonl", "parquet", "svmlight"])
def test_labels_come_back(format: str, labels: list[list[str]], tmp_path: Path) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    corpus = Corpus.from_documents(
        [["aa", "bb"], [], ["aa"], []], labels=labels, ids=["one name", "d2", "a.b,c", "letters/#1 .txt"]
    )
    export_corpus(corpus, str(tmp_path / "x"), format)
    again = read_again(str(tmp_path / "x"), format)
    assert [again.labels(i) for i in range(4)] == labels
    assert list(again.ids) == list(corpus.ids) and equal_corpora(again, corpus)


@pytest.mark.parametrize("format", FORMATS)
def test_words_with_white_space_come_back_or_are_refused(format: str, tmp_path: Path) -> None:
    if format == "parquet":
        pytest.importorskip("pyarrow")
    corpus = Corpus.from_documents([["new york", "new_york"], ["new_york", "new_york"]])
    out = str(tmp_path / ("docword.x" if format == "uci" else "x"))
    if format == "lines":
        with pytest.raises(InputError, match="the word 'new york' is empty or has white space"):
            export_corpus(corpus, out, format)
        assert not list(tmp_path.iterdir())
        return
    export_corpus(corpus, out, format)
    again = read_again(out, format)
    assert sorted(again.document(0)) == ["new york", "new_york"] and again.document(1) == ["new_york"] * 2


@pytest.mark.parametrize(
    "format, about, words",
    [
        ("lines", {"labels": ["a,b"]}, "the label 'a,b' has a comma"),
        ("lines", {"labels": ["-"]}, "the label '-' has a comma or a tab or means 'none'"),
        ("lines", {"ids": ["a\tb"]}, r"the name 'a\tb' has a tab"),
        ("svmlight", {"labels": [" a"]}, "the label ' a' is empty, begins or ends with white space"),
        ("svmlight", {"ids": ["a\nb"]}, "has a line end"),
    ],
)
def test_what_a_format_cannot_say_is_refused(format: str, about: dict[str, Any], words: str, tmp_path: Path) -> None:
    corpus = Corpus.from_documents([["aa"]], **about)
    with pytest.raises(InputError) as error:
        export_corpus(corpus, str(tmp_path / "x"), format)
    assert words in str(error.value).replace("\\\\", "\\")
    assert not list(tmp_path.iterdir())


def test_labels_as_arrays() -> None:
    corpus = Corpus.from_documents([["a"], ["b"], ["a"]], labels=[["y", "x", "y"], None, "y"])
    labels = corpus.document_labels()
    assert labels.offsets.tolist() == [0, 2, 2, 3] and labels.ids.tolist() == [1, 0, 1]
    assert list(labels.names) == ["x", "y"]
    assert labels.matrix().toarray().tolist() == [[1, 1], [0, 0], [0, 1]]
    assert corpus.select([2, 0]).document_labels().matrix().toarray().tolist() == [[0, 1], [1, 1]]
    bare = corpus.with_labels([None, [], ()])
    assert bare.document_labels().offsets.tolist() == [0, 0, 0, 0] and bare.labels(0) == []
    again = bare.with_labels([["y", "x"], None, "y"])
    assert [again.labels(i) for i in range(3)] == [["y", "x"], [], ["y"]] and list(again.label_names) == ["x", "y"]
    with pytest.raises(InputError, match="labels has 1 values, but there are 3 documents"):
        corpus.with_labels(["x"])


# -- small things -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, expected",
    [
        (1990, ("number", 1990.0)),
        ("1990", ("number", 1990.0)),
        (" -1.5e2 ", ("number", -150.0)),
        ("1970-01-02", ("date", 1.0)),
        ("1969-12", ("date", -31.0)),
        ("1970-01-01T12:00:00Z", ("date", 0.5)),
        ("1970-01-01T12:00:00+12:00", ("date", 0.0)),
    ],
)
def test_times(value: Any, expected: tuple[str, float]) -> None:
    assert parse_time(value) == expected


@pytest.mark.parametrize("value", ["", "soon", "nan", "inf", "1_000", "1990-13-01", True, "1990/01/01", "1e999"])
def test_no_times(value: Any) -> None:
    with pytest.raises(ValueError):
        parse_time(value)


@given(st.text(st.sampled_from("ab \n\t"), max_size=60), st.integers(1, 12))
@settings(deadline=None)
def test_snippet(text: str, size: int) -> None:
    found = snippet_of_text(text, size)
    folded = " ".join(text.split())
    assert folded.startswith(found) and len(found) <= size
    assert (
        len(found) >= min(len(folded), size) - 1 or "  " in text or "\n" in text or "\t" in text or text.startswith(" ")
    )


def test_reading_in_batches_does_not_wait_for_everything(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    path.write_text("some words on a line\n" * 200_000)
    reader = read_documents([str(path)], ReadOptions())
    first = next(iter(reader))
    assert 0 < len(first) < 100_000 and reader.consumed < path.stat().st_size == reader.total
