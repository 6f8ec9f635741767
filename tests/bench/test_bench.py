"""The benchmark: the same tokens for every program, one judge, honest failures."""

from __future__ import annotations

import gzip
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Run, lda_corpus
from tests.places import ROOT
from topicx import datasets
from topicx.bench import bench_runs, comparison, comparison_views
from topicx.bench.comparison import Row, Settings, seconds_to
from topicx.bench.peer_programs import PEERS
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError

QUICK = Settings(topics=4, iterations=12, burn_in=5, samples=5)


def row(seconds: float, perplexity: float | None, likelihood: float | None = None) -> Row:
    return Row(int(seconds), seconds, seconds, perplexity, likelihood)


def test_seconds_to_a_quality_are_interpolated() -> None:
    rows = [row(1, 200.0, -9.0), row(2, None, None), row(3, 100.0, -8.0), row(5, 90.0, -7.0)]
    assert seconds_to(rows, "perplexity", 200.0) == 1
    assert seconds_to(rows, "perplexity", 300.0) == 1
    assert seconds_to(rows, "perplexity", math.sqrt(200.0 * 100.0)) == pytest.approx(2)
    assert seconds_to(rows, "perplexity", 90.0) == pytest.approx(5)
    assert seconds_to(rows, "perplexity", 89.0) is None
    assert seconds_to(rows, "likelihood", -7.5) == pytest.approx(4)
    assert seconds_to([row(1, 5.0)], "likelihood", -7.5) is None


def test_measured_sweeps_bound_the_first_and_the_last_ten() -> None:
    for iterations in (1, 2, 9, 10, 11, 12, 20, 200, 1000):
        points = Settings(iterations=iterations).points()
        assert points == sorted(set(points)) and points[0] == 1 and points[-1] == iterations
        if iterations > 10:
            assert {10, iterations - 10} <= set(points)
    assert len(Settings(iterations=200).points()) < 20


def test_the_split_shares_no_document_and_knows_only_words_that_are_trained() -> None:
    corpus = lda_corpus()
    train, test = bench_runs.split_held_out(corpus, QUICK)
    assert train.n_words == test.n_words and list(train.vocabulary) == list(test.vocabulary)
    assert np.all(np.bincount(train.words, minlength=train.n_words) > 0)
    filled = int(np.sum(corpus.lengths > 0))
    assert train.n_documents + test.n_documents == filled and test.n_documents == round(0.1 * filled)
    words = sorted(train.document(0))
    assert words in [sorted(corpus.document(d)) for d in range(corpus.n_documents)]
    again, _ = bench_runs.split_held_out(corpus, QUICK)
    assert np.array_equal(again.words, train.words)
    other, _ = bench_runs.split_held_out(corpus, Settings(topics=4, seed=2))
    assert not np.array_equal(other.words, train.words)


def test_words_that_only_held_out_documents_have_are_dropped() -> None:
    corpus = Corpus.from_documents([["a", "b"]] * 9 + [["a", f"only{i}"] for i in range(9)])
    train, test = bench_runs.split_held_out(corpus, Settings(topics=2, held_out=0.5))
    assert set(test.words.tolist()) <= set(range(train.n_words)) and train.n_words < corpus.n_words


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("nonesuch", "nonesuch"), ("dense:start", "option=value"), ("dense:topics=3", "topics"),
        ("dense:start=sideways", "sideways"), ("tomotopy:k=3", "tomotopy"), ("dense:mh_steps=x", "mh_steps"),
        ("dense:phi=x", "phi"),
    ],
)  # fmt: skip
def test_a_wrong_program_is_refused_by_name(text: str, part: str) -> None:
    with pytest.raises(InputError, match=part):
        bench_runs.check_options(text, QUICK)


