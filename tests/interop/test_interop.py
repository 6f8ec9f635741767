"""Other programs' states: read whole or refused with the file and the line, written back as they were."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import foreign
from tests.conftest import Run
from topicx.errors import InputError
from topicx.estimate import estimate, theta
from topicx.evaluate.diagnostics import topic_diagnostics
from topicx.interop import model_export, read_state
from topicx.state import Seeds, State
from topicx.strings import Strings

SAMPLE = Path(__file__).parents[1] / "mallet" / "sample"


# -- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", foreign.FORMATS)
def test_a_state_survives_every_format(format: str, tmp_path: Path) -> None:
    state = foreign.small_state(3, documents=9, words=12, topics=5, length=20)
    path, _ = foreign.write(state, format, tmp_path)
    got = read_state(path)
    assert np.array_equal(got.offsets, state.offsets)
    assert np.array_equal(got.z, state.z)
    assert [got.vocabulary[int(w)] for w in got.words] == [state.vocabulary[int(w)] for w in state.words]
    assert np.allclose(got.alpha, state.alpha)
    assert np.allclose(got.beta, state.beta)


def _slow(path: Path, format: str) -> list[tuple[str | int, int]]:
    """The tokens as a few lines of Python read them: words (or their numbers) and topics."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    if format.startswith("mallet"):
        found = [re.fullmatch(r"(\d+) (.*) (\d+) (\d+) ([^ ]+) (\d+)\r?", line) for line in text.split("\n")[3:-1]]
        assert all(found)
        return [(match[5], int(match[6])) for match in found if match]
    pairs = [pair for line in text.split("\n") for pair in line.split()[1 if format == "warplda" else 0 :]]
    return [(int(w), int(k)) for w, k in (pair.split(":") for pair in pairs)]


