"""Arrays that lie end in a line, never in a signal: in the constructors that anyone may call, and in a mapped file into
which another program writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import lda_corpus
from topicx.corpus import corpus as corpora
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError, TopicxError
from topicx.model import Model
from topicx.run import Run
from topicx.sampling.run_options import Options
from topicx.state import Seeds, State
from topicx.strings import Strings

LIES: dict[str, Callable[[Any], Any]] = {
    "large": lambda array: np.where(np.arange(array.size).reshape(array.shape) == 0, array.dtype.type(30_000), array),
    "long": lambda array: np.concatenate([array, array]),
    "short": lambda array: array[:-1],
    "other type": lambda array: array.astype(np.complex128),
    "list": lambda array: array.tolist(),
}


def made(kind: type) -> Any:
    corpus = lda_corpus(documents=30, words=20)
    if kind is Corpus:
        return corpus.with_labels(["a", "b"] * 15)
    result = Run.start(corpus, Options(topics=3, iterations=2, start="random"), Threads(1)).train().result()
    return result.state if kind is State else result.model


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize(
    "kind, name",
    [
        *((Corpus, name) for name in ("words", "offsets", "label_offsets", "label_ids")),
        *((State, name) for name in ("words", "offsets", "z", "beta")),
        *((Model, name) for name in ("indptr", "topics", "values", "beta", "example_documents")),
    ],
)
def test_an_array_that_lies_is_refused_when_the_object_is_made(kind: type, name: str, lie: str) -> None:
    good = made(kind)
    values = {field: getattr(good, field) for field in good.__dataclass_fields__}
    assert kind(**values) == good
    array = values[name]
    if lie == "large" and name in ("values", "beta", "example_documents"):
        pytest.skip("is no lie of this array")
    with pytest.raises(InputError, match=f"the {kind.__name__.lower()} is not consistent"):
        kind(**(values | {name: LIES[lie](array)}))


def test_other_lies_are_refused_too() -> None:
    state = made(State)
    values = {field: getattr(state, field) for field in state.__dataclass_fields__}
    for lie in (
        {"alpha": state.alpha[0]},
        {"alpha": state.alpha[:, :2]},
        {"groups": np.full(state.n_documents, 5, np.uint32)},
        {"seeds": Seeds.of([(999, 0, 3)])},
        {"seeds": Seeds.of([(0, 9, 3)])},
        {"allowed": (np.array([0, 1]), np.array([7], np.uint16))},
        {"vocabulary": ["a", "b"]},
        {"vocabulary": Strings(np.zeros(3, np.uint8), np.array([0, 70]))},
    ):
        with pytest.raises(InputError, match="the state is not consistent"):
            State(**(values | lie))


def test_what_is_written_into_a_mapped_corpus_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "MAP_FROM", 1)
    path = tmp_path / "c.corpus"
    lda_corpus().save(path)
    run = Run.start(Corpus.load(path), Options(topics=3, iterations=4, start="random"), Threads(1))
    lda_corpus().save(path)  # replaced, which is no matter
    run.train().result()

    run = Run.start(Corpus.load(path), Options(topics=3, iterations=4, start="random"), Threads(1))
    with path.open("r+b") as file:
        file.seek(-40, 2)
        file.write(b"\xff" * 4)
    with pytest.raises(TopicxError, match=r"c\.corpus: another program has written into it while it was in use"):
        run.train()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no bus errors")
def test_a_mapped_corpus_that_is_cut_short_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "c.corpus"
    big = np.zeros(100_000, np.uint32)
    Corpus(big, np.array([0, len(big)]), Strings.of(["word"])).save(path)
    program = (
        "import topicx.corpus.corpus as corpora, topicx.sampling.chain as chain, os\n"
        "from topicx.cli import main\n"
        "corpora.MAP_FROM = 1\n"
        "chain.check_unchanged = lambda words: (os.truncate('c.corpus', 4096), words.sum())\n"
        "main(['train', 'c.corpus', '-k', '2', '--iterations', '2', '-o', 'c.model', '--quiet'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    assert done.stderr == "topicx: c.corpus: was cut short by another program while it was in use\n"
