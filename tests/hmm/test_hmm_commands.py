"""topicx hmm and topicx.HMM: results that depend on corpus, options and seed only; files, errors, decoding."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import topicx
from tests.conftest import Run
from tests.places import ROOT
from topicx import datasets
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.hmm.hmm_model import HmmModel
from topicx.hmm.hmm_options import HmmOptions
from topicx.hmm.hmm_run import HmmRun
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.strings import Strings


def sequences(
    seed: int = 0, states: int = 3, symbols: int = 8, lengths: tuple[int, ...] = (300, 0, 1, 150, 70)
) -> Corpus:
    """Drawn from a model whose states are easy to tell apart."""
    rng = np.random.default_rng(seed)
    trans = np.full((states, states), 0.1) + np.eye(states) * (0.9 - 0.1 * (states - 1))
    trans /= trans.sum(axis=1, keepdims=True)
    emit = rng.dirichlet(np.full(symbols, 0.3), states)
    words = []
    for length in lengths:
        state = int(rng.integers(states))
        for _ in range(length):
            words.append(int(rng.choice(symbols, p=emit[state])))
            state = int(rng.choice(states, p=trans[state]))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Corpus(np.array(words, np.uint32), offsets, Strings.of(f"s{i}" for i in range(symbols)))


KINDS = [("collapsed", 2, 2), ("partial", 2, 3), ("collapsed", 4, 1), ("partial", 3, 2), ("baum-welch", 3, 1)]


def options_of(sampler: str, states: int, paths: int, **further: int) -> HmmOptions:
    return HmmOptions(states=states, sampler=sampler, paths=paths, **({"iterations": 45, "restarts": 3} | further))


def arrays_of(model: HmmModel) -> list[np.ndarray]:
    return [model.startprob, model.transmat, model.emissionprob, *model.trace.values()]


@pytest.mark.parametrize(("sampler", "states", "paths"), KINDS)
@pytest.mark.parametrize("restarts", [1, 3])
def test_threads_and_interruptions_change_nothing(
    sampler: str, states: int, paths: int, restarts: int, tmp_path: Path
) -> None:
    corpus, options = sequences(), options_of(sampler, states, paths, restarts=restarts)
    found = []
    for threads in (1, 2, 5):
        with Threads(threads) as engine:
            run = HmmRun.of(corpus, options, engine)
            run.run()
            found.append(arrays_of(run.model()))
    path = str(tmp_path / "run.checkpoint")
    with Threads(2) as engine:
        run = HmmRun.of(corpus, options, engine)
        asked = 0
        while True:

            def stop() -> bool:
                nonlocal asked
                asked += 1
                return asked % 4 == 0

            try:
                run.run((), Checkpoints(path, 7), stop)
                break
            except Interrupted:
                run = HmmRun.load(path, engine)
        found.append(arrays_of(run.model()))
        half = HmmRun.of(corpus, options_of(sampler, states, paths, restarts=restarts, iterations=13), engine)
        half.run((), Checkpoints(path, 13))
        longer = HmmRun.load(path, engine, 45)
        longer.run()
        found.append(arrays_of(longer.model()))
    for other in found[1:]:
        for have, want in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("sampler", ["collapsed", "partial", "baum-welch"])
def test_the_truth_is_found(sampler: str) -> None:
    corpus = sequences(1, states=2, lengths=(3000,))
    model = topicx.HMM(2, sampler=sampler, restarts=4, n_iter=200, random_state=2).fit(corpus)
    assert model.score(corpus) > np.log(np.bincount(corpus.words)[corpus.words] / 3000).sum() + 500
    assert np.abs(np.diag(model.transmat_) - 0.9).max() < 0.04
    assert model.log_likelihoods_[int(np.argmax(model.log_likelihoods_))] == pytest.approx(
        model.score(corpus), rel=1e-12
    )


def test_the_class_has_what_users_of_hmmlearn_expect(tmp_path: Path) -> None:
    corpus = sequences(states=2)
    X = corpus.words.astype(np.int64)[:, None]
    lengths = np.diff(corpus.offsets).tolist()
    model = topicx.HMM(n_components=2, n_iter=60, paths=3, random_state=5)
    assert model.fit(X, lengths) is model
    assert model.startprob_.shape == (2,)
    assert model.transmat_.shape == (2, 2)
    assert model.emissionprob_.shape == (2, 8)
    for value in (model.startprob_, model.transmat_, model.emissionprob_):
        np.testing.assert_allclose(value.sum(axis=-1), 1)
    states = model.predict(X, lengths)
    assert states.shape == (len(X),)
    score, decoded = model.decode(X, lengths)
    assert score < model.score(X, lengths)
    np.testing.assert_array_equal(states, decoded)
    total, gamma = model.score_samples(X, lengths)
    assert total == pytest.approx(model.score(X, lengths), rel=1e-12)
    np.testing.assert_array_equal(gamma, model.predict_proba(X, lengths))
    np.testing.assert_allclose(gamma.sum(axis=1), 1)
    model.save(str(tmp_path / "m.hmm"))
    again = HmmModel.load(tmp_path / "m.hmm")
    np.testing.assert_array_equal(again.emissionprob, model.emissionprob_)
    given = topicx.HMM(2)
    given.startprob_, given.transmat_, given.emissionprob_ = model.startprob_, model.transmat_, model.emissionprob_
    assert given.score(X, lengths) == model.score(X, lengths)


def test_baum_welch_begins_where_it_is_told() -> None:
    X = sequences(states=2, lengths=(200,)).words.astype(np.int64)
    start, trans = np.array([0.7, 0.3]), np.array([[0.6, 0.4], [0.2, 0.8]])
    emit = np.random.default_rng(1).dirichlet(np.ones(8), 2)
    model = topicx.HMM(2, sampler="baum-welch", n_iter=0, init_params="", n_features=8)
    model.startprob_, model.transmat_, model.emissionprob_ = start, trans, emit
    model.fit(X)
    np.testing.assert_array_equal(model.emissionprob_, emit)
    before = model.score(X)
    model = topicx.HMM(2, sampler="baum-welch", n_iter=5, init_params="", n_features=8)
    model.startprob_, model.transmat_, model.emissionprob_ = start, trans, emit
    assert model.fit(X).score(X) > before


def test_the_same_as_hmmlearn() -> None:
    """The same likelihood after the same rounds from the same start."""
    peer = pytest.importorskip("hmmlearn.hmm", reason="hmmlearn is not installed")
    corpus = sequences(states=3, lengths=(200, 50, 9))
    X, lengths = corpus.words.astype(np.int64)[:, None], [200, 50, 9]
    rng = np.random.default_rng(3)
    start, trans, emit = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(8), 3)
    theirs = peer.CategoricalHMM(3, n_iter=8, tol=-np.inf, init_params="")
    theirs.n_features = 8
    ours = topicx.HMM(3, sampler="baum-welch", n_iter=8, tol=0, init_params="", n_features=8)
    for model in (theirs, ours):
        model.startprob_, model.transmat_, model.emissionprob_ = start, trans, emit
        model.fit(X, lengths)
    np.testing.assert_allclose(ours.emissionprob_, theirs.emissionprob_, atol=1e-9)
    np.testing.assert_allclose(ours.transmat_, theirs.transmat_, atol=1e-9)
    assert ours.score(X, lengths) == pytest.approx(theirs.score(X, lengths), rel=1e-12)
    np.testing.assert_array_equal(ours.predict(X, lengths), theirs.predict(X, lengths))
    np.testing.assert_allclose(ours.predict_proba(X, lengths), theirs.predict_proba(X, lengths), atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "X", "message"),
    [
        ({"n_components": 0}, [0], "states"),
        ({"sampler": "magic"}, [0], "sampler"),
        ({"sampler": "baum-welch", "paths": 2}, [0], "paths"),
        ({"transmat_prior": 0.0}, [0], "alpha"),
        ({"init_params": "x"}, [0], "init_params"),
        ({"init_params": "st"}, [0], "init_params"),
        ({"sampler": "baum-welch", "init_params": "st"}, [0], "emissionprob_"),
        ({"n_features": 2}, [0, 2], "n_features"),
        ({}, [0.5], "whole numbers"),
        ({}, [-1, 2], "from 0 on"),
        ({}, [], "no symbols"),
        ({}, [[0, 1]], "one a row"),
    ],
)
def test_mistakes_are_named(arguments: dict, X: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        topicx.HMM(**({"n_components": 2, "n_iter": 3} | arguments)).fit(np.array(X))


def test_lengths_that_do_not_fit_and_models_without_training() -> None:
    with pytest.raises(InputError, match="lengths"):
        topicx.HMM(2).fit(np.array([0, 1]), [1])
    with pytest.raises(InputError, match="fit"):
        topicx.HMM(2).score(np.array([0, 1]))
    model = topicx.HMM(2, n_iter=2).fit(np.array([0, 1, 0]))
    with pytest.raises(InputError, match="symbol 7"):
        model.predict(np.array([7]))


# -- the command line ----------------------------------------------------------------------------------------


def test_train_decode_evaluate(topicx: Run, tmp_path: Path) -> None:
    corpus = sequences()
    corpus.save(tmp_path / "a.corpus")
    done = topicx("hmm", "train", "a.corpus", "-k", 3, "--paths", 2, "--restarts", 2, "--iterations", 60, "-o", "a.hmm",
                  "--trace", "a.tsv", "--trace-interval", 20)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "2 restarts" in done.stderr
    assert not (tmp_path / "a.hmm.checkpoint").exists()
    rows = [line.split("\t") for line in (tmp_path / "a.tsv").read_text().splitlines()]
    assert rows[0] == ["sweep", "restart_0", "restart_1"]
    assert [row[0] for row in rows[1:]] == ["0", "20", "40", "60"]
    found = json.loads(topicx("hmm", "evaluate", "a.hmm", "a.corpus", "--json").stdout)
    assert found["log_likelihood"] == pytest.approx(max(map(float, rows[-1][1:])), abs=1e-5)
    assert found["symbols"] == 521
    path = topicx("hmm", "decode", "a.hmm", "a.corpus")
    lines = [line.split("\t") for line in path.stdout.splitlines()]
    assert lines[0] == ["document", "log_p", "states"]
    assert [len(line[2].split()) for line in lines[1:]] == [300, 0, 1, 150, 70]
    tokens = topicx("hmm", "decode", "a.hmm", "a.corpus", "--tokens", "-m", "posterior", "-o", "t.tsv")
    assert tokens.returncode == 0, tokens.stderr
    table = [line.split("\t") for line in (tmp_path / "t.tsv").read_text().splitlines()]
    assert table[0] == ["document", "position", "symbol", "state", "p_0", "p_1", "p_2"]
    assert len(table) == 522
    assert all(int(row[3]) == int(np.argmax(list(map(float, row[4:])))) for row in table[1:50])
    assert "a topicx hmm" in topicx("info", "a.hmm").stdout


def test_unknown_symbols_count_nothing(topicx: Run, tmp_path: Path) -> None:
    corpus = sequences(lengths=(50,))
    corpus.save(tmp_path / "a.corpus")
    topicx("hmm", "train", "a.corpus", "--iterations", 20, "-o", "a.hmm", "-q")
    words = corpus.vocabulary
    known = [words[int(w)] for w in corpus.words]
    Corpus.from_documents([[*known, "new", "newer"]]).save(tmp_path / "b.corpus")
    Corpus.from_documents([["newest"]]).save(tmp_path / "c.corpus")
    plain, more = (json.loads(topicx("hmm", "evaluate", "a.hmm", f"{name}.corpus", "--json").stdout) for name in "ab")
    assert more["log_likelihood"] == pytest.approx(plain["log_likelihood"], rel=1e-12)
    assert (more["unknown"], more["symbols"]) == (2, 50)
    none = topicx("hmm", "evaluate", "a.hmm", "c.corpus")
    assert none.returncode == 2
    assert "no symbol" in none.stderr


@pytest.mark.parametrize("sampler", ["collapsed", "partial", "baum-welch"])
def test_a_killed_run_goes_on_to_the_same_bytes(sampler: str, topicx: Run, tmp_path: Path) -> None:
    datasets.make("hmm", 1, tokens=30_000).save(tmp_path / "a.corpus")
    own = ["--tolerance", 0] if sampler == "baum-welch" else ["--paths", 2]
    arguments = ["hmm", "train", "a.corpus", "--sampler", sampler, "--restarts", 2, *own, "--iterations", 400,
                 "-o", "b.hmm"]  # fmt: skip
    whole = topicx(*[a if a != "b.hmm" else "a.hmm" for a in arguments])
    assert whole.returncode == 0, whole.stderr
    command = [sys.executable, "-m", "topicx", *map(str, arguments), "--checkpoint-interval", "20"]
    process = subprocess.Popen(command, cwd=tmp_path, env=os.environ | {"SOURCE_DATE_EPOCH": "0"})
    while not (tmp_path / "b.hmm.checkpoint").exists() and process.poll() is None:
        pass
    process.kill()
    process.wait()
    if (tmp_path / "b.hmm.checkpoint").exists():  # else it was quicker than we
        done = topicx("hmm", "train", "--resume", "b.hmm.checkpoint", "-o", "b.hmm")
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "b.hmm.checkpoint").exists()
    assert (tmp_path / "a.hmm").read_bytes() == (tmp_path / "b.hmm").read_bytes()


def test_an_interrupted_run_says_how_to_go_on(topicx: Run, tmp_path: Path) -> None:
    datasets.make("hmm", 1, tokens=20_000).save(tmp_path / "a.corpus")
    command = [sys.executable, "-m", "topicx", "hmm", "train", "a.corpus", "--iterations", "100000000", "-o", "a.hmm",
               "--checkpoint-interval", "50"]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "a.hmm.checkpoint").exists():
        assert process.poll() is None
    process.terminate()
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "topicx hmm train --resume a.hmm.checkpoint -o a.hmm" in messages
    assert "wrote the model so far (" in messages
    so_far = HmmModel.load(tmp_path / "a.hmm")
    assert so_far.meta["stopped_after"] == so_far.meta["sweeps"] > 0
    refused = topicx("hmm", "train", "--resume", "a.hmm.checkpoint", "-o", "a.hmm", "--iterations", 1)
    assert refused.returncode == 2
    assert "already" in refused.stderr


def test_an_interrupted_run_leaves_a_finished_model_alone(topicx: Run, tmp_path: Path) -> None:
    """SIGHUP, too, saves a checkpoint; what it says gives a model of what was done."""
    datasets.make("hmm", 1, tokens=20_000).save(tmp_path / "a.corpus")
    assert topicx("hmm", "train", "a.corpus", "--iterations", "2", "-o", "a.hmm").returncode == 0
    before = (tmp_path / "a.hmm").read_bytes()
    command = [sys.executable, "-m", "topicx", "hmm", "train", "a.corpus", "--iterations", "100000000", "-o", "a.hmm",
               "--checkpoint-interval", "50"]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL) and None)  # fmt: skip
    while not (tmp_path / "a.hmm.checkpoint").exists():
        assert process.poll() is None
    process.send_signal(signal.SIGHUP)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130 and (tmp_path / "a.hmm").read_bytes() == before
    assert "a.hmm stays as it was" in messages
    told = messages.split("topicx ")[-1].split()
    assert topicx(*told).returncode == 0 and HmmModel.load(tmp_path / told[-1]).meta["sweeps"] == int(told[-3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "-o", "x.hmm"], "give a CORPUS"),
        (["train", "a.corpus", "--sampler", "baum-welch", "--paths", "2", "-o", "x.hmm"], "--paths"),
        (["train", "a.corpus", "--tolerance", "1", "-o", "x.hmm"], "--tolerance"),
        (["train", "a.corpus", "--alpha", "0", "-o", "x.hmm"], "--alpha"),
        (["train", "missing.corpus", "-o", "x.hmm"], "missing.corpus"),
        (["train", "empty.corpus", "-o", "x.hmm"], "no symbols"),
        (["train", "a.corpus", "-o", "a.corpus"], "input"),
        (["train", "a.corpus", "--resume", "a.corpus", "-o", "x.hmm"], "--resume"),
        (["train", "--resume", "a.corpus", "-o", "x.hmm"], "a topicx corpus"),
        (["decode", "a.corpus", "a.corpus"], "hmm"),
        (["evaluate", "-", "-"], "standard input"),
        (["decode", "a.hmm", "b.corpus"], "cannot produce"),
        (["evaluate", "a.hmm", "b.corpus"], "cannot produce"),
    ],
)
def test_mistakes_are_one_line(arguments: list[str], message: str, topicx: Run, tmp_path: Path) -> None:
    sequences().save(tmp_path / "a.corpus")
    Corpus.from_documents([["s0", "s1"]]).save(tmp_path / "b.corpus")
    Corpus(np.zeros(0, np.uint32), np.zeros(2, np.int64), Strings.of(["s0"])).save(tmp_path / "empty.corpus")
    rows = np.array([[1.0, 0.0], [1.0, 0.0]])
    HmmModel(np.full(2, 0.5), np.full((2, 2), 0.5), rows, Strings.of(["s0", "s1"])).save(tmp_path / "a.hmm")
    done = topicx("hmm", *arguments)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert message in done.stderr
    assert not (tmp_path / "x.hmm").exists()


def test_every_cpu_gives_the_same_bits(tmp_path: Path) -> None:
    code = (
        "import hashlib, numpy as np; from topicx import datasets; import topicx; h = hashlib.sha256()\n"
        "for sampler in ('collapsed', 'partial'):\n"
        "    for corpus in (datasets.make('hmm', 1, tokens=5000), datasets.make('bars', 1, documents=50)):\n"
        "        m = topicx.HMM(2, sampler=sampler, paths=2, n_iter=30).fit(corpus)\n"
        "        h.update(m.emissionprob_.tobytes() + m.transmat_.tobytes())\n"
        "print(h.hexdigest())"
    )
    found = set()
    for lanes in ("plain", "avx2", "avx512"):
        environment = os.environ | {"TOPICX_INSTRUCTIONS": lanes}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1


def test_the_papers_script_runs(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "papers" / "multipath.py"
    command = [sys.executable, str(script), "--quick", "--part", "hmm", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Figure 2" in done.stdout
    results = json.loads((tmp_path / "hmm.json").read_text())
    assert set(results["runs"]) == {"C 1", "C 5", "PC 1", "PC 5"}
    assert all(len(row["log_likelihoods"]) == 3 for row in results["runs"].values())
