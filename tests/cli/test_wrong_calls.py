"""Calls that are wrong: every option of every command with what is no value of it, the newer commands' own mistakes,
and Python's. One line that names what is wrong; never a traceback, never a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

import topicx
from tests.conftest import lda_corpus, write_carrying_table
from topicx.cli import COMMANDS, cli
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError, TopicxError
from topicx.model import Model
from topicx.models.compound import spans_of
from topicx.models.targets import read_targets
from topicx.state import State
from topicx.strings import Strings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus whose documents carry everything, and a model of each sort."""
    place = tmp_path_factory.mktemp("made")
    write_carrying_table(place / "t.tsv")
    (place / "cells").write_text('{"search": 1}\n{"no": "row"}\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        usual = "--iterations 3 -q --threads 1"
        for line in (
            "import t.tsv --text-field text --label-field label --collection-field place --time-field time "
            "--column score -o c -q",
            f"train c -k 3 {usual} -o lda --state lda.state", f"train c --model labeled {usual} -o labeled",
            f"train c --model medlda -k 3 {usual} -o medlda --state medlda.state",
            f"train c --model compound -k 3 {usual} -o compound", f"hmm train c -k 2 {usual} -o hmm",
        ):  # fmt: skip
            done = CliRunner().invoke(cli, line.split())
            assert done.exit_code == 0, (line, done.output)
    return place


def said(line: list[str], place: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a call is refused with: one line, and no file more or less."""
    monkeypatch.chdir(place)
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    done = CliRunner().invoke(cli, line, standalone_mode=False)
    wrong = done.exception
    assert isinstance(wrong, InputError | click.ClickException), (line, wrong, done.output)
    message = str(wrong) if isinstance(wrong, TopicxError) else wrong.format_message()
    assert message.strip() and "\n" not in message.strip(), (line, message)
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before, line
    return message


# -- no value of an option -----------------------------------------------------------------------------------------

GIVEN = {
    "demo": "", "completion": "bash",
    "import": "t.tsv -o x", "split": "c -o x", "prune": "c -o x", "train": "c -k 2 -o x",
    "search": "c -k 2", "topics": "lda", "infer": "lda c -o x", "evaluate": "lda c",
    "effects": "lda c -f ~time", "report": "lda -o x.html",
    "hmm train": "c -k 2 -o x",
    "hmm decode": "hmm c", "hmm evaluate": "hmm c", "estimate": "lda.state -o x",
    "export": "lda.state --format mallet-state -o x",
    "mallet": "", "info": "c", "datasets list": "", "datasets make": "bars -o x", "datasets texts": "-o x",
    "bench": "c --peers none",
}  # fmt: skip
"""What every command needs, beside the option."""
NO_VALUE: dict[str, tuple[str, ...]] = {
    "integer": ("x", "", "1.5", "1e3", "-5", "0x10", "99999999999999999999"),
    "number": ("x", "", "nan", "inf", "-1e999"),
    "choice": ("x", ""),
}


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", one) for inner, one in command.commands.items())
        else:
            yield name, command


def test_every_command_is_here() -> None:
    assert {name for name, _ in commands()} == set(GIVEN)


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_no_value_of_an_option_is_refused_by_its_name(
    name: str, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = dict(commands())[name]
    for option in command.params:
        if not isinstance(option, click.Option) or option.is_flag:
            continue
        sort = "choice" if isinstance(option.type, click.Choice) else option.type.name.split()[0]
        for value in NO_VALUE.get(sort, ()):
            low = getattr(option.type, "min", None)
            if value == "-5" and (low is None or low < 0):
                continue
            message = said([*name.split(), *GIVEN[name].split(), option.opts[0], value], made, monkeypatch)
            assert any(opt in message for opt in option.opts), (option.opts, value, message)


# -- the newer commands --------------------------------------------------------------------------------------------

MEDLDA = "train c --model medlda -k 2 -o x"
COMPOUND = "train c --model compound -k 2 -o x"
WRONG = [
    ("topics lda --merge 0,0 -o x", "topic 0 is named twice"),
    ("topics lda --merge 0 -o x", "a topic alone is merged with nothing"),
    ("topics lda --merge 0,9 -o x", "9 is not a topic; there are 0 to 2"),
    ("topics lda --merge , -o x", "--merge ',': is not a list of topics' numbers"),
    ("topics lda --merge 0,1", "give the file to write: --output FILE"),
    ("topics lda --merge 0,1 -o lda", "lda: is an input, too"),
    ("topics lda --merge 0,1 --hide 1 -o x", "topic 1 is a part of topic 0"),
    ("topics lda --name =x -o x", "--name '=x': is not NUMBER=NAME"),
    ("topics lda --name 0=a --name 1=a -o x", "two topics cannot both be 'a'"),
    ("topics lda --hide 0,1,2 -o x", "no topic would be left to show"),
    ("topics lda.state --hide 0 -o x", "are for a model"),
    ("topics medlda --merge 0,1 -o x", "knows its topics by number"),
    ("topics lda --by time", "give the documents: --corpus FILE"),
    ("topics lda --by nothing --corpus c", "they carry label, collection, time, score"),
    ("topics lda --by time --corpus c --bins month", "the times are numbers, not dates"),
    ("topics lda --by label --corpus c --bins year", "is neither a number nor an ISO date"),
    ("topics lda --by label --corpus c --state lda.state", "not of several"),
    ("topics lda --by label --corpus c --plot x.doc", "plots are written as png, svg or pdf"),
    ("topics lda --by label --corpus c --table x.doc", "a table is written as tsv, csv, jsonl or parquet"),
    ("topics lda --by time --state medlda.state", "it is not of the model's run"),
    ("topics lda --bins year", "--bins: is for --by"),
    ("topics compound --by collection --contrast lda.state", "is not a state of this model"),
    ("search c -k a", "--topics: 'a' is not a list of numbers"),
    ("search c -k 0", "topics must be from 1 to 65535, not 0"),
    ("search c -k 2 --cells c", "c: is an input, too"),
    ("search c -k 2 --cells cells", "cells:2: is not a row of topicx search"),
    ("search c -k 2 --plot x.doc", "plots are written as"),
    ("search c -k 2,3 --alpha t.tsv", "t.tsv:1: 'id' is not a number"),
    (f"{MEDLDA} --lambda 1e300", "lambda_ must be from 1e-30 to 1e30"),
    (f"{MEDLDA} --family slda --lambda 1e30", "must be from 1 to 1e+06, not 1e+30"),
    (f"{MEDLDA} --target nothing", "the corpus has no column 'nothing'"),
    (f"{MEDLDA} --target place --task binary", "no column 'place'"),
    (f"{MEDLDA} --target collection --task binary", "task binary needs two classes, and there are 3"),
    (f"{MEDLDA} --task regression", "regression needs numbers"),
    (f"{MEDLDA} --task binary --strategy one-vs-all", "strategy one-vs-all is for several classes"),
    (f"{MEDLDA} --target score --loss hinge", "loss hinge is not for the task regression"),
    (f"{MEDLDA} --folds 100", "folds must be from 2 to 12"),
    (f"{MEDLDA} --folds 2 --try-lambda 0,1", "lambda_ must be a finite number greater than 0"),
    (f"{COMPOUND} --spans 13", "13 spans of 12 different times"),
    ("train c -k 2 --folds 3 -o x", "--folds is for a new run of --model medlda"),
    ("train c -k 2 --start soft --sampler cvb0 -o x", "cvb0 cannot begin with the assignments of cvb0"),
    ("train c -k 2 --memory 1 -o x", "memory: 60 tokens and 2 topics take"),
    ("train --init-state lda.state --model medlda -o x", "the model medlda begins with a corpus"),
    ("evaluate lda c --burn-in 99999999999999999999", "'--burn-in'"),
    ("hmm train c -k 2 --sampler baum-welch --paths 2 -o x", "--paths: is for --sampler collapsed, partial"),
    ("hmm decode lda c", "is a topicx model, but a hmm is needed"),
    ("hmm decode hmm lda", "is a topicx model, but a corpus is needed"),
    ("evaluate lda c -m agreement", "give a state that was trained with --paths"),
    ("evaluate lda lda.state -m agreement", "the state has one path"),
    ("evaluate lda c -m predictive", "give a state in the place of CORPUS"),
    ("evaluate lda c -m prediction", "the model predicts nothing"),
    ("evaluate lda c -m clusters --clusters 9", "the model has 3 topics; give a number below"),
    ("infer compound c --group nothing -o x", "there are p0, p1, p2"),
    ("infer lda c --metadata nothing -o x", "the documents do not carry 'nothing'"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_mistakes_are_refused(line: str, message: str, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert message in said(line.split(), made, monkeypatch)


# -- Python --------------------------------------------------------------------------------------------------------

C = lda_corpus(documents=6, length=5, words=8, topics=2)
PYTHON: list[tuple[str, Callable[[], Any], str]] = [
    ("no topics", lambda: topicx.LDA(topics=0), "topics must be from 1 to 65535"),
    ("topics in words", lambda: topicx.LDA(topics="three"), "topics must be"),
    ("half a topic", lambda: topicx.LDA(topics=2.5), "topics must be"),
    ("alpha nan", lambda: topicx.LDA(topics=2, alpha=math.nan), "alpha"),
    ("alpha of other topics", lambda: topicx.LDA(topics=2, alpha=[0.1] * 3), "3 values for 2 topics"),
    ("beta none", lambda: topicx.LDA(topics=2, beta=0), "beta"),
    ("sampler", lambda: topicx.LDA(topics=2, sampler="best"), "best"),
    ("seed", lambda: topicx.LDA(topics=2, seed=-1), "seed"),
    ("a number", lambda: topicx.LDA(topics=2, iterations=2).fit(3), "is needed, not a int"),
    ("a text", lambda: topicx.LDA(topics=2, iterations=2).fit("one text"), "text"),
    ("nothing", lambda: topicx.LDA(topics=2, iterations=2).fit([]), "no"),
    ("empty texts", lambda: topicx.LDA(topics=2, iterations=2).fit(["", ""]), "no"),
    ("counts below 0", lambda: topicx.LDA(topics=2).fit(np.array([[1, -1]])), "matrix[0, 1] is -1, not a count"),
    ("counts nan", lambda: topicx.LDA(topics=2).fit(np.array([[1, math.nan]])), "is nan, not a count"),
    ("broken counts", lambda: topicx.LDA(topics=2).fit(np.array([[1, 0.5]])), "is 0.5, not a count"),
    ("three dimensions", lambda: topicx.LDA(topics=2).fit(np.ones((2, 2, 2))), "not a list of words"),
    ("no file", lambda: topicx.Model.load("nowhere"), "nowhere: cannot be read"),
    ("search", lambda: topicx.search(C, topics=[0]), "topics must be from 1"),
    ("search held out", lambda: topicx.search(C, topics=[2], held_out=math.nan), "held_out"),
    ("states", lambda: topicx.HMM(0).fit(np.zeros((3, 1), int)), "must be a whole number from 1"),
    ("documents without labels", lambda: topicx.LabeledLDA().fit(C), "the corpus has none"),
    ("documents without targets", lambda: topicx.MedLDA(topics=2).fit(C), "no labels to learn from"),
    ("a callback that is none", lambda: topicx.LDA(topics=2).fit(C, [1.0]), "callbacks must be functions"),
    ("a prior beyond floats", lambda: topicx.LDA(topics=2, beta=10**400), "beta must be a finite number"),
    ("a prior that is true", lambda: topicx.LDA(topics=2, beta=True), "beta must be a finite number"),
    ("a document that is not there", lambda: C[6], "6"),
    ("a state of nothing", lambda: State.load(__file__), "not a topicx file"),
    ("a model of nothing", lambda: Model.load(__file__), "not a topicx file"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), [(call, m) for _, call, m in PYTHON], ids=[name for name, _, _ in PYTHON])
def test_mistakes_in_python_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((InputError, IndexError, TypeError, ValueError)) as refused:
        call()
    assert message in str(refused.value)


# -- numbers that are not what they seem ---------------------------------------------------------------------------


def told(values: list[float]) -> Corpus:
    n = len(values)
    return Corpus(
        np.tile(np.arange(2, dtype=np.uint32), n), np.arange(n + 1) * 2, Strings.of(["a", "b"]), time=np.array(values),
        columns={"n": np.array(values)},
    )  # fmt: skip


def test_large_numbers_are_classes_of_their_own() -> None:
    """1234567 and 1234568 are two classes, though six digits of them are the same."""
    found = read_targets(told([1234567.0, 1234568.0, 1234569.0, 0.25]), "multiclass", "n")
    assert found.classes == ("0.25", "1234567", "1234568", "1234569")
    assert (found.matrix == np.where(np.eye(4)[[1, 2, 3, 0]] > 0, 1, -1)).all()


def test_numbers_that_no_file_can_hold_are_refused_as_targets() -> None:
    with pytest.raises(InputError, match=r"document '1' is 1e\+300"):
        read_targets(told([1.0, 1e300]), "regression", "n")
    assert np.isfinite(read_targets(told([-1e30, 1e30]), "regression", "n").matrix).all()


def test_spans_of_large_times_have_names_of_their_own() -> None:
    """Seconds since 1970 agree in their first six digits."""
    groups, names = spans_of(told([1600000000.0 + i for i in range(6)]), 3)
    assert names == ["1600000000-1600000001", "1600000002-1600000003", "1600000004-1600000005"]
    assert groups.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("sampler", ["collapsed", "partial"])
def test_whole_numbers_are_priors_of_an_hmm_as_others_are(sampler: str) -> None:
    """Found by fuzzing: counts plus a whole number were whole numbers, which the draw of emissions did not take."""
    symbols = np.random.default_rng(1).integers(0, 4, (60, 1))
    fitted = [
        topicx.HMM(2, n_iter=3, sampler=sampler, transmat_prior=a, emissionprob_prior=b).fit(symbols)
        for a, b in ((2, 3), (2.0, 3.0))
    ]
    assert np.array_equal(fitted[0].emissionprob_, fitted[1].emissionprob_)
