"""Reports of models that know more of their topics than words and shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import run_topicx
from tests.report.reading_pages import page_of
from topicx.model import Model
from topicx.state import State

MODELS = {
    "keyword": "--keywords my.keywords --residual 2",
    "dmr": "-k 4 --formula ~collection",
    "medlda": "-k 4 --target collection --alpha-sum 4",
    "mixture": "-k 8",
    "slices": "-k 4 --across collection",
    "labeled": "",
    "hdp": "",
}


def trained(made: Path, tmp_path: Path, kind: str) -> tuple[Model, State]:
    (tmp_path / "my.keywords").write_text("garden: garden, soil, compost\nmoney: bank, interest, rates\n")
    line = f"train {made}/texts.corpus --model {kind} {MODELS[kind]} --iterations 4 -o m.model --state m.state -q"
    done = run_topicx(*line.split(), "--threads", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return Model.load(tmp_path / "m.model"), State.load(tmp_path / "m.state")


@pytest.mark.parametrize("kind", MODELS)
def test_what_a_model_knows_of_its_topics(made: Path, tmp_path: Path, kind: str) -> None:
    model, state = trained(made, tmp_path, kind)
    page = page_of(model, state=state, by="collection")
    tables, by = page.facts["tables"], page.facts["by"][0]
    if kind == "keyword":
        assert page.facts["names"][:2] == ["garden", "money"]
        assert tables[0]["title"] == "Its keywords" and tables[0]["rows"][1][0][0] == "bank, interest, rates"
        assert tables[0]["rows"][2] == []
    elif kind == "dmr":
        assert [row[0] for row in tables[0]["rows"][0]] == [
            "Intercept", "collection[T.letters]", "collection[T.reports]",
        ]  # fmt: skip
        assert tables[0]["rows"][3][1][1] == pytest.approx(model.side["coefficients"][3, 1], abs=1e-4)
    elif kind == "medlda":
        assert [row[0] for row in tables[0]["rows"][2]] == ["columns", "letters", "reports"]
        assert tables[0]["rows"][2][0][1] == pytest.approx(model.side["eta"][2, 0], abs=1e-4)
    elif kind == "slices":
        assert tables[0]["title"] == "Its words, slice by slice"
        assert len(tables[0]["rows"][1]) == 4 and len(tables[0]["rows"][1][2][1].split()) == 8
    else:
        assert tables == []
    if kind in ("mixture", "labeled", "slices"):
        assert by["way"] == "plug-in" and by["note"].startswith(
            "Each document is read" if kind == "slices" else "Each document has"
        )
    else:
        assert (by["way"], by["note"]) == ("effects", "")
    assert page.head["documents"] == 440 and page.text.count("<tr data-topic=") == model.n_topics
