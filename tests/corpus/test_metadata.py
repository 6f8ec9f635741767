"""What documents carry (label, collection, time, kept columns) stands beside their topics, in every output."""

from __future__ import annotations

import csv
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.corpus.test_import_command import Run, run  # noqa: F401
from topicx import Corpus, Model, State
from topicx.cli import main
from topicx.corpus.formats import input_bytes
from topicx.corpus.table import Labels, Names, Numbers, Table, Texts, Times
from topicx.errors import InputError
from topicx.model import Model as ModelClass
from topicx.predict.documents import CorpusSource, StoredSource
from topicx.predict.inference import Inference
from topicx.strings import Strings
from topicx.tables.theta_writers import columns_with_free_names
from topicx.views.example_columns import carried_by_examples

WORDS = ["apples pears fruit trees autumn", "court judge law ruled void"]
ROWS: list[dict[str, Any]] = [
    {"id": "a", "label": "fruit, ripe", "collection": "x", "time": "1987-03-05", "rating": 4, "author": 'Ann, "B"'},
    {"id": "b", "label": ["law", "court"], "collection": "y", "time": "1988-12-31T06:00:00", "rating": 12345678.5},
    {"id": "c", "time": "1989-01", "author": "tab\there", "tokens": "own"},
    {"id": "d", "label": "law", "collection": "y", "author": "Ede"},
]
KEPT = ["--column", "rating", "--column", "author", "--column", "tokens"]
EXPECTED: list[dict[str, Any]] = [
    {"label": ["fruit, ripe"], "collection": "x", "time": "1987-03-05", "author": 'Ann, "B"', "rating": 4,
     "corpus_tokens": None},
    {"label": ["law", "court"], "collection": "y", "time": "1988-12-31T06:00:00", "author": None,
     "rating": 12345678.5, "corpus_tokens": None},
    {"label": [], "collection": None, "time": "1989-01-01", "author": "tab\there", "rating": None,
     "corpus_tokens": "own"},
    {"label": ["law"], "collection": "y", "time": None, "author": "Ede", "rating": None, "corpus_tokens": None},
]  # fmt: skip


@pytest.fixture
def made(run: Run) -> Run:  # noqa: F811
    with Path("a.jsonl").open("w", encoding="utf-8") as out:
        for number, row in enumerate(ROWS):
            out.write(json.dumps(row | {"text": f"{WORDS[number % 2]} {WORDS[number % 2]}"}) + "\n")
    assert run("import", "a.jsonl", "-o", "c", *KEPT, "--keep-stopwords")[0] == 0
    train = ("train", "c", "-k", "2", "--iterations", "6", "-o", "m", "--state", "s")
    assert run(*train, "--doc-topics", "theta.jsonl")[0] == 0
    return run


def as_jsonl(name: str) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
    return [{key: row[key] for key in row if key not in ("id", "tokens", "unknown", "theta")} for row in rows]


def in_a_table(value: Any) -> str:
    """A value as it stands in a table of text."""
    if isinstance(value, list):
        return ",".join(value)
    return "" if value is None else str(value).replace("\t", " ")


def test_training_and_estimates_say_what_documents_carry(made: Run) -> None:
    assert as_jsonl("theta.jsonl") == EXPECTED
    assert made("estimate", "s", "-o", "n", "--doc-topics", "again.jsonl", "-q")[0] == 0
    assert as_jsonl("again.jsonl") == EXPECTED
    # ... also those that a checkpoint has kept, without the corpus
    train = ("train", "c", "-k", "2", "--iterations", "4", "-o", "m", "--checkpoint", "p", "--checkpoint-interval", "4")
    assert made(*train)[0] == 0
    Path("c").unlink()
    assert made("train", "--resume", "p", "--iterations", "6", "-o", "m", "--doc-topics", "resumed.jsonl")[0] == 0
    assert as_jsonl("resumed.jsonl") == EXPECTED


