"""A corpus, a model and a state that tests of reports share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import run_topicx
from topicx.model import Model
from topicx.state import State


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    for line in (
        "datasets texts -o texts.tsv -q",
        "import texts.tsv -o texts.corpus --time-field year --remove-stopwords --snippet 5000 -q",
        "train texts.corpus -k 6 --iterations 60 -o texts.model --state texts.state --doc-topics theta.tsv -q",
    ):
        done = run_topicx(*line.split(), cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def model(made: Path) -> Model:
    return Model.load(made / "texts.model")


@pytest.fixture(scope="session")
def state(made: Path) -> State:
    return State.load(made / "texts.state")
