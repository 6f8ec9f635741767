"""Small corpora and helpers that several test files use."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray

from tests.paper_corpora import write_paper_corpora
from topicx.corpus.corpus import Corpus
from topicx.model import Model
from topicx.models.definition import initial_state
from topicx.models.lda import LatentDirichletAllocation
from topicx.run import Run as TrainingRun
from topicx.sampling.chain import Chain
from topicx.sampling.run_options import Options
from topicx.state import State
from topicx.strings import Strings

# The same examples in every run: a test that fails now and then tells nobody what changed.
settings.register_profile("fixed", derandomize=True, database=None)
settings.load_profile("fixed")

# A shell lets its background jobs ignore interrupts, and nohup hangups, and so their children; tests send them.
for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
    number = getattr(signal, name, None)  # Windows has no hangups
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)


def lda_corpus(documents: int = 120, length: int = 40, words: int = 60, topics: int = 4, seed: int = 0) -> Corpus:
    """A corpus drawn from an LDA model, with some empty documents."""
    rng = np.random.default_rng(seed)
    phi = rng.dirichlet(np.full(words, 0.1), topics)
    texts = []
    for d in range(documents):
        theta = rng.dirichlet(np.full(topics, 0.2))
        n = 0 if d % 40 == 7 else int(rng.integers(1, 2 * length))
        texts.append(np.array([rng.choice(words, p=phi[k]) for k in rng.choice(topics, n, p=theta)], np.uint32))
    offsets = np.zeros(documents + 1, np.int64)
    offsets[1:] = np.cumsum([len(text) for text in texts])
    return Corpus(np.concatenate(texts).astype(np.uint32), offsets, Strings.of(f"w{i:03}" for i in range(words)))


@pytest.fixture
def corpus() -> Corpus:
    return lda_corpus()


def run_of(chain: Chain) -> TrainingRun:
    """A chain that a test made, as a run of LDA: for its model and θ."""
    return TrainingRun(LatentDirichletAllocation(), chain, chain.state)


def state_of(documents: int, length: int, topics: int, n_words: int = 50) -> State:
    """A state of documents that are all as long, without topics yet; each word is as frequent."""
    words = (np.arange(documents * length) % n_words).astype(np.uint32)
    offsets = np.arange(documents + 1, dtype=np.int64) * length
    corpus = Corpus(words, offsets, Strings.of([f"w{i}" for i in range(n_words)]))
    return initial_state(corpus, Options(topics=topics))


def state_bits(run: TrainingRun) -> list[bytes]:
    """What a run ends with, to be compared with that of another."""
    state = run.result().state
    return [state.z.tobytes(), state.alpha.tobytes(), state.beta.tobytes()]


def model_of(chain: Chain, theta: str = "cgsp", phi: str = "cgs") -> Model:
    return run_of(chain).result(theta=theta, phi=phi, examples=0).model


def theta_of(chain: Chain, estimator: str = "cgsp") -> NDArray[np.float64]:
    return np.concatenate([rows for _, rows in run_of(chain).theta_rows(estimator)])


Run = Callable[..., subprocess.CompletedProcess[str]]


def run_topicx(*arguments: object, cwd: Path | None = None, **settings: object) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": "0", **{k: str(v) for k, v in settings.pop("env", {}).items()}}  # type: ignore[attr-defined]
    return subprocess.run(
        [sys.executable, "-m", "topicx", *map(str, arguments)],
        cwd=cwd, text=True, capture_output=True, env=environment, timeout=120, check=False, **settings,  # type: ignore[call-overload]
    )  # fmt: skip


@pytest.fixture
def topicx(tmp_path: Path) -> Run:
    """Run the command line in an empty folder."""

    def run(*arguments: object, **settings: object) -> subprocess.CompletedProcess[str]:
        return run_topicx(*arguments, cwd=tmp_path, **settings)

    return run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with small texts, which is the current one: for what is run in this process."""
    from tests.mallet.mallet_cli import write_texts

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    write_texts(tmp_path)
    return tmp_path


def write_carrying_table(path: Path) -> None:
    """Twelve documents that carry a label, a time, a place and a score, as tab-separated values."""
    words = "bread oven flour yeast day", "moon star orbit comet day"
    rows = [f"d{i}\tl{i % 2}\t{words[i % 2]}\t{1990 + i}\tp{i % 3}\t{i}\n" for i in range(12)]
    path.write_text("id\tlabel\ttext\ttime\tplace\tscore\n" + "".join(rows))


@pytest.fixture(scope="session")
def paper_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small corpora for the scripts that repeat published experiments."""
    return write_paper_corpora(tmp_path_factory.mktemp("papers") / "data")