def test_samplers_side_by_side() -> None:
    corpus = lda_corpus(documents=200, length=60)
    said: list[str] = []
    result = bench_runs.compare_programs(corpus, ["dense", "dense:start=growing"], QUICK, say=said.append)
    plain, growing = result.runs
    assert not plain.problem and not growing.problem and result.reference == "dense"
    assert [r.sweep for r in plain.measured] == QUICK.points()
    assert growing.measured[0].sweep == 0 and growing.rows[-1].work > plain.rows[-1].work
    for run in result.runs:
        assert all(a.seconds <= b.seconds for a, b in zip(run.rows, run.rows[1:], strict=False))
        assert run.rows[-1].likelihood is not None and run.rows[-1].perplexity is not None
        assert 1 < run.rows[-1].perplexity < corpus.n_words and run.rows[-1].likelihood < 0
        assert run.late and run.early and run.memory >= 0
    assert len(said) == len(plain.measured) + len(growing.measured)
    compared = {line["program"]: line for line in result.comparison()}
    assert compared["dense"]["perplexity"]["ratio"] == 1
    again = comparison.load_result(json.loads(json.dumps(result.to_json())))
    assert again.to_json() == result.to_json()
    text = comparison_views.comparison_table(result)
    assert "dense:start=growing" in text and "to dense's" in text


def test_the_same_seed_gives_the_same_quality() -> None:
    corpus = lda_corpus()
    settings = Settings(topics=3, iterations=4, burn_in=3, samples=3)
    first, second = (bench_runs.compare_programs(corpus, ["dense"], settings).runs[0] for _ in range(2))
    assert [(r.perplexity, r.likelihood) for r in first.rows] == [(r.perplexity, r.likelihood) for r in second.rows]


@pytest.mark.parametrize("peer", PEERS)
def test_a_peer_is_judged_as_we_are(peer: str) -> None:
    if not bench_runs.is_installed(peer):
        pytest.skip(f"{peer} is not installed")
    corpus = lda_corpus(documents=300, length=60)
    settings = Settings(topics=4, iterations=30, burn_in=20, samples=10)
    ours, theirs = bench_runs.compare_programs(corpus, ["dense", peer], settings).runs
    assert not theirs.problem and theirs.about["version"]
    assert theirs.rows[-1].sweep == 30 and theirs.rows[-1].perplexity is not None
    assert theirs.rows[-1].perplexity == pytest.approx(ours.rows[-1].perplexity, rel=0.15)
    if peer in ("tomotopy", "lda"):
        assert theirs.rows[-1].likelihood == pytest.approx(ours.rows[-1].likelihood, abs=0.1)
    else:
        assert theirs.rows[-1].likelihood is None


def test_a_library_that_is_not_there_is_named_and_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_runs, "is_installed", lambda name: False)
    said: list[str] = []
    result = bench_runs.compare_programs(
        lda_corpus(), ["dense", "lda"], Settings(topics=2, iterations=1), say=said.append
    )
    assert result.missing == ["lda"] and [run.name for run in result.runs] == ["dense"]
    assert "lda" in said[0] and "not installed: lda" in comparison_views.comparison_table(result)


def test_a_program_that_crashes_is_a_line_in_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    original = subprocess.Popen

    def crash(command: list[str], **settings: object) -> object:
        return original([sys.executable, "-c", "raise SystemExit('it broke')"], **settings)  # type: ignore[call-overload]

    monkeypatch.setattr(bench_runs.subprocess, "Popen", crash)
    result = bench_runs.compare_programs(lda_corpus(), ["dense"], Settings(topics=2, iterations=1))
    assert result.runs[0].problem == "it broke" and not result.runs[0].rows
    assert "it broke" in comparison_views.comparison_table(result) and result.comparison() == []


def test_a_program_over_its_time_is_stopped_after_a_last_look() -> None:
    settings = Settings(topics=4, iterations=100_000, limit=0.05, density=1e9, burn_in=2, samples=2)
    run = bench_runs.compare_programs(lda_corpus(), ["dense"], settings).runs[0]
    assert "stopped after" in run.problem
    assert run.rows[-1].seconds > 0.05 and run.rows[-1].sweep < 100_000 and run.rows[-1].perplexity is not None


