"""Schemas: what a file must hold is checked on every way in; files of before and of later stay readable."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Run
from tests.instruction_sets import small_corpus
from tests.places import ROOT, STORED
from topicx.corpus.corpus import Corpus
from topicx.corpus.corpus_on_disk import StoredCorpus
from topicx.engines.threads import Threads
from topicx.errors import InputError, TopicxError
from topicx.files import container
from topicx.files.array_sizes import PATHS, TOKENS, as_size, named_size, size_beside
from topicx.files.file_kinds import CORPUS, KINDS, STATE
from topicx.files.schema import Array, Inconsistent, Schema
from topicx.model import Model
from topicx.run import Run as TrainingRun
from topicx.sampling.chain import Chain
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints
from topicx.state import Seeds, State, word_topics
from topicx.strings import Strings

"""Files as the first version of the format wrote them, and what became of the checkpoints then."""
CHECKPOINTS = ("cvb", "scvb0", "sparse", "warp")
LOADERS: dict[str, Callable[[Any], Any]] = {"corpus": Corpus.load, "state": State.load, "model": Model.load}


def resume(path: Path) -> Chain:
    with Threads(1) as engine:
        chain = Chain.load(path, engine)
        chain.run()
        return chain


def changed(source: Path, target: Path, change: Callable[[dict[str, Any]], None], meta: Any = None) -> Path:
    """The file with other arrays, and every checksum right."""
    file = container.read(source)
    arrays = {name: array.copy() for name, array in file.arrays.items()}
    change(arrays)
    container.write(target, file.kind, arrays, file.meta | (meta or {}), file.parents)
    return target


# -- files of the first version --------------------------------------------------------------------------------------


def test_a_corpus_of_the_first_version() -> None:
    corpus = Corpus.load(STORED / "v1.corpus")
    assert (corpus.n_documents, corpus.ids[3], corpus.labels(3), corpus.collection_of(3)) == (
        12,
        "d3",
        ["sky"],
        "there",
    )
    assert corpus.time[0] == 1990
    assert corpus.columns["score"][4] == 2.0
    assert corpus.columns["note"][2] == "né 2"
    assert corpus.word_frequencies.tolist() == np.bincount(corpus.words).tolist()
    assert set(Corpus.load(STORED / "v1-truth.corpus").truth) == {"topic_word", "document_topic", "z"}


def test_a_state_and_a_model_of_the_first_version() -> None:
    state, model = State.load(STORED / "v1.state"), Model.load(STORED / "v1.model")
    assert (state.paths, state.allowed, len(state.group_names), state.side) == (1, None, 0, {})
    assert len(state.seeds) == 2
    assert state.word_topics()[2].sum() == state.n_tokens + 4
    assert state.vocabulary == model.vocabulary
    assert list(model.trace) == ["alpha_sum", "beta", "changed", "score", "sweep"]
    assert np.allclose(model.topic_word.sum(axis=1), 1)


@pytest.mark.parametrize("sampler", CHECKPOINTS)
def test_checkpoints_of_the_first_version_resume_to_the_same_bits(sampler: str) -> None:
    z = resume(STORED / f"v1-{sampler}.checkpoint").method.sync().z
    assert hashlib.sha256(z.tobytes()).hexdigest()[:16] == json.loads((STORED / "v1.json").read_text())[sampler]


@pytest.mark.parametrize("name", [p.name for p in sorted(STORED.iterdir()) if p.suffix != ".json"])
def test_files_of_the_first_version_hold_what_is_declared_and_nothing_else(name: str) -> None:
    with container.open_file(STORED / name, KINDS) as file:
        assert file.sizes["words"] > 0
        assert not KINDS[file.kind].unknown(dict.fromkeys(file.names()))


@pytest.mark.parametrize("kind", LOADERS)
def test_arrays_of_a_later_version_survive(kind: str, tmp_path: Path) -> None:
    later = {"novelty": np.arange(6, dtype=np.uint8).reshape(2, 3), "further.one": np.array(1.5)}
    path = changed(STORED / f"v1.{kind}", tmp_path / "later", lambda arrays: arrays.update(later))
    loaded = LOADERS[kind](path)
    loaded.save(tmp_path / "again")
    found = container.read(tmp_path / "again").arrays
    assert all(np.array_equal(found[name], array) for name, array in later.items())
    assert set(found) == set(container.read(path).arrays)


@pytest.mark.parametrize("kind", LOADERS)
def test_a_round_trip_gives_the_same_bytes(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    loaded = LOADERS[kind](STORED / f"v1.{kind}")
    parents = {} if kind != "corpus" else {"parents": container.read(STORED / f"v1.{kind}").parents}
    loaded.save(tmp_path / "again", **parents)
    assert (tmp_path / "again").read_bytes() == (STORED / f"v1.{kind}").read_bytes()


# -- what models bring -------------------------------------------------------------------------------------------------


def rich_state() -> State:
    """A state with all that a model's definition may bring."""
    state = State.load(STORED / "v1.state")
    documents = state.n_documents
    state.alpha = np.vstack([state.alpha, state.alpha])
    state.groups = (np.arange(documents) % 2).astype(np.uint32)
    state.group_names = Strings.of(["here", "there"])
    state.paths, state.z = 2, np.concatenate([state.z, state.z])
    rows = [[0, 2], [1], []] * 4
    state.allowed = np.cumsum([0, *map(len, rows)]), np.array([k for row in rows for k in row], np.uint16)
    state.side = {"eta": np.linspace(-1, 1, 3), "targets": np.arange(documents, dtype=np.int8)}
    return state


