"""Checks by code that was written from the formulas alone: SCVB0 (Foulds, Boyles, DuBois, Smyth & Welling 2013), the
alignment of topics, inference with one group's α; and what results must not depend on: threads, and the processor.
Nothing here looks at how the package computes."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.special import digamma

from tests.instruction_sets import FURTHER, HIDDEN, small_corpus
from tests.places import ROOT
from topicx.cli import cli
from topicx.cli.evaluate import METHODS
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.model import Model
from topicx.predict import predictor as infer_module
from topicx.predict import topic_rows as rows_module
from topicx.predict.inference import infer
from topicx.run import Run
from topicx.sampling import sampler_registry
from topicx.sampling.run_options import Options
from topicx.state import Seeds, State
from topicx.strings import Strings
from topicx.variational.minibatches import Learner, Minibatch, Rate
from topicx.variational.scvb0 import StochasticLDA

Floats = NDArray[np.float64]

# -- SCVB0 ---------------------------------------------------------------------------------------------------------


def passed_over(
    words: NDArray[Any], nw: Floats, nk: Floats, alpha: Floats, beta: Floats, passes: int
) -> tuple[Floats, Floats, float]:
    """One document with the words' counts held still: what it says of the words (Σ γ, words × topics), its own counts,
    and log p of its words in the last pass, each by the counts at that moment.

    γ_w ∝ (N_wk + β_w) / (N_k + Σβ) · (N_dk + α_k), and N_d ← (1 - ρ)^m N_d + (1 - (1 - ρ)^m) n_d γ_w for the m tokens
    of a word together ("clumping"), at ρ = (10 + t)^-0.9; words in the order in which they come, from equal counts.
    """
    topics, length, evidence, fit = len(alpha), len(words), np.zeros_like(nw), 0.0
    own, position = np.full(topics, length / topics), 0
    for turn in range(passes):
        for word in dict.fromkeys(words.tolist()):
            times = int(np.sum(words == word))
            gamma = (nw[word] + beta[word]) / (nk + beta.sum()) * (own + alpha)
            if turn == passes - 1:
                fit += times * float(np.log(gamma.sum() / (length + alpha.sum())))
                evidence[word] = times * gamma / gamma.sum()
            stays = (1 - (10.0 + position) ** -0.9) ** times
            own = stays * own + (1 - stays) * length * gamma / gamma.sum()
            position += 1
    return evidence, own, fit


def texts_of(corpus: Corpus | State) -> list[NDArray[Any]]:
    return [corpus.words[a:b] for a, b in itertools.pairwise(corpus.offsets.tolist())]


def dense_counts(model: Model) -> Floats:
    nw = np.zeros((model.n_words, model.n_topics))
    nw[np.repeat(np.arange(model.n_words), np.diff(model.indptr)), model.topics] = model.values
    return nw


@pytest.mark.parametrize("tokens", [None, 5000.0])
def test_scvb0_moves_the_counts_as_the_paper_says(tokens: float | None) -> None:
    """Pieces handed over one by one: each from the counts that the model had before."""
    corpus, alpha, rate = small_corpus(), np.array([0.1, 0.7, 0.2, 0.05, 1.3]), Rate(0.8, 3.0, 0.7, 3)
    learner = StochasticLDA(
        5, list(corpus.vocabulary), tokens=tokens, alpha=alpha.tolist(), beta=0.03, rate=rate, threads=2
    )
    seen, before = 0, np.zeros(0)
    for step, begin in enumerate(range(0, 24, 6)):
        piece = corpus.select(np.arange(begin, begin + 6))
        found = dense_counts(learner.partial_fit(piece).model())
        seen += piece.n_tokens
        total = seen if tokens is None else tokens
        if step == 0:  # the start is random, but it is the corpus's tokens
            assert np.allclose(found.sum(), total, rtol=1e-5)
        else:
            beta, evidence = np.full(corpus.n_words, 0.03), np.zeros_like(found)
            for text in texts_of(piece):
                evidence += passed_over(text, before, before.sum(axis=0), alpha, beta, 3)[0]
            rho = 0.8 * (3.0 + step) ** -0.7
            expected = (1 - rho) * before + rho * total / piece.n_tokens * evidence
            assert np.max(np.abs(found - expected)) < 2e-6 * total
            assert np.max(np.abs(expected - before)) > 1e-3 * total
        before = found


def learnt_beta(nw: Floats, nk: Floats, seeded: Floats, beta: Floats) -> Floats:
    """Minka's fixed point for a common factor f of β_w, the seeds' counts being prior: at most 20 rounds, or until it
    moves by less than 1e-4 of itself."""
    factor, before = 1.0, seeded.sum(axis=0)
    for _ in range(20):
        prior = factor * beta[:, None]
        gain = np.sum(beta[:, None] * (digamma(nw + prior) - digamma(seeded + prior)))
        cost = beta.sum() * np.sum(digamma(nk + factor * beta.sum()) - digamma(before + factor * beta.sum()))
        last, factor = factor, factor * min(max(gain / cost, 0.1), 10)
        if abs(factor - last) < 1e-4 * last:
            break
    return beta * factor


@pytest.mark.parametrize("what", ["alpha+beta", "symmetric-alpha", "beta"])
def test_scvb0_with_groups_seeds_and_learnt_priors(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Three sweeps from given assignments; the order of the minibatches is looked at, everything else computed."""
    corpus, topics = small_corpus(), 4
    random = np.random.default_rng(3)
    state = State(
        corpus.words, corpus.offsets, random.integers(0, topics, corpus.n_tokens).astype(np.uint16),
        random.uniform(0.1, 1, (3, topics)), random.uniform(0.01, 0.1, corpus.n_words), corpus.vocabulary,
        Strings.of(f"d{d}" for d in range(corpus.n_documents)), groups=corpus.collection.astype(np.uint32),
        seeds=Seeds.of([(0, 1, 30), (0, 2, 4), (9, 3, 25)]),
    )  # fmt: skip
    batches: list[tuple[NDArray[Any], NDArray[Any]]] = []
    assign: Callable[..., Minibatch] = Learner.assign

    def watched(learner: Learner, words: Any, offsets: Any, groups: Any, gains: bool = False) -> Minibatch:
        if gains:
            batches.append((words.copy(), offsets.copy()))
        return assign(learner, words, offsets, groups, gains)

    monkeypatch.setattr(Learner, "assign", watched)
    options = Options(
        topics=topics, sampler="scvb0", iterations=3, batch_documents=16, optimize_interval=1, optimize_burn_in=1,
        optimize=what, trace_interval=1, rate_scale=1.2, rate_delay=2.0, rate_power=0.9,
    )  # fmt: skip
    texts, alpha, beta, start = texts_of(state), state.alpha.copy(), state.beta.copy(), state.alpha.copy()
    seeded = np.zeros((corpus.n_words, topics))
    np.add.at(seeded, (state.seeds.words, state.seeds.topics), state.seeds.counts)
    nw = seeded.copy()
    np.add.at(nw, (state.words, state.z), 1)
    of_text = {text.tobytes(): d for d, text in enumerate(texts)}
    groups, lengths = state.groups, np.diff(state.offsets)
    thetas: list[Floats] = []
    run = Run.from_state(state, options, Threads(2)).train()
    model = run.result(documents=lambda _, rows: thetas.append(rows)).model
    assert len(batches) == 3 * 2
    step, scores = 0, []
    for sweep in range(3):
        gain, cost, fit, met = np.zeros_like(alpha), np.zeros(3), 0.0, []
        for words, offsets in batches[2 * sweep : 2 * sweep + 2]:
            evidence = np.zeros_like(nw)
            for a, b in itertools.pairwise(offsets.tolist()):
                d = of_text[words[a:b].tobytes()]
                met.append(d)
                row = alpha[groups[d]]
                found, own, value = passed_over(texts[d], nw, nw.sum(axis=0), row, beta, 2)
                evidence += found
                fit += value
                gain[groups[d]] += digamma(row + own) - digamma(row)
                cost[groups[d]] += digamma(row.sum() + lengths[d]) - digamma(row.sum())
            rho = min(1.0, 1.2 * (2.0 + step) ** -0.9)
            nw = (1 - rho) * nw + rho * (seeded + len(state.words) / len(words) * evidence)
            step += 1
        assert sorted(lengths[met]) == sorted(lengths) and len(set(met)) >= len(of_text)  # every document once
        scores.append(fit / len(state.words))
        if sweep + 1 > 1:
            if what == "alpha+beta":
                alpha = alpha * gain / cost[:, None]
            if what == "symmetric-alpha":
                alpha = alpha * gain.mean(axis=1, keepdims=True) / cost[:, None]
            if "beta" in what:
                beta = learnt_beta(nw, nw.sum(axis=0), seeded, beta)
    assert np.allclose(model.trace["score"], scores, rtol=1e-5)
    assert np.allclose(dense_counts(model), nw, atol=1e-5 * nw.max())
    assert np.allclose(model.alpha, alpha, rtol=1e-5) and np.allclose(model.beta, beta, rtol=1e-4)
    assert (np.ptp(alpha / start) > 0.01) == ("alpha" in what)
    owns = [passed_over(text, nw, nw.sum(axis=0), alpha[g], beta, 2)[1] for text, g in zip(texts, groups, strict=True)]
    theta = np.array([(own + alpha[g]) / (own + alpha[g]).sum() for own, g in zip(owns, groups, strict=True)])
    assert np.allclose(np.concatenate(thetas), theta, atol=1e-5)