@pytest.mark.parametrize("source", ["corpus", "texts"])
@pytest.mark.parametrize("form", ["tsv", "csv", "jsonl", "npz", "parquet"])
def test_inference_says_what_documents_carry(form: str, source: str, made: Run) -> None:
    given = ["c"] if source == "corpus" else ["a.jsonl", *KEPT]
    status, _, err = made("infer", "m", *given, "-o", f"t.{form}", "-q")
    assert status == 0, err
    names = list(EXPECTED[0])
    if form == "jsonl":
        assert as_jsonl("t.jsonl") == EXPECTED
    elif form in ("tsv", "csv"):
        with Path(f"t.{form}").open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="," if form == "csv" else "\t", quoting=csv.QUOTE_MINIMAL
                                   if form == "csv" else csv.QUOTE_NONE))  # fmt: skip
        assert rows[0] == ["id", "tokens", "unknown", *names, "topic_0", "topic_1"]
        assert [row[3:-2] for row in rows[1:]] == [[in_a_table(row[name]) for name in names] for row in EXPECTED]
        assert all(abs(float(row[-1]) + float(row[-2]) - 1) < 1e-6 for row in rows[1:])
    elif form == "npz":
        found = np.load("t.npz")
        assert found["label"].tolist() == ["fruit, ripe", "law,court", "", "law"]
        assert found["rating"].tolist()[:2] == [4, 12345678.5] and np.isnan(found["rating"][2])
    else:
        table = pytest.importorskip("pyarrow.parquet").read_table("t.parquet")
        assert table.select(names).to_pylist() == EXPECTED
        assert str(table.schema.field("label").type).startswith("list<")
        assert str(table.schema.field("rating").type) == "double"


def test_columns_are_chosen_or_left_out(made: Run) -> None:
    def header(*options: str) -> list[str]:
        status, out, err = made("infer", "m", "c", "-q", *options)
        assert status == 0, err
        return out.splitlines()[0].split("\t")[3:-2]

    assert header("--metadata", "none") == []
    assert header("--metadata", "time,label") == ["time", "label"]
    assert header("--metadata", "snippet") == ["snippet"]
    assert header("--top", "1") == list(EXPECTED[0])[:-1]  # one column stands for the shares
    status, _, err = made("infer", "m", "c", "--metadata", "year")
    assert status == 2 and "--metadata: the documents do not carry 'year'; they carry label, collection, time" in err
    train = ("train", "c", "-k", "2", "--iterations", "2", "-o", "m2")
    assert made(*train, "--metadata", "none")[0] == 2  # without --doc-topics
    assert made(*train, "--metadata", "x", "--doc-topics", "t.tsv")[0] == 2 and not Path("m2").exists()
    assert made(*train, "--metadata", "rating", "--doc-topics", "t.csv")[0] == 0
    assert Path("t.csv").read_text().splitlines()[0] == "id,tokens,unknown,rating,topic_0,topic_1"


def test_several_corpora_of_which_one_knows_less(made: Run) -> None:
    Path("b.txt").write_text("apples law fruit\n")
    assert made("import", "b.txt", "--format", "text", "-o", "b", "--keep-stopwords")[0] == 0
    status, out, _ = made("infer", "m", "b", "c", "--metadata", "label,rating", "-q")
    rows = [line.split("\t") for line in out.splitlines()]
    assert status == 0 and rows[0][3:5] == ["label", "rating"]
    assert [row[3:5] for row in rows[1:3]] == [["", ""], ["fruit, ripe", "4"]]


