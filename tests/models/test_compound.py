"""Compound LDA and the hierarchical Dirichlet process as models: trained, resumed, finished, used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import run_topicx
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.model import Model
from topicx.predict.inference import infer
from topicx.run import Result, Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.strings import Strings


def corpus_of(documents: int = 40, collections: int = 3, topics: int = 4, seed: int = 1, **truth: float) -> Corpus:
    """Drawn from compound LDA with sharp topics; `documents` in each collection."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(60, truth.get("eta", 0.05)), topics)
    pi = random.dirichlet(np.full(topics, 0.5), collections)
    words, lengths, groups = [], [], []
    for group in range(collections):
        for _ in range(documents):
            theta = random.dirichlet(np.maximum(truth.get("gamma", 1.0) * pi[group], 1e-3))
            n = 1 + random.poisson(truth.get("length", 40))
            words.append(random.choice(60, n, p=theta @ phi))
            lengths.append(n)
            groups.append(group)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Corpus(
        np.concatenate(words).astype(np.uint32), offsets, Strings.of([f"w{i}" for i in range(60)]),
        collection=np.array(groups, np.int32), collection_names=Strings.of([f"c{i}" for i in range(collections)]),
        truth={"pi": pi, "topic_word": phi},
    )  # fmt: skip


def train(
    corpus: Corpus, model: str, topics: int = 4, threads: int = 1, own: dict[str, Any] | None = None, **o: Any
) -> Result:
    options = Options(topics=topics, model=model, own=own or {}, **{"iterations": 60} | o)
    with Threads(threads) as engine:
        return Run.start(corpus, options, engine).train().result()


MODELS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("compound", {"pi": "ags", "pi_burn_in": 10}, {"optimize_interval": 5, "optimize_burn_in": 10}),
    ("compound", {"pi": "mgs", "pi_burn_in": 10}, {}),
    ("compound", {"pi": "vem"}, {"optimize_interval": 5, "optimize_burn_in": 10}),
    ("hdp", {}, {"optimize_interval": 7, "optimize_burn_in": 10}),
]


@pytest.mark.parametrize(("model", "own", "options"), MODELS)
def test_a_resumed_run_ends_in_the_same_bits(
    tmp_path: Path, model: str, own: dict[str, Any], options: dict[str, Any]
) -> None:
    corpus, place = corpus_of(30), str(tmp_path / "checkpoint")
    whole = train(corpus, model, threads=3, own=own, **options)
    with Threads(1) as engine:
        run, sweeps = Run.start(corpus, Options(topics=4, model=model, own=own, iterations=60, **options), engine), []
        with pytest.raises(Interrupted):
            run.train([sweeps.append], Checkpoints(place), lambda: len(sweeps) == 33)
        resumed = Run.resume(place, engine).train().result()
    same(whole, resumed)
    with Threads(1) as engine:  # a finished run that gets more sweeps is one that had them from the beginning
        short = Run.start(corpus, Options(topics=4, model=model, own=own, iterations=40, **options), engine)
        short.train([], Checkpoints(place, 40))
        same(whole, Run.resume(place, engine, 60).train().result())


def same(a: Result, b: Result) -> None:
    assert np.array_equal(a.state.z, b.state.z) and np.array_equal(a.state.alpha, b.state.alpha)
    assert np.array_equal(a.model.alpha, b.model.alpha) and np.array_equal(a.model.values, b.model.values)
    assert a.model.side.keys() == b.model.side.keys()
    assert all(np.array_equal(a.model.side[name], b.model.side[name], equal_nan=True) for name in a.model.side)
    assert a.model.trace.keys() == b.model.trace.keys()
    assert all(np.array_equal(a.model.trace[n], b.model.trace[n], equal_nan=True) for n in a.model.trace)


def matched(result: Result, truth: np.ndarray) -> np.ndarray:
    """Which of the model's topics each true one is."""
    from scipy.optimize import linear_sum_assignment

    distance = np.abs(truth[:, None, :] - result.model.topic_word[None]).sum(axis=2)
    return np.asarray(linear_sum_assignment(distance)[1])