@pytest.mark.parametrize("format", foreign.FORMATS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_damage_is_named_or_harmless(format: str, seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A mutated file is refused in one line that names it, or read as the same text is read by simpler means."""
    rng = Random(seed)
    folder = tmp_path_factory.mktemp("state")
    path, files = foreign.write(foreign.small_state(seed % 7), format, folder)
    victim = rng.choice(files)
    data = victim.read_bytes()
    if format == "mallet-gz" and rng.random() < 0.5:
        victim.write_bytes(gzip.compress(foreign.damaged(gzip.decompress(data), rng)))
    else:
        victim.write_bytes(foreign.damaged(data, rng))
    begin = time.monotonic()
    try:
        state = read_state(path)
    except InputError as error:
        message = str(error)
        assert "\n" not in message
        assert str(folder) in message or format == "topicx"
        return
    finally:
        assert time.monotonic() - begin < 10
    state.verify()
    if format in ("lightlda", "topicx"):
        return
    words = state.words.tolist() if not format.startswith("mallet") else [state.vocabulary[int(w)] for w in state.words]
    assert list(zip(words, state.z.tolist())) == _slow(path, format)


FAULTS = [
    # format, file's number, what is replaced, by what, what the message must say
    ("mallet", 0, "#beta : 0.01", "#beta : nan", r"state:3: beta must be a positive number, not 'nan'"),
    ("mallet", 0, "#alpha : 0.1", "#alpha : -0.1", r"state:2: alpha of topic 0 must be a positive number"),
    ("mallet", 0, "#beta : 0.01\n", "", r"state:3: expected the lines `#alpha"),
    ("mallet", 0, "\n1 a source", "\n0 a source", r"state:\d+: "),
    ("warplda", 1, "7 3 0.1", "8 3 0.1", r"train.vocab: has 7 words, and .*train.model:1 declares 8"),
    ("warplda", 1, "7 3 0.1", "7 3 inf", r"train.model:1: alpha must be a positive number, not 'inf'"),
    ("gibbslda", 1, "ndocs=6", "ndocs=7", r"m.tassign: has 6 documents, and .*m.others declares 7"),
    ("gibbslda", 1, "beta=0.01", "beta=0", r"m.others:2: beta must be a positive number, not '0'"),
    ("gibbslda", 2, "7\n", "6\n", r"wordmap.txt: has 7 words, declares 6"),
    ("lightlda", 1, "3\tw3é", "2\tw3é", r"dict.txt:4: expected id 3, not 2"),
    ("lightlda", 3, "0:", "1:", r"the counts of server_\*_table_\*.model are not those of the blocks"),
]


@pytest.mark.parametrize(("format", "number", "old", "new", "message"), FAULTS)
def test_a_fault_is_named(format: str, number: int, old: str, new: str, message: str, tmp_path: Path) -> None:
    path, files = foreign.write(foreign.small_state(1), format, tmp_path)
    text = files[number].read_text()
    assert old in text
    files[number].write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=message):
        read_state(path)


def test_a_cut_file_is_no_half_state(tmp_path: Path) -> None:
    """Cutting a text anywhere inside its last line is noticed, even where what is left looks whole."""
    path, _ = foreign.write(foreign.small_state(1), "mallet", tmp_path)
    data = path.read_bytes()
    for size in range(len(data) - 30, len(data)):
        path.write_bytes(data[:size])
        if data[:size].endswith(b"\n"):
            continue
        with pytest.raises(InputError, match="state:"):
            read_state(path)


def test_mallet_documents_without_tokens_and_types_without_tokens(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text(
        "#doc source pos typeindex type topic\n#alpha : 1 2 \n#beta : 0.5\n"
        "1 my file.txt 0 4 b 1\n1 my file.txt 1 0 a 0\n4 NA 0 4 b 1\n"
    )
    state = read_state(path)
    assert state.offsets.tolist() == [0, 0, 2, 2, 2, 3]
    assert list(state.ids) == ["0", "my file.txt", "2", "3", "4"]
    assert list(state.vocabulary) == ["a", "b"]
    assert state.words.tolist() == [1, 0, 1]
    assert state.alpha.tolist() == [[1, 2]]
    assert state.meta["types_without_tokens"] == 3


def test_standard_input_and_folders(topicx: Run, tmp_path: Path) -> None:
    path, _ = foreign.write(foreign.small_state(), "mallet", tmp_path)
    done = topicx("estimate", "-", "-o", "a.model", input=path.read_text())
    assert done.returncode == 0, done.stderr
    pipe = subprocess.run(
        ["bash", "-c", f"'{sys.executable}' -m topicx estimate <(cat {path}) -o p.model"], cwd=tmp_path,
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert pipe.returncode == 0, pipe.stderr
    (tmp_path / "w").mkdir()
    foreign.write(foreign.small_state(), "warplda", tmp_path / "w")
    for name in ("w", "w/train", "w/train.model", "w/train.z.estimate"):
        done = topicx("estimate", name, "-o", "b.model")
        assert done.returncode == 0, done.stderr
    foreign.write(foreign.small_state(), "gibbslda", tmp_path / "w")
    done = topicx("estimate", "w", "-o", "b.model")
    assert done.returncode == 2
    assert "holds several states" in done.stderr


def test_tomotopy(tmp_path: Path) -> None:
    tomotopy = pytest.importorskip("tomotopy", reason="tomotopy is not installed", exc_type=ImportError)
    model = tomotopy.LDAModel(k=3, seed=1, alpha=0.2, eta=0.05)
    texts = ["a b c a b", "b c d d", "e f e a"]
    for text in texts:
        model.add_doc(text.split())
    model.train(10, workers=1)
    model.save(str(tmp_path / "m.bin"))
    state = read_state(tmp_path / "m.bin")
    assert state.n_topics == 3
    got = [
        sorted(state.vocabulary[int(w)] for w in state.words[a:b])
        for a, b in zip(state.offsets[:-1], state.offsets[1:])
    ]
    assert got == [sorted(text.split()) for text in texts]
    assert np.allclose(state.beta, 0.05)


def test_tomotopy_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.bin").write_bytes(b"LDA\0\0one\0\0TPTK\1\0" + b"\0" * 40)
    if importlib.util.find_spec("tomotopy") is None:
        with pytest.raises(InputError, match="install tomotopy"):
            read_state(tmp_path / "m.bin")
    else:
        with pytest.raises(InputError, match="tomotopy cannot load it"):
            read_state(tmp_path / "m.bin")


# -- count dumps ---------------------------------------------------------------------------------------------------


def _dump_folder(tmp_path: Path, state: State) -> Path:
    _, files = foreign.write(state, "lightlda", tmp_path)
    files[0].unlink()
    return tmp_path


def test_count_dumps_alone(topicx: Run, tmp_path: Path) -> None:
    state = foreign.small_state(2, documents=12, length=30)
    (tmp_path / "dump").mkdir()
    _dump_folder(tmp_path / "dump", state)
    done = topicx("estimate", "dump", "-o", "a.model", "--doc-topics", "theta.npz", "--json")
    assert done.returncode == 0, done.stderr
    about = json.loads(done.stdout)
    assert about["estimator"] == {"theta": "cgs", "phi": "cgs"}
    assert np.allclose(np.load(tmp_path / "theta.npz")["theta"], theta(state, "cgs"))
    done = topicx("estimate", "dump", "-o", "a.model", "--phi", "cgsp")
    assert done.returncode == 2
    assert "--corpus" in done.stderr


def test_count_dumps_with_their_corpus(topicx: Run, tmp_path: Path) -> None:
    """θ^p and φ^p from counts: Algorithm 1 without leaving the token itself out."""
    from topicx.corpus.corpus import Corpus

    state = foreign.small_state(2, documents=12, length=30)
    (tmp_path / "dump").mkdir()
    _dump_folder(tmp_path / "dump", state)
    Corpus(state.words, state.offsets, state.vocabulary).save(tmp_path / "c.corpus")
    done = topicx("estimate", "dump", "--corpus", "c.corpus", "-o", "a.model", "--doc-topics", "theta.npz")
    assert done.returncode == 0, done.stderr
    assert "cannot be left out" in done.stderr
    documents = np.repeat(np.arange(state.n_documents), state.lengths)
    n_dk = np.zeros((state.n_documents, 3))
    n_wk = np.zeros((state.n_words, 3))
    np.add.at(n_dk, (documents, state.z), 1)
    np.add.at(n_wk, (state.words, state.z), 1)
    p = (n_dk + 0.1)[documents] * (n_wk + 0.01)[state.words] / (n_wk.sum(axis=0) + 0.01 * state.n_words)
    p /= p.sum(axis=1, keepdims=True)
    soft = np.zeros_like(n_dk)
    np.add.at(soft, documents, p)
    want = (soft + 0.1) / (soft + 0.1).sum(axis=1, keepdims=True)
    assert np.allclose(np.load(tmp_path / "theta.npz")["theta"], want, atol=1e-12)
    Corpus(state.words[::-1].copy(), state.offsets, state.vocabulary).save(tmp_path / "d.corpus")
    Corpus(state.words[1:].copy(), np.maximum(state.offsets - 1, 0), state.vocabulary).save(tmp_path / "e.corpus")
    done = topicx("estimate", "dump", "--corpus", "e.corpus", "-o", "b.model")
    assert done.returncode == 2
    assert "not" in done.stderr


# -- writing -------------------------------------------------------------------------------------------------------


def test_export_and_read_again(tmp_path: Path) -> None:
    state = foreign.small_state(4, documents=9, words=12, topics=5, length=20)
    model_export.mallet_state(state, str(tmp_path / "state.gz"))
    model_export.warplda.write(state, str(tmp_path / "out"))
    for got in (read_state(tmp_path / "state.gz"), read_state(tmp_path / "out")):
        assert np.array_equal(got.z, state.z)
        assert np.array_equal(got.offsets, state.offsets)
        assert [got.vocabulary[int(w)] for w in got.words] == [state.vocabulary[int(w)] for w in state.words]


def test_what_a_format_cannot_say_is_refused(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    base = foreign.small_state()

    def state(**changes: object) -> State:
        return State(
            **({f: getattr(base, f) for f in ("words", "offsets", "z", "alpha", "beta", "vocabulary", "ids")} | changes)
        )  # type: ignore[arg-type]

    uneven = np.full(7, 0.01)
    uneven[2] = 0.5
    spaced = Strings.of(["new york", *list(base.vocabulary)[1:]])
    cases: list[tuple[State, str]] = [
        (state(beta=uneven), "β differs"),
        (state(alpha=np.full((2, 3), 0.1), groups=np.zeros(6, np.uint32)), "groups"),
        (state(seeds=Seeds.of([(1, 1, 3)])), "seed words"),
        (state(z=np.full(len(base.z), 0xFFFF, np.uint16)), "no topic yet"),
        (state(vocabulary=spaced), "'new york'"),
    ]
    for case, reason in cases:
        with pytest.raises(InputError, match=reason):
            model_export.mallet_state(case, out)
    with pytest.raises(InputError, match="α differs"):
        model_export.warplda.write(state(alpha=np.array([[0.1, 0.2, 0.3]])), out)
    assert not list(tmp_path.iterdir())


def test_export_commands(topicx: Run, tmp_path: Path) -> None:
    state = foreign.small_state(5, documents=9, words=12, topics=5, length=20)
    state.save(tmp_path / "a.state")
    for format in ("mallet-state", "mallet-doc-topics", "mallet-topic-keys", "mallet-topic-word-weights",
                   "mallet-word-topic-counts", "mallet-topic-docs", "mallet-topic-report",
                   "mallet-topic-phrase-report", "mallet-diagnostics", "pyldavis", "warplda"):  # fmt: skip
        done = topicx("export", "a.state", "--format", format, "-o", f"{format}.out")
        assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in (tmp_path / "mallet-doc-topics.out").read_text().splitlines()]
    assert np.allclose([[float(x) for x in row[2:]] for row in rows], theta(state, "cgs"))
    weights = (tmp_path / "mallet-topic-word-weights.out").read_text().splitlines()
    assert len(weights) == state.n_topics * state.n_words
    total = sum(float(line.split("\t")[2]) for line in weights)
    assert total == pytest.approx(state.n_tokens + 0.01 * 60)
    counts = [line.split() for line in (tmp_path / "mallet-word-topic-counts.out").read_text().splitlines()]
    assert sum(int(e.split(":")[1]) for row in counts for e in row[2:]) == state.n_tokens
    data = json.loads((tmp_path / "pyldavis.out").read_text())
    assert np.allclose(np.sum(data["topic_term_dists"], axis=1), 1)
    assert np.allclose(np.sum(data["doc_topic_dists"], axis=1), 1)
    assert sum(data["term_frequency"]) == sum(data["doc_lengths"]) == state.n_tokens
    done = topicx("export", "a.state", "--format", "uci", "-o", "x")
    assert done.returncode == 2
    done = topicx("estimate", "a.state", "-o", "a.model")
    done = topicx("export", "a.model", "--format", "mallet-word-topic-counts", "-o", "x")
    assert done.returncode == 2
    assert "--phi cgs" in done.stderr
    done = topicx("export", "a.model", "--format", "mallet-state", "-o", "x")
    assert done.returncode == 2
    done = topicx("export", "a.state", "--format", "mallet-doc-topics", "--doc-topics-max", "2",
                  "--doc-topics-threshold", "1e-9", "-o", "-")  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines[0] == "#doc name topic proportion ..."
    assert all(len(line.split("\t")) == 7 for line in lines[1:])  # two pairs, and MALLET's trailing tab


def test_diagnostics_as_xml(tmp_path: Path) -> None:
    state = foreign.small_state(3, documents=9, words=12, topics=5, length=20)
    state.vocabulary = Strings.of(["a<b&c", *list(state.vocabulary)[1:]])
    model_export.mallet_diagnostics(topic_diagnostics(None, state, 12), str(tmp_path / "d.xml"), 12)
    root = ElementTree.parse(tmp_path / "d.xml").getroot()
    assert set(root[0].attrib) == {"id", *model_export.DIAGNOSTICS}
    assert "a<b&c" in {word.text for topic in root for word in topic}
    assert all(int(word.attrib["count"]) > 0 and "nan" not in str(word.attrib).lower() for t in root for word in t)


def test_files_of_mallet_are_written_as_they_were_read(tmp_path: Path) -> None:
    state = read_state(SAMPLE / "state.gz")
    model = estimate(state, theta="cgs", phi="cgs", examples=0)
    model_export.mallet_state(state, str(tmp_path / "state.gz"))
    ours, theirs = ((folder / "state.gz").read_bytes() for folder in (tmp_path, SAMPLE))
    assert gzip.decompress(ours) == gzip.decompress(theirs)
    model_export.mallet_topic_keys(model, str(tmp_path / "keys"))
    assert (tmp_path / "keys").read_text() == (SAMPLE / "topic-keys.txt").read_text()
    model_export.mallet_word_topic_counts(model, str(tmp_path / "counts"), state)
    lines = [path.read_text().splitlines() for path in (tmp_path / "counts", SAMPLE / "word-topic-counts.txt")]
    assert [sorted(line.split()) for line in lines[0]] == [sorted(line.split()) for line in lines[1]]
    model_export.mallet_topic_word_weights(model, str(tmp_path / "weights"))
    assert (tmp_path / "weights").read_text() == (SAMPLE / "topic-word-weights.txt").read_text()