def test_what_models_bring_is_stored(tmp_path: Path) -> None:
    state = rich_state()
    state.verify()
    state.save(tmp_path / "s.state")
    again = State.load(tmp_path / "s.state")
    assert (again.paths, again.group_names) == (2, ["here", "there"])
    assert again.allowed is not None and state.allowed is not None
    assert [part.tolist() for part in again.allowed] == [part.tolist() for part in state.allowed]
    assert again.side.keys() == state.side.keys()
    assert again.side["eta"].tolist() == state.side["eta"].tolist()
    assert again.extra == {}
    model = Model.load(STORED / "v1.model")
    model.topic_names, model.side = Strings.of(["sky", "kitchen", "day"]), {"rate": np.ones((2, 2), np.float32)}
    model.save(tmp_path / "m.model")
    again = Model.load(tmp_path / "m.model")
    assert list(again.topic_names) == ["sky", "kitchen", "day"]
    assert again.side["rate"].shape == (2, 2)


@pytest.mark.parametrize(
    ("problem", "change"),
    [
        ("allowed whose entries do not ascend", lambda s: s.allowed[1].__setitem__(slice(0, 2), [2, 0])),
        ("allowed.topics[0] = 9", lambda s: s.allowed[1].__setitem__(0, 9)),
        ("'allowed.offsets' of", lambda s: setattr(s, "allowed", (s.allowed[0][:-1], s.allowed[1]))),
        ("'group_names.offsets' of", lambda s: setattr(s, "group_names", Strings.of("abc"))),
        ("'z' of", lambda s: setattr(s, "z", s.z[:-1])),
        ("groups[3] = 2", lambda s: s.groups.__setitem__(3, 2)),
        ("2 paths", lambda s: setattr(s, "z", s.z[: s.n_tokens])),
    ],
)  # fmt: skip
def test_what_models_bring_is_verified(problem: str, change: Callable[[State], None]) -> None:
    state = rich_state()
    change(state)
    with pytest.raises(InputError, match="the state is not consistent: it has .*" + problem.replace("[", r"\[")):
        state.verify()


# -- files whose checksums are right and whose content lies ------------------------------------------------------------


