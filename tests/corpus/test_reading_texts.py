# ruff: noqa: E501
"""Reading texts: defaults, long lines, chunks, bad documents."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.corpus.test_import_command import Run, corpus_of, run, words_of, write  # noqa: F401
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_split import random_parts
from topicx.corpus.formats.document_reader import Batch
from topicx.corpus.text.chunks import cut_into_chunks, join_chunks, parent_of_chunk
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.strings import Strings

ENGLISH = "this is what the people of the old town said when they had been there for a while and it was over "


# -- good words by default --------------------------------------------------------------------------------------------


def test_short_words_numbers_and_stop_words_go(run: Run) -> None:  # noqa: F811
    write("a.txt", (ENGLISH + "river boats 42 x 1999\n") * 20)
    status, _, err = run("import", "a.txt", "-o", "c")
    assert status == 0
    words = set(corpus_of().vocabulary)
    assert {"people", "town", "river", "boats"} <= words and not words & {"the", "was", "42", "x", "1999"}
    assert "tokens of stop words (of 'en': --keep-stopwords keeps them)" in err
    assert "80 tokens of less than 2 letters or without a letter" in err
    assert corpus_of().meta["stopwords_of"] == "en"
    write("new.txt", "the boats 7 z unheard\n")
    assert run("import", "new.txt", "--like", "c", "-o", "d")[0] == 0
    counts = corpus_of("d").meta["counts"]
    assert (counts["tokens"], counts["stopword_tokens"], counts["noise_tokens"], counts["unknown_tokens"]) == (
        1,
        1,
        2,
        1,
    )


@pytest.mark.parametrize(
    "options, kept, gone",
    [
        (["--keep-stopwords"], ["the", "river"], ["42", "x"]),
        (["--keep-stopwords", "--min-length", "1"], ["the", "x"], ["42"]),
        (["--keep-numbers"], ["42", "river"], ["the", "x"]),
        (["--min-length", "6"], ["people"], ["river", "boats"]),
        (["--remove-stopwords", "de"], ["the", "river"], ["was"]),
        (["--extra-stopwords", "river"], ["boats"], ["river", "the"]),
        (["--token-regex", "whitespace"], ["the", "42", "x"], []),
        (["--token-regex", r"\w+", "--drop-numbers"], ["the", "x"], ["42"]),
        (["--bigrams", "--bigram-min-count", "5", "--bigram-npmi", "0.1"], ["river_boats"], ["the", "42"]),
    ],
)
def test_options_of_words(options: list[str], kept: list[str], gone: list[str], run: Run) -> None:  # noqa: F811
    write("a.txt", (ENGLISH + "river boats 42 x 1999\n") * 20)
    assert run("import", "a.txt", "-o", "c", *options)[0] == 0
    words = set(corpus_of().vocabulary)
    assert set(kept) <= words and not set(gone) & words
    tokenizer = Tokenizer.from_meta(corpus_of().meta["tokenizer"])
    assert set(tokenizer.tokenize(ENGLISH + "river boats 42 x 1999")) >= words


def test_texts_without_stop_words_lose_none(run: Run) -> None:  # noqa: F811
    write("a.txt", "the topic model corpus token document sampler word vector bayes\n" * 100)
    assert run("import", "a.txt", "-o", "c")[0] == 0
    assert "the" in corpus_of().vocabulary and "stopwords_of" not in corpus_of().meta


def test_extra_stopwords_from_a_file(run: Run) -> None:  # noqa: F811
    write("my.txt", "river\nboats\n")
    write("a.txt", "river boats people town txt my\n")
    assert run("import", "a.txt", "-o", "c", "--extra-stopwords", "my.txt")[0] == 0
    assert set(corpus_of().vocabulary) == {"people", "town", "txt", "my"}
    status, _, err = run("import", "a.txt", "-o", "c", "--extra-stopwords", "no/my.txt")
    assert status == 2 and "there is no such file" in err
    for missing in ("your.txt", "lists/your"):
        status, _, err = run("import", "a.txt", "-o", "c", "--extra-stopwords", missing)
        assert status == 2 and f"--extra-stopwords {missing}: there is no such file" in err


def test_nothing_left_says_why(run: Run) -> None:  # noqa: F811
    write("a.txt", "a b c 1 2\n")
    status, _, err = run("import", "a.txt", "-o", "c")
    assert (
        status == 2
        and "5 words are shorter than 2 characters (--min-length) or without a letter (--keep-numbers)" in err
    )
    assert run("import", "a.txt", "-o", "c", "--min-length", "1")[0] == 0


def test_dehyphenate_and_unicode(run: Run) -> None:  # noqa: F811
    write("d/a.txt", "the ﬁne exam-\nple of ｗｉｄｅ")
    assert run("import", "d", "-o", "c", "--dehyphenate")[0] == 0
    assert words_of(corpus_of())[0] == ["the", "fine", "example", "of", "wide"]
    assert run("import", "d", "-o", "c", "--unicode", "NFC")[0] == 0
    assert words_of(corpus_of())[0] == ["the", "ﬁne", "exam", "ple", "of", "ｗｉｄｅ"]


def test_train_says_when_top_words_are_noise(run: Run) -> None:  # noqa: F811
    write("a.txt", (ENGLISH + "1 2 3 4 5 6\n") * 20)
    assert run("import", "a.txt", "-o", "c", "--keep-stopwords", "--keep-numbers", "--min-length", "1")[0] == 0
    status, _, err = run("train", "c", "-k", "2", "--iterations", "5", "-o", "m")
    assert status == 0
    line = next(line for line in err.splitlines() if "among the 10 top words" in line)
    assert "'topicx import' with --remove-stopwords en" in line and "--drop-numbers" in line
    assert run("prune", "c", "-o", "d", "--remove-stopwords", "--drop-numbers", "--min-length", "2")[0] == 0
    status, _, err = run("train", "d", "-k", "2", "--iterations", "5", "-o", "m")
    assert status == 0 and "top words" not in err


# -- long lines -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "lines", "dir", "bigrams", "chunk"])
def test_a_long_line_in_pieces_is_the_same_document(form: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    random = np.random.default_rng(1)
    texts = [" ".join(f"w{i}é" for i in random.integers(0, 60, n)) for n in (3, 4000, 0, 700, 2500, 1)]
    if form == "dir":
        for i, text in enumerate(texts):
            write(f"d/{i}", text.replace(" ", "\n"))
    else:
        write("a", "".join((f"d{i}\tl{i}\t" if form == "lines" else "") + text + "\n" for i, text in enumerate(texts)))
    args = ["import", "d" if form == "dir" else "a", "-o", "c"]
    args += {
        "bigrams": ["--bigrams", "--bigram-min-count", "2", "--bigram-npmi", "-1"],
        "chunk": ["--chunk", "50"],
    }.get(form, [])
    args += [] if form == "dir" else ["--format", "lines" if form == "lines" else "text"]
    assert run(*args)[0] == 0
    whole = corpus_of()
    assert whole.n_documents > 5
    for module in ("input_bytes", "text_lines", "folder"):
        monkeypatch.setattr(f"topicx.corpus.formats.{module}.LONG_LINE", 512)
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.InputSource.runs.__defaults__", (None, 512))
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.InputSource.read.__defaults__", (100,))
    monkeypatch.setattr("topicx.corpus.build.spooled_rows.PIECE", 64)
    assert run(*args, "--threads", "2")[0] == 0
    pieces = corpus_of()
    if form == "bigrams":  # a pair on either side of a cut is not joined
        assert pieces.n_documents == whole.n_documents and abs(pieces.n_tokens - whole.n_tokens) < 0.05 * whole.n_tokens
        return
    for name, array in whole.arrays().items():
        if not name.startswith("column.snippet"):  # a snippet is folded from a longer beginning, where there is one
            assert np.array_equal(pieces.arrays()[name], array), name


@pytest.mark.parametrize(
    "options", [[], ["--bigrams", "--bigram-min-count", "3"], ["--token-regex", r"\w+"], ["--chunk", "7"]]
)
def test_threads_change_no_byte(options: list[str], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.InputSource.read.__defaults__", (300,))
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.InputSource.runs.__defaults__", (None, 512))
    random = np.random.default_rng(4)
    lines = [
        " ".join(f"w{i}é{random.integers(9)}" for i in random.zipf(1.3, n) % 500) for n in random.integers(0, 200, 300)
    ]
    write("a.txt", (ENGLISH + "\n") + "\n".join(lines))
    args = ["import", "a.txt", "--format", "text", *options]
    for threads in ("1", "2", "5"):
        assert run(*args, "-o", threads, "--threads", threads)[0] == 0
    assert Path("1").read_bytes() == Path("2").read_bytes() == Path("5").read_bytes()


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "jsonl.gz", "folder", "lines"])
def test_threads_change_no_byte_of_any_format(form: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Nor what is said of a mistake in the middle, and then nothing is left."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.InputSource.read.__defaults__", (300,))
    monkeypatch.setattr("topicx.corpus.formats.delimited.BLOCK", 300)
    monkeypatch.setattr("topicx.corpus.formats.folder.BLOCK", 300)
    random = np.random.default_rng(5)
    texts = [
        " ".join(f"w{i}é cafe\u0301 Ω{i % 7}" for i in random.zipf(1.3, n) % 500) for n in random.integers(0, 90, 300)
    ]

    def row(i: int) -> str:
        if form.startswith("jsonl"):
            words = texts[i].split() if i % 11 == 0 else texts[i]
            return json.dumps({"id": f"d{i}", "text": words, "label": f"l{i % 3}", "time": i}, ensure_ascii=i % 2 == 0)
        return {"csv": f"d{i},{texts[i]},l{i % 3},{i}", "tsv": f"d{i}\t{texts[i]}\tl{i % 3}\t{i}"}.get(
            form, f"d{i}\tl{i % 3}\t{texts[i]}"
        )

    rows = [row(i) for i in range(len(texts))]
    if form == "folder":
        for i, text in enumerate(texts):
            write(f"docs/l{i % 3}/d{i:03}", text)
    else:
        head = {"csv": "id,text,label,time\n", "tsv": "id\ttext\tlabel\ttime\n"}.get(form, "")
        for name, given in (("good", rows), ("bad", [*rows[:250], "{a,b", *rows[250:]])):
            data = (head + "\n".join(given) + "\n").encode()
            Path(f"{name}.{form}").write_bytes(gzip.compress(data) if form.endswith("gz") else data)
    said = set()
    for threads in ("1", "2", "5"):
        source = "docs" if form == "folder" else f"good.{form}"
        assert run("import", source, "-o", threads, "--threads", threads)[0] == 0
        if form not in ("folder", "lines"):
            status, _, err = run("import", f"bad.{form}", "-o", "x", "--threads", threads)
            assert status == 2 and not Path("x").exists()
            said.add(err.splitlines()[-1])
    assert Path("1").read_bytes() == Path("2").read_bytes() == Path("5").read_bytes()
    assert len(corpus_of("1").vocabulary) > 400
    line = 251 + (form in ("csv", "tsv"))
    assert all(f"bad.{form}:{line}: " in one for one in said) and len(said) == (form not in ("folder", "lines"))


def test_lines_that_must_be_whole_have_an_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.LONGEST_WHOLE", 1000)
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.InputSource.read.__defaults__", (100,))
    write("a.jsonl", '{"text": "short"}\n{"text": "' + "long " * 300 + '"}\n')
    status, _, err = run("import", "a.jsonl", "-o", "c")
    assert status == 2 and "a.jsonl:2: a line is longer than 1,000 characters" in err


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not say how much memory was used")
def test_memory_does_not_grow_with_a_line(tmp_path: Path) -> None:
    """48 MB in one line in the address space that 1 MB needs, and some."""
    (tmp_path / "a").write_text("some more words of a line " * 1_900_000)
    program = (
        "from topicx.cli import main\n"
        "try:\n    main(['import', 'a', '--format', 'text', '-o', 'c', '-q'])\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code\n"
        "status = open('/proc/self/status').read()\n"  # ru_maxrss would be the parent's, too
        "print(int(status.split('VmHWM:')[1].split()[0]) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 200
    assert Corpus.load(tmp_path / "c").n_documents == 1


# -- chunks -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 60), min_size=1, max_size=6), st.integers(1, 20))
@settings(max_examples=100, deadline=None)
def test_chunks(lengths: list[int], size: int) -> None:
    texts = [" ".join(f"w{i}" for i in range(n)) for n in lengths]
    batch = Batch("x", range(len(texts)), texts, labels=[("a",)] * len(texts), columns={"n": lengths})
    cut = next(cut_into_chunks(iter([batch]), size))
    by_text: dict[str, list[str]] = {}
    for name, text, column, number in zip(cut.ids or (), cut.texts, cut.columns["document"], cut.columns["chunk"]):
        assert parent_of_chunk(str(name)) == (column, number)
        by_text.setdefault(column, []).append(text)
        assert number == len(by_text[column])
    assert {name: "".join(parts) for name, parts in by_text.items()} == {str(i): text for i, text in enumerate(texts)}
    for parts in by_text.values():
        counts = [len(part.split()) for part in parts]
        assert all(count == size for count in counts[:-1]) and (len(parts) == 1 or size / 2 <= counts[-1] < 1.5 * size)
    assert cut.columns["n"] == [lengths[int(column)] for column in cut.columns["document"]]


def test_chunks_are_split_together_and_joined_again(run: Run) -> None:  # noqa: F811
    random = np.random.default_rng(2)
    rows = [
        {"id": f"t{i}", "label": f"l{i % 2}", "text": " ".join(random.choice(["aa", "bb", "cc", "dd"], 5 + 9 * i))}
        for i in range(12)
    ]
    write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert run("import", "a.jsonl", "-o", "c", "--chunk", "10")[0] == 0
    corpus = corpus_of()
    assert corpus.n_documents > 40 and corpus.ids[1] == "t1#1" and corpus.labels(1) == ["l1"]
    parts = random_parts(corpus, [0.5, 0.5], seed=1)
    texts = [{parent_of_chunk(corpus.ids[int(i)])[0] for i in part} for part in parts]
    assert not texts[0] & texts[1] and len(texts[0] | texts[1]) == 12
    assert (
        run(
            "train",
            "c",
            "-k",
            "3",
            "--iterations",
            "5",
            "-o",
            "m",
            "--doc-topics",
            "theta.tsv",
            "--join-chunks",
            "--metadata",
            "none",
        )[0]
        == 0
    )
    assert (
        run(
            "train", "c", "-k", "3", "--iterations", "5", "-o", "m", "--doc-topics", "chunks.tsv", "--metadata", "none"
        )[0]
        == 0
    )
    read = {
        name: [line.split("\t") for line in Path(f"{name}.tsv").read_text().splitlines()[1:]]
        for name in ("theta", "chunks")
    }
    assert [row[0] for row in read["theta"]] == [f"t{i}" for i in range(12)]
    for name, tokens, _, *shares in read["theta"]:
        mine = [row for row in read["chunks"] if parent_of_chunk(row[0])[0] == name]
        weights = np.array([int(row[1]) for row in mine])
        expected = np.average(np.array([row[3:] for row in mine], dtype=float), axis=0, weights=weights)
        assert int(tokens) == weights.sum() and np.allclose(expected, np.array(shares, dtype=float), atol=1e-6)
    status, out, _ = run("infer", "m", "a.jsonl", "--chunk", "10", "--join-chunks", "-q")
    assert status == 0 and [line.split("\t")[0] for line in out.splitlines()[1:]] == [f"t{i}" for i in range(12)]
    status, _, err = run("infer", "m", "a.jsonl", "--join-chunks")
    assert status == 2 and "the document 't0' is no chunk" in err
    assert run("train", "c", "-k", "3", "-o", "m", "--join-chunks")[0] == 2


def test_joining_over_several_calls() -> None:
    rows: list[tuple[list[str], list[int], list[int], list[list[float]]]] = []

    def write_rows(ids: Any, lengths: Any, unknown: Any, theta: Any) -> None:
        rows.append((list(ids), lengths.tolist(), unknown.tolist(), theta.tolist()))

    with join_chunks(write_rows) as add:
        one = np.array([[1, 0], [0, 1]], np.float32)
        add(Strings.of(["a#1", "a#2"]), np.array([3, 1]), np.array([0, 1]), one)
        add(Strings.of(["a#3", "b#1"]), np.array([0, 0]), np.array([2, 0]), one)
        add(Strings.of(["b#1"]), np.array([5]), np.array([0]), one[:1])  # another text of the same name
    assert rows == [
        (["a"], [4], [3], [[0.75, 0.25]]), (["b"], [0], [0], [[0.0, 1.0]]), (["b"], [5], [0], [[1.0, 0.0]])
    ]  # fmt: skip


# -- bad documents ----------------------------------------------------------------------------------------------------

BAD: dict[str, tuple[dict[str, bytes], list[list[str]], list[list[str]]]] = {
    # files; the documents with skip; with repair
    "text": ({"a.txt": b"good one\nze\0ro here\nby\xfftes here\nlast one\n"}, [["good", "one"], ["last", "one"]],
             [["good", "one"], ["ze", "ro", "here"], ["by", "tes", "here"], ["last", "one"]]),
    "jsonl": ({"a.jsonl": b'{"text": "good one"}\n{"text": \n["x"]\n{"text": 3}\n{"no": 1}\n{"text": "by\xfftes"}\n{"text": "last one"}\n'},
              [["good", "one"], ["last", "one"]], [["good", "one"], ["by", "tes"], ["last", "one"]]),
    "csv": ({"a.csv": b'text,n\ngood one,1\ntoo,many,fields\n"ze\0ro\nhere",2\n"bad"quote,3\nlast one,4\n'},
            [["good", "one"], ["last", "one"]], [["good", "one"], ["ze", "ro", "here"], ["last", "one"]]),
    "dir": ({"d/1": b"good one", "d/2": b"by\xfftes here", "d/3": b"last one"}, [["good", "one"], ["last", "one"]],
            [["good", "one"], ["by", "tes", "here"], ["last", "one"]]),
    "ldac": ({"a.ldac": b"1 0:1\nnonsense\n2 1:1\n1 2:1\n"}, [["0"], ["2"]], [["0"], ["2"]]),
    "times": ({"a.jsonl": b'{"text": "good one", "time": 1990}\n{"text": "last one", "time": "soon"}\n'},
              [["good", "one"], ["last", "one"]], [["good", "one"], ["last", "one"]]),
}  # fmt: skip


@pytest.mark.parametrize("case", list(BAD))
def test_bad_documents(case: str, run: Run) -> None:  # noqa: F811
    contents, skipped, repaired = BAD[case]
    for name, data in contents.items():
        write(name, data)
    name = "d" if case == "dir" else next(iter(contents))
    assert run("import", name, "-o", "c")[0] == 2
    for policy, expected in (("skip", skipped), ("repair", repaired)):
        status, _, err = run("import", name, "-o", "c", "--bad-documents", policy)
        assert status == 0, err
        assert words_of(corpus_of()) == expected
        assert "bad documents: " in err and f"\n  {name if case != 'dir' else 'd/2'}" in err


def test_parquet_that_is_not_utf8(run: Run) -> None:  # noqa: F811
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = pyarrow.array([b"good one", b"by\xfftes here", b"last one"], pyarrow.binary()).view(pyarrow.string())
    parquet.write_table(pyarrow.table({"text": texts, "n": [1, 2, 3]}), "a.parquet")
    status, _, err = run("import", "a.parquet", "-o", "c")
    assert status == 2 and "a.parquet:2: the field 'text' is not UTF-8" in err
    assert run("import", "a.parquet", "-o", "c", "--bad-documents", "skip")[0] == 0
    assert words_of(corpus_of()) == [["good", "one"], ["last", "one"]]
    assert run("import", "a.parquet", "-o", "c", "--bad-documents", "repair")[0] == 0
    assert words_of(corpus_of())[1] == ["by", "tes", "here"]


def test_names_of_several_documents_are_counted(run: Run) -> None:  # noqa: F811
    write("a.txt", "x\t-\tone\ny\t-\ttwo\nx\t-\tthree\nx\t-\tfour\n")
    _, _, err = run("import", "a.txt", "-o", "c")
    assert "2 documents with the name of another (the first: 'x')" in err
    write("b.txt", "one\none\n")
    assert "the name of another" not in run("import", "b.txt", "-o", "c")[2]