@pytest.mark.parametrize("pi", ["ags", "mgs", "vem"])
def test_proportions_of_collections_are_found(pi: str) -> None:
    corpus = corpus_of(100, gamma=3.0, length=60)
    found = train(corpus, "compound", own={"pi": pi, "gamma": 3.0, "pi_burn_in": 100}, iterations=400, start="random")
    order = matched(found, corpus.truth["topic_word"])
    distance = np.abs(found.model.side["pi"][:, order] - corpus.truth["pi"]).sum(axis=1)
    assert np.all(distance < (0.5 if pi == "vem" else 0.25))
    assert list(found.model.group_names) == ["c0", "c1", "c2"]
    assert np.allclose(found.model.alpha, 3 * found.model.side["pi"], rtol=1e-3)
    if pi != "vem":
        assert found.model.side["pi_draws"].shape[1:] == (3, 4) and len(found.model.side["pi_draws"]) >= 50


def test_the_variational_bound_never_falls() -> None:
    corpus = corpus_of(30, gamma=2.0)
    for learn in (0, 3):
        own = {"pi": "vem", "gamma": 1.0, "pi_alpha": 0.5}
        found = train(corpus, "compound", own=own, trace_interval=1, optimize_interval=learn, optimize_burn_in=5)
        score = found.model.trace["score"]
        assert np.all(np.diff(score) > -1e-8 * np.abs(score[1:])) and score[-1] > score[0] + 0.1


def test_gibbs_em_finds_gamma_and_beta() -> None:
    corpus = corpus_of(150, collections=2, topics=3, eta=0.2, gamma=0.8, length=100)
    found = train(
        corpus, "compound", 3, own={"gamma": 3.0}, iterations=300, optimize_interval=5, optimize_burn_in=20, beta=1.0
    )
    assert 0.5 < found.model.trace["gamma"][-1] < 1.3
    assert 0.15 < found.model.beta[0] < 0.26


def test_collections_of_every_kind() -> None:
    corpus = corpus_of(5, collections=200, length=12)
    many = train(corpus, "compound", iterations=20)
    assert many.model.alpha.shape == (200, 4) and np.all(many.model.alpha > 0)
    one = train(corpus_of(20, collections=1), "compound", iterations=20)
    assert one.model.alpha.shape == (1, 4)
    some = corpus_of(10, collections=2)
    some.collection_names = Strings.of(["c0", "c1", "empty"])
    some.collection[3] = -1
    for pi in ("ags", "mgs", "vem"):
        found = train(some, "compound", own={"pi": pi, "pi_burn_in": 5}, iterations=20)
        assert list(found.model.group_names) == ["c0", "c1", "empty", "(none)"]
        assert found.model.side["documents"].tolist() == [9, 10, 0, 1]
    some.collection[:] = -1
    with pytest.raises(InputError, match="no collections"):
        train(some, "compound")


def test_new_documents_have_their_collections_proportions() -> None:
    corpus = corpus_of(60, gamma=3.0)
    model = train(corpus, "compound", own={"gamma": 3.0, "pi_burn_in": 50}, iterations=200).model
    words, offsets = np.zeros(0, np.uint32), np.zeros(5, np.int64)  # empty documents: θ is the prior's mean
    new = Corpus(words, offsets, corpus.vocabulary)
    new.collection, new.collection_names = np.array([0, 1, 2, -1], np.int32), Strings.of(["c2", "c0", "unheard of"])
    theta, pi = infer(model, new), model.side["pi"]
    assert np.allclose(theta[0], pi[2], atol=1e-3) and np.allclose(theta[1], pi[0], atol=1e-3)
    assert np.allclose(theta[2], pi.mean(axis=0), atol=1e-3) and np.allclose(theta[3], pi.mean(axis=0), atol=1e-3)
    assert np.allclose(infer(model, new, group="c1"), pi[1], atol=1e-3)