def put(name: str, at: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays[name].__setitem__(at, value)


def instead(name: str, array: Any) -> Callable[[dict[str, Any]], None]:
    return lambda arrays: arrays.__setitem__(name, array)


LIES: list[tuple[str, str, Callable[[dict[str, Any]], None]]] = [
    ("corpus", r"words\[0\] = 1000000, which must be below 11, the number of words", put("words", 0, 10**6)),
    ("corpus", "offsets that end at 10,000,000", put("offsets", -1, 10**7)),
    ("corpus", "offsets that fall at entry 2", put("offsets", [1, 2], [30, 5])),
    ("corpus", "offsets that begin at 1", put("offsets", 0, 1)),
    ("corpus", "'words' of type int64, not uint32", lambda a: a.update(words=a["words"].astype(np.int64))),
    ("corpus", "no array 'words'", lambda a: a.pop("words")),
    ("corpus", "no array 'vocabulary.bytes'", lambda a: a.pop("vocabulary.bytes")),
    ("corpus", "no array 'column.note.offsets'", lambda a: a.pop("column.note.offsets")),
    ("corpus", r"'column.score' of 11 entries, where 12", lambda a: a.update({"column.score": a["column.score"][1:]})),
    ("corpus", r"collection\[2\] = 2, which must be below 2", put("collection", 2, 2)),
    ("corpus", r"label_ids\[0\] = 7", put("label_ids", 0, 7)),
    ("corpus", r"time\[1\] = inf", put("time", 1, np.inf)),
    ("corpus", "word_frequencies that sum to", put("word_frequencies", 0, 1)),
    ("corpus", "vocabulary.offsets that fall", put("vocabulary.offsets", 1, 10**6)),
    ("corpus", "'words' of 2 dimensions", lambda a: a.update(words=a["words"].reshape(1, -1))),
    ("model", "indptr that fall", put("indptr", 1, 10**6)),
    ("model", r"topics\[0\] = 60000, which must be below 3", put("topics", 0, 60000)),
    ("model", r"values\[0\] = nan", lambda a: a.update(values=a["values"] * np.nan)),
    ("model", r"values\[0\] = -5.0", lambda a: a.update(values=a["values"] * 0 - 5.0)),
    ("model", r"beta\[0\] = nan", put("beta", 0, np.nan)),
    ("model", "'alpha' of 1 dimensions", instead("alpha", np.ones(3))),
    ("model", r"0 groups", instead("alpha", np.ones((0, 3)))),
    ("model", r"'example_weights' of 1 entries", lambda a: a.update(example_weights=a["example_weights"][:1])),
    ("model", r"example_documents\[0\] = -2", put("example_documents", (0, 0), -2)),
    ("state", "0 groups", instead("alpha", np.ones((0, 3)))),
    ("state", r"alpha\[0\] = 1e\+308", put("alpha", (0, 0), 1e308)),
    ("state", r"beta\[0\] = 5e-324", put("beta", 0, 5e-324)),
    ("state", r"z\[4\] = 65534", put("z", 4, 65534)),
    ("state", r"seed_counts\[1\] = 0", put("seed_counts", 1, 0)),
    ("state", r"seed_counts\[0\] = 637534210", put("seed_counts", 0, 637534210)),
    ("state", r"seed_topics\[1\] = 3", put("seed_topics", 1, 3)),
    ("state", r"'ids.offsets' of 12 entries, where 13", lambda a: a.update({"ids.offsets": a["ids.offsets"][1:]})),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "problem", "change"), LIES, ids=[f"{kind}: {p}" for kind, p, _ in LIES])
def test_lies_are_refused(kind: str, problem: str, change: Any, tmp_path: Path) -> None:
    path = changed(STORED / f"v1.{kind}", tmp_path / "lie", change)
    with pytest.raises(InputError, match=f"lie: the {kind} is not consistent: it has {problem}"):
        LOADERS[kind](path)
    with pytest.raises(InputError, match=problem):
        container.open_file(path, KINDS)