def test_texts_that_are_unlike_their_beginning(made: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": str(i), "text": "fruit", "n": i, "time": 1990} for i in range(3000)]
    rows += [{"id": "x", "text": "law", "n": 1, "time": "never"} for _ in range(3000)]
    Path("b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, out, err = made("infer", "m", "b.jsonl", "--column", "n", "-q")
    assert status == 0 and out.splitlines()[-1].split("\t")[3:5] == ["", "1"], err
    rows[-1]["n"] = "many"

    monkeypatch.setattr(input_bytes, "BLOCK", 1 << 12)
    Path("b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    status, _, err = made("infer", "m", "b.jsonl", "--column", "n", "-q", "-o", "t.tsv")
    assert status == 2 and "b.jsonl:6000: the column 'n' has 'many', after numbers alone" in err
    assert not Path("t.tsv").exists()


def test_chunks_joined_keep_what_their_text_carries(made: Run) -> None:
    status, out, err = made("infer", "m", "a.jsonl", "--chunk", "4", "--join-chunks", *KEPT, "-q", "--format", "jsonl")
    assert status == 0, err
    Path("joined.jsonl").write_text(out)
    assert as_jsonl("joined.jsonl") == EXPECTED  # and not the columns `document` and `chunk`


def test_typical_documents_carry_theirs(made: Run) -> None:
    _, out, _ = made("topics", "m", "-d", "4", "--json")
    found = {each["id"]: each["metadata"] for topic in json.loads(out) for each in topic["documents"]}
    present = [{k.removeprefix("corpus_"): v for k, v in row.items() if v not in (None, [])} for row in EXPECTED]
    assert found == dict(zip("abcd", present, strict=True))
    _, out, _ = made("topics", "m", "-d", "4")
    assert "[label law, court; collection y; time 1988-12-31T06:00:00; rating 12345678.5]  court judge" in out
    _, out, _ = made("topics", "m", "-d", "4", "--metadata", "time")
    assert "[time 1987-03-05]" in out and "label" not in out
    assert "[" not in made("topics", "m", "-d", "4", "--metadata", "none")[1]
    assert made("topics", "m", "-d", "4", "--metadata", "nothing")[0] == 2


def test_damaged_examples_are_refused(made: Run) -> None:
    model = Model.load("m")
    number = len(model.example_ids)
    model.example_columns = Table.of_objects(Strings.of(["[1"] * number))
    with pytest.raises(InputError, match="damaged"):
        carried_by_examples(model)
    model.example_columns = Table.of_objects(Strings.of(['{"a": 1}', '{"a": "b"}'] * number))
    with pytest.raises(InputError, match="several kinds"):
        carried_by_examples(model)


def test_typical_documents_carry_typed_columns(made: Run) -> None:
    model = Model.load("m")
    kinds = {name: type(column) for name, column in model.example_columns.items()}
    assert kinds == {
        "label": Labels,
        "collection": Names,
        "time": Times,
        "author": Texts,
        "rating": Numbers,
        "tokens": Texts,
    }
    assert pickle.loads(pickle.dumps(model)) == model
    model.save("m2")
    assert Path("m2").read_bytes() == Path("m").read_bytes()  # the same texts again


def test_python_keeps_them_too(made: Run) -> None:
    corpus, model = Corpus.load("c"), Model.load("m")
    frame = model.infer(corpus).to_dataframe()
    assert list(frame.columns)[:8] == ["id", "label", "collection", "time", "author", "rating", "tokens", "main_topic"]
    assert State.load("s").table == corpus.table
    assert isinstance(model, ModelClass)


def test_parts_of_a_corpus_and_of_its_file(made: Run) -> None:
    from topicx.corpus.corpus_on_disk import StoredCorpus

    corpus = Corpus.load("c")
    with StoredCorpus.open("c") as stored:
        for first, last in ((0, 4), (1, 3), (2, 2), (3, 4)):
            mine, theirs = corpus.table.part(first, last), stored.table(first, last)
            assert list(mine) == list(theirs)
            assert [mine.told(name) for name in mine] == [theirs.told(name) for name in theirs]
            assert last == first or mine == theirs
        assert stored.kinds() == corpus.table.kinds()
        sources = (CorpusSource(corpus), StoredSource(stored))
        inference = Inference(Model.load("m"), threads=1)
        for source in sources:
            (part,) = inference.documents(source, ["rating", "nothing"])
            assert list(part.carried) == ["rating"] and part.told("rating") == [4, 12345678.5, None, None]
            assert part.told("nothing") == [None] * 4


def test_names_that_a_table_has_for_something_else() -> None:
    assert columns_with_free_names({"theta": str, "topic_1": str, "topic_9": str, "class": str}, 3, (), ["class"]) == {
        "corpus_theta": str, "corpus_topic_1": str, "topic_9": str, "corpus_class": str
    }  # fmt: skip


def test_info_tells_times_as_they_were_given(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Dates as dates, years as numbers."""
    for times, told in ((["2020-01-05", "2021-03-01"], ["2020-01-05", "2021-03-01"]), (["1850", "1900"], [1850, 1900])):
        rows = [json.dumps({"text": f"some words {i}", "time": time}) for i, time in enumerate(times)]
        (tmp_path / "d.jsonl").write_text("\n".join(rows))
        for call in (["import", str(tmp_path / "d.jsonl"), "-q"], ["info", str(tmp_path / "c"), "--json"]):
            with pytest.raises(SystemExit) as stop:
                main([*call, *(["-o", str(tmp_path / "c")] if call[0] == "import" else [])])
            assert not stop.value.code
        about = json.loads(capfd.readouterr().out)["corpus"]["time"]
        assert [about["first"], about["last"]] == told
