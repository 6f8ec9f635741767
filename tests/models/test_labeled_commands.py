"""Models of labels on the command line: every option, averages that go on, mistakes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.models.test_labeled import MODELS, tagged
from topicx.cli import main
from topicx.model import Model


@dataclass
class Ended:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def topicx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        told = capsys.readouterr()
        return Ended(int(ended.value.code or 0), told.out, told.err)

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    both = tagged(260)
    lines = [f"{both.ids[d]}\t{','.join(both.labels(d)) or '-'}\t{' '.join(both.document(d))}\n" for d in range(260)]
    (tmp_path / "train.tsv").write_text("".join(lines[:200]), encoding="utf-8")
    (tmp_path / "test.tsv").write_text("".join(lines[200:]), encoding="utf-8")
    return tmp_path


def test_the_command_line(folder: Path, topicx: Any) -> None:
    assert topicx("import", "train.tsv", "-o", "train.corpus").returncode == 0
    assert topicx("import", "test.tsv", "--like", "train.corpus", "-o", "test.corpus").returncode == 0
    for model in MODELS:
        more = ["--label-topics", "4", "--label-sweeps", "30"] if model == "dependency" else []
        sampling = ["--iterations", "30", "--chains", "2", "--samples", "3", "--lag", "2"]
        files = ["train.corpus", "-o", f"{model}.model", "--state", f"{model}.state"]
        run = topicx("train", "--model", model, *files, *sampling, *more)
        assert run.returncode == 0, run.stderr
        assert "labels on" in run.stderr and "of 2 chains" in run.stderr
    run = topicx("infer", "prior.model", "test.corpus", "--ranking", "3")
    head, *rows = run.stdout.splitlines()
    assert head.split("\t") == ["id", "tokens", "unknown", "label", "labels", "ranking"]
    assert len(rows) == 60
    assert rows[0].split("\t")[5].count(":") == 3
    run = topicx("infer", "prior.model", "test.tsv", "--format", "jsonl", "--top", "2", "--ranking", "4")
    row = json.loads(run.stdout.splitlines()[0])
    assert len(row["labels"]) == 2
    assert row["labels"] == [name for name, _ in row["ranking"][:2]]
    run = topicx("infer", "prior.model", "test.corpus", "--what", "topics", "--metadata", "none")
    assert run.stdout.splitlines()[0].split("\t")[3] == "label 0"
    for ending in ("npz", "parquet"):
        assert topicx("infer", "prior.model", "test.corpus", "-o", f"out.{ending}", "--top", "2", "-q").returncode == 0
    arrays = np.load("out.npz")
    assert arrays["names"][arrays["topics"][0]] == arrays["labels"][0].split(",")[0]
    pandas = pytest.importorskip("pandas")
    table = pandas.read_parquet("out.parquet")
    assert list(table["ranking"][0][:2]) == list(table["labels"][0])
    run = topicx("estimate", "prior.state", "-o", "again.model", "--doc-topics", "theta.tsv", "--metadata", "none")
    assert Path("theta.tsv").read_text(encoding="utf-8").split("\t")[3] == "label 0"
    run = topicx("evaluate", "dependency.model", "test.corpus", "-m", "labels", "--compare", "prior.model", "--json")
    result = json.loads(run.stdout)["labels"]
    assert set(result["z_test"]) == {"micro_f1", "macro_f1", "example_f1"}
    assert result["micro_f1"] > 0.4
    assert "micro F1" in topicx("evaluate", "prior.model", "test.corpus", "-m", "labels").stdout
    assert topicx("topics", "prior.model").stdout.splitlines()[0].startswith("label 0")
    assert len(topicx("topics", "dependency.model", "--label-topics", "-n", "3").stdout.splitlines()) == 4
    run = topicx("estimate", "prior.state", "-o", "again.model")
    assert run.returncode == 0, run.stderr
    assert topicx("topics", "again.model").stdout.splitlines()[0].startswith("label 0")
    assert topicx("evaluate", "again.model", "test.corpus", "-m", "labels").returncode == 0


OPTIONS = (
    ("train --model prior train.corpus -o out -q --iterations 5", "--background 1"),
    ("train --model labeled train.corpus -o out -q --iterations 5", "--topics-per-label 2"),
    ("train --model prior train.corpus -o out -q --iterations 5", "--label-weight 5"),
    ("train --model prior train.corpus -o out -q --iterations 5", "--label-smoothing 2"),
    ("train --model dependency train.corpus -o out -q --iterations 5 --label-sweeps 9", "--label-topics 3"),
    ("train --model dependency train.corpus -o out -q --iterations 5 --label-sweeps 9", "--label-sweeps 8"),
    ("train --model prior train.corpus -o out -q --iterations 5", "--chains 2"),
    ("train --model prior train.corpus -o out -q --iterations 5", "--sampler labeled-cvb0"),
    ("infer prior.model test.corpus", "--ranking 4"),
    ("infer prior.model test.corpus", "--score theta"),
    ("infer prior.model test.corpus", "--top 1"),
    ("infer prior.model test.corpus", "--threshold 0.2"),
    ("infer prior.model test.corpus", "--theta cvb0"),
    ("infer prior.model test.corpus", "--what topics"),
    ("infer one.model test.corpus --burn-in 1 --samples 1", "--rounds"),  # one.model: --rounds 1
    ("evaluate prior.model test.corpus -m labels", "--score theta"),
    ("evaluate prior.model test.corpus -m labels", "--threshold 0.4"),
    ("evaluate prior.model test.corpus -m labels", "--top 2"),
    ("evaluate prior.model test.corpus -m labels --samples 1 --burn-in 1", "--chains 3"),
    ("evaluate prior.model test.corpus -m labels --samples 3 --burn-in 1", "--lag 4"),
    ("evaluate prior.model test.corpus -m labels --samples 1 --burn-in 1", "--theta cgs"),
    ("evaluate prior.model test.corpus -m labels", "--compare labeled.model"),
    ("topics dependency.model --label-topics", "-p"),
)


def test_every_option_changes_what_is_written(folder: Path, topicx: Any) -> None:
    topicx("import", "train.tsv", "-o", "train.corpus")
    topicx("import", "test.tsv", "--like", "train.corpus", "-o", "test.corpus")
    sweeps = ["train.corpus", "-q", "--iterations", "5"]
    for model in ("labeled", "prior"):
        topicx("train", "--model", model, "-o", f"{model}.model", *sweeps)
    for name, rounds in (("dependency", "3"), ("one", "1")):
        own = ["--label-sweeps", "9", "--rounds", rounds]
        topicx("train", "--model", "dependency", "-o", f"{name}.model", *sweeps, *own)
    for call, option in OPTIONS:
        found = []
        other = call.replace("one.model", "dependency.model") if option == "--rounds" else f"{call} {option}"
        for line in (call, other):
            (folder / "out").unlink(missing_ok=True)
            done = topicx(*line.split())
            assert done.returncode == 0, f"{line}: {done.stderr}"
            model = Model.load(folder / "out") if (folder / "out").exists() else None
            arrays = [model.values, model.alpha, *model.side.values()] if model else []
            found.append((done.stdout, [np.asarray(array).tobytes() for array in arrays]))
        assert found[0] != found[1], f"{call} {option}"


@pytest.mark.parametrize("written", [False, True])
def test_an_interrupted_series_of_chains_is_averaged_as_if_it_had_not_been(
    folder: Path, topicx: Any, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    from topicx.chain_series import ChainListener, ChainSeries

    topicx("import", "train.tsv", "-o", "train.corpus")
    settings = ["--model", "prior", "--iterations", "10", "--chains", "3", "--checkpoint", "c"]
    settings += ["--checkpoint-interval", "4"]
    assert topicx("train", "train.corpus", "-o", "whole.model", *settings).returncode == 0
    add, ended = ChainSeries.add_chain, []

    def killed(self: ChainSeries, listener: ChainListener) -> None:
        if len(self.scores) == 1 and not ended:  # when the chain has ended: before its model is written, or after
            ended.append(1)
            if written:
                add(self, listener)
            raise KeyboardInterrupt
        add(self, listener)

    monkeypatch.setattr(ChainSeries, "add_chain", killed)
    assert topicx("train", "train.corpus", "-o", "part.model", *settings).returncode == 130
    assert Model.load(folder / "part.model").meta["chains"] == 1 + written
    assert topicx("train", "--resume", "c", "-o", "part.model").returncode == 0
    whole, part = Model.load(folder / "whole.model"), Model.load(folder / "part.model")
    assert whole.meta["chains"] == part.meta["chains"] == 3
    assert np.array_equal(whole.values, part.values)
    before = (folder / "part.model").read_bytes()
    run = topicx("train", "--resume", "c", "-o", "part.model")  # once more: nothing is counted twice
    assert run.returncode == 2
    assert "is not the average of 1 chains" in run.stderr
    assert (folder / "part.model").read_bytes() == before


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["train", "--model", "labeled", "plain.corpus", "-o", "m"], "the corpus has none"),
        (["train", "--model", "prior", "train.corpus", "-o", "m", "--topics", "5"], "labels say how many topics"),
        (["train", "train.corpus", "-o", "m", "--background", "2"], "--background"),
        (["train", "train.corpus", "-o", "m", "--chains", "2", "--keep", "average"], "--keep average"),
        (["infer", "lda.model", "train.corpus", "--what", "labels"], "are no labels"),
        (["infer", "lda.model", "train.corpus", "--ranking", "3"], "--ranking"),
        (["evaluate", "lda.model", "train.corpus", "-m", "labels"], "are no labels"),
        (["evaluate", "lda.model", "train.corpus", "--compare", "lda.model"], "--compare"),
        (["topics", "lda.model", "--label-topics"], "which labels go together"),
    ],
)
def test_mistakes_are_named(folder: Path, topicx: Any, command: list[str], told: str) -> None:
    topicx("import", "train.tsv", "-o", "train.corpus")
    (folder / "plain.tsv").write_text("a\t-\tw01 w02\nb\t-\tw02 w03\n", encoding="utf-8")
    topicx("import", "plain.tsv", "-o", "plain.corpus")
    topicx("train", "train.corpus", "-o", "lda.model", "-k", "3", "--iterations", "5", "-q")
    run = topicx(*command)
    assert run.returncode == 2, run.stderr
    assert told in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1