CHECKPOINT_LIES: list[tuple[str, str, Callable[[dict[str, Any]], None]]] = [
    ("sparse", "counts of word number 0", put("method.row_len", slice(None), 10**6)),
    ("sparse", r"row_len\[1\] = -7", put("method.row_len", 1, -7)),
    ("sparse", "counts of word number 3", put("method.row_cells", slice(48, 64), 0xFFFFFFFF)),
    ("sparse", "counts of word number", lambda a: a.update({"method.row_cells": a["method.row_cells"][:-16]})),
    ("sparse", "tokens without a topic", put("z", 0, 65535)),
    ("sparse", "counts of word number", put("z", slice(0, 30), 1)),
    ("sparse", "no array 'row_len'", lambda a: a.pop("method.row_len")),
    ("sparse", "'sample.5.alpha' of", lambda a: a.update({"sample.5.alpha": np.ones((1, 4))})),
    ("sparse", r"sample.5.z\[2\] = 3", put("sample.5.z", 2, 3)),
    ("sparse", "'sample.5.z' of 0 entries", lambda a: a.update({"sample.5.z": a["z"][:0]})),
    ("sparse", "'trace.b' of", lambda a: a.update({"trace.a": np.zeros(8), "trace.b": np.zeros(9)})),
    ("warp", r"proposals\[4\] = 60000", put("method.proposals", (2, 0), 60000)),
    ("warp", "proposals for tokens", put("method.proposals", (2, 0), 65535)),
    ("warp", "'proposals' of 1 entries", lambda a: a.update({"method.proposals": a["method.proposals"][:, :1]})),
    ("cvb", r"gamma\[0\] = nan", put("method.gamma", 0, np.nan)),
    ("cvb", "'gamma' of", lambda a: a.update({"method.gamma": a["method.gamma"][:1]})),
    ("cvb", r"nd\[0\] = inf", put("method.nd", (0, 0), np.inf)),
    ("cvb", "'nd' of 1 entries", lambda a: a.update({"method.nd": a["method.nd"][:1]})),
    ("cvb", "'vw' of type float64", lambda a: a.update({"method.vw": a["method.vw"].astype(float)})),
    ("scvb0", "'nw' of 1 entries", lambda a: a.update({"method.nw": a["method.nw"][:1]})),
    ("scvb0", "a scale of 0", put("method.numbers", 0, 0.0)),
    ("scvb0", "'numbers' of 3 entries", lambda a: a.update({"method.numbers": np.ones(3)})),
]  # fmt: skip


@pytest.mark.parametrize(("name", "problem", "change"), CHECKPOINT_LIES, ids=[p for _, p, _ in CHECKPOINT_LIES])
def test_checkpoints_that_lie_are_refused(name: str, problem: str, change: Any, tmp_path: Path) -> None:
    path = changed(STORED / f"v1-{name}.checkpoint", tmp_path / "lie", change)
    with pytest.raises(InputError, match=f"lie: the checkpoint is not consistent: it has .*{problem}"):
        resume(path)


@pytest.mark.parametrize(
    ("problem", "meta"),
    [
        ("position 99", {"position": 99}),
        ("'position'", {"position": "7"}),
        ("'notes'", {"notes": None}),
        ("'seconds'", {"seconds": -1}),
        ("icm must be from 0", {"options": {"topics": 3, "sampler": "sparse", "icm": 2**40}}),
        ("options: topics", {"options": {"topics": [], "sampler": "sparse"}}),
        ("'figures'", {"figures": {"a": "b"}}),
        ("'state'", {"state": 3}),
    ],
)  # fmt: skip
def test_metadata_of_checkpoints_is_verified(problem: str, meta: dict[str, Any], tmp_path: Path) -> None:
    path = changed(STORED / "v1-sparse.checkpoint", tmp_path / "lie", lambda arrays: None, meta)
    with pytest.raises(InputError, match=f"lie: the checkpoint.*{problem}"):
        resume(path)


@pytest.mark.parametrize("meta", [{"columns": 3}, {"tokenizer": {"pattern": 1}}, {"time": "never"}, {"counts": []}])
def test_metadata_is_verified(meta: dict[str, Any], tmp_path: Path) -> None:
    path = changed(STORED / "v1.corpus", tmp_path / "lie", lambda arrays: None, meta)
    with pytest.raises(InputError, match=f"the metadata '{next(iter(meta))}'"):
        Corpus.load(path)


def test_every_command_refuses_a_lie(topicx: Run, tmp_path: Path) -> None:
    """Files are opened in many places, streams among them."""
    corpus = changed(STORED / "v1.corpus", tmp_path / "x.corpus", put("words", 0, 10**6)).name
    model = changed(STORED / "v1.model", tmp_path / "x.model", put("topics", 0, 60000)).name
    state = changed(STORED / "v1.state", tmp_path / "x.state", put("z", 0, 60000)).name
    good = STORED / "v1.model"
    for line in (
        ["train", corpus, "-o", "y"], ["train", corpus, "-o", "y", "--sampler", "scvb0", "--stream"],
        ["infer", good, corpus], ["info", corpus], ["export", corpus, "--format", "uci", "-o", "y"],
        ["evaluate", good, corpus], ["evaluate", good, state], ["prune", corpus, "-o", "y"],
        ["split", corpus, "-o", "y"],
        ["import", STORED / "v1.json", "--format", "text", "--like", corpus, "-o", "y"], ["topics", model],
        ["infer", model, STORED / "v1.corpus"], ["info", model], ["estimate", state, "-o", "y"], ["info", state],
        ["export", state, "--format", "mallet-state", "-o", "y"], ["train", "--init-state", state, "-o", "y"],
    ):  # fmt: skip
        done = topicx(*line)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), (line, done.stderr)
        assert "is not consistent" in done.stderr, line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.corpus", "x.model", "x.state"]


