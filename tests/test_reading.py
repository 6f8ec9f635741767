# ruff: noqa: E501
"""Reading texts: defaults, long lines, chunks, bad documents, compressed files, the same options in every command."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_import import Run, corpus_of, run, words_of, write  # noqa: F401
from topicx.corpus.build import Builder, BuildOptions
from topicx.corpus.chunks import chunked, joining, parent
from topicx.corpus.corpus import Corpus
from topicx.corpus.read import Batch, ReadOptions, read_documents
from topicx.corpus.split import random_parts
from topicx.corpus.tokenize import Tokenizer
from topicx.errors import InputError
from topicx.lda import LDA
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
    for module in ("source", "lines", "folder"):
        monkeypatch.setattr(f"topicx.corpus.{module}.LONG_LINE", 512)
    monkeypatch.setattr("topicx.corpus.source.Source.runs.__defaults__", (None, 512))
    monkeypatch.setattr("topicx.corpus.source.Source.read.__defaults__", (100,))
    monkeypatch.setattr("topicx.corpus.pieces.PIECE", 64)
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
    monkeypatch.setattr("topicx.corpus.source.Source.read.__defaults__", (300,))
    monkeypatch.setattr("topicx.corpus.source.Source.runs.__defaults__", (None, 512))
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
    monkeypatch.setattr("topicx.corpus.source.Source.read.__defaults__", (300,))
    monkeypatch.setattr("topicx.corpus.delimited.BLOCK", 300)
    monkeypatch.setattr("topicx.corpus.folder.BLOCK", 300)
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
    monkeypatch.setattr("topicx.corpus.source.LONGEST_WHOLE", 1000)
    monkeypatch.setattr("topicx.corpus.source.Source.read.__defaults__", (100,))
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
    cut = next(chunked(iter([batch]), size))
    by_text: dict[str, list[str]] = {}
    for name, text, column, number in zip(cut.ids or (), cut.texts, cut.columns["document"], cut.columns["chunk"]):
        assert parent(str(name)) == (column, number)
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
    texts = [{parent(corpus.ids[int(i)])[0] for i in part} for part in parts]
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
        mine = [row for row in read["chunks"] if parent(row[0])[0] == name]
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

    with joining(write_rows) as add:
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


# -- inputs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zst"])
def test_compressed(kind: str, run: Run) -> None:  # noqa: F811
    text = b"d1\tx\tsome words\nd2\ty\tmore words\n" * 5000
    if kind == "zst":
        zstandard = pytest.importorskip("zstandard")
        data = zstandard.ZstdCompressor().compress(text[: len(text) // 2]) + zstandard.ZstdCompressor().compress(
            text[len(text) // 2 :]
        )
    else:
        data = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[kind](text)
    for name in (f"a.tsv.{kind}", "plain"):
        Path(name).write_bytes(data)
        assert run("import", name, "-o", "c")[0] == 0
        assert corpus_of().n_documents == 10_000 and corpus_of().labels(1) == ["y"]
    for wrong in (data[:-9], data[:40] + b"xxxxxxxx" + data[48:]):
        Path("broken").write_bytes(wrong)
        status, _, err = run("import", "broken", "-o", "c")
        if not (kind == "zst" and wrong == data[:-9]):  # a frame that is cut off looks like one that goes on
            assert (
                status == 2
                and f"broken: is a broken {'gzip' if kind == 'gz' else 'bzip2' if kind == 'bz2' else kind} file" in err
            )
    Path(f"b.{kind}").write_text("no such thing")
    status, _, err = run("import", f"b.{kind}", "-o", "c")
    assert status == 2 and f"though its name ends in .{kind}" in err


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_byte_order_marks(encoding: str, run: Run) -> None:  # noqa: F811
    Path("a.txt").write_bytes("d1\tx\tnaïve words\nd2\ty\tmore\n".encode(encoding))
    assert run("import", "a.txt", "-o", "c")[0] == 0
    assert words_of(corpus_of()) == [["naïve", "words"], ["more"]] and list(corpus_of().ids) == ["d1", "d2"]


def test_folders_of_tables(run: Run) -> None:  # noqa: F811
    write("parts/part-1.jsonl.gz", '{"id": "b", "text": "two words"}\n')
    write("parts/part-0.jsonl", '{"id": "a", "text": "one word"}\n')
    write("parts/_SUCCESS", "")
    write("parts/.part.crc", "x")
    assert run("import", "parts", "-o", "c")[0] == 0
    assert list(corpus_of().ids) == ["a", "b"]
    write("parts/notes.txt", "notes")
    status, _, err = run("import", "parts", "-o", "c")
    assert status == 2 and "has tables (part-0.jsonl) and other files (notes.txt)" in err
    assert run("import", "parts", "--format", "dir", "-o", "c")[0] == 0 and corpus_of().n_documents == 4


def test_several_text_files_are_documents(run: Run) -> None:  # noqa: F811
    for i in range(8):
        write(f"{'p' if i % 2 else 'q'}/{i}.txt", f"text number\nw{i}x\n")
    names = [f"{'p' if i % 2 else 'q'}/{i}.txt" for i in range(8)]
    status, _, err = run("import", *names, "-o", "c")
    assert status == 0 and err.count("read as") == 1 and "--format text takes a document a line" in err
    assert list(corpus_of().ids) == names and [corpus_of().labels(i) for i in range(2)] == [["q"], ["p"]]
    assert run("import", *names, "--format", "text", "-o", "c")[0] == 0 and corpus_of().n_documents == 16
    assert run("import", names[0], "--format", "files", "-o", "c")[0] == 0
    assert corpus_of().n_documents == 1 and corpus_of().labels(0) == []
    status, _, err = run("import", *names, "--skip-header", "--format", "text", "-o", "c")
    assert status == 2 and "--skip-header: is for" in err


def test_skip_header(run: Run) -> None:  # noqa: F811
    write("d/1", "From: someone\nSubject: x\n\nthe body\n\nmore body")
    write("d/2", "From: someone\r\n\r\nother")
    assert run("import", "d", "--skip-header", "-o", "c")[0] == 0
    assert words_of(corpus_of()) == [["the", "body", "more", "body"], ["other"]]


def test_links_out_of_a_folder(run: Run) -> None:  # noqa: F811
    write("secret.txt", "secret words")
    write("d/a.txt", "open words")
    Path("d/inside.txt").symlink_to("a.txt")
    Path("d/out.txt").symlink_to("../secret.txt")
    status, _, err = run("import", "d", "-o", "c")
    assert status == 0 and list(corpus_of().ids) == ["a.txt", "inside.txt"]
    assert "1 link leads out of the folder and left out" in err
    assert run("import", "d", "--follow-links", "-o", "c")[0] == 0 and corpus_of().n_documents == 3


def test_inputs_are_looked_into_before_the_first_is_read(run: Run) -> None:  # noqa: F811
    write("a.jsonl", '{"text": "some words here"}\n' * 3)
    assert run("import", "a.jsonl", "-o", "c")[0] == 0
    assert run("train", "c", "-k", "2", "--iterations", "2", "-o", "m")[0] == 0
    write("b.csv", "id,body\n1,x\n")
    for args in (["a.jsonl", "none.jsonl"], ["a.jsonl", "b.csv"]):
        status, out, err = run("infer", "m", *args)
        assert status == 2 and out == "" and ("none.jsonl" in err or "b.csv:1: no field 'text'" in err)


def test_the_same_reading_everywhere(run: Run) -> None:  # noqa: F811
    rows = "".join(f"{i};some words w{i % 7} caf\xe9 w{i % 3}\n" for i in range(40)).encode("latin-1")
    write("a.csv", b"key;body\n" + rows[:400] + b"\n" + rows[400:])
    write("e.csv", b"key;body\n1;quite other things\n")
    reading = [
        "--delimiter",
        ";",
        "--text-field",
        "body",
        "--id-field",
        "key",
        "--encoding",
        "latin-1",
        "--bad-documents",
        "skip",
    ]
    assert run("import", "a.csv", "-o", "c", *reading)[0] == 0
    assert "café" in corpus_of().vocabulary
    assert run("train", "c", "-k", "2", "--iterations", "20", "-o", "m")[0] == 0
    status, by_text, err = run("infer", "m", "a.csv", *reading)
    assert status == 0, err
    assert by_text == run("infer", "m", "c")[1]
    status, by_text, err = run("evaluate", "m", "a.csv", *reading)
    assert status == 0 and by_text == run("evaluate", "m", "c")[1], err
    assert run("split", "a.csv", "-o", "p", *reading)[0] == run("split", "c", "-o", "q")[0] == 0
    assert list(corpus_of("p.test.corpus").ids) == list(corpus_of("q.test.corpus").ids)
    for command in (["infer", "m", "c"], ["evaluate", "m", "c"], ["split", "c", "-o", "p"]):
        status, _, err = run(*command, "--encoding", "latin-1")
        assert status == 2 and "--encoding: is for text, not for corpus files" in err
    status, out, err = run("infer", "m", "e.csv", *reading)
    assert status == 0 and out.splitlines()[1].split("\t")[:3] == ["1", "0", "3"] and "knows none of the words" in err
    assert run("import", "e.csv", "--like", "c", "-o", "d", *reading)[0] == 0 and corpus_of("d").n_tokens == 0


TABLE = "key;body;kind;when;set\n1;some words here;x,y;1990;old\n2;other body café;none;1991;new\n"
OPTIONS: dict[str, tuple[dict[str, str | bytes], str, list[str]]] = {
    # option: (files, input, arguments); what the arguments before its own do is needed for it to mean something
    "input_format": ({"a.x": "one\ttwo\tsome words here\n"}, "a.x", ["--input-format", "text"]),
    "encoding": ({"a.txt": b"some caf\xe9 words\n"}, "a.txt", ["--encoding", "latin-1"]),
    "encoding_errors": ({"a.txt": b"some caf\xe9 words\n"}, "a.txt", ["--encoding-errors", "replace"]),
    "bad_documents": ({"a.txt": b"some words\nbad \0\nother body\n"}, "a.txt", ["--bad-documents", "skip"]),
    "line_regex": (
        {"a.txt": "d1|x|some words here\n"},
        "a.txt",
        ["--input-format", "lines", "--line-regex", r"^(\w+)\|(\w+)\|(.*)$"],
    ),
    "name": ({"a.tsv": "d1\tx\tsome words here\n"}, "a.tsv", ["--name", "0"]),
    "label": ({"a.tsv": "d1\tx\tsome words here\n"}, "a.tsv", ["--label", "0"]),
    "data": ({"a.tsv": "d1\tsome words\tother body\n"}, "a.tsv", ["--data", "2"]),
    "no_label": ({"a.tsv": "d1\tnone\tsome words here\nd2\tx\tother body\n"}, "a.tsv", ["--no-label", "none"]),
    "delimiter": ({"a.csv": TABLE}, "a.csv", ["--text-field", "body", "--delimiter", ";"]),
    "text_field": ({"a.csv": TABLE}, "a.csv", ["--delimiter", ";", "--text-field", "body"]),
    "id_field": ({"a.csv": TABLE}, "a.csv", ["--delimiter", ";", "--text-field", "body", "--id-field", "key"]),
    "label_field": ({"a.csv": TABLE}, "a.csv", ["--delimiter", ";", "--text-field", "body", "--label-field", "kind"]),
    "label_delimiter": (
        {"a.csv": TABLE},
        "a.csv",
        ["--delimiter", ";", "--text-field", "body", "--label-field", "kind", "--label-delimiter", ","],
    ),
    "collection_field": (
        {"a.csv": TABLE},
        "a.csv",
        ["--delimiter", ";", "--text-field", "body", "--collection-field", "set"],
    ),
    "time_field": ({"a.csv": TABLE}, "a.csv", ["--delimiter", ";", "--text-field", "body", "--time-field", "when"]),
    "time_regex": (
        {"d/a-1990.txt": "some words\n", "d/b-1991-05.txt": "other body\n"},
        "d",
        ["--time-regex", r"-(\d{4})"],
    ),
    "columns": ({"a.csv": TABLE}, "a.csv", ["--delimiter", ";", "--text-field", "body", "--column", "set"]),
    "no_header": ({"a.csv": "some words here,1\nother body,2\n"}, "a.csv", ["--text-field", "1", "--no-header"]),
    "no_quotes": ({"a.csv": 'text\n"some ""words\n'}, "a.csv", ["--no-quotes"]),
    "vocab": ({"docword.a": "2\n2\n2\n1 1 1\n2 2 3\n", "w.txt": "some\nbody\n"}, "docword.a", ["--vocab", "w.txt"]),
    "index_base": ({"a.ldac": "1 1:3\n2 1:1 2:1\n", "a.vocab": "some\nbody\nother\n"}, "a.ldac", ["--index-base", "1"]),
    "label_names": (
        {"a.svm": "1 1:2 2:1\n2 2:3\n", "a.vocab": "some\nbody\n", "n.txt": "red\nblue\n"},
        "a.svm",
        ["--label-names", "n.txt"],
    ),
    "skip_header": ({"d/1": "From: some\n\nbody words\n", "d/2": "To: other\n\nhere café\n"}, "d", ["--skip-header"]),
    "follow_links": ({"d/1": "some words\n", "e/2": "other body\n"}, "d", ["--follow-links"]),
    "chunk": ({"a.tsv": f"d1\tx\t{'some words here other body ' * 8}\n"}, "a.tsv", ["--chunk", "10"]),
}


def test_no_option_of_reading_is_missing_here() -> None:
    from topicx.cli.reading import NAMES

    assert set(OPTIONS) == set(NAMES)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that knows the words of the texts below."""
    documents = [["some", "words", "here"], ["other", "body", "café"], ["bad", "words", "1", "2"]] * 5
    path = tmp_path_factory.mktemp("judge") / "m"
    model = LDA(2, iterations=5, verbose=False).fit(documents).model
    model.meta["tokenizer"] = Tokenizer().to_meta()
    model.save(path)
    return path


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_reading_in_every_command_that_reads(option: str, judge: Path, run: Run) -> None:  # noqa: F811
    """infer, evaluate and split read a text with these options as import does, and without the last one otherwise."""
    contents, source, arguments = OPTIONS[option]
    for name, content in contents.items():
        write(name, content)
    if option == "follow_links":
        Path("d/link").symlink_to("../e/2")

    def imported(name: str, chosen: list[str]) -> tuple[int, Any]:
        renamed = [word.replace("--input-format", "--format") for word in chosen]
        status, _, err = run("import", source, "-o", name, *renamed)
        return status, corpus_of(name) if status == 0 else err

    status, corpus = imported("c", arguments)
    assert status == 0, corpus
    own = len(arguments) - (1 if option in ("no_header", "no_quotes", "skip_header", "follow_links") else 2)
    status, other = imported("without", arguments[:own])
    assert status != 0 or corpus != other, "the option does nothing here"
    few = ["--burn-in", "1", "--samples", "1", "-q"]
    for command, more in (("infer", few), ("evaluate", ["-m", "likelihood", *few])):
        by_corpus, by_text = (run(command, str(judge), *what, *more) for what in (["c"], [source, *arguments]))
        assert by_corpus[0] == by_text[0] == 0, by_text[2]
        assert by_corpus[1] == by_text[1] and by_text[1].count("\n") >= 1
    assert run("split", source, "-o", "s", "--fractions", "1", "--names", "all", "-q", *arguments)[0] == 0
    assert corpus_of("s.all.corpus").ids == corpus.ids and words_of(corpus_of("s.all.corpus")) == words_of(corpus)
    assert corpus_of("s.all.corpus").label_names == corpus.label_names