# -- alignment of topics -------------------------------------------------------------------------------------------


def invoke(*arguments: object) -> str:
    """The command line in this process."""
    done = CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=True)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


def one_state(seed: int, groups: int, order: Sequence[int], noise: float) -> State:
    """Topics that follow the words, numbered in this order; a share of the tokens elsewhere."""
    corpus, random = small_corpus(), np.random.default_rng(seed)
    z = np.asarray(order)[(corpus.words // 9 + random.integers(0, 2, corpus.n_tokens)) % len(order)]
    z = np.where(random.random(len(z)) < noise, random.integers(0, len(order), len(z)), z).astype(np.uint16)
    return State(
        corpus.words, corpus.offsets, z, random.uniform(0.05, 1, (groups, len(order))),
        random.uniform(0.01, 0.1, corpus.n_words), corpus.vocabulary,
        Strings.of(f"d{d}" for d in range(corpus.n_documents)),
        groups=(np.arange(corpus.n_documents) % groups).astype(np.uint32),
    )  # fmt: skip


def conditionals(state: State) -> tuple[Floats, Floats]:
    """Σ of p(z_i = k | all others) over the tokens of each word, and of each document."""
    nw, nd = np.zeros((state.n_words, state.n_topics)), np.zeros((state.n_documents, state.n_topics))
    document = np.repeat(np.arange(state.n_documents), np.diff(state.offsets))
    np.add.at(nw, (state.words, state.z), 1)
    np.add.at(nd, (document, state.z), 1)
    of_words, of_documents = np.zeros_like(nw), np.zeros_like(nd)
    for word, d, topic in zip(state.words, document, state.z, strict=True):
        self = np.eye(state.n_topics)[topic]
        p = (nd[d] - self + state.alpha[state.groups[d]]) * (nw[word] - self + state.beta[word])
        p /= nw.sum(axis=0) - self + state.beta.sum()
        of_words[word] += p / p.sum()
        of_documents[d] += p / p.sum()
    return of_words, of_documents


@pytest.mark.parametrize(("estimator", "groups"), [("cgs", 1), ("cgsp", 3)])
def test_aligned_averages(tmp_path: Path, estimator: str, groups: int) -> None:
    """Three states that number their topics differently: matched on Hellinger distances, averaged, one file."""
    orders = [(0, 1, 2, 3, 4, 5), (3, 5, 0, 2, 1, 4), (5, 0, 4, 1, 3, 2)]
    states = [one_state(seed, groups, order, 0.2 * seed) for seed, order in enumerate(orders)]
    names = [str(tmp_path / f"{number}.state") for number in range(3)]
    for state, name in zip(states, names, strict=True):
        state.save(name)
    nws, nds = zip(*map(conditionals, states), strict=True)
    if estimator == "cgs":
        nws, nds = [], []
        for state in states:
            nws.append(np.zeros((state.n_words, 6)))
            nds.append(np.zeros((state.n_documents, 6)))
            np.add.at(nws[-1], (state.words, state.z), 1)
            np.add.at(nds[-1], (np.repeat(np.arange(state.n_documents), np.diff(state.offsets)), state.z), 1)
    roots = []
    for nw, state in zip(nws, states, strict=True):
        phi = nw + state.beta[:, None]
        roots.append(np.sqrt(phi / phi.sum(axis=0)))
    matches = []
    for root in roots:
        distances = np.sqrt(np.maximum(0, 0.5 * ((roots[0][:, :, None] - root[:, None, :]) ** 2).sum(axis=0)))
        match = linear_sum_assignment(distances)[1]
        best = min(itertools.permutations(range(6)), key=lambda m: sum(distances[k, m[k]] for k in range(6)))
        assert tuple(match.tolist()) == best
        matches.append(match)
    assert len({tuple(match.tolist()) for match in matches}) == 3
    out, shares = tmp_path / "mean.model", tmp_path / "theta.jsonl"
    invoke("estimate", *names, "--align", "--estimator", estimator, "-o", out, "--doc-topics", shares, "-q")
    model = Model.load(str(out))
    expected = np.mean([nw[:, match] for nw, match in zip(nws, matches, strict=True)], axis=0)
    assert np.allclose(dense_counts(model), expected, atol=1e-5)
    assert np.allclose(model.alpha, np.mean([s.alpha[:, m] for s, m in zip(states, matches, strict=True)], axis=0))
    assert np.allclose(model.beta, np.mean([state.beta for state in states], axis=0))
    thetas = []
    for nd, state, match in zip(nds, states, matches, strict=True):
        weights = nd + state.alpha[state.groups]
        thetas.append((weights / weights.sum(axis=1, keepdims=True))[:, match])
    found = [json.loads(line)["theta"] for line in shares.read_text().splitlines()]
    assert np.allclose(found, np.mean(thetas, axis=0), atol=1e-6)
    refused = CliRunner().invoke(cli, ["estimate", *names, "-o", str(tmp_path / "no")], standalone_mode=False)
    assert refused.exception is not None and "--align" in str(refused.exception) and not (tmp_path / "no").exists()


# -- one group's α -------------------------------------------------------------------------------------------------

NAMES = ["b", "2", "none-such"]
"""Of the model's groups: one is a collection of the corpus, one looks like the number of another."""


def model_of_groups() -> Model:
    random = np.random.default_rng(8)
    nw = random.poisson(random.gamma(0.3, 20, (50, 6)))
    return Model(
        Strings.of(f"w{i}" for i in range(50)), random.gamma(0.5, 1, (3, 6)) + 0.1, np.full(50, 0.02),
        np.concatenate([[0], np.cumsum((nw > 0).sum(axis=1))]).astype(np.int64), np.nonzero(nw)[1].astype(np.uint16),
        nw[nw > 0], group_names=Strings.of(NAMES),
    )  # fmt: skip


def with_alpha(row: Floats) -> Model:
    model = model_of_groups()
    model.alpha, model.group_names = row[None, :].copy(), Strings.of([])
    return model


@pytest.mark.parametrize("theta", ["cgsp", "cgs", "cvb0"])
def test_inference_with_one_groups_alpha(tmp_path: Path, theta: str) -> None:
    """--group and --collection give what a model with that row of α alone gives; a document's own collection, too."""
    corpus, model = small_corpus(), model_of_groups()
    corpus.save(str(tmp_path / "c"))
    model.save(str(tmp_path / "m"))
    lines = [json.dumps({"text": " ".join(f"w{w}" for w in text)}) for text in texts_of(corpus)]
    (tmp_path / "c.jsonl").write_text("\n".join(lines) + "\n")
    usual: dict[str, Any] = {"theta": theta, "threads": 1}
    of_row = [infer(with_alpha(row), corpus, **usual) for row in model.alpha]
    of_mean = infer(with_alpha(model.alpha.mean(axis=0)), corpus, **usual)
    assert min(np.abs(a - b).max() for a, b in itertools.combinations([*of_row, of_mean], 2)) > 0.05
    for given, row in (("b", 0), ("2", 1), ("none-such", 2), (0, 0), (1, 1)):  # a name goes before a number
        assert np.array_equal(infer(model, corpus, group=given, **usual), of_row[row])
    for option, given, row, source in (
        ("--group", "2", 1, "c"), ("--collection", "b", 0, "c"), ("--group", "none-such", 2, "c.jsonl"),
        ("--collection", "0", 0, "c.jsonl"),
    ):  # fmt: skip
        out = tmp_path / "theta.npz"
        invoke("infer", tmp_path / "m", tmp_path / source, option, given, "--theta", theta, "-o", out, "-q")
        assert np.array_equal(np.load(out)["theta"], of_row[row])
    own = np.where((corpus.collection == 1)[:, None], of_row[0], of_mean)  # "b" is known, "a" and "c" are not
    assert np.array_equal(infer(model, corpus, **usual), own)
    invoke("infer", tmp_path / "m", tmp_path / "c", "--theta", theta, "-o", tmp_path / "own.npz", "-q")
    assert np.array_equal(np.load(tmp_path / "own.npz")["theta"], own)
    refused = CliRunner().invoke(
        cli, ["infer", str(tmp_path / "m"), str(tmp_path / "c"), "--group", "3"], standalone_mode=False
    )
    assert "3" in str(refused.exception) and "none-such" in str(refused.exception)


def test_one_groups_shares_are_the_posteriors() -> None:
    """A document of five words under each row of α: every assignment written down, for θ by sampling; and CVB0's
    fixed point, n_k = Σ_i γ_ik with γ_ik ∝ (n_k - γ_ik + α_k) φ_kw."""
    model, words = model_of_groups(), np.array([3, 3, 17, 40, 8])
    document = Corpus(words.astype(np.uint32), np.array([0, 5]), model.vocabulary)
    nw = dense_counts(model) + 0.02
    phi = (nw / nw.sum(axis=0))[words]
    z = np.array(list(itertools.product(range(6), repeat=5)))
    counts = (z[:, :, None] == np.arange(6)).sum(axis=1)
    for group, alpha in enumerate(model.alpha):
        rising = np.ones(len(z))
        for topic in range(6):
            table = np.cumprod(np.concatenate([[1.0], alpha[topic] + np.arange(5)]))
            rising *= table[counts[:, topic]]
        p = rising * phi[np.arange(5), z].prod(axis=1)
        exact = (p / p.sum()) @ counts + alpha
        found = infer(model, document, group=NAMES[group], theta="cgsp", samples=20_000, burn_in=50)[0]
        assert np.allclose(found, exact / exact.sum(), atol=0.004)
        gamma = np.full((5, 6), 1 / 6)
        for _ in range(3000):
            for i in range(5):
                weights = (gamma.sum(axis=0) - gamma[i] + alpha) * phi[i]
                gamma[i] = weights / weights.sum()
        fixed = gamma.sum(axis=0) + alpha
        found = infer(model, document, group=NAMES[group], theta="cvb0", iterations=3000)[0]
        assert np.allclose(found, fixed / fixed.sum(), atol=1e-4)


# -- threads -------------------------------------------------------------------------------------------------------

SMALL_BATCHES = {"BATCH_DOCUMENTS": 3, "BATCH_TOKENS": 40}


def in_small_batches(monkeypatch: pytest.MonkeyPatch, rows: bool) -> None:
    """Many batches of a small corpus; and `rows`: φ's rows made for each batch anew, as where they do not fit."""
    for name, value in SMALL_BATCHES.items():
        monkeypatch.setattr(infer_module, name, value)
    if rows:
        monkeypatch.setattr(rows_module, "ROW_MEMORY", 1 << 12)


@pytest.fixture
def trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Models of all kinds that `evaluate` has methods for, their states and a corpus in halves, in this folder."""
    monkeypatch.chdir(tmp_path)
    corpus = small_corpus()
    corpus.time = 1990.0 + np.arange(corpus.n_documents) % 7
    corpus.save("c")
    invoke("split", "c", "-o", "half", "--halves", "0.3", "-q")
    usual = ["--iterations", 6, "-q"]
    invoke("train", "c", "-k", 12, *usual, "-o", "lda", "--state", "lda.state")
    invoke("train", "c", "-k", 5, "--paths", 3, *usual, "-o", "paths", "--state", "paths.state")
    invoke("train", "half.first.corpus", "-k", 5, *usual, "-o", "half", "--state", "half.state")
    invoke("train", "c", "--model", "compound", "-k", 5, *usual, "-o", "compound")
    invoke("train", "c", "--model", "labeled", *usual, "-o", "labels")
    invoke("train", "c", "--model", "medlda", "-k", 5, "--iterations", 60, "-q", "-o", "targets")
    return tmp_path


EVALUATED: list[list[object]] = [
    ["lda", "c", "-m", "completion", "-m", "left-to-right", "-m", "chib", "-m", "likelihood", "-m", "diagnostics"],
    ["lda", "c", "-m", "clusters", "-m", "coherence", "--clusters", 3],
    ["lda", "c", "-m", "completion", "--share", 0.4],
    ["lda", "c", "-m", "left-to-right", "--form", "wallach"],
    ["lda", "lda.state", "-m", "likelihood", "-m", "diagnostics", "-m", "clusters", "--clusters", 3],
    ["compound", "c", "-m", "completion", "-m", "left-to-right", "-m", "chib", "-m", "likelihood"],
    ["half", "half.state", "-m", "predictive", "--rest", "half.rest.corpus"],
    ["paths", "paths.state", "-m", "agreement"],
    ["labels", "c", "-m", "labels", "-m", "completion"],
    ["targets", "c", "-m", "prediction"],
    ["lda", "c", "-m", "time"],
    ["paths", "paths.state", "-m", "time", "--times", "c"],
]


@pytest.mark.parametrize("rows", [False, True])
def test_evaluation_does_not_depend_on_threads(trained: Path, monkeypatch: pytest.MonkeyPatch, rows: bool) -> None:
    """Every method, to the last printed digit; and whatever the batches."""
    whole = [invoke("evaluate", *arguments, "--json", "-q", "--threads", 1) for arguments in EVALUATED]
    methods = {a for arguments in EVALUATED for b, a in itertools.pairwise(arguments) if b == "-m"}
    assert methods == set(METHODS) - {"keywords"}  # which asks for a model that has some, and has a test of its own
    in_small_batches(monkeypatch, rows)
    for threads in (1, 2, 5):
        for arguments, expected in zip(EVALUATED, whole, strict=True):
            assert invoke("evaluate", *arguments, "--json", "-q", "--threads", threads) == expected, arguments


def test_inference_does_not_depend_on_threads(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """θ, last topics and predictions of every estimator and kind of model, in one batch and in many."""

    def outputs(threads: int) -> Iterator[bytes]:
        for model in ("lda", "compound", "labels", "targets"):
            for theta in ("cgs", "cgsp", "cvb0"):
                chains = [] if theta == "cvb0" else ["--chains", 2]
                arguments = ["infer", model, "c", "--theta", theta, *chains, "--threads", threads, "-q"]
                yield invoke(*arguments, "--state", "z.state").encode() + State.load("z.state").z.tobytes()

    whole = list(outputs(1))
    assert len(set(whole)) == len(whole)
    in_small_batches(monkeypatch, False)
    for threads in (1, 2, 5):
        assert list(outputs(threads)) == whole


# -- processors ----------------------------------------------------------------------------------------------------


def digests(instructions: str, **settings: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.instruction_sets", "7", "40"], cwd=ROOT, text=True,
        env=os.environ | {"TOPICX_INSTRUCTIONS": instructions} | settings, capture_output=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_every_sampler_and_estimator_has_the_same_bits_on_every_processor() -> None:
    """The processor's own choice, AVX2 and plain SSE2 (the last with NumPy, BLAS and the C library held to that, too):
    every entry of the registry with learnt priors, models, `estimate`, `infer` and held-out evaluation."""
    found = np.show_config(mode="dicts")
    extensions = " ".join(found.get("SIMD Extensions", {}).get("found", [])) if isinstance(found, dict) else ""
    held = {
        "NPY_DISABLE_CPU_FEATURES": extensions, "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA_Usable,-AVX2_Usable",
    }  # fmt: skip
    default, avx2, plain = digests(""), digests("avx2"), digests("plain", **held)
    assert plain[0] == "instructions plain" and len(default) == 1 + 2 * (
        len(sampler_registry.ENTRIES) + len(FURTHER) + HIDDEN + 8
    )
    assert default[1:] == avx2[1:] == plain[1:]
