"""Inference with fixed topics: the kernel against its twin, the chain against exact posteriors, the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from tests.conftest import Run, lda_corpus
from tests.places import ROOT
from tests.twins import infer as twin
from topicx._kernels.infer import infer as kernel
from topicx.corpus.corpus import Corpus
from topicx.errors import InputError
from topicx.files import container
from topicx.model import Model
from topicx.predict import topic_rows as rows_module
from topicx.predict.inference import Inference, infer
from topicx.predict.sampling_plan import chain_seed, document_keys, plan_sweeps
from topicx.predict.topic_rows import FixedTopics, known_tokens, match_vocabulary
from topicx.state import State
from topicx.strings import Strings
from topicx.tables.theta_writers import share_digits


def make_model(
    topics: int = 5, words: int = 60, seed: int = 3, groups: int = 1, vocabulary: Any = None, **meta: Any
) -> Model:
    rng = np.random.default_rng(seed)
    counts = rng.poisson(rng.gamma(0.2, 30, (words, topics)))
    indptr = np.zeros(words + 1, np.int64)
    indptr[1:] = np.cumsum((counts > 0).sum(axis=1))
    return Model(
        vocabulary=Strings.of(vocabulary or (f"w{i:03}" for i in range(words))),
        alpha=rng.gamma(2, 0.1, (groups, topics)) + 0.01,
        beta=np.full(words, 0.01),
        indptr=indptr,
        topics=np.nonzero(counts)[1].astype(np.uint16),
        values=counts[counts > 0].astype(np.int64),
        meta=meta,
    )


# -- the kernel ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("topics", [1, 2, 16, 17, 40, 100, 300])
def test_kernel_equals_its_twin_bit_by_bit(topics: int, soft: bool) -> None:
    corpus = lda_corpus(documents=12)
    model = make_model(topics=topics)
    fixed = FixedTopics(model)
    numbers, rows, _ = fixed.rows_for(corpus.words)
    keys = document_keys(corpus.words, corpus.offsets, 9)
    theta = np.zeros((12, topics), np.float32)
    z = np.zeros(corpus.n_tokens, np.uint16)
    kernel.sample_theta(
        numbers, corpus.offsets, keys, rows, fixed.alpha32, np.zeros(12, np.uint32), 3, 2, 2, soft, theta, z
    )
    for d in range(12):
        words = corpus.words[corpus.offsets[d] : corpus.offsets[d + 1]]
        assert int(keys[d]) == twin.document_key(words, 9)
        expected, assignments = twin.gibbs(words, int(keys[d]), rows, fixed.alpha32[0], 3, 2, 2, soft)
        np.testing.assert_array_equal(theta[d], expected)
        np.testing.assert_array_equal(z[corpus.offsets[d] : corpus.offsets[d + 1]], assignments)


@pytest.mark.parametrize("soft", [False, True])
def test_documents_that_take_turns_do_not_notice(soft: bool) -> None:
    """θ and topics of documents of all lengths together are those of each alone; without words θ is α."""
    rng = np.random.default_rng(4)
    fixed = FixedTopics(rng.dirichlet(np.full(30, 0.1), size=37), rng.random(37) + 0.1)
    offsets = np.cumsum([0, 5, 0, 1, 40, 300, 0, 2, 7, 0]).astype(np.int64)
    words = rng.integers(0, 30, offsets[-1]).astype(np.uint32)
    numbers, rows, _ = fixed.rows_for(words)
    keys = document_keys(words, offsets, 5)

    def sampled(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        part = numbers[offsets[first] : offsets[last]]
        theta, z = np.zeros((last - first, 37), np.float32), np.zeros(len(part), np.uint16)
        kernel.sample_theta(
            part, offsets[first : last + 1] - offsets[first], keys[first:last], rows, fixed.alpha32,
            np.zeros(last - first, np.uint32), 3, 4, 2, soft, theta, z,
        )  # fmt: skip
        return theta, z

    together = sampled(0, 9)
    alone = [sampled(d, d + 1) for d in range(9)]
    assert np.array_equal(together[0], np.concatenate([theta for theta, _ in alone]))
    assert np.array_equal(together[1], np.concatenate([z for _, z in alone]))
    prior = fixed.alpha[0] / fixed.alpha.sum()
    assert np.allclose(together[0][[1, 5, 8]], prior, atol=1e-6) and not np.allclose(together[0][0], prior, atol=1e-2)


def test_long_documents_keep_their_precision() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 60, 20_000).astype(np.uint32)
    model = make_model(topics=20)
    fixed = FixedTopics(model)
    offsets = np.array([0, len(words)])
    theta, z = np.zeros((1, 20), np.float32), np.zeros(len(words), np.uint16)
    numbers, rows, _ = fixed.rows_for(words)
    keys = document_keys(words, offsets, 1)
    kernel.sample_theta(numbers, offsets, keys, rows, fixed.alpha32, np.zeros(1, np.uint32), 1, 1, 1, True, theta, z)
    counts = np.bincount(z, minlength=20).astype(float)
    p = (counts - np.eye(20)[z] + model.alpha[0]) * model.topic_word.T[words]
    expected = (p / p.sum(axis=1, keepdims=True)).sum(axis=0) + model.alpha[0]
    np.testing.assert_allclose(theta[0], expected / expected.sum(), rtol=2e-6)


def many(words: list[int], phi: Any, alpha: Any, times: int) -> tuple[Any, ...]:
    """The same tiny document `times` times, with different streams."""
    tokens = np.tile(np.array(words, np.uint32), times)
    offsets = np.arange(times + 1, dtype=np.int64) * len(words)
    keys = np.random.default_rng(5).integers(0, 2**63, times).astype(np.uint64)
    fixed = FixedTopics(np.asarray(phi), alpha)
    _, rows, logs = fixed.rows_for(tokens)
    return tokens, offsets, keys, rows, fixed.alpha32, np.zeros(times, np.uint32), logs


TINY = [
    ([0, 1, 1, 2], [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.3, 0.3, 0.4]], [0.3, 0.1, 0.6]),
    ([2, 0, 2, 1, 0], [[0.05, 0.05, 0.9], [0.9, 0.05, 0.05]], [0.05, 0.2]),
    ([0, 0, 1], [[0.5, 0.5], [0.9, 0.1], [0.01, 0.99]], [1.5, 0.2, 0.4]),
]


@pytest.mark.parametrize("case", range(len(TINY)))
def test_the_chain_draws_from_the_exact_posterior(case: int) -> None:
    words, phi, alpha = TINY[case]
    exact, states, _ = twin.posterior(words, np.array(phi), np.array(alpha))
    times = 40_000
    tokens, offsets, keys, rows, alphas, groups, _ = many(words, phi, alpha, times)
    soft, hard = np.zeros((times, len(alpha)), np.float32), np.zeros((times, len(alpha)), np.float32)
    z = np.zeros(len(tokens), np.uint16)
    kernel.sample_theta(tokens, offsets, keys, rows, alphas, groups, 60, 1, 1, True, soft, z)
    kernel.sample_theta(tokens, offsets, keys, rows, alphas, groups, 60, 1, 1, False, hard, z)
    place = {state: i for i, state in enumerate(states)}
    found = np.bincount([place[tuple(row)] for row in z.reshape(times, -1).tolist()], minlength=len(states))
    frequent = exact * times >= 5
    observed = np.append(found[frequent], found[~frequent].sum())
    expected = np.append(exact[frequent], exact[~frequent].sum()) * times
    statistic = ((observed - expected)[expected > 0] ** 2 / expected[expected > 0]).sum()
    assert scipy.stats.chi2.sf(statistic, (expected > 0).sum() - 1) > 1e-4
    # θ and θ^p have the posterior mean as their mean, and θ^p the smaller variance (eq. 33).
    counts = np.array([np.bincount(state, minlength=len(alpha)) for state in states])
    mean = exact @ (counts + np.array(alpha)) / (len(words) + sum(alpha))
    for theta in (soft, hard):
        error = theta.std(axis=0) / np.sqrt(times)
        assert np.all(np.abs(theta.mean(axis=0) - mean) < 4.5 * error + 1e-6)
    assert np.all(soft.var(axis=0) < hard.var(axis=0))


@pytest.mark.parametrize("lanes", ["plain", "avx2", "avx512"])
def test_every_instruction_set_gives_the_same_bits(lanes: str) -> None:
    script = (
        "import hashlib, numpy as np\n"
        "from tests.predict.test_inference import make_model, lda_corpus\n"
        "from topicx.predict.inference import infer\n"
        "print(hashlib.sha256(infer(make_model(topics=70), lda_corpus(), threads=1).tobytes()).hexdigest())\n"
    )
    root = ROOT
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True,
        env=os.environ | {"TOPICX_INSTRUCTIONS": lanes},
    )  # fmt: skip
    import hashlib

    here = hashlib.sha256(infer(make_model(topics=70), lda_corpus(), threads=1).tobytes()).hexdigest()
    assert done.stdout.strip() == here


# -- what it must not depend on --------------------------------------------------------------------------------------


def test_theta_depends_on_the_document_and_the_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus, model = lda_corpus(documents=200), make_model(topics=20)
    whole = infer(model, corpus, threads=1)
    assert np.allclose(whole.sum(axis=1), 1, atol=1e-6)
    assert np.array_equal(infer(model, corpus, threads=3), whole)
    order = np.random.default_rng(1).permutation(200)
    assert np.array_equal(infer(model, corpus.select(order)), whole[order])
    assert np.array_equal(infer(model, corpus.select([17])), whole[[17]])
    assert not np.array_equal(infer(model, corpus, seed=2), whole)
    # The same words under other ids, with further words between them.
    names = list(corpus.vocabulary)
    shuffled = [*reversed(names), "unheard"]
    other = Corpus((59 - corpus.words).astype(np.uint32), corpus.offsets, Strings.of(shuffled))
    assert np.array_equal(infer(model, other), whole)
    monkeypatch.setattr("topicx.predict.predictor.BATCH_TOKENS", 50)
    assert np.array_equal(infer(model, corpus, threads=2), whole)
    # Rows only of the words in hand, where those of all words would not fit.
    monkeypatch.setattr(rows_module, "ROW_MEMORY", 1 << 12)
    assert np.array_equal(infer(model, corpus, threads=2), whole)


def test_unknown_words_are_left_out_and_counted() -> None:
    corpus = Corpus.from_documents([["w001", "zzz", "w002"], ["zzz", "zzz"], []])
    model = make_model()
    inference = Inference(model, threads=1)
    (part,) = inference.stream(inference.corpus(corpus))
    assert part.documents.unknown.tolist() == [1, 2, 0]
    assert np.diff(part.documents.offsets).tolist() == [2, 0, 0]
    np.testing.assert_allclose(part.theta[1], model.alpha[0] / model.alpha.sum(), rtol=1e-6)
    known = Corpus.from_documents([["w001", "w002"]])
    assert np.array_equal(infer(model, known)[0], part.theta[0])
    with pytest.raises(InputError, match="no word in common"):
        infer(model, Corpus.from_documents([["a", "b"]]))


def test_matching_and_known_tokens() -> None:
    assert match_vocabulary(["a", "b"], ["b", "c"]).tolist() == [1, -1]
    tokens, match = np.array([0, 1, 1, 0], np.uint32), np.array([4, -1])
    words, offsets, unknown = known_tokens(tokens, np.array([7, 8, 11]), match)
    assert (words.tolist(), offsets.tolist(), unknown.tolist()) == ([4, 4], [0, 1, 2], [0, 2])


def test_remainders_and_groups() -> None:
    model = make_model(topics=6, groups=3)
    model.group_names = Strings.of(["x", "y", "z"])
    model.remainder = np.random.default_rng(0).random(60) * 5
    model.remainder_share = np.full(6, 1 / 6)
    fixed = FixedTopics(model)
    _, rows, logs = fixed.rows_for(np.arange(60, dtype=np.uint32))
    np.testing.assert_allclose(rows[:, :6] * np.exp(logs)[:, None], model.topic_word.T, rtol=1e-6)
    assert not rows[:, 6:].any()
    corpus = Corpus.from_documents([["w001"] * 3] * 3, collections=["y", None, "z"])
    first = infer(model, corpus, theta="cgs", samples=400)
    for d, alpha in enumerate([model.alpha[1], model.alpha.mean(axis=0), model.alpha[2]]):
        exact, states, _ = twin.posterior([1, 1, 1], model.topic_word, alpha)
        counts = np.array([np.bincount(state, minlength=6) for state in states])
        np.testing.assert_allclose(first[d], exact @ (counts + alpha) / (3 + alpha.sum()), atol=0.06)
    assert np.array_equal(infer(model, corpus, group="y")[0], infer(model, corpus, group=1)[2])
    with pytest.raises(InputError, match="no group 'q'"):
        infer(model, corpus, group="q")
    model.group_names = Strings.of([f"place{number:03}" for number in range(len(model.alpha))])
    with pytest.raises(InputError, match="did you mean 'place001'") as told:
        infer(model, corpus, group="place01")
    assert len(str(told.value)) < 300


@pytest.mark.parametrize("theta", ["cgs", "cgsp"])
def test_chains_are_averaged(theta: str) -> None:
    model, corpus = make_model(topics=5), lda_corpus(documents=20)
    one = [infer(model, corpus, seed=chain_seed(3, chain), theta=theta, samples=2) for chain in range(3)]
    mean = infer(model, corpus, seed=3, theta=theta, samples=2, chains=3)
    np.testing.assert_allclose(mean, np.mean(one, axis=0), atol=1e-6)
    assert np.array_equal(infer(model, corpus, seed=3, theta=theta, samples=2), one[0])
    assert not np.array_equal(one[0], one[1])


def test_sweeps() -> None:
    assert plan_sweeps(None, None, None, 1) == (10, 10, 1)
    assert plan_sweeps(100, None, None, 1) == (91, 10, 1)
    assert plan_sweeps(1, None, None, 1) == (1, 1, 1)
    assert plan_sweeps(20, 10, None, 5) == (10, 3, 5)
    assert plan_sweeps(20, 10, 3, 5) == (10, 3, 5)
    assert plan_sweeps(None, 5, 2, 3) == (5, 2, 3)
    for wrong in ((5, None, 10, 1), (5, 6, None, 1), (20, 10, 4, 5), (0, None, None, 1), (None, None, None, 0)):
        with pytest.raises(InputError):
            plan_sweeps(*wrong)


def test_digits() -> None:
    theta = np.array([[0.0, 1.0, 0.12345678, 0.99999999]], np.float32)
    assert share_digits(theta).tobytes().decode() == "\t0.0000000\t1.0000000\t0.1234568\t1.0000000"


# -- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def made(tmp_path: Path) -> tuple[Model, Corpus]:
    model = make_model(tokenizer={"pattern": "whitespace", "lowercase": True})
    corpus = lda_corpus(documents=50)
    model.save(tmp_path / "m.model")
    corpus.save(tmp_path / "c.corpus")
    return model, corpus


def test_formats(topicx: Run, tmp_path: Path, made: tuple[Model, Corpus]) -> None:
    model, corpus = made
    theta = infer(model, corpus)
    for name in ("o.tsv", "o.jsonl", "o.npz", "o.parquet", "top.tsv", "top.jsonl", "top.npz", "top.parquet"):
        extra = ("--top", 2, "--threshold", 0.2) if name.startswith("top") else ()
        done = topicx("infer", "m.model", "c.corpus", "-o", name, *extra)
        assert done.returncode == 0, done.stderr
        assert "50 documents" in done.stderr
    lines = (tmp_path / "o.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["id", "tokens", "unknown", *(f"topic_{k}" for k in range(5))]
    table = np.array([[float(x) for x in line.split("\t")[3:]] for line in lines[1:]])
    np.testing.assert_allclose(table, theta, atol=6e-8)
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    np.testing.assert_allclose([row["theta"] for row in rows], theta, atol=6e-8)
    assert [row["tokens"] for row in rows] == corpus.lengths.tolist()
    arrays = np.load(tmp_path / "o.npz")
    np.testing.assert_array_equal(arrays["theta"], theta)
    assert arrays["ids"].tolist() == list(corpus.ids)
    import pyarrow.parquet as pq

    frame = pq.read_table(tmp_path / "o.parquet")
    np.testing.assert_array_equal(np.array(frame["theta"].to_pylist(), np.float32), theta)
    # The largest two from 0.2 on.
    order = np.argsort(-theta, axis=1, kind="stable")[:, :2]
    expected = [[k for k in row if theta[d, k] >= 0.2] for d, row in enumerate(order.tolist())]
    sparse = np.load(tmp_path / "top.npz")
    ends = sparse["indptr"]
    assert [sparse["topics"][a:b].tolist() for a, b in zip(ends[:-1], ends[1:])] == expected
    lines = (tmp_path / "top.tsv").read_text().splitlines()[1:]
    pairs = [line.split("\t")[3].split() for line in lines]
    assert [[int(pair.split(":")[0]) for pair in row] for row in pairs] == expected
    assert [[k for k, _ in json.loads(x)["topics"]] for x in (tmp_path / "top.jsonl").open()] == expected
    assert pq.read_table(tmp_path / "top.parquet")["topics"].to_pylist() == expected


def test_text_from_standard_input_and_the_state(topicx: Run, tmp_path: Path, made: tuple[Model, Corpus]) -> None:
    model, corpus = made
    text = "".join(" ".join([*corpus.document(d), "Unheard"]) + "\n" for d in range(corpus.n_documents))
    options = ("--input-format", "text", "--state", "s.state", "--format", "jsonl")
    done = topicx("infer", "m.model", "-", *options, input=text)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    np.testing.assert_allclose([row["theta"] for row in rows], infer(model, corpus), atol=6e-8)
    assert {row["unknown"] for row in rows} == {1}
    state = State.load(tmp_path / "s.state")
    assert np.array_equal(state.words, corpus.words) and np.array_equal(state.offsets, corpus.offsets)
    inference = Inference(model)
    z = np.concatenate([part.z for part in inference.stream(inference.corpus(corpus))])
    assert np.array_equal(state.z, z)
    assert state.parents == {"model": container.read(tmp_path / "m.model").digest}


def test_the_result_is_the_same_for_any_threads(topicx: Run, tmp_path: Path, made: tuple[Model, Corpus]) -> None:
    for threads in (1, 3):
        done = topicx("infer", "m.model", "c.corpus", "-o", f"{threads}.npz", "--threads", threads, "-q")
        assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "3.npz").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["m.model", "missing.corpus"], "missing.corpus: cannot be read"),
        (["c.corpus", "c.corpus"], "is a topicx corpus, but a model is needed"),
        (["m.model", "c.corpus", "--iterations", "3", "--samples", "9"], "too few"),
        (["m.model", "c.corpus", "--threshold", "2"], "--threshold"),
        (["m.model", "c.corpus", "--group", "9"], "no group '9'"),
        (["m.model", "c.corpus", "--state", "-"], "standard output"),
        (["m.model", "c.corpus", "x.txt", "-o", "o.tsv"], "separate runs"),
        (["m.model", "other.corpus", "-o", "o.tsv"], "no word in common"),
    ],
)
def test_mistakes(topicx: Run, tmp_path: Path, made: tuple[Model, Corpus], arguments: list[str], message: str) -> None:
    Corpus.from_documents([["alien"]]).save(tmp_path / "other.corpus")
    (tmp_path / "other.txt").write_text("alien words\n")
    done = topicx("infer", *arguments)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") <= 3 and "Traceback" not in done.stderr
    assert not (tmp_path / "o.tsv").exists()


def test_advance_goes_on_from_topics() -> None:
    """Sweeps that go on from topics are the readable twin's."""
    rng = np.random.Generator(np.random.Philox(12))
    phi = rng.dirichlet(np.full(30, 0.3), 5)
    alpha = rng.uniform(0.1, 1, (2, 5)).astype(np.float32)
    words, offsets = rng.integers(0, 30, 12).astype(np.uint32), np.array([0, 5, 5, 12], np.int64)
    numbers, rows, _ = FixedTopics(phi, alpha).rows_for(words)
    groups, keys = np.array([0, 1, 1], np.uint32), np.array([3, 4, 5], np.uint64)
    z = np.zeros(12, np.uint16)
    kernel.advance(numbers, offsets, keys, rows, alpha, groups, 2, True, z)
    first = z.copy()
    kernel.advance(numbers, offsets, keys + np.uint64(9), rows, alpha, groups, 3, False, z)
    for d in (0, 2):
        part = slice(offsets[d], offsets[d + 1])
        row = alpha[groups[d]]
        assert twin.advance(numbers[part], rows, row, 2, int(keys[d]), None) == first[part].tolist()
        assert twin.advance(numbers[part], rows, row, 3, int(keys[d]) + 9, first[part].tolist()) == z[part].tolist()