def test_times_by_the_names_of_files(run: Run) -> None:  # noqa: F811
    for name in ("1990/a.txt", "1991/b.txt", "undated/c.txt"):
        write(f"d/{name}", "some words")
    for pattern in (r"(\d{4})/", r"^\d{4}"):  # without a group: all of it
        assert run("import", "d", "-o", "c", "--time-regex", pattern)[0] == 0
        assert corpus_of().time.tolist()[:2] == [1990, 1991] and np.isnan(corpus_of().time[2])
    write("e/x-1990-05-02.txt", "some words")
    assert run("import", "e", "-o", "c", "--time-regex", r"\d{4}-\d\d-\d\d")[0] == 0
    assert corpus_of().meta["time"] == "date"
    status, _, err = run("import", "d", "-o", "c", "--time-regex", "(")
    assert status == 2 and "--time-regex '(':" in err
    assert (
        "--time-regex: is for inputs read as dir, files"
        in run("import", "d/1990/a.txt", "-o", "c", "--time-regex", "x")[2]
    )


# -- small inputs that grow -------------------------------------------------------------------------------------------


def test_a_large_number_of_a_word_costs_nothing(run: Run) -> None:  # noqa: F811
    write("a.ldac", "2 2000000000:1 1:1\n")
    assert run("import", "a.ldac", "-o", "c")[0] == 0
    assert sorted(corpus_of().vocabulary) == ["1", "2000000000"]


