"""Every option of every command of MALLET's: it changes what the call leaves, or it is refused in one line. None is
ignored but those that MALLET's own code ignores."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.mallet.mallet_cli import everything, run, write_texts
from topicx.errors import InputError
from topicx.mallet.command_tables import COMMANDS, PROGRAMS
from topicx.mallet.option_language import Command

TRAIN = "--num-topics 3 --num-iterations 30 --random-seed 4"
REGRESSION = (
    "--input f.mallet --num-topics 2 --num-iterations 12 --random-seed 4 --optimize-interval 4 --optimize-burn-in 4 "
    "--show-topics-interval 0"
)

# command -> a call of it.
CALLS = {
    "import-file": "--input a.txt --output new.mallet --keep-sequence",
    "import-dir": "--input dir/sky dir/money --output new.mallet --keep-sequence",
    "import-svmlight": "--input v.svm --output new.mallet",
    "bulk-load": "--input tabs.txt --output new.mallet",
    "info": "--input a.mallet --print-labels",
    "prune": "--input a.mallet --output new.mallet --prune-count 2",
    "split": "--input a.mallet --training-portion 0.5 --validation-portion 0.1 --random-seed 3",
    "train-topics": f"--input a.mallet --output-topic-keys keys {TRAIN}",
    "infer-topics": "--inferencer inf --input b.mallet --output-doc-topics shares",
    "evaluate-topics": "--evaluator ev --input b.mallet --random-seed 1",
    "run DocumentLengths": "--input a.mallet",
    "run FeatureCountTool": "--input a.mallet",
    "run StateToInstances": "--input state.gz --output new.mallet",
    "run Replacer": "--input tabs.txt --output out.txt",
    "run DMRTopicModel": REGRESSION,
}

# command -> option -> what is added to the call, and so has to show. A list: the call is another one, too.
EFFECTS: dict[str, dict[str, str | tuple[str, str]]] = {
    "import-file": {
        "input": "b.txt", "output": "other.mallet", "line-regex": r"^(\S+)()(.*)$", "name": "0", "label": "0",
        "data": "2", "use-pipe-from": "v.mallet", "use-pipe-from-without-rewrite": "v.mallet", "preserve-case": "",
        "replacement-files": "replace.txt", "deletion-files": "delete.txt", "remove-stopwords": "true",
        "stoplist-file": "stop.txt", "extra-stopwords": ("--remove-stopwords", "more.txt"),
        "stop-pattern-file": "patterns.txt", "keep-sequence": "false", "keep-sequence-bigrams": "",
        "encoding": "latin-1",
        "token-regex": r"\S+", "print-output": "TRUE", "label-as-features": "1",
    },
    "import-svmlight": {
        "input": "w.svm", "output": "other.mallet", "use-pipe-from": "v.mallet",
        "use-pipe-from-without-rewrite": "v.mallet", "print-output": "", "encoding": "latin-1",
    },
    "bulk-load": {
        "input": "tabs2.txt", "output": "other.mallet", "preserve-case": "", "remove-stopwords": "",
        "stoplist": "more.txt", "line-regex": r"^(\S+)(\s)(.*)", "name": "0", "label": "0", "data": "1",
        "prune-count": "26", "prune-doc-frequency": "0.5",
    },
    "info": {
        "input": ("--print-features", "v.mallet"), "print-labels": "false --print-features", "print-features": "",
        "print-feature-counts": "",
        "print-instances": "", "print-infogain": "5", "print-matrix": "",
    },
    "prune": {
        "input": "b.mallet", "output": "other.mallet", "training-file": ("--output", ""),
        "testing-file": ("split", "t"),
        "validation-file": ("split", "v"), "training-portion": ("split", "0.7"), "validation-portion": ("split", "0.2"),
        "random-seed": ("split", "9"), "prune-infogain": "3", "prune-count": "26", "prune-document-freq": "20",
        "min-idf": "0.4", "max-idf": "0.3", "vector-to-sequence": ("--input v.mallet --random-seed 1", ""),
        "hide-targets": "", "reveal-targets": ("--input hidden.mallet", ""),
    },
    "train-topics": {
        "input": "b.mallet", "input-model": "model", "input-state": "state.gz", "output-model": "m",
        "output-state": "s",
        "output-model-interval": ("--output-model m", "10"), "output-state-interval": ("--output-state s", "10"),
        "inferencer-filename": "i", "evaluator-filename": "e", "output-topic-keys": "k", "num-top-words": "3",
        "show-topics-interval": "7", "topic-word-weights-file": "w", "word-topic-counts-file": "c",
        "diagnostics-file": "d", "xml-topic-report": "x", "xml-topic-phrase-report": "p", "output-topic-docs": "td",
        "num-top-docs": ("--output-topic-docs td", "2"), "output-doc-topics": "dt",
        "doc-topics-threshold": ("--output-doc-topics dt", "0.2"),
        "doc-topics-max": ("--output-doc-topics dt --doc-topics-threshold 0.001", "1"), "num-topics": "4",
        "num-threads": "2", "num-iterations": "31 --output-state s", "num-icm-iterations": "2", "no-inference": "",
        "random-seed": "5", "optimize-interval": "10 --optimize-burn-in 5",
        "optimize-burn-in": ("--optimize-interval 10", "5"),
        "use-symmetric-alpha": ("--optimize-interval 10 --optimize-burn-in 5", ""), "alpha": "9", "beta": "0.5",
        "mallet-version": ("--output-doc-topics dt", "2.0.7"),
    },
    "infer-topics": {
        "inferencer": "inf2", "input": "a.mallet", "output-doc-topics": "other", "output-state": "s",
        "doc-topics-threshold": "0.3", "doc-topics-max": ("--doc-topics-threshold 0.0001", "1"), "num-iterations": "30",
        "sample-interval": "7", "burn-in": "50", "random-seed": "77", "mallet-version": "2.0.7",
    },
    "evaluate-topics": {
        "evaluator": "inf2", "input": "a.mallet", "output-doc-probs": "p", "output-prob": "q", "num-particles": "3",
        "show-words": "", "use-resampling": "", "random-seed": "8",
    },
    "run DocumentLengths": {"input": "b.mallet"},
    "run FeatureCountTool": {"input": "b.mallet"},
    "run StateToInstances": {"input": "state2.gz", "output": "other.mallet"},
    "run Replacer": {
        "input": "tabs2.txt", "output": "other.txt", "replacement-files": "replace.txt", "deletion-files": "delete.txt",
        "line-regex": r"^(\S+)(\s)(.*)", "name": "0", "label": "0", "data": "2",
    },
}  # fmt: skip
EFFECTS["split"] = EFFECTS["prune"]
EFFECTS["run DMRTopicModel"] = {
    "input": "f2.mallet", "output-params": "other", "output-topic-keys": "keys", "output-state": "s",
    "output-doc-topics": "dt", "output-model": "m", "doc-topics-threshold": ("--output-doc-topics dt", "0.3"),
    "doc-topics-max": ("--output-doc-topics dt --doc-topics-threshold 0.0001", "1"), "num-topics": "3",
    "num-iterations": "9", "random-seed": "5", "num-top-words": ("--output-topic-keys keys", "2"),
    "show-topics-interval": "4", "optimize-interval": "3", "optimize-burn-in": "2", "num-threads": "2",
}  # fmt: skip
EFFECTS["import-dir"] = {
    name: value for name, value in EFFECTS["import-file"].items()
    if name not in ("line-regex", "name", "label", "data", "label-as-features")
} | {
    "input": "dir/sky", "skip-header": "", "skip-html": "", "binary-features": "true --keep-sequence false",
    "gram-sizes": "1,2", "save-text-in-source": "", "use-pipe-from": "d.mallet",
    "use-pipe-from-without-rewrite": "d.mallet",
}  # fmt: skip
SHARED = ("help", "config", "prefix-code")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that the calls read."""
    place = tmp_path_factory.mktemp("mallet")
    write_texts(place)
    (place / "tabs2.txt").write_text("n\tl\tother words\n")
    (place / "config").write_text("unknown = 1\n")
    subjects = ("moon star planet star", "bank money loan money", "star comet moon planet")
    (place / "words").write_text("\n".join(subjects * 8) + "\n")
    (place / "features").write_text("sky weight=2\nshop\nsky\n" * 8)
    (place / "others").write_text("sky\nshop\nshop weight=3\n" * 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("SOURCE_DATE_EPOCH", "0")
        run("import-file --input a.txt --output a.mallet --keep-sequence")
        run("import-file --input b.txt --output b.mallet --use-pipe-from-without-rewrite a.mallet")
        run("import-file --input a.txt --output v.mallet --preserve-case")
        run("import-dir --input dir/sky dir/money --output d.mallet")
        run("prune --input a.mallet --output hidden.mallet --hide-targets")
        run("run cc.mallet.topics.tui.DMRLoader words features f.mallet")
        run("run cc.mallet.topics.tui.DMRLoader words others f2.mallet")
        run(f"train-topics --input a.mallet {TRAIN} --output-model model --output-state state.gz --inferencer-filename "
            "inf --evaluator-filename ev")  # fmt: skip
        run(f"train-topics --input b.mallet {TRAIN} --output-state state2.gz --inferencer-filename inf2")
    return place


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "w"
    shutil.copytree(prepared, place)
    monkeypatch.chdir(place)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    return place


def commands() -> list[Command]:
    return [*COMMANDS.values(), *PROGRAMS]


def cases() -> list[tuple[str, str]]:
    return [(command.name, option.name) for command in commands() for option in command.options]


def left_by(folder: Path, line: str) -> dict[str, object]:
    """What a call leaves: files that are there before count where they change."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    output = run(line)
    kept = {str(path) for path, data in before.items() if path.read_bytes() == data}
    found = everything(folder, kept, output)
    for path in folder.rglob("*"):
        if path.is_file() and path not in before:
            path.unlink()
    for path, data in before.items():
        path.write_bytes(data)
    return found


def test_the_table_names_every_option() -> None:
    for command in commands():
        names = {option.name for option in command.options if option.kind != "code" and not option.silent}
        assert names == set(EFFECTS[command.name]), command.name


@pytest.mark.parametrize(("name", "option"), cases())
def test_an_option_does_something_or_is_refused(name: str, option: str, folder: Path) -> None:
    command = next(one for one in commands() if one.name == name)
    declared = command.find(option)
    called = name if not name.startswith("run ") else f"run {command.owner}"
    base = f"{called} {CALLS[name]}"
    if declared.kind == "code":
        with pytest.raises(InputError, match=f"--{option}: is Java code"):
            run(f"{base} --{option} new_Pipe()")
        return
    if declared.silent:
        value = "true" if declared.kind == "boolean" else "5"
        assert left_by(folder, f"{base} --{option} {value}") == left_by(folder, base)
        return
    value = EFFECTS[name][option]
    if isinstance(value, tuple):
        more, value = value
        if more == "split":
            base = f"{called} --input a.mallet --training-portion 0.5 --validation-portion 0.1 --random-seed 3"
        elif more == "--output":
            base, value = f"{called} --input a.mallet --prune-count 2", "part"
            with pytest.raises(InputError, match="--output"):
                run(base)
            assert set(left_by(folder, f"{base} --{option} {value}")) >= {"part"}
            return
        elif more.startswith("--input"):
            base = f"{called} {more} --output new.mallet"
            base += " --prune-count 0" if option in ("vector-to-sequence", "reveal-targets") else ""
        else:
            base += " " + more
    elif name == "split" and option not in ("input", "random-seed"):
        base = f"prune {CALLS['prune']}"
    elif name == "split":
        base = f"{called} {CALLS['split']}"
    with_it = f"{base} --{option} {value}"
    assert left_by(folder, with_it) != left_by(folder, base), with_it


@pytest.mark.parametrize("name", [*COMMANDS])
def test_what_all_commands_have(name: str, folder: Path) -> None:
    out, _ = run(f"{name} --help")
    for option in (*COMMANDS[name].options, *(COMMANDS[name].find(shared) for shared in SHARED)):
        assert f"--{option.name} " in out
    assert len(COMMANDS[name].options) > 4
    with pytest.raises(InputError, match="--prefix-code: is Java code"):
        run(f"{name} --prefix-code x")
    assert left_by(folder, f"{name} {CALLS[name]} --config config") == left_by(folder, f"{name} {CALLS[name]}")
    for wrong, message in (("--nonsense 1", "no option --nonsense"), ("--input=x", "after a blank"), ("-k 3", "'-k'"),
                           ("", "no options are given")):  # fmt: skip
        with pytest.raises(InputError, match=message):
            run(f"{name} {wrong}")