def test_nothing_opens_a_file_without_its_schema() -> None:
    """In the package, that is; a kind given as text would be the container's checks alone."""
    root = ROOT
    schemas = ["KINDS", *(name.upper().replace("-", "_") for name in KINDS)]
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for folder in ("topicx", "cli") for path in (root / folder).rglob("*.py")
        for line in path.read_text().splitlines()
        if any(f"files.{name}(" in line for name in ("read", "open_file", "write"))
        and not any(f", {known}" in line or f"({known}" in line for known in schemas)
    ]  # fmt: skip
    assert found == []


def test_streams_are_verified(tmp_path: Path) -> None:
    path = changed(STORED / "v1.corpus", tmp_path / "lie", put("words", -1, 10**6))
    with pytest.raises(InputError, match="words"):
        StoredCorpus.open(path)
    with container.open_file(STORED / "v1.corpus") as file, pytest.raises(TypeError):
        StoredCorpus(file)
    with StoredCorpus.open(STORED / "v1.corpus") as stored:
        whole = Corpus.load(STORED / "v1.corpus")
        assert stored.ids(3, 6) == whole.ids[3:6]
        bounds = stored.offsets(2, 5)
        assert stored.words(bounds[0], bounds[-1]).tolist() == whole.words[bounds[0] : bounds[-1]].tolist()
        assert stored.collection(0, 12).tolist() == whole.collection.tolist()


def test_nothing_is_written_that_could_not_be_read(tmp_path: Path) -> None:
    model = Model.load(STORED / "v1.model")
    model.values = model.values * np.nan
    with pytest.raises(TopicxError, match=r"not written: the model would have values\[0\] = nan"):
        model.save(tmp_path / "m.model")
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_called_damaged(tmp_path: Path) -> None:
    data = bytearray((STORED / "v1.state").read_bytes())
    with container.open_file(STORED / "v1.state", STATE) as file:
        data[file._start + file._table["z"]["data_offsets"][0]] ^= 0x70
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(InputError, match="damaged"):
        State.load(tmp_path / "x")


# -- the rules themselves ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 5, 2**18 - 1, 2**18, 2**18 + 7, 3 * 2**18 - 1])
def test_values_are_checked_in_every_piece(at: int) -> None:
    n = 3 * 2**18
    schema = Schema("x", (Array("words", "uint32", TOKENS, high=9), Array("ends", "int64", TOKENS, ends=TOKENS)))
    arrays = {"words": np.full(n, 9, np.uint32), "ends": np.arange(n)}
    arrays["ends"][-1] = n
    schema.verify(arrays)
    arrays["words"][at] = 10
    with pytest.raises(Inconsistent, match=rf"words\[{at}\] = 10"):
        schema.verify(arrays)
    arrays["words"][at] = 9
    if 0 < at < n - 1:
        arrays["ends"][at] = at - 2
        with pytest.raises(Inconsistent, match=f"fall at entry {at}"):
            schema.verify(arrays)


@pytest.mark.parametrize("kind", ["uint16", "float32", "float64", "int64"])
@pytest.mark.parametrize("none", [False, True])
def test_a_range_says_what_a_plain_comparison_says(kind: str, none: bool) -> None:
    rng = np.random.default_rng(1)
    special = {
        "uint16": [65535, 65534],
        "int64": [-1, 2**62],
        "float32": [np.nan, np.inf],
        "float64": [np.nan, -np.inf],
    }
    for _ in range(200):
        values = rng.integers(0, 6, 5).astype(kind)
        if rng.random() < 0.5:
            values[rng.integers(5)] = rng.choice(np.array(special[kind], kind))
        unsigned = kind == "uint16"
        one = Array("x", kind, named_size("n"), low=0, high=4, none=none and unsigned, nan=none and not unsigned)
        fits = (values >= 0) & (values <= 4)
        if none:
            fits |= (values == 65535) if unsigned else np.isnan(values)
        try:
            Schema("x", (one,)).verify({"x": values})
            found = True
        except Inconsistent:
            found = False
        assert found == bool(fits.all()), values