def test_a_count_that_cannot_be(run: Run) -> None:  # noqa: F811
    for format, text in (("ldac", "1 1:2\n2 3:1 2:4294967296\n"), ("svmlight", "0 1:2\n0 2:4294967296 3:1\n")):
        write(f"a.{format}", text)
        status, _, err = run("import", f"a.{format}", "-o", "c")
        assert status == 2 and "a word that is there 4,294,967,296 times: that cannot be" in err
        assert f"a.{format}:2:" in err


def test_a_head_that_cannot_be(run: Run) -> None:  # noqa: F811
    write("docword.x", "2000000000\n3\n1\n1 1 1\n")
    status, _, err = run("import", "docword.x", "-o", "c")
    assert status == 2 and "docword.x:1: 2,000,000,000 documents, but 1 entries: that cannot be" in err


def test_a_line_pattern_that_never_ends(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr("topicx.corpus.lines.TIMEOUT", 0.2)
    write("a.txt", "x" * 60 + "\n")
    status, _, err = run("import", "a.txt", "--format", "lines", "-o", "c", "--line-regex", r"((x|xx)+)[yz](a)(b)")
    assert status == 2 and "a.txt: --line-regex took more than 0.2 seconds" in err


def test_full_disks_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"some words w{i}x\n" for i in range(60_000)))
    command = f"ulimit -f 200; exec {sys.executable} -m topicx import a.txt -o c"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "topicx: c: writing failed: File too large" in done.stderr
    Corpus.from_documents([["aa", "bb"] * 50_000]).save(tmp_path / "c")
    command = f"ulimit -f 100; cat c | TMPDIR={tmp_path} {sys.executable} -m topicx prune - -o d"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and f"topicx: {tmp_path}: writing temporary data failed" in done.stderr


