# ruff: noqa: E501
"""`topicx import`, `split`, `prune` and `info` from the outside: what they write, and what they say to mistakes."""

from __future__ import annotations

import gzip
import io
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from topicx.cli import main
from topicx.corpus.corpus import Corpus

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: Any) -> Run:
    """Run a command line in an empty folder; returns the exit status, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*args: str, stdin: bytes | None = None) -> tuple[int, str, str]:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as stop:
            main(list(args))
        out, err = capfdbinary.readouterr()
        return int(stop.value.code or 0), out.decode("utf-8", "replace"), err.decode()

    return call


def corpus_of(name: str = "c") -> Corpus:
    return Corpus.load(name)


def words_of(corpus: Corpus) -> list[list[str]]:
    return [corpus.document(i) for i in range(len(corpus))]


def write(name: str, content: str | bytes) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") and not data.startswith(b"!") else data)


# -- formats: the same three documents in every one -------------------------------------------------------------------

EXPECTED = [["the", "cat's", "hat"], ["naïve", "dog"], []]
FILES: dict[str, tuple[dict[str, str], list[str], str]] = {
    # name: (files, arguments, the format that is announced)
    "lines": ({"a.txt": "d1\tx\tThe cat’s hat\nd2\ty\tnaïve DOG\nd3\tx\t\n"}, ["a.txt"], "lines"),
    "lines, Windows": ({"a.txt": "\ufeffd1\tx\tThe cat’s hat\r\nd2\ty\tnaïve DOG\r\nd3\tx\t"}, ["a.txt"], "lines"),
    "lines, own pattern": (
        {"a.log": "x|d1|The cat’s hat\ny|d2|naïve DOG\nx|d3|\n"},
        ["a.log", "--format", "lines", "--line-regex", r"(\w)\|(\w+)\|(.*)", "--name", "2", "--label", "1"],
        "lines",
    ),
    "tsv without header": ({"a.tsv": "d1\tx\tThe cat’s hat\nd2\ty\tnaïve DOG\nd3\tx\t\n"}, ["a.tsv"], "lines"),
    "tsv": ({"a.tsv": "id\ttext\tlabel\nd1\tThe cat’s hat\tx\nd2\tnaïve DOG\ty\nd3\t\tx\n"}, ["a.tsv"], "tsv"),
    "csv": ({"a.csv": 'label,text,id\nx,"The\ncat’s hat",d1\ny,naïve DOG,d2\nx,,d3\n'}, ["a.csv"], "csv"),
    "csv, no header, semicolons": (
        {"a.csv": 'x;"The ""cat’s""; hat";d1\ny;naïve DOG;d2\nx;;d3\n'},
        ["a.csv", "--no-header", "--delimiter", ";", "--text-field", "2", "--label-field", "1", "--id-field", "3"],
        "csv",
    ),
    "jsonl": (
        {"a.jsonl": '{"id":"d1","text":"The cat’s hat","label":["x"]}\n\n{"id":"d2","text":"naïve DOG","label":"y"}\n'
                    '{"id":"d3","text":null,"label":"x"}\n'},
        ["a.jsonl"],
        "jsonl",
    ),
    "jsonl by content": (
        {"a": '{"id":"d1","t":"The cat’s hat","label":"x"}\n{"id":"d2","t":"naïve DOG","label":"y"}\n{"id":"d3","t":"","label":"x"}'},
        ["a", "--text-field", "t"],
        "jsonl",
    ),
    "dir": ({"d/x/d1": "The\ncat’s hat", "d/y/d2": "naïve DOG", "d/x/d3": "\n", "d/.hidden": "no"}, ["d"], "dir"),
    "several": ({"a.txt": "d1\tx\tThe cat’s hat\n", "b.csv": "id,label,text\nd2,y,naïve DOG\nd3,x,\n"}, ["a.txt", "b.csv"], "csv"),
    "latin-1": ({"a.txt": "d1\tx\tThe cat's hat\nd2\ty\tna\u00efve DOG\nd3\tx\t\n"}, ["a.txt", "--encoding", "latin-1"], "lines"),
    "utf-16": ({"a.txt": "d1\tx\tThe cat’s hat\nd2\ty\tnaïve DOG\nd3\tx\t\n"}, ["a.txt", "--encoding", "utf-16", "--format", "lines"], "lines"),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", list(FILES))
def test_text_formats(case: str, packed: bool, run: Run) -> None:
    contents, args, announced = FILES[case]
    for name, content in contents.items():
        encoding = args[args.index("--encoding") + 1] if "--encoding" in args else "utf-8"
        write(name + ".gz" * packed, content.encode(encoding))
    args = [name + ".gz" * packed if name in contents else name for name in args]
    status, out, err = run("import", *args, "-o", "c")
    assert (status, out) == (0, ""), err
    assert f"read as {announced}" in err
    corpus = corpus_of()
    order = [0, 2, 1] if case == "dir" else [0, 1, 2]
    assert words_of(corpus) == [EXPECTED[i] for i in order]
    assert [corpus.labels(i) for i in range(3)] == [["xyx"[i]] for i in order]
    if case != "dir":
        assert list(corpus.ids) == ["d1", "d2", "d3"]
    assert "kept 1 empty document (--drop-empty drops them)" in err


@pytest.mark.parametrize("columns", [["id", "text", "label"], ["text", "label", "id"]])
def test_parquet(columns: list[str], run: Run) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    data = {
        "id": ["d1", "d2", "d3"],
        "text": ["The cat’s hat", "naïve DOG", None],
        "label": [["x"], ["y"], ["x"]],
    }
    parquet.write_table(pyarrow.table({name: data[name] for name in columns}), "a.parquet")
    status, _, err = run("import", "a.parquet", "-o", "c")
    assert status == 0 and "read as parquet" in err
    assert words_of(corpus_of()) == EXPECTED and list(corpus_of().ids) == data["id"]


def test_parquet_without_the_library(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.parquet", b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    status, _, err = run("import", "a.parquet", "-o", "c")
    assert status == 2 and "pip install 'topicx[parquet]'" in err


COUNTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "uci": ({"docword.n.txt": "3\n4\n3\n1 1 2\n1 3 1\n3 2 5\n", "vocab.n.txt": "a\nb\nc\nd\n"}, ["docword.n.txt"]),
    "uci with --vocab": ({"x": "3\n4\n3\n1 1 2\n1 3 1\n3 2 5\n", "v": "a\nb\nc\nd\n"}, ["x", "--format", "uci", "--vocab", "v"]),
    "ldac": ({"n.ldac": "2 0:2 2:1\n0\n1 1:5\n", "n.vocab": "a\nb\nc\n"}, ["n.ldac"]),
    "ldac from one": ({"n": "2 1:2 3:1\n0\n1 2:5\n", "v": "a\nb\nc\n"}, ["n", "--format", "ldac", "--vocab", "v", "--index-base", "1"]),
    "svmlight with names": (
        {"n.svm": "1 1:2 3:1 # d1\n0\n1,2 2:5\n", "n.svm.vocab": "a\nb\nc\n", "n.svm.labels": "p\nq\n"}, ["n.svm"]
    ),
    "arff, Mulan": (
        {"n-train.arff": "% x\n@relation 'r s'\n@attribute a {0,1,2}\n@ATTRIBUTE 'b' numeric\n@attribute \"c\" real\n"
                         "@attribute p {0,1}\n@attribute q {0, 1}\n\n@data\n{0 2, 2 1, 3 1}\n{}\n{1 5.0,3 1,4 1}\n",
         "n.xml": '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="p"><label name="q"/></label></labels>'},
        ["n-train.arff"],
    ),
    "arff, MEKA": (
        {"n.arff": "@relation 'r: -C 2'\n@attribute p {0,1}\n@attribute q {0,1}\n@attribute a numeric\n"
                   "@attribute b numeric\n@attribute c numeric\n@data\n1,0,2,0,1\n0,0,0,0,0\n1,1,0,5,?\n"},
        ["n.arff"],
    ),
    "svmlight": ({"n.svm": "# comment\n1 1:2 3:1.0 # d1\n2\n1,2 qid:4 2:5\n", "n.svm.vocab": "a\nb\nc\n"}, ["n.svm"]),
}  # fmt: skip


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", list(COUNTS))
def test_count_formats(case: str, packed: bool, run: Run) -> None:
    contents, args = COUNTS[case]
    for i, (name, content) in enumerate(contents.items()):
        write(name + ".gz" * (packed and i == 0), content)
    args = [name + ".gz" * packed if i == 0 else name for i, name in enumerate(args)]
    status, _, err = run("import", *args, "-o", "c")
    assert status == 0, err
    assert words_of(corpus_of()) == [["a", "a", "c"], [], ["b"] * 5]
    assert corpus_of().meta["tokenizer"] is None
    if case in ("svmlight with names", "arff, Mulan", "arff, MEKA"):
        assert [corpus_of().labels(i) for i in range(3)] == [["p"], [], ["p", "q"]]


def test_labels_of_lines(run: Run) -> None:
    write("a.txt", "d1\ty,x\tone\nd2\t-\ttwo\nd3\tz\tthree\n")
    assert run("import", "a.txt", "-o", "c")[0] == 0
    assert [corpus_of().labels(i) for i in range(3)] == [["y", "x"], [], ["z"]]
    assert run("import", "a.txt", "-o", "c", "--label-delimiter", "", "--no-label", "z")[0] == 0
    assert [corpus_of().labels(i) for i in range(3)] == [["y,x"], [], []]


def test_lines_by_tabs_and_by_blanks(run: Run) -> None:
    write("a.txt", "one name\ttwo words\tthe text\there\n\nd2\t\tmore text\n")
    assert run("import", "a.txt", "-o", "c")[0] == 0
    assert list(corpus_of().ids) == ["one name", "d2"] and words_of(corpus_of())[0] == ["the", "text", "here"]
    assert [corpus_of().labels(i) for i in range(2)] == [["two words"], []]
    write("b.txt", "d1 en the text\td\te\nd2 fr other text\n")
    assert run("import", "b.txt", "-o", "c", "--format", "lines")[0] == 0
    assert list(corpus_of().ids) == ["d1", "d2"] and corpus_of().labels(1) == ["fr"]


def test_words_in_a_list_are_taken_as_they_are(run: Run) -> None:
    write("a.jsonl", '{"text": ["New York", "the", "a-b"]}\n{"text": "New York"}\n{"text": []}\n')
    assert run("import", "a.jsonl", "-o", "c", "--remove-stopwords")[0] == 0
    assert words_of(corpus_of()) == [["New York", "a-b"], ["new", "york"], []]
    write("b.jsonl", '{"text": ["x", 1]}\n')
    status, _, err = run("import", "b.jsonl", "-o", "c")
    assert status == 2 and "b.jsonl:1: the field 'text' is a list, but not of words" in err


def test_counts_without_words_are_numbers(run: Run) -> None:
    write("n.ldac", "2 0:2 7:1\n")
    write("n.svm", "x 1:1\n")
    assert run("import", "n.ldac", "-o", "c")[0] == 0
    assert words_of(corpus_of()) == [["0", "0", "7"]]
    assert run("import", "n.ldac", "n.svm", "-o", "c")[0] == 0
    assert words_of(corpus_of()) == [["0", "0", "7"], ["1"]]


def test_uci_documents_across_blocks(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.BLOCK", 16)
    monkeypatch.setattr("topicx.corpus.formats.input_bytes.InputSource.read.__defaults__", (16,))
    random = np.random.default_rng(2)
    matrix = random.integers(0, 3, (30, 9)) * (random.random((30, 1)) < 0.7)
    rows = [f"{d + 1} {w + 1} {matrix[d, w]}" for d, w in zip(*np.nonzero(matrix))]
    write("docword.x", "\n".join(["30", "9", str(len(rows)), *rows]) + "\n")
    write("vocab.x", "\n".join("abcdefghi") + "\n")
    status, _, err = run("import", "docword.x", "-o", "c")
    assert status == 0, err
    corpus = corpus_of()
    order = ["abcdefghi".index(word) for word in corpus.vocabulary]
    assert np.array_equal(corpus.to_matrix().toarray(), matrix[:, order])


def test_standard_input_and_output(run: Run) -> None:
    status, out, err = run("import", "-", "-o", "-", "--quiet", stdin=b"hello world\n")
    assert (status, err) == (0, "") and out[8:].startswith('{"__metadata__"')
    status, _, err = run("import", "-", "-o", "c", stdin=gzip.compress(b"n\tl\thello world\n"))
    assert status == 0 and "standard input: read as lines" in err
    assert words_of(corpus_of()) == [["hello", "world"]]
    assert corpus_of().meta["inputs"] == ["-"]


def test_fields_and_columns(run: Run) -> None:
    write(
        "a.csv",
        "key,body,tags,where,year,rating,note\n1,aa bb,p;q,north,1990,3.5,x\n2,cc,,south,1991,,7\n3,dd,q;none,,,1e2,\n",
    )
    status, _, err = run(
        "import", "a.csv", "-o", "c", "--id-field", "key", "--text-field", "body", "--label-field", "tags",
        "--label-delimiter", ";", "--no-label", "none", "--collection-field", "where", "--time-field", "year",
        "--column", "rating", "--column", "note", "--snippet", "3",
    )  # fmt: skip
    assert status == 0, err
    corpus = corpus_of()
    assert [corpus.labels(i) for i in range(3)] == [["p", "q"], [], ["q"]]
    assert [corpus.collection_of(i) for i in range(3)] == ["north", "south", None]
    assert corpus.time.tolist()[:2] == [1990.0, 1991.0] and np.isnan(corpus.time[2])
    assert np.array_equal(np.asarray(corpus.columns["rating"]), [3.5, np.nan, 100.0], equal_nan=True)
    assert list(corpus.columns["note"]) == ["x", "7", ""] and list(corpus.columns["snippet"]) == [
        "aa",
        "cc",
        "dd",
    ]
    assert run("import", "a.csv", "-o", "c", "--text-field", "body", "--snippet", "0")[0] == 0
    assert corpus_of().columns == {}


def test_words_options(run: Run) -> None:
    write("a.txt", "The the cat AND Dog's\nder Hund the cat foo\nrare\n")
    write("stop.txt", "foo bar\nbaz\n")
    status, _, err = run(
        "import", "--remove-stopwords", "a.txt", "-o", "c", "--stoplist-file", "stop.txt", "--extra-stopwords", "hund,dog's",
        "--min-count", "2", "--drop-empty",
    )  # fmt: skip
    assert status == 0, err
    assert words_of(corpus_of()) == [["cat"], ["cat"]]
    assert "left out: 7 tokens of stop words, 2 words (2 tokens) by the limits, 1 empty document" in err
    assert run("import", "a.txt", "-o", "c", "--remove-stopwords", "en,de", "--preserve-case")[0] == 0
    assert words_of(corpus_of()) == [["cat", "Dog's"], ["Hund", "cat", "foo"], ["rare"]]
    assert (
        run(
            "import",
            "a.txt",
            "-o",
            "c",
            "--max-doc-freq",
            "0.5",
            "--token-regex",
            r"\p{Lu}\S*",
            "--preserve-case",
        )[0]
        == 0
    )
    assert words_of(corpus_of()) == [["The", "AND", "Dog's"], ["Hund"], []]


def test_like(run: Run) -> None:
    write("a.txt", "The cat sat\nnew york is new york\n" * 30)
    write("b.txt", "the CAT saw New York\n")
    assert run("import", "a.txt", "-o", "c", "--bigrams", "--bigram-min-count", "40", "--remove-stopwords")[0] == 0
    assert "new_york" in list(corpus_of().vocabulary)
    status, _, err = run("import", "b.txt", "-o", "d", "--like", "c")
    assert status == 0 and "unknown to c: 1 token (33.3%)" in err
    assert words_of(corpus_of("d")) == [["cat", "new_york"]]
    assert corpus_of("d").vocabulary == corpus_of().vocabulary


def test_same_input_same_bytes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    write("a.txt", "bb aa cc aa\ncc bb dd\n")
    assert run("import", "a.txt", "-o", "c")[0] == run("import", "a.txt", "-o", "d")[0] == 0
    assert Path("c").read_bytes() == Path("d").read_bytes()
    assert list(corpus_of().vocabulary) == ["aa", "bb", "cc", "dd"]


# -- split, prune, info -----------------------------------------------------------------------------------------------


def test_split_prune_info(run: Run) -> None:
    write("a.txt", "".join(f"d{i}\tx{i % 2}\tw{i % 5} w{i % 3} all\n" for i in range(40)))
    assert run("import", "a.txt", "-o", "c")[0] == 0
    status, _, err = run("split", "c", "-o", "out/p", "--stratify")
    assert status == 2 and "does not exist" in err
    status, _, err = run("split", "c", "-o", "p", "--stratify", "--fractions", "0.75,0.25", "--seed", "7")
    assert status == 0, err
    train, test = corpus_of("p.train.corpus"), corpus_of("p.test.corpus")
    assert (len(train), len(test)) == (30, 10) and train.vocabulary == corpus_of().vocabulary
    assert sorted([*train.ids, *test.ids]) == sorted(corpus_of().ids)
    write("keep", "d3\nd1\n")
    status, _, err = run("split", "c", "-o", "q", "--ids", "keep")
    assert status == 0 and "38 documents are in no part" in err
    assert list(corpus_of("q.keep.corpus").ids) == ["d1", "d3"]
    status, _, err = run(
        "prune", "c", "-o", "r", "--max-doc-freq", "0.9", "--extra-stopwords", "w4", "--keep-most", "3"
    )
    assert status == 0 and "left out 3 words" in err
    assert list(corpus_of("r").vocabulary) == ["w0", "w1", "w2"]

    status, out, _ = run("info", "r", "--json")
    about = json.loads(out)
    assert status == 0 and about["kind"] == "corpus" and about["parents"] == {"corpus": corpus_of().digest}
    assert about["corpus"]["documents"] == 40 and about["corpus"]["words"] == 3 and about["corpus"]["labels"] == 2
    assert about["meta"]["tokenizer"]["stopwords"] == ["w4"] and about["arrays"]["offsets"]["shape"] == [41]
    status, out, _ = run("info", "r", "p.test.corpus", "a.txt", "--arrays")
    assert status == 0
    for text in (
        "r: a topicx corpus",
        "made from the corpus:",
        "a.txt: text; 'topicx import' would read it as lines",
    ):
        assert text in out


@pytest.mark.parametrize(
    "content, what",
    [
        (b"", "an empty file"),
        (b"\x00\x01\x02\x03", "a binary file"),
        (b"\xac\xed\x00\x05sr", "Java objects"),
        (b"#doc source pos typeindex type topic\n#alpha : 1\n", "MALLET's state"),
        (b"%PDF-1.4", "a PDF"),
        (b'{"text": "x"}\n', "would read it as jsonl"),
    ],
)
def test_info_of_other_files(content: bytes, what: str, run: Run) -> None:
    write("f", content)
    write("f.gz", content)
    for name in ("f", "f.gz"):
        status, out, err = run("info", name)
        assert status == 0 and what in out, err


# -- mistakes ---------------------------------------------------------------------------------------------------------

OK = {"a.txt": "n\tl\tsome words\n"}
UCI = "2\n2\n2\n1 1 1\n2 2 1\n"
ARFF = "@relation x\n@attribute a numeric\n@attribute b numeric\n@data\n"
BAD: list[tuple[list[str], dict[str, str | bytes], int, str]] = [
    # arguments, files, exit status, what the message must hold
    (["import", "docword.x", "-o", "c"], {"docword.x": "2\n2\n4\n1 1 1\n1 2\n1 2 1 1\n2 1 1\n"}, 2, "docword.x:5: three integers"),
    (["import", "docword.x", "-o", "c"], {"docword.x": "2\n2\n2\n1 1 1\n2 2 99999999999999999999\n"}, 2, "an integer is too large"),
    (["import", "a.txt", "-o", "a.txt"], OK, 2, "a.txt: is an input, too: it would be overwritten"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": '{"text":"x","time":[1]}\n'}, 2, "a.jsonl:1: the time '[1]'"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": '{"text":"x","time":1}\n{"text":"x","time":true}\n'}, 2, "a.jsonl:2: the time 'True'"),
    (["import", "a.jsonl", "-o", "c", "--column", "snippet"], {"a.jsonl": '{"text":"x"}\n'}, 2, "--snippet 0 keeps none"),
    (["import", "a.jsonl", "-o", "c", "--column", "x.bytes"], {"a.jsonl": '{"text":"x"}\n'}, 2, "--column 'x.bytes'"),
    (["import"], {}, 2, "Missing argument 'INPUT...'"),
    (["import", "a.txt"], OK, 2, "Missing option '--output'"),
    (["import", "none.txt", "-o", "c"], {}, 2, "none.txt: cannot be read: No such file or directory"),
    (["import", "a.txt", "-o", "no/c"], OK, 2, "no/c: cannot be written: No such file or directory"),
    (["import", "a.txt", "-o", "."], OK, 2, ".: is a directory"),
    (["import", "a.txt", "-o", "c", "--format", "pdf"], OK, 2, "'pdf' is not one of 'auto', 'lines'"),
    (["import", "a.txt", "-o", "c", "--format", "dir"], OK, 2, "a.txt: --format dir needs a directory"),
    (["import", "d", "-o", "c", "--format", "csv"], {"d/x": "y"}, 2, "d/x:1: no field 'text'"),
    (["import", "d", "-o", "c"], {"d/.x": "y"}, 2, "d: has no files in it"),
    (["import", "a.txt", "-o", "c", "--encoding", "klingon"], OK, 2, "--encoding: 'klingon' is not a known encoding"),
    (["import", "a.txt", "-o", "c", "--encoding", "hex"], OK, 2, "--encoding: 'hex' is not an encoding of text"),
    (["import", "a.txt", "-o", "c"], {"a.txt": b"good\nb\xffd\n"}, 2, "a.txt:2: is not utf-8 (byte 0xff, invalid start byte)"),
    (["import", "a.txt", "-o", "c"], {"a.txt": b"good\nbad \xc3"}, 2, "a.txt:2: is not utf-8"),
    (["import", "d", "-o", "c"], {"d/x/1": b"\n\xe9t\xe9"}, 2, "d/x/1:2: is not utf-8"),
    (["import", "a.txt", "-o", "c"], {"a.txt": b"text\nthen \x00\x01"}, 2, "a.txt:2: is binary, not text"),
    (["import", "a.gz", "-o", "c"], {"a.gz": b"!plain"}, 2, "a.gz: is not a gzip file"),
    (["import", "a", "-o", "c"], {"a": gzip.compress(b"text " * 999)[:-20]}, 2, "a: is a broken gzip file (it ends too early)"),
    (["import", "a", "-o", "c"], {"a": gzip.compress(b"text " * 9)[:-8] + b"\0" * 8}, 2, "a: is a broken gzip file (CRC check failed"),
    (["import", "a.txt", "-o", "c"], {"a.txt": ""}, 2, "no documents in the input"),
    (["import", "a.txt", "-o", "c"], {"a.txt": "... !!\n--\n"}, 2, "nothing is left: 2 documents"),
    (["import", "a.txt", "-o", "c", "--min-count", "9"], OK, 2, "nothing is left"),
    (["import", "a.txt", "-o", "c", "--min-count", "0"], OK, 2, "--min-count"),
    (["import", "a.txt", "-o", "c", "--min-count", "many"], OK, 2, "'many' is not a valid integer"),
    (["import", "a.txt", "-o", "c", "--max-doc-freq", "nan"], OK, 2, "nan is not a finite number"),
    (["import", "a.txt", "-o", "c", "--max-doc-freq", "50"], OK, 2, "50 must be from 0 to 1"),
    (["import", "a.txt", "-o", "c", "--token-regex", "(a"], OK, 2, "token pattern '(a'"),
    (["import", "a.txt", "-o", "c", "--line-regex", "(a"], OK, 2, "--line-regex '(a'"),
    (["import", "a.txt", "-o", "c", "--line-regex", "(.*)"], OK, 2, "--label 2: --line-regex has only 1 groups"),
    (["import", "a.txt", "-o", "c", "--line-regex", r"(\d)(\d)(.*)"], OK, 2, "a.txt:1: the line does not match --line-regex"),
    (["import", "a.txt", "-o", "c", "--remove-stopwords=xx"], OK, 2, "no stop words for the language 'xx'"),
    (["import", "a.txt", "-o", "c", "--stoplist-file", "none"], OK, 2, "none: cannot be read"),
    (["import", "a.txt", "-o", "c", "--like", "a.txt"], OK, 2, "a.txt: not a topicx file"),
    (["import", "a.txt", "-o", "c", "--like", "x", "--min-count", "2"], OK, 2, "--min-count cannot go with --like"),
    (["import", "a.txt", "-o", "c", "--like", "x", "--bigrams"], OK, 2, "--bigrams cannot go with --like"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": '{"text":"x"}\n{"text":\n'}, 2, "a.jsonl:2: is not JSON"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": '["text"]\n'}, 2, "a.jsonl:1: is not a JSON object"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": '{"body":"x","n":1}\n'}, 2, "a.jsonl:1: no field 'text'; name the field by --text-field; there are: body, n"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": '{"text":5}\n'}, 2, "a.jsonl:1: the field 'text' is not a text but a int"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": '{"text":"x","label":{}}\n'}, 2, "is an object, not a label"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": "[" * 100_000}, 2, "a.jsonl:1: is not JSON"),
    (["import", "a.jsonl", "-o", "c", "--id-field", "k"], {"a.jsonl": '{"text":"x"}\n'}, 2, "a.jsonl:1: no field 'k'"),
    (["import", "a.jsonl", "-o", "c"], {"a.jsonl": '{"text":"x","time":"soon"}\n'}, 2, "a.jsonl:1: the time 'soon'"),
    (["import", "a.csv", "-o", "c"], {"a.csv": "id,body\n1,x\n"}, 2, "a.csv:1: no field 'text'"),
    (["import", "a.csv", "-o", "c", "--label-field", "z"], {"a.csv": "id,text\n1,x\n"}, 2, "no field 'z' (--label-field); there are: id, text"),
    (["import", "a.csv", "-o", "c", "--column", "z"], {"a.csv": "id,text\n1,x\n"}, 2, "no field 'z' (--column)"),
    (["import", "a.csv", "-o", "c"], {"a.csv": "id,text\n1,x\n2,y,z\n"}, 2, "a.csv:3: 3 fields, but the header has 2"),
    (["import", "a.csv", "-o", "c"], {"a.csv": 'id,text\n1,"x\n2,y\n'}, 2, "a.csv:3: unexpected end of data (--no-quotes"),
    (["import", "a.csv", "-o", "c"], {"a.csv": "text,text\nx,y\n"}, 2, "a.csv:1: the header has the field 'text' twice"),
    (["import", "a.csv", "-o", "c", "--delimiter", "ab"], {"a.csv": "id,text\n1,x\n"}, 2, "--delimiter 'ab': must be one character"),
    (["import", "a.csv", "-o", "c", "--time-field", "t"], {"a.csv": "text,t\nx,1990\ny,1990-01-01\n"}, 2, "a.csv:3: the time '1990-01-01' is a date"),
    (["import", "a.tsv", "-o", "c"], {"a.tsv": "id\tyear\tbody\tx\n"}, 2, "a.tsv:1: no field 'text' in the header"),
    (["import", "a.parquet", "-o", "c"], {"a.parquet": b"PAR1 not really"}, 2, "a.parquet: is not a readable Parquet table"),
    (["import", "docword.x", "-o", "c"], {"docword.x": "2\nx\n"}, 2, "docword.x:2: the number of words was expected, not 'x'"),
    (["import", "docword.x", "-o", "c"], {"docword.x": "2\n"}, 2, "docword.x: the three lines of sizes are missing"),
    (["import", "docword.x", "-o", "c"], {"docword.x": UCI.replace("2 2 1", "2 3 1")}, 2, "docword.x:5: word 3 is not from 1 to 2"),
    (["import", "docword.x", "-o", "c"], {"docword.x": UCI.replace("2 2 1", "3 2 1")}, 2, "docword.x:5: document 3 is not from 1 to 2"),
    (["import", "docword.x", "-o", "c"], {"docword.x": UCI.replace("2 2 1", "2 2 -1")}, 2, "docword.x:5: a negative count (-1)"),
    (["import", "docword.x", "-o", "c"], {"docword.x": UCI.replace("2 2 1", "2 2")}, 2, "docword.x:5: three integers were expected"),
    (["import", "docword.x", "-o", "c"], {"docword.x": UCI.replace("2 2 1", "2 2 x")}, 2, "docword.x:5: three integers were expected"),
    (["import", "docword.x", "-o", "c"], {"docword.x": "2\n2\n2\n2 1 1\n1 2 1\n"}, 2, "docword.x:5: documents must be in ascending order"),
    (["import", "docword.x", "-o", "c"], {"docword.x": UCI.replace("\n2\n1", "\n3\n1")}, 2, "2 entries, but the head of the file says 3"),
    (["import", "docword.x", "-o", "c"], {"docword.x": UCI, "vocab.x": "a\n"}, 2, "vocab.x: 1 words, but docword.x says 2"),
    (["import", "docword.x", "-o", "c"], {"docword.x": UCI, "vocab.x": "a\na\n"}, 2, "vocab.x:2: the word 'a' is there twice"),
    (["import", "docword.x", "-o", "c", "--vocab", "v"], {"docword.x": UCI}, 2, "v: cannot be read"),
    (["import", "a.ldac", "-o", "c"], {"a.ldac": "1 0:1\n2 0:1\n"}, 2, "a.ldac:2: says 2 words, but has 1"),
    (["import", "a.ldac", "-o", "c"], {"a.ldac": "1 0:-1\n"}, 2, "a.ldac:1: 'N word:count word:count …' was expected"),
    (["import", "a.ldac", "-o", "c"], {"a.ldac": "1 2:1\n", "a.vocab": "x\ny\n"}, 2, "a.ldac:1: word 2 is not from 0 to 1"),
    (["import", "a.ldac", "-o", "c"], {"a.ldac": "1 99999999999:1\n"}, 2, "a.ldac:1: word 99999999999 is not at least 0"),
    (["import", "a.ldac", "-o", "c"], {"a.ldac": "1 0:99999999999999999999\n"}, 2, "a.ldac:1: a number is too large"),
    (["import", "a.svm", "-o", "c"], {"a.svm": "1 1:1\n1 2:x\n"}, 2, "a.svm:2: 'word:count' was expected, not '2:x'"),
    (["import", "a.svm", "-o", "c"], {"a.svm": "1 1:0.5\n"}, 2, "a.svm:1: the count in '1:0.5' is not a whole number"),
    (["import", "a.svm", "-o", "c"], {"a.svm": "1 1:-2\n"}, 2, "a.svm:1: the count in '1:-2' is negative"),
    (["import", "a.svm", "-o", "c"], {"a.svm": "3 1:2\n", "a.svm.labels": "x\n"}, 2, "a.svm:1: the label '3' is not a number from 0 to 1"),
    (["import", "a.svm", "-o", "c", "--label-names", "none"], {"a.svm": "3 1:2\n"}, 2, "none: cannot be read"),
    (["import", "a.arff", "-o", "c"], {"a.arff": "@relation x\n@attribute a string\n@data\n'b'\n"}, 2, "a.arff: the attribute 'a' is a text"),
    (["import", "a.arff", "-o", "c"], {"a.arff": "@relation x\n@attribute a date\n"}, 2, "a.arff:2: the attribute 'a' has the type 'date'"),
    (["import", "a.arff", "-o", "c"], {"a.arff": ARFF + "{2 1}\n"}, 2, "a.arff:5: there is no attribute 2"),
    (["import", "a.arff", "-o", "c"], {"a.arff": ARFF + "1\n"}, 2, "a.arff:5: 1 values, but there are 2 attributes"),
    (["import", "a.arff", "-o", "c"], {"a.arff": ARFF + "{0 0.5}\n"}, 2, "a.arff:5: the value '0.5' is not a count"),
    (["import", "a.arff", "-o", "c"], {"a.arff": ARFF + "{0 1\n"}, 2, "a.arff:5: a row that begins with a brace"),
    (["import", "a.arff", "-o", "c"], {"a.arff": ARFF + "{x}\n"}, 2, "a.arff:5: 'ATTRIBUTE VALUE, …' was expected, not 'x'"),
    (["import", "a.arff", "-o", "c"], {"a.arff": ARFF, "a.xml": "<a"}, 2, "a.xml: is not readable XML"),
    (["import", "a.arff", "-o", "c"], {"a.arff": ARFF, "a.xml": "<a><label name='z'/></a>"}, 2, "a.xml: the label 'z' is no attribute"),
    (["import", "a.arff", "-o", "c"], {"a.arff": ARFF, "a.xml": "<a><label/></a>"}, 2, "a.xml: has no labels, or one without a name"),
    (["import", "a.arff", "-o", "c"], {"a.arff": "@relation x\n"}, 2, "a.arff: has no line '@data'"),
    (["import", "a.svm", "-o", "c"], {"a.svm": "1 0:2\n"}, 2, "a.svm:1: word 0 is not at least 1"),
    (["split", "a.txt", "-o", "p"], OK, 2, "the part 'test' would have no document of 1"),
    (["split", "a.txt", "-o", "p", "--input-format", "corpus"], OK, 2, "a.txt: not a topicx file"),
    (["split", "x", "-o", "p", "--fractions", "0.9,0.2"], OK, 2, "--fractions sum to 1.1"),
    (["split", "x", "-o", "p", "--fractions", "0.9,zero"], OK, 2, "--fractions"),
    (["split", "x", "-o", "p", "--fractions", "1.5"], OK, 2, "--fractions: 1.5 is not above 0 and at most 1"),
    (["split", "x", "-o", "p", "--names", "a"], OK, 2, "1 names for 2 parts"),
    (["split", "x", "-o", "p", "--names", "a,a"], OK, 2, "names must differ"),
    (["split", "x", "-o", "p", "--ids", "f", "--stratify"], OK, 2, "--ids cannot go with"),
    (["prune", "none", "-o", "c"], {}, 2, "none: cannot be read"),
    (["prune", "x", "-o", "c", "--words", "none"], {}, 2, "none: cannot be read"),
    (["info"], {}, 2, "Missing argument 'FILE...'"),
    (["info", "none"], {}, 2, "none: cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize("args, contents, status, words", BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_input(args: list[str], contents: dict[str, str | bytes], status: int, words: str, run: Run) -> None:
    for name, content in contents.items():
        write(name, content)
    before = sorted(Path().rglob("*"))
    found, out, err = run(*args)
    message = err.splitlines()[-1]
    assert found == status and words in message, err
    assert message.startswith("topicx: ") and out == ""
    assert sorted(Path().rglob("*")) == before, "something was left behind"


def test_a_damaged_corpus_is_reported(run: Run) -> None:
    write("a.txt", "some words here\n")
    assert run("import", "a.txt", "-o", "c")[0] == 0
    data = Path("c").read_bytes()
    Path("c").write_bytes(data[:-3] + b"\xff" + data[-2:])
    for args in (("info", "c"), ("prune", "c", "-o", "d"), ("import", "a.txt", "-o", "d", "--like", "c")):
        status, _, err = run(*args)
        assert status == 2 and "damaged" in err and "Traceback" not in err


def test_encoding_errors_replace(run: Run) -> None:
    write("a.txt", b"na\xefve words\n")
    assert run("import", "a.txt", "-o", "c", "--encoding-errors", "replace")[0] == 0
    assert words_of(corpus_of()) == [["na", "ve", "words"]]


def test_a_topicx_file_is_no_text(run: Run) -> None:
    write("a.txt", "some words here\n")
    assert run("import", "a.txt", "-o", "c")[0] == 0
    status, _, err = run("import", "c", "-o", "d")
    assert status == 2 and "c: is a topicx file already" in err


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while it waits for input: 130, one line, and nothing left behind."""
    process = subprocess.Popen(
        [sys.executable, "-m", "topicx", "import", "-", "-o", "c", "--format", "text"], cwd=tmp_path,
        stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        # A shell's background job ignores the signal, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdin is not None and process.stderr is not None
    process.stdin.write(b"some words\n" * 1000)
    process.stdin.flush()
    assert b"read as text" in process.stderr.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130 and err.decode().strip() == "topicx: interrupted"
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words\n" * 20_000)
    command = f"export PYTHONDONTWRITEBYTECODE=1; ulimit -f 100; exec {sys.executable} -m topicx import a.txt -o c"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1, done.stderr
    assert done.stderr.splitlines()[-1].startswith("topicx: ") and "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
