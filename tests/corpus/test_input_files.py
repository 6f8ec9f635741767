# ruff: noqa: E501
"""Files to read: compressed, tables, folders, lists of names, the same options in every command; small files that grow."""

from __future__ import annotations

import bz2
import gzip
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.corpus.test_import_command import Run, corpus_of, run, words_of, write  # noqa: F401
from topicx.classes.lda_class import LDA
from topicx.corpus.build.corpus_builder import Builder, BuildOptions
from topicx.corpus.corpus import Corpus
from topicx.corpus.formats.document_reader import Batch, ReadOptions, read_documents
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.errors import InputError

ENGLISH = "this is what the people of the old town said when they had been there for a while and it was over "

# -- inputs -----------------------------------------------------------------------------------------------------------


def test_a_python_without_bz2_and_lzma_reads_all_else(tmp_path: Path) -> None:
    """Builds of Python may lack these libraries: what needs one says so, everything else works."""
    (tmp_path / "a.txt").write_text("some words\n")
    (tmp_path / "b.txt.bz2").write_bytes(bz2.compress(b"some words\n"))
    (tmp_path / "c.txt.xz").write_bytes(lzma.compress(b"some words\n"))
    code = "import sys; sys.modules['_bz2'] = sys.modules['_lzma'] = None\nfrom topicx.__main__ import main\nmain()"
    wanted = {"a.txt": "", "b.txt.bz2": "'bzip2 -dc'", "c.txt.xz": "'xz -dc'"}
    for name, said in wanted.items():
        done = subprocess.run(
            [sys.executable, "-c", code, "import", name, "-q", "-o", "x.corpus"],
            cwd=tmp_path, text=True, capture_output=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == (2 if said else 0), done.stderr
        assert said in done.stderr and done.stderr.count("\n") == bool(said)


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
    assert status == 0 and err.count("read as") == 1 and "the format 'text' takes a document a line" in err
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
    note = "note: --time-regex 'x(1)' found no time in 3 of 3 names, for instance '1990/a.txt'\n"
    assert note in run("import", "d", "-o", "c", "--time-regex", "x(1)")[2]
    note = note.replace("x(1)", "[0-9]+").replace("3 of 3", "1 of 3").replace("1990/a.txt", "undated/c.txt")
    assert note in run("import", "d", "-o", "c", "--time-regex", "[0-9]+")[2]
    assert "found no time" not in run("import", "d/1990", "-o", "c", "--time-regex", "(.)")[2]
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
    monkeypatch.setattr("topicx.corpus.formats.text_lines.TIMEOUT", 0.2)
    write("a.txt", "x" * 60 + "\n")
    status, _, err = run("import", "a.txt", "--format", "lines", "-o", "c", "--line-regex", r"((x|xx)+)[yz](a)(b)")
    assert status == 2 and "a.txt: --line-regex took more than 0.2 seconds" in err


def test_full_disks_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"some words w{i}x\n" for i in range(60_000)))
    command = f"export PYTHONDONTWRITEBYTECODE=1; ulimit -f 200; exec {sys.executable} -m topicx import a.txt -o c"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "topicx: c: writing failed: File too large" in done.stderr
    Corpus.from_documents([["aa", "bb"] * 50_000]).save(tmp_path / "c")
    command = f"export PYTHONDONTWRITEBYTECODE=1; ulimit -f 100; cat c | TMPDIR={tmp_path} {sys.executable} -m topicx prune - -o d"
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
        "search {} -k 2", "prune {} -o x",
        "topics m --by label --corpus {}", "hmm train {} -o x", "hmm decode m {}", "hmm evaluate m {}",
        "export {} --format lines -o x", "bench {}", "import a.tsv --like {} -o x",
    ],
)  # fmt: skip
@pytest.mark.parametrize("what", ["a.tsv", "d"])
def test_commands_that_want_a_corpus_say_how_texts_become_one(
    call: str, what: str, judge: Path, run: Run  # noqa: F811
) -> None:  # fmt: skip
    """All others than import, train, infer, evaluate and split, which read texts themselves."""
    write("a.tsv", "d1\tx\tsome words here\n")
    write("d/a.txt", "some words")
    Path("m").write_bytes(judge.read_bytes())
    if call.startswith("hmm ") and " m " in call:
        Corpus.from_documents([["some", "words"]]).save("c")
        assert run("hmm", "train", "c", "--iterations", "2", "-o", "m", "-q")[0] == 0
    status, out, err = run(*call.format(what).split())
    assert status == 2 and "'topicx import' makes a corpus of" in err and len(err.splitlines()) == 1, err
    assert not out and not Path("x").exists()


def test_a_text_without_a_head_stays_whole(run: Run) -> None:  # noqa: F811
    write("d/1", "From: someone\n\nthe body")
    write("d/2", "no blank line\nin this one")
    assert run("import", "d", "--skip-header", "-o", "c")[0] == 0
    assert words_of(corpus_of()) == [["the", "body"], ["no", "blank", "line", "in", "this", "one"]]


def test_files_of_several_encodings(run: Run) -> None:  # noqa: F811
    """The message says how many files are not UTF-8, and the option that it names reads each in its own encoding."""
    write("d/1", "na\u00efve words")
    for name in ("2", "3"):
        write(f"d/{name}", f"caf\u00e9 number{name}".encode("latin-1"))
    status, _, err = run("import", "d", "-o", "c")
    said = err.splitlines()[-1]
    assert (
        status == 2
        and "d/2:1: is not utf-8" in said
        and "nor is 1 other of 3 files" in said
        and "utf-8,latin-1" in said
    )
    status, _, err = run("import", "d", "--encoding", "utf-8,latin-1", "-o", "c")
    assert status == 0 and "read as latin-1: 2 files (d/2, d/3)" in err, err
    assert words_of(corpus_of()) == [["na\u00efve", "words"], ["caf\u00e9", "number2"], ["caf\u00e9", "number3"]]
    write("one.tsv", "a\tx\tcaf\u00e9 words\n".encode("latin-1"))
    assert run("import", "one.tsv", "--encoding", "utf-8,latin-1", "-o", "c")[0] == 0
    assert words_of(corpus_of()) == [["caf\u00e9", "words"]]
    assert (
        "--encoding: 'nonsense' is not a known encoding"
        in run("import", "d", "--encoding", "utf-8,nonsense", "-o", "c")[2]
    )


def test_bytes_of_a_head_that_is_left_out_need_not_be_text(run: Run) -> None:  # noqa: F811
    write("d/1", b"From: caf\xe9\0\n\nthe body")
    write("d/2", b"From: x\n\nbad \xe9 body")
    status, _, err = run("import", "d", "--skip-header", "-o", "c")
    assert status == 2 and "d/2:3: is not utf-8" in err and "others" not in err, err
    write("d/2", "To: x\n\nother body".encode("utf-16"))
    assert run("import", "d", "--skip-header", "-o", "c")[0] == 0
    assert words_of(corpus_of()) == [["the", "body"], ["other", "body"]]


def test_a_text_that_is_read_by_lines_says_how_to_have_it_whole(run: Run) -> None:  # noqa: F811
    write("a.txt", "one two\nthree four")
    assert "the format 'files' takes it whole" in run("import", "a.txt", "-o", "c")[2]
    assert run("import", "a.txt", "--format", "files", "-o", "c")[0] == 0
    assert words_of(corpus_of()) == [["one", "two", "three", "four"]]