def test_a_frame_of_counts_keeps_its_names() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"river": [1, 0], "boat": [2, 3]}, index=["x", "y"])
    corpus = Corpus.from_matrix(frame)
    assert list(corpus.vocabulary) == ["river", "boat"] and list(corpus.ids) == ["x", "y"]
    assert corpus.document(0) == ["river", "boat", "boat"]
    with pytest.raises(InputError, match="has 1 words"):
        Corpus.from_matrix(frame, vocabulary=["a"])


def test_stop_words_in_python() -> None:
    texts = [ENGLISH + "river boats"] * 20
    assert "the" not in Corpus.from_texts(texts).vocabulary
    assert "the" in Corpus.from_texts(texts, stopwords=None).vocabulary
    assert "the" in Corpus.from_texts(texts, stopwords="de").vocabulary
    assert "river" not in Corpus.from_texts(texts, stopwords=["river"]).vocabulary


def test_pieces_of_documents_in_the_builder() -> None:
    with Builder(Tokenizer(), BuildOptions()) as builder:
        builder.add(Batch("x", None, ["one two", "three"], ids=["a", "b"], open=True))
        builder.add(Batch("x", None, ["three four"], continues=True, open=True))
        builder.add(Batch("x", None, ["", "five"], ids=[None, "c"], continues=True))
        corpus = builder.corpus()
    assert words_of(corpus) == [["one", "two"], ["three", "three", "four"], ["five"]]
    assert list(corpus.ids) == ["a", "b", "c"]
    at = list(corpus.vocabulary).index("three")
    assert corpus.document_frequencies[at] == 1 and corpus.word_frequencies[at] == 2


