"""What an unkind world does to the command line: kills, closed streams, full disks, strange names, foreign numbers."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from tests.conftest import Run, lda_corpus, run_topicx
from tests.places import STORED
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError, TopicxError
from topicx.files import atomic_output, container
from topicx.run import Run as TrainingRun
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.strings import one_line

MODEL = STORED / "v1.model"


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = line.replace("topicx", f"{sys.executable} -m topicx")
    return subprocess.run(["bash", "-c", command], cwd=cwd, text=True, capture_output=True, timeout=60, check=False)


# -- outputs -----------------------------------------------------------------------------------------------------------


def test_an_output_has_no_name_until_it_is_whole(tmp_path: Path) -> None:
    with atomic_output.atomic_output(tmp_path / "x", binary=False) as out:
        out.write("text")
        named = [path.name for path in tmp_path.iterdir()]
    assert named in ([], [name for name in named if name.startswith(".x.")])  # unnamed, or hidden
    assert (tmp_path / "x").read_text() == "text"


@pytest.mark.parametrize("unnamed", [True, False])
def test_a_kill_leaves_nothing_behind_the_next_run(
    unnamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the system has no files without a name."""
    program = (
        "import sys, time\nfrom topicx.files import atomic_output\n"
        + ("" if unnamed else "atomic_output._Waiting._unnamed = lambda self: -1\n")
        + "with atomic_output.atomic_output('x') as out:\n"
        + "  out.write(b'half'); out.flush(); print(flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    if not unnamed:
        monkeypatch.setattr(atomic_output._Waiting, "_unnamed", lambda self: -1)
        with atomic_output.atomic_output(tmp_path / "x", binary=False) as out:
            out.write("mine")
        assert len(list(tmp_path.iterdir())) == 2, "what a living process writes stays"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with atomic_output.atomic_output(tmp_path / "x", binary=False) as out:
        out.write("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_text() == "whole"


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(tmp_path: Path) -> None:
    said: list[str] = []
    options = Options(topics=2, iterations=6, seed=1)
    checkpoints = Checkpoints(str(tmp_path / "nowhere" / "c"), 2, warn=said.append)
    with Threads(1) as engine:
        run = TrainingRun.start(Corpus.load(STORED / "v1.corpus"), options, engine).train((), checkpoints)
        assert run.chain.position == 6
        assert len(said) == 3
        assert "nowhere/c: cannot be written" in said[0]
        assert not checkpoints.written
        with pytest.raises(TopicxError):  # one that is asked for is another thing
            TrainingRun.start(Corpus.load(STORED / "v1.corpus"), options, engine).train((), checkpoints, lambda: True)


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no such signal here")
@pytest.mark.parametrize("ignored", [False, True])
def test_a_hangup_saves_the_chain_unless_it_is_ignored(ignored: bool, tmp_path: Path) -> None:
    """As nohup has it."""
    set_up = f"signal.signal(signal.SIGHUP, signal.SIG_{'IGN' if ignored else 'DFL'})"
    arguments = ["train", str(STORED / "v1.corpus"), "-k", "2", "-o", "m", "--iterations", "4000", "--threads", "1"]
    program = f"import signal; {set_up}\nfrom topicx.cli import main\nmain({arguments!r})"
    process = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    process.stderr.readline()  # the chain is announced when its signals are set
    time.sleep(0.05)
    process.send_signal(signal.SIGHUP)
    process.stderr.read()
    assert process.wait(60) == (0 if ignored else 130)
    process.stderr.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == (["m"] if ignored else ["m", "m.checkpoint"])


# -- messages ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_messages_of_full_disks_name_what_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = container.Spool("uint8", tmp_path, output="s.state")
    spool._file.close()
    spool._file = open("/dev/full", "r+b", buffering=0)  # noqa: SIM115, PTH123
    with pytest.raises(TopicxError, match=r"s\.state: writing failed: No space left"):
        spool.append([1])
    spool.close()
    monkeypatch.setattr(container.tempfile, "TemporaryFile", lambda **_: open("/dev/full", "r+b", buffering=0))  # noqa: SIM115, PTH123
    with pytest.raises(TopicxError, match="writing temporary data failed: No space left") as caught:
        container.read("-", None, iter([b"some"]))
    assert not isinstance(caught.value, InputError)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "call",
    ["import - --format text -o x", "infer m - --input-format text -o x.tsv", "split - --input-format text -o x"],
)
def test_signals_while_texts_are_read_leave_nothing(call: str, number: signal.Signals, files_to_read: Path) -> None:
    before = sorted(path.name for path in files_to_read.iterdir())
    process = subprocess.Popen(
        [sys.executable, "-m", "topicx", *call.split()], cwd=files_to_read, text=True,
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert process.stdin is not None and process.stderr is not None
    process.stdin.write("some words that are enough to be looked into\n" * 3000)
    process.stdin.flush()
    assert "standard input: read as text" in process.stderr.readline()  # it waits for more now
    process.send_signal(number)
    said = process.stderr.read()
    assert process.wait(60) in (128 + number, -number), said
    assert "Traceback" not in said and len(said.strip().splitlines()) <= 1
    process.stderr.close()
    with contextlib.suppress(OSError):  # what it did not read
        process.stdin.close()
    assert sorted(path.name for path in files_to_read.iterdir()) == before


WRITERS = [
    "import c.tsv -o x", "split c -o x", "prune c -o x --min-count 2", "train c -k 4 --iterations 3 -o x",
    "train c -k 4 --iterations 3 -o x.model --state x", "train c -k 4 --iterations 3 -o x.model --doc-topics x.csv",
    "infer m c -o x.tsv", "infer m c -o x.npz", "infer m c -o x.jsonl.gz", "infer m c -o x.tsv --state x.state",
    "estimate s -o x", "export s --format mallet-state -o x.gz", "export c --format uci -o x",
    "export m --format mallet-topic-word-weights -o x", "datasets texts -o x.tsv", "datasets make bars -o x",
    "train --resume cp -o x", "hmm train c --states 2 --iterations 2 -o x",
    "train c -k 4 --iterations 300 --trace-interval 1 --trace x -o /dev/null",
    "train c -k 4 --iterations 3 --stream --sampler scvb0 -o x", "estimate s -o /dev/null --doc-topics x.tsv",
    "hmm train c --states 2 --iterations 300 --trace-interval 1 --trace x -o /dev/null", "hmm decode h c -o x",
    "search c -k 2 --chains 1 --iterations 2 --plot x.png", "topics m --by label --corpus c --table x.tsv",
    "topics m --by label --corpus c --plot x.svg", "topics m --merge 1,2 -o x",
    "export s --format warplda -o x", "export c --format parquet -o x", "infer m c -o x.parquet",
    "report m -o x.html --corpus c", "effects m c --formula ~label --draws 2 -o x.tsv",
]  # fmt: skip
NOT_HERE = {
    "demo -o": "a folder of the files of other commands",
    "bench -o": "a folder of corpora and models",
    "bench --plot": "after the corpora, which are larger",
    "search --cells": "test_a_full_disk_under_finished_rows",
    "train --checkpoint": "test_a_checkpoint_on_a_full_disk_is_a_warning",
    "hmm train --checkpoint": "as of train",
    "evaluate --plot": "as topics --plot",
    "effects --plot": "as topics --plot",
    "mallet --install": "files of a few lines",
}
READ = (("topics", "doc_topics"), ("report", "doc_topics"), ("export", "state_path"))
"""Parameters of such names that name a file to read."""
WRITING = (
    "output",
    "state_path",
    "doc_topics",
    "trace_path",
    "checkpoint",
    "plot_file",
    "plot",
    "table",
    "cells",
    "install",
    "folder",
    "prefix",
)
"""Parameters that name a file to write (but for `infer --state` and the tables that `topics` reads)."""


def test_every_option_that_writes_is_tested_on_a_full_disk() -> None:
    """Of all commands: an option with such a name stands in a call above, or in the list of those that do not."""
    from topicx.cli import cli

    told = {f"{' '.join(call.split()[:2])} {word}" for call in WRITERS for word in call.split() if word.startswith("-")}
    told |= {f"{call.split()[0]} {word}" for call in WRITERS for word in call.split() if word.startswith("-")}

    def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(command, click.Group):
            for each in command.list_commands(click.Context(command)):
                found = command.get_command(click.Context(command), each)
                yield from commands(f"{name} {each}".strip(), found)
        else:
            yield name, command

    missing = [
        f"{name} {option.opts}" for name, command in commands("", cli) for option in command.params
        if isinstance(option, click.Option) and option.name in WRITING
        and not any(f"{name} {spelt}" in {*told, *NOT_HERE} for spelt in option.opts)
        and (name, option.name) not in READ
    ]  # fmt: skip
    assert not missing


@pytest.fixture(scope="module")
def files_to_read(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of some size in several forms, a model, a state and a checkpoint."""
    place = tmp_path_factory.mktemp("full")
    rows = "".join(f"d{i}\tx{i % 50}\t{' '.join(f'word{(i * j) % 997}' for j in range(1, 40))}\n" for i in range(400))
    (place / "c.tsv").write_text(rows)
    for call in (
        "import c.tsv -o c -q", "train c -k 4 --iterations 4 -o m --state s --checkpoint cp --checkpoint-interval 2 -q",
        "hmm train c -k 2 --iterations 2 -o h -q",
    ):  # fmt: skip
        assert run_topicx(*call.split(), cwd=place).returncode == 0
    return place


@pytest.mark.parametrize("call", WRITERS)
def test_a_full_disk_is_a_line_that_names_the_file_and_leaves_nothing(call: str, files_to_read: Path) -> None:
    """Files may have four blocks: what a full disk does to whatever is written."""
    before = sorted(path.name for path in files_to_read.iterdir())
    quiet = "" if call.startswith("topics") else " -q"
    done = shell(f"export PYTHONDONTWRITEBYTECODE=1; ulimit -f 4; topicx {call}{quiet}", files_to_read)
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert re.match(r"topicx: x\S*: writing failed: File too large", done.stderr), done.stderr
    left = [path.name for path in files_to_read.iterdir() if path.name not in before]
    assert left in ([], ["x.model"]), left  # files that were whole before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "call", ["topics m", "infer m c", "evaluate m c --json", "export s --format mallet-state -o -", "info m",
             "train c -k 4 --iterations 2 -o -", "import c.tsv -o -", "datasets list"],
)  # fmt: skip
def test_a_full_disk_behind_standard_output(call: str, files_to_read: Path) -> None:
    done = shell(f"topicx {call} > /dev/full", files_to_read)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "topicx: standard output: No space left on device"


def test_a_full_disk_under_finished_rows(files_to_read: Path) -> None:
    """`search --cells` adds to its file."""
    call = "topicx search c --chains 1 --iterations 2 --cells x.cells -q"
    assert shell(f"{call} -k 2", files_to_read).returncode == 0
    cells = files_to_read / "x.cells"
    cells.write_text(cells.read_text() * (4096 // cells.stat().st_size + 1))
    before = cells.read_text()
    done = shell(f"export PYTHONDONTWRITEBYTECODE=1; ulimit -f {len(before) // 1024}; {call} -k 3", files_to_read)
    assert (done.returncode, done.stderr) == (1, "topicx: x.cells: writing failed: File too large\n")
    assert cells.read_text() == before  # without a part of a row
    cells.unlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_finished_rows_are_not_sought_in_a_device(files_to_read: Path) -> None:
    """Reading it would never end."""
    done = shell(
        "ulimit -v 4000000; topicx search c -k 2 --chains 1 --iterations 2 --cells /dev/full -q", files_to_read
    )
    assert (done.returncode, done.stderr) == (1, "topicx: /dev/full: writing failed: No space left on device\n")


def test_a_checkpoint_on_a_full_disk_is_a_warning(files_to_read: Path) -> None:
    call = "train c -k 40 --iterations 4 -o /dev/null --checkpoint x.cp --checkpoint-interval 2"
    done = shell(f"export PYTHONDONTWRITEBYTECODE=1; ulimit -f 8; topicx {call}", files_to_read)
    assert done.returncode == 0, done.stderr
    assert "warning: no checkpoint after step 2: x.cp: writing failed: File too large" in done.stderr


def test_a_loop_of_links(topicx: Run, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    done = topicx("infer", MODEL, STORED / "v1.corpus", "-o", "a")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "a: cannot be written: it is a loop of links" in done.stderr


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        (f"topicx topics {MODEL} >&-", 1, "standard output: cannot be written: it is closed"),
        (f"topicx infer {MODEL} {STORED}/v1.corpus -q >&-", 1, "standard output: cannot be written"),
        (f"topicx infer {MODEL} - --input-format text <&-", 2, "standard input is closed"),
        (f"topicx topics {MODEL} -n 3 2>&-", 0, ""),
        (f"topicx topics {MODEL} -n 9 | head -c 1 >/dev/null; exit ${{PIPESTATUS[0]}}", (0, 141), ""),
        (f"(sleep 1; topicx info {MODEL} --arrays) | true; exit ${{PIPESTATUS[0]}}", 141, ""),
        (f"(sleep 1; topicx infer {MODEL} {STORED}/v1.corpus -q) | true; exit ${{PIPESTATUS[0]}}", 141, ""),
        (f"(sleep 1; topicx infer {MODEL} {STORED}/v1.corpus -o /dev/stdout -q) | true; exit ${{PIPESTATUS}}", 141, ""),
    ],
)  # fmt: skip
def test_closed_streams(line: str, status: int | tuple[int, ...], said: str, tmp_path: Path) -> None:
    done = shell(line, tmp_path)
    assert done.returncode in (status if isinstance(status, tuple) else (status,)), done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == (1 if said else 0)


def test_no_more_threads_is_a_message(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import threading

    from topicx.cli import main

    def refused(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(SystemExit) as stop:
        main(["infer", str(MODEL), str(STORED / "v1.corpus"), "--threads", "2"])
    assert stop.value.code == 1
    assert "the system gives no more threads" in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(topicx: Run, tmp_path: Path) -> None:
    names = ["\x1b[31mred", "two\nlines", "nul\0", "c1\x9b31m", "right\u202eleft"]
    texts = ["moon star moon", "star star moon", "bread oven", "oven bread bread", "moon bread"]
    Corpus.from_texts(texts, ids=names).save(tmp_path / "c.corpus")
    assert (
        topicx("train", "c.corpus", "-k", 2, "-o", "m", "--state", "s", "-q", "--doc-topics", "t.tsv").returncode == 0
    )
    shown = topicx("topics", "m", "-d", 5).stdout + (tmp_path / "t.tsv").read_text()
    for format in ("mallet-doc-topics", "mallet-state"):
        shown += topicx("export", "s", "--format", format, "-o", "-").stdout
    assert "two lines" in shown
    assert not [c for c in shown if c not in "\n\t" and one_line(c) != c]


def test_import_does_not_follow_links_out_of_the_folder(topicx: Run, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("password")
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("moon star")
    (folder / "b.txt").symlink_to(tmp_path / "secret")
    (folder / "c.txt").symlink_to(folder / "a.txt")
    done = topicx("import", "texts", "-o", "c.corpus")
    assert done.returncode == 0
    assert "left out" in done.stderr
    assert "b.txt" in done.stderr
    assert list(Corpus.load(tmp_path / "c.corpus").ids) == ["a.txt", "c.txt"]


@pytest.mark.parametrize("alpha", ["1e308", "5e-324"])
def test_priors_of_other_programs_have_the_limits_of_training(alpha: str, topicx: Run, tmp_path: Path) -> None:
    lines = [
        "#doc source pos typeindex type topic",
        f"#alpha : {alpha} {alpha} ",
        "#beta : 0.01",
        "0 x 0 0 moon 0",
        "0 x 1 1 star 1",
    ]
    (tmp_path / "s.txt").write_text("\n".join(lines) + "\n")
    done = topicx("estimate", "s.txt", "-o", "m")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "s.txt:2:" in done.stderr
    assert "from 1e-30 to 1e30" in done.stderr


def test_a_parquet_table_with_bad_text(topicx: Run, tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    data = arrow.py_buffer(b"ab\xff\xfe")
    offsets = arrow.py_buffer(bytes([0, 0, 0, 0, 4, 0, 0, 0]))
    bad = arrow.Array.from_buffers(arrow.string(), 1, [None, offsets, data])
    parquet.write_table(arrow.table({"text": bad}), tmp_path / "x.parquet")
    done = topicx("import", "x.parquet", "-o", "c", "-q")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "x.parquet:1: the field 'text' is not UTF-8" in done.stderr


def test_no_leftover_descriptor(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0  # noqa: PTH208
    for _ in range(3):
        with atomic_output.atomic_output(tmp_path / "x") as out:
            out.write(b"x")
        with pytest.raises(ZeroDivisionError), atomic_output.atomic_output(tmp_path / "x"):
            raise ZeroDivisionError
    assert not before or len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


def test_a_resumed_run_gives_the_same_bytes_of_documents_that_carry_things(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels, collections and columns stand beside typical documents in one order, whatever file they come from."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    options = Options(topics=2, iterations=6, seed=1)
    checkpoints = Checkpoints(str(tmp_path / "c"), 3)
    asked = iter(range(100))
    with Threads(1) as engine:
        whole = TrainingRun.start(Corpus.load(STORED / "v1.corpus"), options, engine).train().result()
        with pytest.raises(Interrupted):
            TrainingRun.start(Corpus.load(STORED / "v1.corpus"), options, engine).train(
                (), checkpoints, lambda: next(asked) == 3
            )
        resumed = TrainingRun.resume(tmp_path / "c", engine).train().result()
    whole.model.save(tmp_path / "whole")
    resumed.model.save(tmp_path / "resumed")
    assert len(whole.model.example_objects)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


# -- odd calls -----------------------------------------------------------------------------------------------------


def test_an_output_without_a_name_is_refused_at_once(tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    done = run_topicx("train", "c", "-k", 3, "--iterations", 3, "-o", "", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2, "topicx: an output without a name: give a file's name, or - for standard output\n")  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_as_many_threads_as_anybody_asks_for() -> None:
    from topicx.engines.threads import MOST, Threads

    assert Threads(10**8).threads == MOST
    assert Threads(3).threads == 3


def test_mallets_prune_takes_synthetic_corpora(tmp_path: Path) -> None:
    run_topicx("datasets", "make", "zipf", "--documents", 50, "--tokens", 30, "-o", "c", "-q", cwd=tmp_path)
    done = run_topicx("mallet", "prune", "--input", "c", "--output", "p", "--prune-count", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    pruned, whole = Corpus.load(tmp_path / "p"), Corpus.load(tmp_path / "c")
    assert 0 < pruned.n_words < whole.n_words and not pruned.truth and whole.truth
