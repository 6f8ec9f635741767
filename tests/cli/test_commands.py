"""The command line as a user meets it: results, messages, exit statuses; and what happens to wrong calls and files."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
import pytest

from tests.conftest import Run, lda_corpus, run_topicx
from topicx.cli import COMMANDS, cli
from topicx.declare import declared_options
from topicx.model import Model
from topicx.sampling import sampler_registry
from topicx.sampling.run_options import Options
from topicx.state import State


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, a model, a state, a checkpoint, and damaged copies of them."""
    place = tmp_path_factory.mktemp("files")
    lda_corpus().save(place / "good.corpus")
    lda_corpus(documents=2, length=1, words=3).select([]).save(place / "empty.corpus")
    done = run_topicx(
        "train", "good.corpus", "-k", 5, "--iterations", 20, "-o", "good.model", "--state", "good.state",
        "--checkpoint", "good.checkpoint", "--checkpoint-interval", 10, cwd=place,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("corpus", "model", "state", "checkpoint"):
        whole = (place / f"good.{name}").read_bytes()
        (place / f"short.{name}").write_bytes(whole[: len(whole) // 2])
        flipped = bytearray(whole)
        flipped[-3] ^= 1
        (place / f"flipped.{name}").write_bytes(flipped)
    (place / "nothing").write_bytes(b"")
    (place / "text.txt").write_text("one\n")
    (place / "binary").write_bytes(bytes(range(256)) * 4)
    (place / "alpha2").write_text("0.1 0.2\n")
    (place / "alphabad").write_text("0.1 -0.2 1 1 1\n")
    (place / "alphanan").write_text("0.1 nan 1 1 1\n")
    (place / "seeds.bad").write_text("first: a b\n")
    (place / "seeds.unknown").write_text("0 w001 zebra\n")
    (place / "seeds.comma").write_text(",\n")
    (place / "seeds.digits").write_text("9" * 5000 + " w001\n")
    (place / "seeds.high").write_text("7 w001\n")
    (place / "prior.bad").write_text("w001\n")
    (place / "prior.negative").write_text("w001 -1\n")
    (place / "latin").write_bytes("0 caf\xe9\n".encode("latin-1"))
    (place / "adirectory").mkdir()
    (place / "in.train.corpus").write_bytes((place / "good.corpus").read_bytes())
    (place / "mallet.txt").write_text("#doc source pos typeindex type topic\n#alpha : 1\n")
    return place


TRAIN = "train good.corpus -k 5 -o out.model"
WRONG: list[tuple[str, str]] = [
    ("", "Usage"),
    ("nonsense", "there is no command 'nonsense'"),
    ("trian good.corpus", "did you mean 'train'"),
    ("train", "Missing option"),
    ("train -o out.model", "give a CORPUS"),
    ("train good.corpus -k 5", "--output"),
    ("train nowhere.corpus -k 5 -o out.model", "nowhere.corpus: cannot be read: No such file"),
    ("train adirectory -k 5 -o out.model -q", "adirectory: has no files in it"),
    ("train empty.corpus -k 5 -o out.model", "no tokens"),
    ("train nothing -k 5 -o out.model -q", "no documents in the input"),
    ("train text.txt --min-count 2 -k 5 -o out.model -q", "nothing is left: 1 documents, but none has a word"),
    ("train binary -k 5 -o out.model -q", "binary:1: is binary, not text"),
    ("train text.txt good.corpus -k 5 -o out.model", "good.corpus: is a topicx file; give corpus files and text in"),
    ("train good.corpus good.corpus -k 5 -o out.model", "train: one corpus at a time, not 2; texts may be several"),
    ("train good.corpus -k 5 -o out.model --corpus x", "--corpus: is for texts"),
    ("train good.corpus -k 5 -o out.model --text-field t", "--text-field: is for text, not for corpus files"),
    ("train good.corpus -k 5 -o out.model --min-count 2", "--min-count: is for texts"),
    ("train text.txt -k 5 -o out.model --bigram-npmi 0.2", "--bigram-npmi: is for --bigrams"),
    ("train text.txt -k 5 -o out.model --corpus text.txt", "text.txt: is an input, too"),
    (f"{TRAIN} --iterations soon", "'--iterations': 'soon' is not a valid integer range; auto is the other choice"),
    ("train good.model -k 5 -o out.model", "good.model: is a topicx model, but a corpus is needed"),
    ("train short.corpus -k 5 -o out.model", "short.corpus: the file is truncated"),
    ("train flipped.corpus -k 5 -o out.model", "flipped.corpus: the file is damaged"),
    ("train good.corpus -k 0 -o out.model", "'--topics'"),
    ("train good.corpus -k -3 -o out.model", "'--topics'"),
    ("train good.corpus -k 70000 -o out.model", "'--topics'"),
    ("train good.corpus -k many -o out.model", "'--topics'"),
    (f"{TRAIN} --iterations -1", "'--iterations'"),
    (f"{TRAIN} --alpha 0", "--alpha"),
    (f"{TRAIN} --alpha -1", "--alpha"),
    (f"{TRAIN} --alpha nan", "--alpha"),
    (f"{TRAIN} --alpha 0.1 --alpha-sum 5", "alpha and --alpha-sum"),
    (f"{TRAIN} --alpha alpha2", "alpha2: holds 2 numbers for 5 topics"),
    (f"{TRAIN} --alpha alphabad", "alphabad:1: -0.2 must be greater than 0"),
    (f"{TRAIN} --alpha alphanan", "alphanan:1: nan is not a finite number"),
    (f"{TRAIN} --alpha-sum inf", "'--alpha-sum'"),
    (f"{TRAIN} --beta 0", "'--beta'"),
    (f"{TRAIN} --beta nan", "'--beta'"),
    (f"{TRAIN} --seed -1", "'--seed'"),
    (f"{TRAIN} --seed-words nowhere", "nowhere: cannot be read"),
    (f"{TRAIN} --seed-words seeds.bad", "seeds.bad:1: a line is 'topic word word …'"),
    (f"{TRAIN} --seed-words seeds.unknown", "'zebra' is not in the vocabulary"),
    (f"{TRAIN} --seed-words seeds.high", "the topic of seed words must be from 0 to 4"),
    (f"{TRAIN} --seed-words latin", "latin: is not UTF-8"),
    (f"{TRAIN} --word-prior prior.bad", "prior.bad:1: a line is 'word β'"),
    (f"{TRAIN} --word-prior prior.negative", "prior.negative:1: -1 must be greater than 0"),
    (f"{TRAIN} --sampler best", "'--sampler'"),
    (f"{TRAIN} --start big", "'--start'"),
    (f"{TRAIN} --optimize gamma --optimize-interval 5", "'gamma' is not alpha"),
    (f"{TRAIN} --threads -1", "'--threads'"),
    (f"{TRAIN} --partitions 5000", "'--partitions'"),
    (f"{TRAIN} --unknown", "No such option"),
    (f"{TRAIN} --resume good.checkpoint", "--resume goes on with a checkpoint's own corpus"),
    (f"{TRAIN} --mh-steps 3", "--mh-steps is for the sampler alias or light or warp, not for sparse"),
    (f"{TRAIN} --sampler dense --stream", "--stream is for --sampler scvb0, not for dense"),
    (f"{TRAIN} --sampler scvb0 --stream --state s", "--state does not go with --stream"),
    (f"{TRAIN} --sampler scvb0 --rate-power 2", "'--rate-power'"),
    (f"{TRAIN} --sampler cvb0 --phi cgsp", "phi cgsp is an estimator for samplers' states"),
    (f"{TRAIN} --sampler cvb0 --start growing", "--start: cvb0 starts at random"),
    (f"{TRAIN} --sampler partial --icm 3", "icm"),
    ("train --resume nowhere -o out.model", "nowhere: cannot be read"),
    ("train --resume good.model -o out.model", "is a topicx model, but a checkpoint is needed"),
    ("train --resume short.checkpoint -o out.model", "truncated"),
    ("train --resume flipped.checkpoint -o out.model", "damaged"),
    ("train --resume good.checkpoint --beta 2 -o out.model", "--beta cannot change"),
    ("train --resume good.checkpoint --iterations 5 -o out.model", "20 iterations already"),
    ("train good.corpus -k 5 -o nowhere/out.model", "nowhere/out.model: the folder"),
    ("train good.corpus -k 5 -o good.corpus", "good.corpus: is an input, too"),
    (f"{TRAIN} --state out.model", "two outputs cannot both be the same file"),
    (f"{TRAIN} --keep all", "--keep all is for several chains"),
    (f"{TRAIN} --beta 1e-60", "beta must be from 1e-30"),
    (f"{TRAIN} --seed-words seeds.comma", "seeds.comma:1: a line is"),
    (f"{TRAIN} --seed-words seeds.digits", "seeds.digits:1: a line is"),
    (f"{TRAIN} --sampler scvb0 --stream --phi cgs", "--phi does not go with --stream"),
    ("search adirectory -k 5", "adirectory: is a folder; 'topicx import' makes a corpus of"),
    ("train empty.corpus --init-state good.state -o out.model", "good.state is not a state of empty.corpus"),
    (
        "train-topics --input x",
        "there is no command 'train-topics', which is MALLET's: 'train' does it here, 'mallet",
    ),
    ("bulk-load --input x", "'import' does it here, 'mallet bulk-load' takes MALLET's options"),
    ("train good.corpus --num-topics 5 -o x", "there is no option --num-topics, which is MALLET's: here it is -k"),
    (
        "import text.txt --keep-sequence -o x",
        "--keep-sequence, which is MALLET's: here it is how it always is",
    ),
    ("predict x", "there is no command 'predict'; did you mean 'infer'?"),
    ("trian x", "there is no command 'trian'; did you mean 'train'?"),
    (f"{TRAIN} --sampler scvb0 --stream --show-topics-interval 2", "--show-topics-interval does not go with --stream"),
    (f"{TRAIN} --log json --quiet", "--quiet: does not go with --log json"),
    ("train --init-state good.state -k 9 -o out.model", "--topics does not go with --init-state"),
    ("train --init-state good.state --alpha 0.5 -o out.model", "--alpha, --beta and --topics are for LightLDA"),
    ("infer good.model good.corpus -o good.model", "good.model: is an input, too"),
    ("train good.corpus -k 5 -o adirectory", "adirectory: is a directory"),
    (f"{TRAIN} --state nowhere/state", "nowhere/state: the folder"),
    ("evaluate good.model good.corpus --particles 5", "--particles: is for --method left-to-right; not for completion"),
    ("evaluate good.model good.state -m likelihood --samples 5", "--samples: nothing is sampled where good.state is"),
    ("export good.state --format mallet-state --words 5 -o x", "--words: is for --format mallet-topic-keys"),
    ("export good.model --format mallet-topic-keys --phi cgsp -o x", "--phi: good.model is a model"),
    ("export good.model --format uci -o x", "good.model: is a topicx model, but a corpus is needed"),
    ("export good.corpus --format uci -o good.corpus", "good.corpus: is an input, too"),
    (f"{TRAIN} --iterations 9 --optimize alpha", "--optimize: is for --optimize-interval"),
    (f"{TRAIN} --seed-weight 3", "--seed-weight: is for --seed-words"),
    (f"{TRAIN} --iterations 9 --lag 3", "--lag: is for --samples"),
    (f"{TRAIN} --sampler warp --partitions 4", "--partitions: warp has no partitions"),
    (f"{TRAIN} --samples 3 --iterations 20", "3 samples 10 sweeps apart need more than 20 iterations"),
    ("train --resume good.checkpoint -o good.checkpoint", "good.checkpoint: is an input, too"),
    ("train --init-state good.state --chains 2 -o out.model", "--chains: chains that begin with one state"),
    (f"{TRAIN} --chains 2 --keep all --trace -", "--keep all: several models cannot go to standard output"),
    ("topics good.model --compare good.model --sort weight", "--sort: does not go with --compare"),
    ("estimate good.state --align -o x.model", "--align: is for several states"),
    ("estimate good.state --doc-topics-max 3 -o x.model", "--doc-topics-max: is for --doc-topics"),
    ("estimate good.state --phi cgs --phi-entries 5 -o x.model", "--phi-entries: is for φ by cgsp"),
    ("infer good.model good.corpus --text-field x", "--text-field: is for text, not for corpus files"),
    ("infer good.model good.corpus -o x.xlsx", "x.xlsx: θ is written as tsv, csv, jsonl, npz, parquet"),
    ("export good.corpus --format uci --threads 3 -o x", "--threads: is for --format"),
    ("prune good.corpus -o good.corpus --min-count 2", "good.corpus: is an input, too"),
    ("split good.corpus -o -", "--output -: several files cannot go to standard output"),
    ("split in.train.corpus -o in", "in.train.corpus: is an input, too"),
    (
        "import text.txt -o x.corpus --vocab text.txt -q",
        "--vocab: is for inputs read as uci, ldac, svmlight; not for text",
    ),
    ("import text.txt -o x.corpus --line-regex ( -q", "--line-regex: is for inputs read as lines; not for text"),
    ("import text.txt -o x.corpus --bigram-min-count 3", "--bigram-min-count: is for --bigrams"),
    ("import mallet.txt -o x.corpus", "mallet.txt: is a state of MALLET's, not text"),
    ("bench good.corpus --samplers sparse:mh_steps=4 --peers none", "--mh-steps is for the sampler"),
    ("bench good.corpus --samplers sparse -o text.txt", "--output text.txt: is a file, not a folder"),
    ("bench good.corpus --samplers sparse --plot nowhere/x.png", "nowhere/x.png: the folder"),
    ("topics nowhere.model", "nowhere.model: cannot be read"),
    ("topics good.corpus", "is a topicx corpus, but a model is needed"),
    ("topics short.model", "short.model: the file is truncated"),
    ("topics flipped.model", "flipped.model: the file is damaged"),
    ("topics good.model -n -1", "'--words'"),
    ("topics good.model -t 9", "topics 0 to 4"),
    ("topics good.model --compare good.corpus", "is a topicx corpus, but a model is needed"),
    ("demo -o text.txt", "text.txt: cannot be made a folder"),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[call or "(nothing)" for call, _ in WRONG])
def test_wrong_calls_are_one_line_and_status_2(
    call: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from topicx.cli import main

    monkeypatch.chdir(folder)
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(SystemExit) as stopped:
        main(call.split())
    out, err = capfd.readouterr()
    assert stopped.value.code == 2, err
    assert message in err
    if call:
        assert err.startswith("topicx: ")
        assert len(err.strip().splitlines()) == 1, err
        assert out == ""
    assert sorted(path.name for path in folder.iterdir()) == before


def test_help_lists_every_command_and_every_option_has_help() -> None:
    for name in COMMANDS:
        command = cli.get_command(None, name)  # type: ignore[arg-type]
        assert command is not None
        commands = list(getattr(command, "commands", {}).values()) or [command]
        for each in commands:
            assert each.help, f"{name} has no help"
            shown = each.get_help(click.Context(each, info_name=name))
            for parameter in each.params:
                if isinstance(parameter, click.Option):
                    assert sum(parameter.opts[0] in line.split()[:2] or f"{parameter.opts[0]}," in line.split()[:1]
                               for line in shown.splitlines()) >= 1, parameter.opts  # fmt: skip
            for parameter in each.params:
                if parameter.param_type_name == "option":
                    assert parameter.help, f"{name}: {parameter.opts} has no help"  # type: ignore[attr-defined]


def test_help_names_every_sampler_and_format() -> None:
    from topicx.cli import export
    from topicx.corpus.formats.corpus_writers import FORMATS as CORPUS_FORMATS

    help_of_train = declared_options(Options)["sampler"][0].help

    assert all(name in help_of_train for name in sampler_registry.ENTRIES)
    assert set(export.CORPUS) == set(CORPUS_FORMATS)  # they stand twice so that --help need not import numpy


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no process substitution here")
@pytest.mark.parametrize(
    "call",
    [
        "evaluate good.model <(cat good.corpus) -m likelihood --json",
        "evaluate good.model <(cat good.state) -m likelihood --json",
        "evaluate good.model - -m likelihood --json < good.state",
        "infer good.model <(cat good.corpus) --input-format corpus --quiet",
        "cat good.corpus | topicx infer good.model - --input-format corpus --quiet",
        "estimate <(cat good.state) -o - --quiet",
        "cat good.state | topicx estimate - -o - --quiet",
        "cat good.state | topicx export - --format mallet-state -o -",
        "cat good.corpus | topicx export - --format jsonl -o -",
        "import --format text <(echo one two three) -o - --quiet",
    ],
)
def test_pipes_are_read_once(call: str, folder: Path) -> None:
    """What comes through a pipe gives the same as the file: nothing is lost by looking at its beginning."""
    plain = re.sub(r"<\(cat (\S+)\)", r"\1", call)
    plain = re.sub(r"cat (\S+) \| topicx (\S+) (good.model )?-", r"topicx \2 \3\1", plain)
    plain = re.sub(r" - (.*) < (\S+)", r" \2 \1", plain)
    found = []
    for text in (call, plain):
        text = text if "| topicx" in text or text.startswith("topicx ") else f"topicx {text}"
        text = text.replace("topicx", shlex.join([sys.executable, "-m", "topicx.cli"]))
        done = subprocess.run(
            ["bash", "-c", text], cwd=folder, capture_output=True, env=os.environ | {"SOURCE_DATE_EPOCH": "0"}
        )
        assert done.returncode == 0, done.stderr.decode()
        found.append(done.stdout)
    assert found[0] and found[0] == found[1]


def test_train_and_topics(folder: Path) -> None:
    done = run_topicx("topics", "good.model", "-n", 3, "-d", 2, "--json", cwd=folder)
    topics = json.loads(done.stdout)
    assert [topic["topic"] for topic in topics] == [0, 1, 2, 3, 4]
    assert all(len(topic["words"]) == 3 and len(topic["documents"]) == 2 for topic in topics)
    assert sum(topic["weight"] for topic in topics) == pytest.approx(1, abs=1e-6)
    plain = run_topicx("topics", "good.model", "-n", 3, cwd=folder).stdout.splitlines()
    assert plain[0].split()[2:] == [word["word"] for word in topics[0]["words"]]


def test_more_topics_than_words_works_and_says_so(topicx: Run, tmp_path: Path) -> None:
    lda_corpus(documents=20).save(tmp_path / "c")
    done = topicx("train", "c", "-k", 200, "--iterations", 5, "-o", "m")
    assert done.returncode == 0
    assert "more topics (200) than different words (60)" in done.stderr


def test_results_go_to_stdout_and_messages_to_stderr(topicx: Run, tmp_path: Path) -> None:
    lda_corpus(documents=20).save(tmp_path / "c")
    done = topicx(
        "train", "c", "-k", 3, "--iterations", 5, "-o", "m", "--trace", "t.tsv", "--verbose", "--trace-interval", 1
    )
    assert done.stdout == ""
    assert "sweep 5: joint log-likelihood per token" in done.stderr
    assert topicx("train", "c", "-k", 3, "--iterations", 5, "-o", "m", "--quiet").stderr == ""
    header, *rows = (tmp_path / "t.tsv").read_text().splitlines()
    assert header.split("\t")[:3] == ["sweep", "score", "seconds"]
    assert [row.split("\t")[0] for row in rows] == ["1", "2", "3", "4", "5"]


def test_pipes(tmp_path: Path) -> None:
    lda_corpus(documents=20).save(tmp_path / "c")
    line = (
        f"{sys.executable} -m topicx train - -k 3 --iterations 3 -q -o - < c | {sys.executable} -m topicx topics - -n 2"
    )
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"], cwd=tmp_path, text=True, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
    cut = f"{sys.executable} -m topicx topics {tmp_path}/m -n 50 | head -1"
    run_topicx("train", "c", "-k", 300, "--iterations", 1, "-q", "-o", "m", cwd=tmp_path)
    done = subprocess.run(["bash", "-c", cut], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.stderr == ""
    left = f"{sys.executable} -m topicx train c -k 5 --iterations 300 --trace-interval 1 -v -o n 2>&1 | true"
    subprocess.run(["bash", "-c", left], cwd=tmp_path, capture_output=True, check=False)
    assert (tmp_path / "n").exists()  # nobody reads its messages any more: it goes on without


def test_seed_words_word_prior_and_alpha_files(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    (tmp_path / "seeds").write_text("# steer\n2 w001, w002\n")
    (tmp_path / "prior").write_text("w005 0.5\n")
    (tmp_path / "alpha").write_text("1 2\n3 4\n")
    done = topicx(
        "train", "c", "-k", 4, "--iterations", 5, "-o", "m", "--state", "s", "--seed-words", "seeds",
        "--seed-weight", 7,
        "--word-prior", "prior", "--alpha", "alpha",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    state = State.load(tmp_path / "s")
    assert state.alpha.tolist() == [[1, 2, 3, 4]]
    assert state.beta[5] == 0.5
    assert state.seeds.topics.tolist() == [2, 2]
    assert state.seeds.counts.tolist() == [7, 7]


def test_threads_give_the_same_files(topicx: Run, tmp_path: Path) -> None:
    lda_corpus(documents=300).save(tmp_path / "c")
    for threads in (1, 2, 8):
        done = topicx(
            "train", "c", "-k", 6, "--iterations", 30, "--partitions", 4, "--optimize-interval", 10,
            "--optimize-burn-in", 5,
            "--threads", threads, "-o", f"m{threads}", "--state", f"s{threads}", "--phi", "cgsp",
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    for kind in "ms":
        first = (tmp_path / f"{kind}1").read_bytes()
        assert first == (tmp_path / f"{kind}2").read_bytes() == (tmp_path / f"{kind}8").read_bytes()


def test_linear_algebra_has_one_thread(tmp_path: Path) -> None:
    """OpenBLAS would begin with one for each core, whatever --threads says; a number of the user's own stays."""
    program = (
        "import os, sys; sys.argv = ['topicx', '--version']\n"
        "from topicx.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    import numpy.linalg\n"
        "    tasks = len(os.listdir('/proc/self/task')) if os.path.isdir('/proc') else 1\n"
        "    print(os.environ['OPENBLAS_NUM_THREADS'], tasks)"
    )
    outer = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for given, told in (({}, "1 1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2 ")):
        done = subprocess.run(
            [sys.executable, "-c", program], env=outer | given, capture_output=True, text=True, check=True
        )
        assert done.stdout.splitlines()[-1].startswith(told)


def test_a_streamed_corpus_gives_the_same_topics(topicx: Run, tmp_path: Path) -> None:
    lda_corpus(documents=300).save(tmp_path / "c")
    common = ("train", "c", "-k", 4, "--sampler", "scvb0", "--iterations", 5, "--batch-documents", 50)
    common += ("--trace-interval", 2, "--optimize-interval", 2, "--optimize-burn-in", 1)
    assert topicx(*common, "-o", "memory").returncode == 0
    done = topicx(*common, "-o", "disk", "--stream")
    assert done.returncode == 0, done.stderr
    memory, disk = Model.load(tmp_path / "memory"), Model.load(tmp_path / "disk")
    assert np.array_equal(memory.values, disk.values)
    assert {name: column.tolist() for name, column in memory.trace.items()} == {
        name: column.tolist() for name, column in disk.trace.items()
    }


def test_several_chains_keep_the_best(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    common = ("train", "c", "-k", 4, "--iterations", 10, "--chains", 3)
    best = topicx(*common, "-o", "best")
    assert best.returncode == 0, best.stderr
    shown = best.stderr[best.stderr.index("3 chains by joint log-likelihood per token:") :].splitlines()[1:3]
    assert sum(int(line.split()[-1]) for line in shown) == 3 and all("#" in line for line in shown[:1])
    assert topicx(*common, "-o", "all", "--keep", "all").returncode == 0
    scores = [Model.load(tmp_path / f"all.{n}").trace["score"][-1] for n in range(3)]
    assert len(set(scores)) == 3
    assert Model.load(tmp_path / "best").trace["score"][-1] == max(scores)


def start_training(folder: Path, *extra: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "topicx", "train", *map(str, extra)],
        cwd=folder, text=True, stderr=subprocess.PIPE, env=os.environ | {"SOURCE_DATE_EPOCH": "0"},
    )  # fmt: skip


LONG = ("c", "-k", 8, "--iterations", 1500, "--partitions", 2, "--optimize-interval", 50, "--threads", 2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_saves_and_says_how_to_go_on(number: signal.Signals, tmp_path: Path) -> None:
    lda_corpus(documents=400).save(tmp_path / "c")
    process = start_training(tmp_path, "c", "-k", 8, "--iterations", 1_000_000, "-o", "m")
    assert process.stderr is not None
    assert "topics, sampler" in process.stderr.readline()  # it is under way
    time.sleep(0.2)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "topicx train --resume m.checkpoint -o m" in err
    assert (tmp_path / "m.checkpoint").exists()
    stopped = Model.load(tmp_path / "m").meta["stopped_after"]
    assert f"wrote the model so far ({stopped} sweeps) to m" in err
    assert len(run_topicx("topics", "m", cwd=tmp_path).stdout.splitlines()) == 8  # it can be read


def test_a_resumed_run_keeps_its_estimators_and_removes_only_its_own_checkpoint(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    common = ("train", "c", "-k", 4, "--iterations", 12, "--phi", "cgs")
    assert topicx(*common, "-o", "whole").returncode == 0
    (tmp_path / "part.checkpoint").write_text("somebody's file")
    assert topicx(*common, "-o", "part", "--checkpoint", "cp", "--checkpoint-interval", 5).returncode == 0
    assert (tmp_path / "part.checkpoint").read_text() == "somebody's file"
    done = topicx("train", "--resume", "cp", "-o", "resumed")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_compressed_files_are_read_back(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c.gz")
    assert topicx("train", "c.gz", "-k", 3, "--iterations", 3, "-o", "m.gz").returncode == 0
    assert len(topicx("topics", "m.gz").stdout.splitlines()) == 3
    (tmp_path / "cut.gz").write_bytes((tmp_path / "m.gz").read_bytes()[:500])
    assert topicx("topics", "cut.gz").returncode == 2


def wait_until(ready: Callable[[], bool], least: float) -> None:
    time.sleep(least)
    deadline = time.monotonic() + 60
    while not ready() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_killed_and_resumed_runs_end_in_the_same_bytes(tmp_path: Path) -> None:
    """kill -9 at random moments (TOPICX_KILLS of them), each time resumed from the last checkpoint."""
    lda_corpus(documents=400).save(tmp_path / "c")
    whole = start_training(tmp_path, *LONG, "-o", "whole", "--state", "whole.state")
    assert whole.wait(timeout=120) == 0
    rng = random.Random(7)
    call: tuple[object, ...] = LONG
    kills = 0
    wanted = int(os.environ.get("TOPICX_KILLS", "4"))
    finished = False
    while not finished:
        process = start_training(
            tmp_path, *call, "-o", "killed", "--state", "killed.state", "--checkpoint", "cp", "--checkpoint-interval", 7
        )
        if kills < wanted:
            wait_until((tmp_path / "cp").exists, 0.6 + rng.random() * 0.15)
            process.kill()
            kills += 1
        _, err = process.communicate(timeout=120)
        assert process.returncode in (0, -signal.SIGKILL), err
        finished = process.returncode == 0
        call = ("--resume", "cp", "--threads", rng.choice([1, 2]))
    assert kills >= 1
    # The kept files say how they were made; checkpoints leave no trace in them.
    assert (tmp_path / "killed").read_bytes() == (tmp_path / "whole").read_bytes()
    assert (tmp_path / "killed.state").read_bytes() == (tmp_path / "whole.state").read_bytes()


@pytest.mark.parametrize("keep", ["best", "all"])
def test_interrupted_chains_go_on_with_the_others(keep: str, tmp_path: Path) -> None:
    """Interrupted in the second of three chains; the command that is printed finishes it and runs the third."""
    lda_corpus(documents=400).save(tmp_path / "c")
    (tmp_path / "prior").write_text("w001 0.5\n")
    call = (*LONG, "--chains", 3, "--keep", keep, "--word-prior", "prior")
    assert start_training(tmp_path, *call, "-o", "whole").wait(timeout=120) == 0
    process = start_training(tmp_path, *call, "-o", "some")
    assert process.stderr is not None
    while "chain 0:" not in process.stderr.readline():
        assert process.poll() is None
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    again = shlex.split(next(line for line in err.splitlines() if "--resume" in line))
    assert again[:2] == ["topicx", "train"]
    assert start_training(tmp_path, *again[2:]).wait(timeout=120) == 0
    for number in ["", ".0", ".1", ".2"]:
        whole, some = tmp_path / f"whole{number}", tmp_path / f"some{number}"
        assert whole.exists() == some.exists() == ((keep == "best") == (number == ""))
        if whole.exists():
            assert whole.read_bytes() == some.read_bytes()


def test_the_numbers_of_chains_leave_the_endings(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c")
    call = ("train", "c", "-k", 3, "--iterations", 3, "--chains", 2, "--keep", "all", "-o", "m.model")
    done = topicx(*call, "--doc-topics", "theta.npz", "--state", "s.state.gz")
    assert done.returncode == 0, done.stderr
    for number in (0, 1):
        assert Model.load(tmp_path / f"m.{number}.model").n_topics == 3
        assert np.load(tmp_path / f"theta.{number}.npz")
        assert (tmp_path / f"s.{number}.state.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_compressed_files_are_what_they_are(topicx: Run, tmp_path: Path) -> None:
    lda_corpus().save(tmp_path / "c.corpus.gz")
    assert topicx("train", "c.corpus.gz", "-k", 3, "--iterations", 3, "-o", "m.model.gz").returncode == 0
    assert topicx("infer", "m.model.gz", "c.corpus.gz", "-o", "t.tsv").returncode == 0
    assert topicx("export", "m.model.gz", "--format", "mallet-topic-keys", "-o", "keys").returncode == 0
    assert json.loads(topicx("info", "c.corpus.gz", "--json").stdout)["kind"] == "corpus"


def test_seed_words_are_no_tokens(topicx: Run, tmp_path: Path) -> None:
    corpus = lda_corpus()
    corpus.save(tmp_path / "c")
    (tmp_path / "seeds").write_text(f"0 {corpus.vocabulary[0]}\n")
    for sampler in ("sparse", "cvb0"):
        call = ("train", "c", "-k", 3, "--iterations", 20, "--sampler", sampler, "-o", "m", "--state", "s")
        assert topicx(*call, "--seed-words", "seeds", "--seed-weight", 100_000).returncode == 0
        shares = [topic["weight"] for topic in json.loads(topicx("topics", "m", "--json").stdout)]
        counted = np.bincount(State.load(tmp_path / "s").z, minlength=3) / corpus.n_tokens
        np.testing.assert_allclose(shares, counted, atol=0.1 if sampler == "cvb0" else 0.01)
    refused = topicx("export", "s", "--format", "mallet-word-topic-counts", "-o", "x")
    assert refused.returncode == 2 and "seed words" in refused.stderr
