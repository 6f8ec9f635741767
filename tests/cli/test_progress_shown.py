"""What is seen of a training while it runs and when it is stopped, and how tables look on a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from tests.conftest import Run, lda_corpus, run_topicx
from topicx import progress
from topicx.cli import log
from topicx.cli.show import hang_text
from topicx.model import Model
from topicx.state import State


def on_terminal(*arguments: object, cwd: Path, columns: int = 80, **environment: str) -> str:
    """What the command line shows on a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    settings = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")} | {"TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "topicx", *map(str, arguments)],
        cwd=cwd, stdout=theirs, stderr=theirs, env=settings | environment,
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # that is how Linux says that nobody writes any more
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0, shown.decode()
    return shown.decode()


def plain(shown: str) -> list[str]:
    """The lines that were ever shown, without colours and movements."""
    return re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))


# -- progress --------------------------------------------------------------------------------------------------------


def test_lines_say_how_long_it_will_take(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    clock = iter([0.0, 20.0, 20.0, 400.0, 400.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    lines = progress.LineProgress("training", 1000, "sweeps")
    lines.begin(100)  # of a run that goes on
    lines.advance(100, "score -8.1")
    lines.advance(400)
    assert capsys.readouterr().err.splitlines() == [
        "training: 200 of 1,000 sweeps, score -8.1, 20 s, 3 min left",
        "training: 600 of 1,000 sweeps, score -8.1, 7 min, 5 min left",
    ]
    assert [progress.spell_duration(seconds) for seconds in (3, 99, 100, 6100)] == [
        "3 s",
        "99 s",
        "2 min",
        "1 h 42 min",
    ]


def test_a_log_for_programs_is_never_silent_for_long(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps without a score (a start's) and batches of documents: a line where none was written for ten seconds."""
    now = [100.0]
    monkeypatch.setattr(log.time, "monotonic", lambda: now[0])
    programs = log.JsonLog()
    programs.tell("begins")
    work = programs.progress(100.0)
    for seconds in (4, 4, 4, 4, 40):
        now[0] += seconds
        work.advance(2)
    first, *rest = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert first == {"event": "note", "text": "begins"}
    assert [(row["event"], row["done"], row["of"], row["unit"]) for row in rest] == [
        ("progress", 6.0, 100.0, "sweeps"), ("progress", 10.0, 100.0, "sweeps"),
    ]  # fmt: skip
    assert rest[1]["seconds"] == 56.0 and rest[1]["left"] == pytest.approx(56 * 90 / 10)


def test_infer_for_programs(tmp_path: Path, topicx: Run) -> None:
    corpus = lda_corpus()
    corpus.save(tmp_path / "c")
    assert topicx("train", "c", "-k", "2", "--iterations", "2", "-o", "m").returncode == 0
    (tmp_path / "d.txt").write_text(f"{corpus.vocabulary[0]} stranger\nbad\0line\n")
    done = topicx("infer", "m", "d.txt", "--bad-documents", "skip", "--log", "json", "-o", "t.csv")
    rows = [json.loads(line) for line in done.stderr.splitlines()]
    assert done.returncode == 0 and all(row["event"] in ("note", "end") for row in rows)
    end = next(row for row in rows if row["event"] == "end")
    assert (end["documents"], end["tokens"], end["unknown"], end["empty"]) == (1, 1, 1, 0)
    assert any("bad documents: 1 left out" in row.get("text", "") for row in rows)
    done = topicx("infer", "m", "nothing.txt", "--log", "json")
    failed = json.loads(done.stderr)
    assert done.returncode == 2 and failed["event"] == "error" and "nothing.txt" in failed["text"]


def test_the_bar_fits_the_terminal(tmp_path: Path) -> None:
    lda_corpus(documents=400).save(tmp_path / "c")
    shown = on_terminal("train", "c", "-k", 4, "--iterations", 10_000, "--threads", 1, "-o", "m", cwd=tmp_path)
    bars = [line for line in plain(shown) if line.startswith("training")]
    assert any(re.search(r"━+ +\d+/10000 sweeps score -\d\.\d{4} \d:\d\d:\d\d", bar) for bar in bars), bars[-1]
    assert all(cell_len(bar) < 80 and "…" not in bar for bar in bars)


def test_measuring_shows_progress(tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    assert run_topicx("train", "c", "-k", 3, "--iterations", 3, "-o", "m", cwd=tmp_path).returncode == 0
    shown = plain(on_terminal("evaluate", "m", "c", "-m", "left-to-right", cwd=tmp_path))
    assert any(line.startswith("left-to-right ━") and "120/120 documents" in line for line in shown), shown
    assert not any("━" in line for line in plain(on_terminal("evaluate", "m", "c", "-q", cwd=tmp_path)))


# -- topics while it runs --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", [["-k", "3"], ["-k", "3", "--sampler", "cvb0"], ["--model", "hdp", "-k", "3"]])
def test_topics_are_shown_while_it_runs(how: list[str], topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    common = ("train", "c", *how, "--iterations", 12)
    done = topicx(*common, "-o", "m", "--show-topics-interval", 5)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"topics after (\d+) sweeps:", done.stderr) == ["5", "10"]
    assert len(re.findall(r"^ *\d+ +\d+\.\d\d%  w\d+ w\d+", done.stderr, re.M)) >= 4
    assert topicx(*common, "-o", "plain", "-q").stderr == ""
    assert (tmp_path / "m").read_bytes() == (tmp_path / "plain").read_bytes()  # looking changes nothing
    assert topicx(*common, "-o", "quiet", "-q", "--show-topics-interval", 5).stderr == ""


def test_json_lines(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    done = topicx("train", "c", "-k", 3, "--iterations", 40, "-o", "m", "--state", "s", "--log", "json",
                  "--show-topics-interval", 20, "--optimize-interval", 10, "--optimize-burn-in", 0)  # fmt: skip
    assert done.returncode == 0 and done.stdout == ""
    told = [json.loads(line) for line in done.stderr.splitlines()]
    kinds = [one["event"] for one in told]
    assert kinds[0] == "start" and kinds.count("sweep") == 4 and kinds.count("topics") == 2
    assert kinds[-4:] == ["end", "priors", "wrote", "wrote"] and {"note"} == set(kinds[1:-10])  # empty documents
    model = Model.load(tmp_path / "m")
    scores = [one["score"] for one in told if one["event"] == "sweep"]
    assert np.allclose(scores, model.trace["score"]) and told[0]["tokens"] == State.load(tmp_path / "s").n_tokens
    assert all(len(topic["words"]) == 10 for one in told if one["event"] == "topics" for topic in one["topics"])
    lefts = [one["left"] for one in told if one["event"] == "sweep"]
    assert lefts[-1] == 0 and all(left > 0 for left in lefts[:-1])
    failed = topicx("train", "nothing", "-k", 3, "-o", "m", "--log", "json")
    assert failed.returncode == 2
    assert json.loads(failed.stderr) == {"event": "error", "text": "nothing: cannot be read: No such file or directory",
                                         "status": 2}  # fmt: skip


RATES = {
    "lda": ("train c -k 3 --start random --threads 2 --partitions 2", "tokens", 1),
    "paths": ("train c -k 3 --start random --paths 3", "tokens", 3),
    "medlda": ("train c -k 3 --model medlda --target label", "tokens", 1),
    "hmm": ("hmm train c -k 2 --paths 2 --restarts 3", "draws", 6),
}


@pytest.mark.parametrize("name", RATES)
def test_rates_are_what_was_drawn_by_the_seconds(name: str, topicx: Run, tmp_path: Path) -> None:
    """Each path and each restart draws every token once a sweep; a run that goes on counts all of its sweeps."""
    line, of, times = RATES[name]
    corpus = lda_corpus(30, 20, seed=4)
    corpus.with_labels([["a"], ["b"]] * 15).save(tmp_path / "c") if name == "medlda" else corpus.save(tmp_path / "c")
    done = topicx(*line.split(), "--iterations", 12, "--log", "json", "-o", "m")
    assert done.returncode == 0, done.stderr
    ends = [event for event in map(json.loads, done.stderr.splitlines()) if event["event"] == "end"]
    assert len(ends) == 1
    (end,) = ends
    assert end[f"{of}_per_second"] * end["seconds"] == pytest.approx(corpus.n_tokens * 12 * times)


def test_chains_have_rates_of_their_own(topicx: Run, tmp_path: Path) -> None:
    corpus = lda_corpus(30, 20, seed=4)
    corpus.save(tmp_path / "c")
    done = topicx("train", "c", "-k", 3, "--start", "random", "--chains", 3, "--iterations", 7, "--log", "json",
                  "-o", "m")  # fmt: skip
    ends = [event for event in map(json.loads, done.stderr.splitlines()) if event["event"] == "end"]
    assert len(ends) == 3
    for end in ends:
        assert end["tokens_per_second"] * end["seconds"] == pytest.approx(corpus.n_tokens * 7)


def test_a_hidden_markov_model_for_programs(topicx: Run, tmp_path: Path) -> None:
    corpus = lda_corpus(10, 20, seed=4)
    corpus.save(tmp_path / "c")
    done = topicx("hmm", "train", "c", "-k", 2, "--restarts", 2, "--iterations", 20, "--log", "json", "-o", "m")
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event["event"] for event in told] == ["start", "sweep", "sweep", "end", "wrote"]
    assert told[0]["symbols"] == corpus.n_tokens and told[-1] == {"event": "wrote", "what": "hmm", "file": "m"}
    assert told[3]["score"] == max(told[3]["scores"]) == pytest.approx(told[2]["score"])
    rounds = topicx("hmm", "train", "c", "--sampler", "baum-welch", "--iterations", 2, "--log", "json", "-o", "m")
    end = json.loads(rounds.stderr.splitlines()[-2])
    assert end["rounds"] == 2 and "draws_per_second" not in end
    failed = topicx("hmm", "train", "nothing", "--log", "json", "-o", "m2")
    assert (failed.returncode, json.loads(failed.stderr)["status"]) == (2, 2) and not (tmp_path / "m2").exists()
    failed = topicx("hmm", "train", "c", "--log", "json", "--quiet", "-o", "m2")
    assert failed.returncode == 2 and "--quiet: does not go with --log json" in failed.stderr


def test_a_growing_start_says_that_its_score_may_fall(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    common = ("train", "c", "-k", 3, "--iterations", 2, "-o", "m")
    assert "whose score falls" in topicx(*common, "--start", "growing").stderr
    assert "2 sweeps come first, with a larger beta that falls" in topicx(*common, "--start", "hot").stderr
    assert "no sweep is hot" in topicx(*common, "--start", "hot", "--beta", 1000).stderr
    assert "falls" not in topicx(*common).stderr


# -- after it was stopped --------------------------------------------------------------------------------------------


def stopped(folder: Path, *arguments: object, seconds: float = 0.3) -> str:
    """What a training says that is interrupted soon after its beginning."""
    process = subprocess.Popen([sys.executable, "-m", "topicx", "train", *map(str, arguments)], cwd=folder,
                               text=True, stderr=subprocess.PIPE)  # fmt: skip
    assert process.stderr is not None
    while "topics, sampler" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    return said


def test_a_whole_model_is_not_replaced_by_part_of_one(topicx: Run, tmp_path: Path) -> None:
    lda_corpus(documents=400).save(tmp_path / "c")
    assert topicx("train", "c", "-k", 3, "--iterations", 3, "-o", "m").returncode == 0
    before = (tmp_path / "m").read_bytes()
    said = stopped(tmp_path, "c", "-k", 3, "--iterations", 500_000, "-o", "m")
    assert "m stays as it was" in said and (tmp_path / "m").read_bytes() == before
    call = said.splitlines()[-1].split()
    done = topicx(*call[1:])  # the command that it names
    assert done.returncode == 0, done.stderr
    model = Model.load(tmp_path / call[-1])
    assert model.meta["iterations"] == model.trace["sweep"][-1] == int(call[call.index("--iterations") + 1])
    (tmp_path / "m").unlink()
    for _ in range(2):  # the second time another part of one is replaced
        assert "wrote the model so far" in stopped(tmp_path, "c", "-k", 3, "--iterations", 500_000, "-o", "m")


def test_a_growing_start_that_is_stopped_leaves_no_model(tmp_path: Path) -> None:
    lda_corpus(documents=4000).save(tmp_path / "c")
    said = stopped(tmp_path, "c", "-k", 300, "--sampler", "dense", "--start", "growing", "-o", "m", seconds=0)
    assert "after 0 of" in said and "there is no model of it yet" in said
    assert not (tmp_path / "m").exists() and (tmp_path / "m.checkpoint").exists()


def test_a_stream_that_is_stopped_leaves_a_model(topicx: Run, tmp_path: Path) -> None:
    lda_corpus(documents=400).save(tmp_path / "c")
    call = ("train", "c", "-k", 3, "--sampler", "scvb0", "--stream", "-o", "m", "--iterations")
    for left, expected in ((None, "m"), ("whole", "m.")):
        if left:
            assert topicx(*call, 2).returncode == 0
        said = stopped(tmp_path, *call[1:], 900_000)
        wrote = re.search(r"wrote the model so far \((\d+) of 900000 passes\) to (\S+)", said)
        assert wrote and wrote[2].startswith(expected), said
        assert Model.load(tmp_path / wrote[2]).meta["stopped_after"] == int(wrote[1])
    assert "stopped_after" not in Model.load(tmp_path / "m").meta


def test_columns_of_the_trace_keep_their_order(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    common = ("train", "c", "-k", 3, "--sampler", "light", "--iterations", 20)
    assert topicx(*common, "-o", "m", "--trace", "whole", "--checkpoint", "cp", "--checkpoint-interval", 10,
                  "--optimize-interval", 5, "--optimize-burn-in", 1).returncode == 0  # fmt: skip
    assert topicx("train", "--resume", "cp", "--iterations", 40, "-o", "m", "--trace", "more").returncode == 0
    heads = [(tmp_path / name).read_text().splitlines()[0].split("\t") for name in ("whole", "more")]
    assert heads[0] == heads[1] and heads[0][:3] == ["sweep", "score", "seconds"]


def test_a_state_with_its_corpus_beside_it(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    assert topicx("train", "c", "-k", 3, "--iterations", 5, "-o", "m", "--state", "s").returncode == 0
    for beside in ([], ["c"]):
        done = topicx("train", *beside, "--init-state", "s", "--iterations", 2, "-o", f"m{len(beside)}")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "m0").read_bytes() == (tmp_path / "m1").read_bytes()
    assert topicx("export", "s", "--format", "mallet-state", "-o", "mallet.gz").returncode == 0
    lda_corpus().select(np.flatnonzero(lda_corpus().lengths)).save(tmp_path / "full")  # MALLET knows no empty ones
    done = topicx("train", "full", "--init-state", "mallet.gz", "--iterations", 2, "-o", "m2")
    assert done.returncode == 0 or "is not a state of full" in done.stderr


# -- tables on a terminal --------------------------------------------------------------------------------------------


def test_words_hang_beneath_words() -> None:
    assert hang_text("0  1.00%  ", "alpha beta gamma delta epsilon", 36) == [
        "0  1.00%  alpha beta gamma delta", "          epsilon",
    ]  # fmt: skip
    assert hang_text("0  ", "alpha beta", None) == ["0  alpha beta"]
    lines = hang_text("12  ", "大規模 データ " * 8, 40)
    assert (
        len(lines) > 2 and all(cell_len(line) <= 40 for line in lines) and all(line[:4] == "    " for line in lines[1:])
    )
    assert hang_text("0  ", "a" * 100, 40) == ["0  " + "a" * 100]  # words are not cut


def test_topics_on_a_terminal(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    assert topicx("train", "c", "-k", 3, "--iterations", 5, "-o", "m").returncode == 0
    shown = on_terminal("topics", "m", "-n", 30, cwd=tmp_path, columns=60)
    assert "\x1b[36m" in shown
    lines = [line for line in plain(shown) if line]
    assert len(lines) > 6 and all(len(line) <= 60 for line in lines)
    assert all(line[:11] == " " * 11 for line in lines if not re.match(r"\d  ", line))
    assert "\x1b[" not in on_terminal("topics", "m", cwd=tmp_path, NO_COLOR="1")
    piped = topicx("topics", "m", "-n", 30).stdout
    assert len(piped.splitlines()) == 3 and "\x1b" not in piped
    assert " ".join(" ".join(lines).split()) == " ".join(piped.split())


def test_what_a_soft_start_of_short_documents_is(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    common = ("train", "c", "-k", 50, "--start", "soft", "-o", "m")
    assert "note: 6 passes of scvb0 come first, then every token's topic is drawn" in topicx(*common).stderr
    assert "note: 10 sweeps of cvb0 come first, then" in topicx(*common, "--iterations", 2).stderr


def test_what_is_hot_with_many_topics(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    many = topicx("train", "c", "-k", 301, "--start", "soft", "-o", "m").stderr
    assert "and swept 80 times with priors as at the beginning, which go over to what is learnt meanwhile;" in many