def test_sizes_are_learnt_and_compared() -> None:
    rows, columns = named_size("rows"), named_size("columns")
    long = Array("b", "int64", rows * columns * 3 + 1)
    schema = Schema("x", (Array("a", "int64", (rows, columns)), long, Array("c", "int64", PATHS * rows)))
    good = {"a": np.zeros((2, 3), np.int64), "b": np.zeros(19, np.int64), "c": np.zeros(8, np.int64)}
    assert schema.verify(good) == {"rows": 2, "columns": 3, "paths": 4}
    for name, shape in (("a", (2, 4)), ("b", 18), ("c", 7), ("c", (8, 1))):
        with pytest.raises(Inconsistent, match=f"'{name}'|'b'"):
            schema.verify(good | {name: np.zeros(shape, np.int64)})


def test_declarations_that_cannot_be_meant_are_refused_where_they_are_made() -> None:
    """A misspelt size or partner would bind nothing."""
    rows, columns = named_size("rows"), named_size("columns")
    spelt = [str(one) for one in (rows + 1, rows * columns * 3 + 1, as_size(2))]
    assert spelt == ["rows+1", "rows × columns × 3+1", "2"]
    wrong: list[Callable[[], Any]] = [
        lambda: named_size("Rows"), lambda: named_size("a.*.*"), lambda: (rows + 1) * columns,
        lambda: rows * size_beside("x"),
    ]  # fmt: skip
    for make in wrong:
        with pytest.raises(ValueError, match=r"size|sums|belong"):
            make()
    with pytest.raises(TypeError, match="'rows'"):
        Array("a", "int64", "rows")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="int65"):
        Array("a", "int65", rows)
    with pytest.raises(ValueError, match="one size"):
        Array("a", "int64", rows, below=columns + 1)
    for part in (
        Array("a", "int64", rows, below=columns),
        Array("a", "int64", rows, partner="b"),
        Array("a", "int64", named_size("n.*")),
    ):
        with pytest.raises(ValueError, match="schema 'x' has no array for"):
            Schema("x", (part,)).require_whole()
    with pytest.raises(ValueError, match="columns"):
        Schema("x", (Array("a", "int64", rows),), {columns: (1, 2)}).require_whole()


def test_every_declared_size_is_learnt_somewhere() -> None:
    for schema in KINDS.values():
        assert schema.require_whole() is schema
    assert CORPUS.limits == {}


# -- side arrays of models ---------------------------------------------------------------------------------------------