@pytest.mark.parametrize("start", [1, 12])
def test_hdp_finds_about_the_topics_there_are(start: int) -> None:
    found = train(corpus_of(60, topics=5, length=80), "hdp", start, iterations=250)
    assert 4 <= np.mean(found.model.trace["topics"][-10:]) <= 20  # chains of other seeds: 12 ± 2, most of them small
    assert np.all(found.model.totals > 0) and np.all(np.bincount(found.state.z) > 0)
    assert found.state.n_topics == found.model.n_topics == found.model.trace["topics"][-1]
    assert found.model.side["concentrations"].shape == (2,)


def test_what_the_models_refuse() -> None:
    corpus = corpus_of(10)
    for model, options, message in (
        ("compound", {"alpha": 0.3}, "alpha"), ("compound", {"sampler": "cvb0"}, "cvb0"),
        ("compound", {"optimize": "symmetric-alpha"}, "symmetric-alpha"), ("hdp", {"samples": 2}, "samples"),
        ("hdp", {"sampler": "warp"}, "warp"), ("hdp", {"optimize": "alpha", "optimize_interval": 3}, "beta"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            train(corpus, model, **options)
    with pytest.raises(InputError, match="sampler sparse is not for"):
        train(corpus, "compound", own={"pi": "vem"}, sampler="sparse")


@pytest.mark.parametrize(
    ("model", "own"),
    [
        ("compound", {"pi": "mgs"}), ("compound", {"gamma": 4.0}), ("compound", {"pi_alpha": 0.1}),
        ("compound", {"spans": 2}), ("compound", {"pi_burn_in": 9}), ("hdp", {"hdp_alpha": 5.0}),
        ("hdp", {"hdp_gamma": 5.0}), ("hdp", {"fixed_concentrations": True}), ("hdp", {"prior_shape": 9.0}),
        ("hdp", {"prior_rate": 9.0}),
    ],
)  # fmt: skip
def test_every_option_of_the_models_changes_the_result(model: str, own: dict[str, Any]) -> None:
    corpus = corpus_of(15)
    corpus.time = np.arange(corpus.n_documents, dtype=np.float64) % 7
    base = {"pi_burn_in": 5} if model == "compound" else {}
    sweeps = 12 if model == "compound" else 2  # chains of one seed forget where the concentrations began
    plain, other = (train(corpus, model, own=base | more, iterations=sweeps).model for more in ({}, own))
    assert plain.alpha.shape != other.alpha.shape or not np.array_equal(plain.alpha, other.alpha)


def test_the_models_on_the_command_line(tmp_path: Path) -> None:
    corpus = corpus_of(15)
    corpus.time = np.arange(corpus.n_documents, dtype=np.float64) % 7
    corpus.save(str(tmp_path / "c"))
    for model, options, own in (
        ("compound", "--pi mgs --gamma 2 --pi-alpha 0.5 --spans 2 --pi-burn-in 3",
         {"pi": "mgs", "gamma": 2.0, "pi_alpha": 0.5, "spans": 2, "pi_burn_in": 3}),
        ("hdp", "--hdp-alpha 2 --hdp-gamma 3 --prior-shape 2 --prior-rate 0.5",
         {"hdp_alpha": 2.0, "hdp_gamma": 3.0, "prior_shape": 2.0, "prior_rate": 0.5}),
        ("hdp", "--fixed-concentrations", {"fixed_concentrations": True}),
    ):  # fmt: skip
        done = run_topicx(
            "train", "c", "--model", model, *options.split(), "-k", "4", "--iterations", "10", "-o", "m", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert np.array_equal(
            Model.load(tmp_path / "m").alpha, train(corpus, model, own=own, iterations=10).model.alpha
        )  # fmt: skip
    refused = run_topicx("train", "c", "--model", "hdp", "--pi", "ags", "-o", "m", cwd=tmp_path)
    assert refused.returncode == 2 and "pi" in refused.stderr