def test_the_command(topicx: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    lda_corpus().save(tmp_path / "a.corpus")
    common = ("bench", "a.corpus", "-k", 3, "--iterations", 3, "--samplers", "dense", "--peers", "none")
    done = topicx(*common, "-o", "out", "--plot", "a.svg")
    assert done.returncode == 0, done.stderr
    assert "perplexity" in done.stdout and "sweep 3" in done.stderr
    for name in ("out/bench.txt", "out/bench.json", "out/bench.png", "a.svg"):
        assert (tmp_path / name).stat().st_size > 0, name
    found = json.loads((tmp_path / "out/bench.json").read_text())
    assert found["corpus"]["file"] == "a.corpus" and found["programs"][0]["rows"][-1]["sweep"] == 3
    alone = topicx(*common, "--quiet", "--json")
    assert json.loads(alone.stdout)["settings"]["topics"] == 3 and alone.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--peers", "mallet"), "mallet"), (("--samplers", "tomotopy"), "--peers"), (("--held-out", "1"), "--held-out"),
        (("--held-out", "0.001"), "held_out"), (("--plot", "a.xyz"), "a.xyz"), (("--reference", "lda"), "lda"),
        (("--clock", "cpu", "--threads", "2"), "clock"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(topicx: Run, tmp_path: Path, arguments: tuple[str, ...], word: str) -> None:
    lda_corpus().save(tmp_path / "a.corpus")
    done = topicx("bench", "a.corpus", "--peers", "none", "-k", 2, "--iterations", 1, *arguments)
    assert done.returncode == 2 and word in done.stderr and len(done.stderr.strip().splitlines()) == 1


SPEED = ROOT / "benchmarks" / "speed"


@pytest.mark.skipif(not SPEED.exists(), reason="the benchmarks are not here")
@pytest.mark.parametrize("script", ["threads", "growth", "starts", "time_to_perplexity"])
def test_the_scripts_run_and_go_on(script: str, tmp_path: Path) -> None:
    command = [sys.executable, str(SPEED / f"{script}.py"), "--quick", "--out", str(tmp_path)]
    done = [subprocess.run(command, capture_output=True, text=True, timeout=300, check=False) for _ in range(2)]
    assert [run.returncode for run in done] == [0, 0], done[0].stderr
    assert "..." in done[0].stderr and done[1].stderr == ""  # the second has nothing left to measure
    assert done[0].stdout == done[1].stdout


@pytest.mark.skipif(not SPEED.exists(), reason="the benchmarks are not here")
def test_text_is_read_the_same_by_every_number_of_threads() -> None:
    done = subprocess.run(
        [sys.executable, str(SPEED / "text.py"), "--quick"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "36,000 tokens kept, 90 words" in done.stdout and "the same words in the same order: True" in done.stdout
    formats = [line for line in done.stdout.splitlines() if " times, " in line]
    assert len(formats) == 9 and all(line.endswith("the same bytes") for line in formats)


def test_defaults_are_judged(tmp_path: Path) -> None:
    """benchmarks/defaults.py on a few of the embedded texts, without MALLET."""
    (tmp_path / "data" / "texts").mkdir(parents=True)
    with gzip.open(tmp_path / "data" / "texts" / "docs.tsv.gz", "wt", encoding="utf-8") as out:
        for text in datasets.embedded_texts():
            out.write(f"{text.id}\t{text.label}\t{text.text}\n")
    script = ROOT / "benchmarks" / "defaults.py"
    call = [sys.executable, str(script), "--data", "data", "--corpora", "texts", "--documents", "200", "--topics", "4"]
    done = subprocess.run([*call, "--sweeps", "50", "--out", "out"], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    row = done.stdout.splitlines()[-1].split("|")
    assert row[1:4] == [" `texts` ", " topicx ", " 0 "] and -1 < float(row[5]) < 1 and float(row[6]) < 0
