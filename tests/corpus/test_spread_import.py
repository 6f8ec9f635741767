"""Import by places that share files alone: the same bytes as by one process."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import run_topicx
from topicx.corpus.build.corpus_builder import Builder, BuildOptions
from topicx.corpus.formats.document_reader import DocumentReader, ReadOptions
from topicx.corpus.formats.input_bytes import Faults
from topicx.corpus.text.bigrams import BigramOptions
from topicx.corpus.text.tokenizer import Tokenizer
from topicx.engines.places import OnePlace
from topicx.errors import InputError

WORDS = [
    "the",
    "of",
    "and",
    "river",
    "stone",
    "bird",
    "water",
    "a",
    "12",
    "mountain",
    "light",
    "ölberg",
    "snow",
    "wind",
    "in",
    "to",
]


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Inputs of several formats, with words that come up late, and what documents have."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")  # files tell when they were made
    folder = tmp_path / "lake"
    folder.mkdir()
    for number in range(4):
        texts = [" ".join(WORDS[(number + d * k) % len(WORDS)] for k in range(3 + d % 40)) for d in range(30)]
        rows = [{"id": f"{number}.{d}", "text": text, "label": "ab"[d % 2], "time": 1990 + d, "size": d}
                for d, text in enumerate(texts)]  # fmt: skip
        with gzip.open(folder / f"{number}.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(row) + "\n" for row in rows)
        (folder / f"{number}.tsv").write_text("id\ttext\n" + "".join(f"{d}\t{t}\n" for d, t in enumerate(texts)))
        for d, text in enumerate(texts[:9]):
            place = folder / "plain" / "xy"[d % 2]
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{number}{d}.txt").write_text(text + "\n \nlate" + str(number))
    (folder / "counts.ldac").write_text("2 0:3 1:1\n1 2:2\n")
    return folder


def imported(out: Path, inputs: list[Path], places: OnePlace | None, how: dict[str, Any], build: dict[str, Any]) -> Any:
    said: list[str] = []
    faults = Faults(how.pop("policy", "stop"))
    reader = DocumentReader([str(path) for path in inputs], ReadOptions(**how, faults=faults), said.append)
    with Builder(Tokenizer(), BuildOptions(**build), faults=faults) as builder:
        added = builder.add_all(reader, 2) if places is None else builder.add_inputs(reader, places, 2)
        documents = sum(len(batch) for batch in added)
        builder.save(out)
    return out.read_bytes(), documents, said, faults, reader.consumed, reader.formats


CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "json": ("*.jsonl.gz", {"columns": ("size",)}, {"find_stopwords": True}),
    "tables": ("*.tsv", {}, {"min_count": 3, "snippet": 0}),
    "bigrams": ("*.jsonl.gz", {}, {"bigrams": BigramOptions(2, 0.0)}),
    "files": ("plain/*/*.txt", {}, {"drop_empty": True}),
    "folder": ("plain", {}, {}),
    "chunks": ("*.jsonl.gz", {"chunk": 5}, {"snippet": 10}),
    "mixed": ("[0c]*", {}, {}),
}


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_are_those_of_one_process(
    name: str, lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topicx.corpus.formats.document_reader.FILES_A_PIECE", 5)
    pattern, how, build = CASES[name]
    inputs = sorted(lake.glob(pattern))
    places = OnePlace(tmp_path)
    here = imported(tmp_path / "a", inputs, None, dict(how), build)
    there = imported(tmp_path / "b", inputs, places, dict(how), build)
    assert here == there
    assert places.tasks == (8 if name == "files" else len(inputs))


def test_faults_are_counted(lake: Path, tmp_path: Path) -> None:
    for number in (1, 3):
        with gzip.open(lake / f"{number}.jsonl.gz", "at") as out:
            out.write("{broken\n" * 4)
    inputs = sorted(lake.glob("*.jsonl.gz"))
    here, there = (
        imported(tmp_path / "c", inputs, places, {"policy": "skip"}, {}) for places in (None, OnePlace(tmp_path))
    )
    assert here == there and here[3].skipped == 8 and len(here[3].first) == 5
    with pytest.raises(InputError, match=r"1\.jsonl\.gz:31"):
        imported(tmp_path / "c", inputs, OnePlace(tmp_path), {}, {})


@pytest.mark.parametrize("more, message", [
    (("-",), "only files and folders are read by several machines"),
    (("a.txt", "--like", "x.corpus"), "--cluster: cannot go with --like"),
])  # fmt: skip
def test_what_one_machine_reads(more: tuple[str, ...], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some words\n")
    assert run_topicx("import", "a.txt", "-o", "x.corpus", "-q", cwd=tmp_path).returncode == 0
    done = run_topicx("import", *more, "-o", "y.corpus", "--cluster", "local:1", cwd=tmp_path, input="a b\n")
    assert done.returncode == 2 and message in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "x.corpus"]
