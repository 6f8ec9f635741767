"""θ in a folder of files (`infer -o NAME/`): the rows of one file, and a folder that appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

import topicx
from tests.conftest import lda_corpus, run_topicx


@pytest.fixture
def made(tmp_path: Path) -> Path:
    corpus = lda_corpus(95)
    corpus.save(tmp_path / "new.corpus")
    topicx.LDA(topics=3, iterations=3, verbose=False).fit(corpus).model.save(tmp_path / "lda.model")
    return tmp_path


CALL = "infer", "lda.model", "new.corpus", "-q"


@pytest.mark.parametrize("size, files", [(20, 5), (19, 5), (95, 1), (1000, 1)])
def test_the_parts_are_one_table(size: int, files: int, made: Path) -> None:
    assert run_topicx(*CALL, "-o", "parts/", "--part-size", size, cwd=made).returncode == 0
    assert run_topicx(*CALL, "-o", "one.tsv", cwd=made).returncode == 0
    parts = [path.read_text().splitlines() for path in sorted((made / "parts").iterdir())]
    one = (made / "one.tsv").read_text().splitlines()
    assert len(parts) == files and all(len(part) <= size + 1 for part in parts)
    assert all(part[0] == one[0] for part in parts)
    assert [line for part in parts for line in part[1:]] == one[1:]


def test_the_names_tell_the_format(made: Path) -> None:
    assert run_topicx(*CALL, "-o", "parts/", "--format", "jsonl", "--top", 1, cwd=made).returncode == 0
    assert [path.name for path in (made / "parts").iterdir()] == ["part-00000.jsonl"]


@pytest.mark.parametrize("more, message", [
    (("-o", "full/"), "full/: has files in it"),
    (("-o", "new.corpus/"), "new.corpus/: is a file"),
    (("-o", "nowhere/parts/"), "does not exist"),
    (("-o", "x.tsv", "--part-size", "3"), "--part-size: is for an output that is a folder"),
])  # fmt: skip
def test_what_is_no_folder_for_parts(more: tuple[str, ...], message: str, made: Path) -> None:
    (made / "full").mkdir()
    (made / "full" / "a").write_text("")
    done = run_topicx(*CALL, *more, cwd=made)
    assert done.returncode == 2 and message in done.stderr and len(done.stderr.splitlines()) == 1


def test_nothing_is_left_of_a_folder_that_is_not_whole(made: Path) -> None:
    (made / "texts.jsonl").write_text('{"text": "w001 w002"}\n' * 30 + "{broken\n")
    before = sorted(path.name for path in made.iterdir())
    done = run_topicx("infer", "lda.model", "texts.jsonl", "-q", "-o", "parts/", "--part-size", 10,
                      "--input-format", "jsonl", cwd=made)  # fmt: skip
    assert done.returncode == 2 and "texts.jsonl:31" in done.stderr
    assert sorted(path.name for path in made.iterdir()) == before