MODELS: dict[str, dict[str, Any]] = {
    "medlda": {"sampler": "light", "topics": 3},
    "compound": {"sampler": "sparse", "topics": 3, "own": {"pi": "mgs"}},
    "dependency": {"sampler": "labeled", "own": {"label_topics": 2, "label_sweeps": 3}},
    "hdp": {"sampler": "sparse", "topics": 3},
    "vem": {"model": "compound", "sampler": "vem", "topics": 3, "own": {"pi": "vem"}},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """NAME.state, NAME.model and NAME.checkpoint of small runs of every model."""
    place = tmp_path_factory.mktemp("runs")
    with Threads(1) as engine:
        for name, given in MODELS.items():
            options = Options(**{"model": name, "iterations": 3, "optimize_interval": 1, "optimize_burn_in": 0} | given)
            run = TrainingRun.start(small_corpus(), options, engine)
            run.train((), Checkpoints(str(place / f"{name}.checkpoint"), 2))
            result = run.result(examples=1)
            result.state.save(place / f"{name}.state")
            result.model.save(place / f"{name}.model")
    return place


SIDE_LIES: list[tuple[str, str, str]] = [
    ("medlda.model", "side.eta_spread", "no array 'side.eta_spread'"),
    ("medlda.model", "side.eta:nan", "side.eta[0] = nan"),
    ("medlda.model", "side.eta:cut", "'side.eta' of 3 entries, where 4 are needed (topics+1)"),
    ("medlda.model", "side.classes.offsets:cut", "'side.classes.bytes'|side.classes.offsets|'side.classes.offsets' of"),
    ("medlda.state", "side.targets:cut", "'side.targets' of 23 entries, where 24"),
    ("medlda.state", "side.task:high", "side.task[0] = 99"),
    ("medlda.state", "side.supervised:high", "side.supervised[0] = 99"),
    ("medlda.checkpoint", "start.side.scale:cut", "'start.side.scale' of 1 entries"),
    ("medlda.checkpoint", "side.curve:nan", "side.curve[0] = nan"),
    ("compound.state", "side.pi:nan", "side.pi[0] = nan"),
    ("compound.model", "side.scale:none", "'side.scale' of 0 entries"),
    ("compound.checkpoint", "update.proportions.step:cut", "'update.proportions.step' of 2 entries, where 3"),
    ("dependency.model", "side.label_topic_word:nan", "side.label_topic_word[0] = nan"),
    ("dependency.model", "side.label_topic_word:high", "side.label_topic_word[0] = 99"),
    ("dependency.model", "side.label_frequencies:none", "side.label_"),
    ("dependency.state", "side.topic_label:high", "side.topic_label[0] = 99, which must be below 3"),
    ("dependency.checkpoint", "side.labelled:cut", "'side.labelled' of 23 entries, where 24"),
    ("hdp.state", "side.concentrations:nan", "side.concentrations[0] = nan"),
    ("vem.checkpoint", "side.precision", "no array 'side.precision'"),
    ("vem.checkpoint", "side.concentration:none", "'side.concentration' of 0 entries"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "lie", "problem"), SIDE_LIES, ids=[f"{name} {lie}" for name, lie, _ in SIDE_LIES])
def test_side_arrays_that_lie_are_refused(name: str, lie: str, problem: str, runs: Path, tmp_path: Path) -> None:
    """As the model's definition declares them, by whatever reads the file."""
    array, _, how = lie.partition(":")

    def change(arrays: dict[str, Any]) -> None:
        if not how:
            del arrays[array]
        elif how in ("cut", "none"):
            arrays[array] = arrays[array][: -1 if how == "cut" else 0]
        else:
            arrays[array].reshape(-1)[0] = np.nan if how == "nan" else 99

    path = changed(runs / name, tmp_path / "lie", change)
    for read in (container.read, container.open_file):
        with pytest.raises(InputError, match="|".join(re.escape(each) for each in problem.split("|"))):
            read(path, KINDS)


def test_options_of_a_model_that_lie_are_refused(runs: Path, tmp_path: Path) -> None:
    file = container.read(runs / "dependency.model")
    for lie in ({"own": 3}, {"own": {"label_topics": "x"}}, {"own": {"nothing": 1}}):
        meta = {"options": file.meta["options"] | lie}
        path = changed(runs / "dependency.model", tmp_path / "lie", lambda arrays: None, meta)
        with pytest.raises(InputError, match="options"):
            Model.load(path)


def test_shares_sum_to_one_over_pieces() -> None:
    schema = Schema("x", (Array("a", "float64", (named_size("rows"), named_size("columns")), shares=True),))
    rows = np.random.default_rng(1).dirichlet(np.ones(3001), 300)  # a row lies across the pieces' borders
    schema.verify({"a": rows})
    for row in (0, 87, 174, 299):
        wrong = rows.copy()
        wrong[row, -1] += 1e-4
        with pytest.raises(Inconsistent, match="a row that does not sum to 1"):
            schema.verify({"a": wrong})


def test_pseudo_counts_are_added_without_being_written_out() -> None:
    """A lie about them asks for no memory; equal to tokens that are written out."""
    random = np.random.default_rng(3)
    words, z = random.integers(0, 9, 60).astype(np.uint32), random.integers(0, 5, 60).astype(np.uint16)
    seeds = Seeds.of([(0, 4, 3), (3, 0, 2), (3, 4, 7), (8, 2, 1), (8, 4, 1)])
    extra = np.repeat(np.arange(len(seeds)), seeds.counts)
    plain = word_topics(np.append(words, seeds.words[extra]), np.append(z, seeds.topics[extra]), 9, 5, Seeds())
    for found, wanted in zip(word_topics(words, z, 9, 5, seeds), plain, strict=True):
        assert found.tolist() == wanted.tolist() and found.dtype == wanted.dtype
    huge = Seeds.of([(8, 4, 1 << 40)])
    assert word_topics(words, z, 9, 5, huge)[2].max() >= 1 << 40
