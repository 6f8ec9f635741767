"""What fuzzing found, one file or call of its kind each: refused in one line, or right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner

from tests.conftest import write_carrying_table
from topicx.cli import cli
from topicx.errors import InputError, TopicxError
from topicx.evaluate.time_concentration import TimeConcentration
from topicx.files import container
from topicx.hmm.hmm_options import MAX_SWEEPS, HmmOptions
from topicx.model import Model
from topicx.predict.label_number import LabelNumber
from topicx.predict.label_reader import label_reader
from topicx.regression.pooling import Pooled
from topicx.state import Seeds, State
from topicx.strings import Strings

USUAL = "--iterations 3 -q --threads 1"


def call(line: str) -> Any:
    return CliRunner().invoke(cli, line.split(), standalone_mode=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus whose documents carry everything, an instance list, and models, states and a checkpoint."""
    place = tmp_path_factory.mktemp("made")
    words = "bread oven flour yeast day", "moon star orbit comet day"
    write_carrying_table(place / "t.tsv")
    (place / "m.tsv").write_text("".join(f"d{i} l{i % 2} {words[i % 2]}\n" for i in range(6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for line in (
            "import t.tsv --text-field text --label-field label --collection-field place --time-field time "
            "--column score -o c -q",
            f"train c -k 3 {USUAL} -o lda --state lda.state",
            f"train c --model labeled {USUAL} -o labeled --state labeled.state",
            f"train c --model compound -k 3 {USUAL} -o compound --state compound.state",
            f"train c -k 3 --sampler warp --paths 2 {USUAL} --checkpoint warp.checkpoint --checkpoint-interval 2 -o w",
            "mallet import-file --input m.tsv --output m.mallet --keep-sequence",
        ):  # fmt: skip
            done = call(line)
            assert not done.exit_code and done.exception is None, (line, done.output, done.exception)
    return place


@pytest.fixture
def there(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own, with these files in it."""
    for path in made.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(line: str, message: str) -> None:
    """In one line, and nothing is written."""
    before = sorted(Path().iterdir())
    wrong = call(line).exception
    assert isinstance(wrong, TopicxError | click.ClickException), (line, wrong)
    said = str(wrong) if isinstance(wrong, TopicxError) else wrong.format_message()
    assert message in said and "\n" not in said, (line, said)
    assert sorted(Path().iterdir()) == before


def lie(source: str, change: Callable[[dict[str, Any]], None], meta: dict[str, Any] | None = None) -> str:
    """The name of a file like this one but for the change, every checksum right."""
    file = container.read(source)
    arrays = {name: array.copy() for name, array in file.arrays.items()}
    change(arrays)
    container.write("lie", file.kind, arrays, file.meta | (meta or {}), file.parents)
    return "lie"


def put(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    """These values at the array's beginning."""

    def change(arrays: dict[str, Any]) -> None:
        arrays[name][: np.size(value)] = value

    return change


def nothing(arrays: dict[str, Any]) -> None:
    pass


# -- labels ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["topics lie --merge 0,1 -o x", "prune lie --min-count 2 -o x"])
def test_states_of_labels_are_verified_before_they_are_changed(line: str, there: Path) -> None:
    """What was written could not be trained further or estimated."""
    lie("labeled.state", put("side.topic_label", 1))
    refused(line, "topics of labels in another order")


def test_labels_have_one_prior(there: Path) -> None:
    """A model of several groups would have been refused when it was written."""
    state = State.load("labeled.state")
    state.alpha, state.groups = np.vstack([state.alpha] * 2), np.zeros(state.n_documents, np.uint32)
    state.save("lie")
    refused("prune lie --min-count 2 -o x", "groups of documents with a prior each")
    refused("estimate lie -o x", "groups of documents with a prior each")


@pytest.mark.parametrize(("array", "value"), [("side.topic_label", -1), ("side.label_number", (0.0, 0.0, 1.0, 0.0))])
def test_models_of_labels_are_verified_before_they_are_changed(array: str, value: Any, there: Path) -> None:
    lie("labeled", put(array, value))
    refused("topics lie --name 0=bread -o x", "the model is not consistent")


def test_labels_are_of_models_that_say_so(there: Path) -> None:
    """Side arrays of labels in a model of another kind were nobody's to verify."""
    model = replace(Model.load("labeled"), meta=Model.load("lda").meta)
    with pytest.raises(InputError, match="topics are no labels"):
        label_reader(model)


def test_labels_that_no_document_carries() -> None:
    none = np.zeros(0, np.uint32), np.zeros(1, np.int64)
    assert LabelNumber.fit(*none, 5, np.zeros(0)).most == 1


@pytest.mark.parametrize("model", ["lda --sampler sparse", "hdp", "medlda"])
def test_documents_with_topics_of_their_own_keep_them(model: str, there: Path) -> None:
    """They were given every topic, and the state was refused when all was trained."""
    refused(f"train --init-state labeled.state --model {model} {USUAL} -o x", "sampler")


def test_plain_training_of_a_state_of_labels(there: Path) -> None:
    done = call(f"train --init-state labeled.state --model lda {USUAL} -o x --state y")
    assert done.exception is None and call("estimate y -o z -q --threads 1").exception is None
    assert State.load("y").meta["sampler"] == "labeled"


def test_priors_far_apart_of_documents_with_topics_of_their_own(there: Path) -> None:
    """Their sums were differences of running sums, which lose all that is small beside 1e30."""
    state = State.load("labeled.state")
    state.alpha = np.array([[1e30, 0.5]])
    assert state.allowed is not None
    offsets, topics = state.allowed
    wanted = [sum(state.alpha[0, k] for k in topics[a:b]) for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    assert state.document_alpha().tolist() == wanted
    state.save("far.state")
    assert call("estimate far.state -o x -q --threads 1").exception is None
    assert Model.load("x").example_weights.max() <= 1


def test_shares_of_variational_collections_are_above_zero(there: Path) -> None:
    """The bound has logarithms of them; those that are drawn may be too small for a double."""
    usual = "-k 3 --iterations 4 -q --threads 1 --checkpoint-interval 2"
    for pi, line in (("vem", "--sampler vem"), ("ags", "--sampler sparse")):
        call(f"train c --model compound --pi {pi} {line} {usual} --checkpoint v.checkpoint -o v")
        if pi == "vem":
            lie("v.checkpoint", put("side.precision", 1e308))
            refused("train --resume lie -o x -q --threads 1", "side.precision[0] = 1e+308")
        lie("v.checkpoint", put("side.pi", (0.0,) * 3))
        if pi == "vem":
            refused("train --resume lie -o x -q --threads 1", "side.pi[0] = 0")
        else:
            assert call("train --resume lie -o x -q --threads 1").exception is None


def test_proportions_of_langevin_steps_are_some(there: Path) -> None:
    call(f"train c --model compound --pi mgs -k 3 {USUAL} -o v --state v.state")
    lie("v.state", lambda arrays: arrays["side.phi"].fill(0))
    refused(f"train --init-state lie {USUAL} -o x", "φ of a collection that are all 0")


# -- models, and states of others --------------------------------------------------------------------------------------


def test_topics_that_are_born_have_one_prior(there: Path) -> None:
    """States of several groups, and those with seed words, ended in an index out of bounds."""
    refused(f"train --init-state compound.state --model hdp {USUAL} -o x", "several groups of documents")
    state = State.load("lda.state")
    state.seeds = Seeds(np.zeros(1, np.uint32), np.zeros(1, np.uint16), np.ones(1, np.int64))
    state.save("seeds.state")
    refused(f"train --init-state seeds.state --model hdp {USUAL} -o x", "seed words")


def test_contrasts_of_a_state_with_other_collections(there: Path) -> None:
    state = State.load("compound.state")
    state.alpha, state.groups = state.alpha[:1], state.groups[:0]
    state.group_names, state.side, state.meta = Strings.of([]), {}, {}
    state.parents["model"] = Model.load("compound").digest
    state.save("lie")
    refused("topics compound --by collection --contrast lie", "it has 1 collections")


def test_proposals_of_several_paths(there: Path) -> None:
    """A checkpoint of warp with paths holds proposals for each."""
    done = call("train --resume warp.checkpoint -o x -q --threads 1")
    assert done.exception is None, done.exception

    def cut(arrays: dict[str, Any]) -> None:
        arrays["method.proposals"] = arrays["method.proposals"][: len(arrays["words"])]

    lie("warp.checkpoint", cut)
    refused("train --resume lie -o y -q --threads 1", "'proposals' of 60 entries, where 120 are needed")


def test_topics_by_time_without_documents(there: Path) -> None:
    none = np.zeros((1, 0))
    found = TimeConcentration(none[0], [], none[0], np.zeros((0, 3)), none[0], np.zeros((3, 1)), 12)
    assert found.quartiles() == found.quartiles(weighted=True) == []


# -- metadata ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pipe", [{"stopwords": 3}, {"stopwords": [1]}, {"tokens": 7}, {"grams": ["1"]}, {"rules": [[[["a"], 3]]]}, []]
)
def test_what_instances_remember_of_their_making(pipe: Any, there: Path) -> None:
    about = container.read("m.mallet").meta["mallet"]
    lie("m.mallet", nothing, {"mallet": about | {"pipe": about["pipe"] | pipe if pipe else [[1]]}})
    refused("mallet info --input lie --print-labels TRUE", "in a form that topicx does not write")


@pytest.mark.parametrize("about", [3, {"form": 3}, {"labels": 3}, {"hidden": 3}, {"seed": "x"}, {"columns": {}}])
def test_instances_whose_metadata_is_something_else(about: Any, there: Path) -> None:
    lie("m.mallet", nothing, {"mallet": about})
    refused("mallet info --input lie --print-labels TRUE", "the metadata 'mallet'")


@pytest.mark.parametrize("wrong", [{"stem": {}}, {"stem": 3}, {"min_length": 10**30}, {"min_length": 0.5}])
def test_how_words_were_made(wrong: dict[str, Any], there: Path) -> None:
    lie("lda", nothing, {"tokenizer": container.read("lda").meta["tokenizer"] | wrong})
    refused("import t.tsv --text-field text --like lie -o x -q", "the metadata 'tokenizer'")


def test_counts_to_which_others_are_added(there: Path) -> None:
    lie("c", nothing, {"counts": container.read("c").meta["counts"] | {"dropped_words": "x"}})
    refused("prune lie --min-count 2 -o x -q", "the metadata 'counts'")


def test_groups_of_a_state_are_a_list(there: Path) -> None:
    lie("lda.state", nothing, {"groups": 3})
    refused("estimate lie -o x -q", "the metadata 'groups'")


@pytest.mark.parametrize("soft", [-1, 10**9, "x", None])
def test_sweeps_of_a_soft_start(soft: Any, there: Path) -> None:
    lie("warp.checkpoint", nothing, {"soft": soft})
    refused("train --resume lie -o x -q", "the metadata 'soft'")


@pytest.mark.parametrize(
    "wrong", [{"iterations": MAX_SWEEPS + 1}, {"start_prior": True}, {"alpha": 10**40}, {"beta": "1"}]
)
def test_options_of_an_hmm_that_no_run_can_have(wrong: dict[str, Any]) -> None:
    """The first kept a machine busy for ever."""
    with pytest.raises(InputError, match=f"{next(iter(wrong))} must be"):
        HmmOptions(**{"states": 2} | wrong)


def test_a_variance_that_is_rounded_below_zero_is_none() -> None:
    """Groups whose documents are all alike: their shares differ by nothing, and no warning is printed."""
    pooled = Pooled(np.array([0.5, 0.2]), np.array([-1e-19, 0.04]), np.array([5.0, 5.0]), np.zeros(2))
    with np.errstate(all="raise"):
        low, high = pooled.intervals(0.9)
        assert pooled.errors.tolist() == pytest.approx([0.0, 0.2])
    assert low[0] == high[0] == 0.5 and low[1] < 0.2 < high[1]