def test_read_documents_is_open_to_python(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two\nthree\n")
    reader = read_documents([str(tmp_path / "a.txt")], ReadOptions())
    assert [text for batch in reader for text in batch.texts] == ["one two", "three"]


@pytest.mark.parametrize(
    "call",
    [
        "train {} -k 2 -o x", "train {} -k 2 --sampler scvb0 --stream -o x", "search {} -k 2", "prune {} -o x",
        "topics m --by label --corpus {}", "hmm train {} -o x", "hmm decode m {}", "hmm evaluate m {}",
        "export {} --format lines -o x", "bench {}", "import a.tsv --like {} -o x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("what", ["a.tsv", "d"])
def test_commands_that_want_a_corpus_say_how_texts_become_one(
    call: str, what: str, judge: Path, run: Run  # noqa: F811
) -> None:  # fmt: skip
    """All others than import, infer, evaluate and split, which read texts themselves."""
    write("a.tsv", "d1\tx\tsome words here\n")
    write("d/a.txt", "some words")
    Path("m").write_bytes(judge.read_bytes())
    if call.startswith("hmm ") and " m " in call:
        Corpus.from_documents([["some", "words"]]).save("c")
        assert run("hmm", "train", "c", "--iterations", "2", "-o", "m", "-q")[0] == 0
    status, out, err = run(*call.format(what).split())
    assert status == 2 and "'topicx import' makes a corpus of" in err and len(err.splitlines()) == 1, err
    assert not out and not Path("x").exists()
