"""The recipes of the page `beyond-one-machine`: what runs in Spark, and jobs that share files alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import topicx
from tests.conftest import lda_corpus, run_topicx
from tests.places import ROOT

PAGE = (ROOT / "docs/how-to/beyond-one-machine.md").read_text(encoding="utf-8")


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The functions of the page's last Python block, in a folder with the model of which it speaks."""
    monkeypatch.chdir(tmp_path)
    topicx.LDA(topics=3, iterations=5, verbose=False).fit(lda_corpus()).model.save("news.model")
    names: dict[str, Any] = {"topicx": topicx}
    exec(re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)[-1], names)
    return names


TEXTS = ["w001 w002 w003", "w004 w004", "", "nothing known"]


def expected() -> list[list[float]]:
    predictor = topicx.Model.load("news.model").predictor(threads=1)
    return [predictor.one(text).theta[0].tolist() for text in TEXTS]


def test_arrow_batches(recipe: dict[str, Any]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    batches = [pyarrow.record_batch({"text": TEXTS[:3]}), pyarrow.record_batch({"text": TEXTS[3:]})]
    found = [row for batch in recipe["infer_batches"](batches) for row in batch.to_pylist()]
    assert [row["text"] for row in found] == TEXTS
    assert [row["theta"] for row in found] == expected()


@pytest.mark.filterwarnings("ignore")  # of Spark: versions that it has not been tried with
def test_a_spark_frame(recipe: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        frame = spark.createDataFrame([(text,) for text in TEXTS], "text string").repartition(2)
        found = {row.text: list(row.theta) for row in recipe["infer_frame"](frame).collect()}
    finally:
        spark.stop()
    assert found == dict(zip(TEXTS, expected()))


def test_jobs_that_share_files_alone(tmp_path: Path) -> None:
    """The shell of the page, job after job as an array has them, and the parts that they leave."""
    lda_corpus().save(tmp_path / "news.corpus")
    (tmp_path / "lake").mkdir()
    (tmp_path / "parts").mkdir()
    for part in range(2):
        (tmp_path / "lake" / f"{part}.txt").write_text("w001 w002\nw003 w004\n")
    array, indexed = re.findall(r"(?ms)^```sh\n(.*?)^```$", PAGE)
    for number in (1, 2):
        call = array.replace("-k 100", "-k 3 --iterations 4 -q").replace("topicx", "python -m topicx")
        environment = {"SLURM_ARRAY_TASK_ID": str(number)}
        assert run_shell(call, tmp_path, environment) == 0
    indexed = indexed.replace("news.model", "chain.1.model").replace(".txt.gz", ".txt").replace("parquet", "tsv")
    for index in range(2):
        call = indexed.replace("topicx", "python -m topicx")
        assert run_shell(call, tmp_path, {"JOB_COMPLETION_INDEX": str(index)}) == 0
    one = topicx.Model.load(tmp_path / "chain.1.model")
    assert one != topicx.Model.load(tmp_path / "chain.2.model")
    alike = [(tmp_path / "parts" / f"{index}.tsv").read_text() for index in range(2)]
    assert len(alike[0].splitlines()) == 3
    assert run_topicx("info", tmp_path / "chain.2.model").returncode == 0


def run_shell(text: str, folder: Path, environment: dict[str, str]) -> int:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-ec", text], cwd=folder, env=os.environ | environment | {"PATH": path},
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    print(done.stderr)
    return done.returncode
