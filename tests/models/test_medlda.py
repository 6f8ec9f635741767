"""MedLDA as a model: what it learns, what it leaves, and what it refuses."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from tests.cli.test_commands import start_training
from tests.conftest import Run as CommandLine
from tests.places import ROOT
from topicx import Corpus, InputError, MedLDA, Model
from topicx.cli.measures import show_prediction
from topicx.engines.threads import Threads
from topicx.evaluate.completion import completion
from topicx.evaluate.cross_validation import cross_validate
from topicx.evaluate.diagnostics import infer_state
from topicx.evaluate.prediction_measures import measure_predictions, of_classes, of_labels, of_values
from topicx.models.label_calibration import make_scores_comparable, shares_as_new
from topicx.models.medlda import classifiers_of
from topicx.models.targets import read_targets
from topicx.predict.documents import Documents
from topicx.predict.inference import Inference, infer
from topicx.predict.reader import Admixture
from topicx.predict.sampling_plan import Sampling, Streams, chain_seed
from topicx.predict.topic_rows import match_vocabulary
from topicx.run import Result, Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.strings import Strings
from topicx.views.class_weights import strongest_topics

SUBJECTS = {
    "sea": "ship wave salt harbour sail",
    "sky": "cloud star moon wing storm",
    "field": "corn plough barn horse harvest",
}


def documents(number: int = 90, seed: int = 0) -> tuple[list[list[str]], list[str]]:
    """Documents about a subject each, with other words between."""
    random = np.random.default_rng(seed)
    names = list(SUBJECTS)
    subjects = [names[d % 3] for d in range(number)]
    docs = []
    for subject in subjects:
        words = random.choice(SUBJECTS[subject].split(), 8).tolist()
        others = random.choice([w for text in SUBJECTS.values() for w in text.split()], 3).tolist()
        docs.append(words + others + random.choice(["and", "the", "of"], 6).tolist())
    return docs, subjects


def corpus(number: int = 90, seed: int = 0, **more: Any) -> Corpus:
    docs, subjects = documents(number, seed)
    return Corpus.from_documents(docs, labels=[[subject] for subject in subjects], **more)


SETTINGS: dict[str, Any] = {"topics": 6, "iterations": 25, "seed": 3, "threads": 2, "alpha_sum": 2.0, "nu": 1.0}


@pytest.mark.parametrize("sampler", ["light", "dense"])
def test_classes_are_learnt(sampler: str) -> None:
    model = MedLDA(**SETTINGS, lambda_=20.0, sampler=sampler).fit(corpus())
    new = corpus(60, seed=1)
    assert model.task == "multiclass" and model.classes == ["field", "sea", "sky"]
    assert model.score(new) > 0.9
    assert model.decision_function(new).shape == (60, 3)
    assert np.mean(model.predict(new) == [new.labels(d)[0] for d in range(60)]) == model.score(new)
    assert model.trace["loss"][-1] < 0.1
    found = measure_predictions(model.model, new)
    assert np.trace(found["confusion"]) == round(found["accuracy"] * 60)


def test_many_topics_learn_rare_classes_within_a_few_sweeps() -> None:
    """Without a bias all weights say "no" together, against their prior, before one says more."""
    random = np.random.default_rng(0)
    names = [f"c{number}" for number in range(12)]
    docs = [[f"{names[d % 12]}w{w}" for w in random.integers(0, 30, 25)] + [f"x{w}" for w in random.integers(0, 40, 25)]
            for d in range(600)]  # fmt: skip
    texts = Corpus.from_documents(docs, labels=[[names[d % 12]] for d in range(600)])
    model = MedLDA(100, iterations=12, seed=2, sampler="light", threads=2)
    assert model.fit(texts).score(texts) > 0.95
    assert model.set_params(bias=False).fit(texts).score(texts) < 0.5


def test_classifiers_have_a_bias_where_a_class_is_one_of_several() -> None:
    docs, subjects = documents()
    labels = {
        "two": [[s[0]] for s in subjects],
        "three": [[s] for s in subjects],
        "labels": [[s, s[0]] for s in subjects],
    }
    for name, has in (("two", False), ("three", True), ("labels", True)):
        texts = Corpus.from_documents(docs, labels=labels[name])
        for bias in (None, True, False):
            state = MedLDA(**SETTINGS, bias=bias).fit(texts).state
            assert state.side["eta"][-1].any() == (has if bias is None else bias)


def test_scores_of_labels_are_log_odds_cut_at_as_many_as_there_are() -> None:
    random = np.random.default_rng(5)
    scores = random.normal(-1, 0.1, (400, 70))
    has = random.random((400, 70)) < 1 / (1 + np.exp(6 + 5 * scores * random.choice([1.0, 0.6], 70)))
    factor, term = make_scores_comparable(scores, has)
    assert (factor * scores + term > 0).sum() == has.sum()
    terms = []
    for label in (3, 67):  # beside an optimiser
        s, y = scores[:, label], has[:, label]
        x = (s - s.mean()) / s.std()

        def cost(w: Any, x: Any = x, y: Any = y) -> float:
            return float(np.logaddexp(0, w[0] + w[1] * x).sum() - (y * (w[0] + w[1] * x)).sum() + w[1] ** 2 / 2)

        best = scipy.optimize.minimize(cost, [0, 0]).x
        assert factor[label] == pytest.approx(best[1] / s.std(), rel=1e-3)
        terms.append(best[0] - best[1] / s.std() * s.mean())
    assert term[3] - term[67] == pytest.approx(terms[0] - terms[1], abs=1e-2)  # both less where all are cut
    for none in (np.zeros_like(has), np.ones_like(has)):
        assert (
            np.isfinite(make_scores_comparable(scores, none)).all()
            and np.isfinite(make_scores_comparable(0 * scores, has)).all()
        )


def test_training_documents_are_read_as_new_ones_in_any_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    model = MedLDA(**SETTINGS).fit(corpus())
    whole = model.model.transform(corpus())
    for numbers in (1 << 22, 300, 1):
        monkeypatch.setattr("topicx.models.label_calibration.BATCH", numbers)
        shares = shares_as_new(model.state, model.model, np.arange(90), 10)
        np.testing.assert_allclose(shares, whole, atol=1e-5)
    assert np.array_equal(shares_as_new(model.state, model.model, np.array([7, 9]), 10), shares[[7, 9]])


def test_rare_labels_are_predicted() -> None:
    random = np.random.default_rng(2)
    docs, labels = [], []
    for _ in range(900):
        own = random.choice(30, 2, replace=False)
        docs.append([f"w{label}x{w}" for label in own for w in random.integers(0, 8, 6)] + ["and", "the"])
        labels.append([f"l{label}" for label in own])
    texts = Corpus.from_documents(docs, labels=labels)
    train, new = texts.select(np.arange(900) < 600), texts.select(np.arange(900) >= 600)
    model = MedLDA(30, iterations=25, seed=1, threads=2).fit(train)
    found = measure_predictions(model.model, new)
    assert model.task == "multilabel"
    assert found["micro_f1"] > 0.8 and found["macro_f1"] > 0.75  # with the classifiers' own zero: .63 and .53
    apart = MedLDA(6, iterations=15, seed=1, threads=2, strategy="one-vs-all").fit(train)
    assert measure_predictions(apart.model, new)["micro_f1"] > 0.7


def test_two_classes_several_labels_and_numbers() -> None:
    docs, subjects = documents()
    two = Corpus.from_documents(docs, labels=["sea" if s == "sea" else "land" for s in subjects])
    for task, columns in (("auto", 2), ("binary", 1)):
        model = MedLDA(**SETTINGS, lambda_=20.0, bias=True, class_weight="balanced", task=task).fit(two)
        assert model.task == ("binary" if columns == 1 else "multiclass") and model.classes == ["land", "sea"]
        assert model.weights.shape == (6, columns)
        assert model.score(two) > 0.9
        scores = model.decision_function(two)
        assert np.array_equal(np.where(scores > 0, "sea", "land"), model.predict(two))
    several = Corpus.from_documents(docs, labels=[["sea", "blue"] if s == "sea" else [s] for s in subjects])
    model = MedLDA(**SETTINGS, lambda_=20.0).fit(several)
    assert model.task == "multilabel"
    assert model.score(several) > 0.9
    assert set(model.predict(several)[0]) == {"sea", "blue"}
    numbers = Corpus.from_documents(docs, labels=[[{"sea": "7", "sky": "8.5", "field": "3"}[s]] for s in subjects])
    model = MedLDA(**SETTINGS, lambda_=20.0, target="label").fit(numbers)
    assert model.task == "regression"
    assert model.score(numbers) > 0.8
    assert np.abs(model.predict(numbers)[0] - 7) < 1


def test_documents_without_target_shape_topics_only() -> None:
    docs, subjects = documents()
    some = Corpus.from_documents(docs, labels=[[s] if d % 4 == 0 else [] for d, s in enumerate(subjects)])
    model = MedLDA(**SETTINGS, lambda_=20.0).fit(some)
    assert model.task == "multiclass"
    assert model.score(corpus(60, seed=1)) > 0.8
    assert not model.state.side["curve"][1].any() and model.state.side["curve"][0].any()


def options(**more: Any) -> Options:
    own = {"lambda_": 5.0, "weight_samples": 4, "weight_lag": 2} | more.pop("own", {})
    return Options(**{"topics": 5, "iterations": 12, "model": "medlda", "seed": 2, "partitions": 3, "own": own} | more)


@pytest.mark.parametrize("sampler", ["light", "dense"])
def test_bits_depend_neither_on_threads_nor_on_an_interruption(sampler: str, tmp_path: Path) -> None:
    chosen = options(sampler=sampler)
    with Threads(1) as engine:
        first = Run.start(corpus(), chosen, engine).train().result()
    with Threads(3) as engine:
        run = Run.start(corpus(), chosen, engine)
        path = str(tmp_path / "run.checkpoint")
        with pytest.raises(Interrupted):
            run.train(checkpoints=Checkpoints(path), stop=lambda: run.chain.position == 9)
        second = Run.resume(path, engine).train().result()
    assert np.array_equal(first.state.z, second.state.z)
    for name in ("eta", "eta_spread"):
        assert np.array_equal(first.model.side[name], second.model.side[name])
    assert not np.array_equal(first.model.side["eta_spread"], np.zeros_like(first.model.side["eta_spread"]))
    assert int(first.state.side["eta_kept"][0]) == 4


def test_more_sweeps_than_were_planned_keep_the_last_weights(tmp_path: Path) -> None:
    path = str(tmp_path / "run.checkpoint")
    with Threads(1) as engine:
        run = Run.start(corpus(), options(), engine).train(checkpoints=Checkpoints(path, 12))
        longer = Run.resume(path, engine, 20).train().result()
        whole = Run.start(corpus(), options(iterations=20), engine).train().result()
    assert run.chain.position == 12
    assert np.array_equal(longer.model.side["eta"], whole.model.side["eta"])


def test_the_command_line(topicx: CommandLine, tmp_path: Path) -> None:
    corpus().save(tmp_path / "train.corpus")
    corpus(30, seed=1).save(tmp_path / "new.corpus")
    done = topicx(
        "train", "train.corpus", "--model", "medlda", "-k", 6, "--iterations", 25, "--lambda", 20, "--nu", 1,
        "--alpha-sum", 2, "--proposals", "cycle", "-o", "m.model", "-q",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    done = topicx("infer", "m.model", "new.corpus", "-q", "--top", 2)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert lines[0] == ["id", "tokens", "unknown", "label", "class", "score", "topics"]
    right = [corpus(30, seed=1).labels(d)[0] for d in range(30)]
    assert np.mean([line[4] == label for line, label in zip(lines[1:], right, strict=True)]) > 0.9
    done = topicx("evaluate", "m.model", "new.corpus", "-m", "prediction", "--json", "-q")
    assert json.loads(done.stdout)["prediction"]["accuracy"] > 0.9
    done = topicx("evaluate", "m.model", "new.corpus", "-m", "prediction", "-q")
    assert "accuracy" in done.stdout and "field" in done.stdout
    done = topicx("topics", "m.model", "--weights")
    assert done.returncode == 0 and "sea" in done.stdout
    assert Model.load(tmp_path / "m.model").side["eta"].shape == (7, 3)


OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "--nu": ({"nu": 50.0}, {}),
    "--lambda": ({"lambda_": 50.0}, {}),
    "--loss": ({"loss": "logistic"}, {}),
    "--family": ({"family": "slda"}, {}),
    "--task": ({"task": "multilabel", "lambda_": 5.5}, {}),
    "--gibbs-steps": ({"gibbs_steps": 5}, {}),
    "--proposals": ({"proposals": "doc"}, {}),
    "--strategy": ({"strategy": "one-vs-all"}, {}),
    "--class-weight": ({"class_weight": "balanced"}, {}),
    "--bias/--no-bias": ({"bias": False}, {}),
    "--weight-samples": ({"weight_samples": 2}, {}),
    "--weight-lag": ({"weight_lag": 3}, {}),
    "--epsilon": ({"epsilon": 1.0}, {"target": "label", "task": "regression"}),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_option_changes_what_is_learnt(name: str) -> None:
    other, beside = OTHERS[name]
    docs, subjects = documents(20)
    labels = [[{"sea": "7", "sky": "8", "field": "3"}[s]] for s in subjects]
    texts = Corpus.from_documents(docs, labels=labels)
    found = []
    for own in (beside, beside | other):
        with Threads(1) as engine:
            model = Run.start(texts, options(iterations=9, own=own), engine).train().result().model
        found.append((model.side["eta"], model.meta["task"]))
    assert found[0][1] != found[1][1] or not np.array_equal(found[0][0], found[1][0])


@pytest.mark.parametrize(
    ("own", "sampler", "message"),
    [
        ({"epsilon": 0.5}, "light", "epsilon is for regressions"),
        ({"gibbs_steps": 3}, "dense", "gibbs_steps is for the sampler light"),
        ({"proposals": "cycle"}, "dense", "proposals is for the sampler light"),
        ({"weight_samples": 1, "weight_lag": 3}, "light", "weight_lag is for more than one"),
        ({"loss": "logistic", "lambda_": 0.5}, "light", "must be from 1 to"),
    ],
)
def test_options_without_effect_are_refused(own: dict[str, Any], sampler: str, message: str) -> None:
    with Threads(1) as engine, pytest.raises(InputError, match=message):
        Run.start(
            corpus(12), options(sampler=sampler, own=own | ({} if "weight_lag" in own else {"weight_lag": 1})), engine
        )


def test_the_sampler_that_fits() -> None:
    """auto: dense up to some hundred topics; light beyond them, and for whoever says how to propose."""

    def chosen(topics: int = 5, own: dict[str, Any] | None = None, **more: Any) -> str:
        with Threads(1) as engine:
            run = Run.start(corpus(12), options(topics=topics, own=own or {}, iterations=2, **more), engine).train()
            return run.chain.sampler.name

    assert chosen() == "dense"
    assert chosen(201) == "light"
    assert chosen(own={"proposals": "cycle"}) == chosen(own={"gibbs_steps": 1}) == chosen(mh_steps=1) == "light"


def scores_of(results: list[Result], new: Corpus, **more: Any) -> list[np.ndarray]:
    """The scores of each model alone, with the stream of random numbers that its block has beside others."""
    return [
        classifiers_of(one.model).scores(infer(one.model, new, seed=chain_seed(1, at), **more))
        for at, one in enumerate(results)
    ]


def test_several_chains_score_together() -> None:
    new, chosen = corpus(20, seed=1), SETTINGS | {"lambda_": 20.0, "bias": True}
    model = MedLDA(**chosen, chains=3).fit(corpus())
    asked = MedLDA(**chosen).options
    with Threads(1) as engine:
        alone = [Run.start(corpus(), replace(asked, chain=chain), engine).train().result() for chain in range(3)]
    assert model.model.n_topics == 18
    for drawn in ({}, {"chains": 1, "theta": "cgsp"}):
        expected = np.mean(scores_of(alone, new, **drawn), axis=0)
        np.testing.assert_allclose(model.decision_function(new, **drawn), expected, atol=1e-5)
    np.testing.assert_allclose(model.transform(new).sum(axis=1), 1, atol=1e-5)
    assert model.model.top_words(3)[6:12] == alone[1].model.top_words(3)
    assert model.model.example_ids[6 * 20] == alone[1].model.example_ids[0]
    with pytest.raises(InputError, match="each of the chains has its own"):
        _ = model.document_topic
    with pytest.raises(InputError, match="side by side"):
        infer_state(model.model, new)


def test_words_are_as_probable_as_the_models_say_on_average() -> None:
    """Completion of models side by side: the mean of a word's probabilities under each model, by that model's θ."""
    new, chosen = corpus(20, seed=1), SETTINGS | {"lambda_": 20.0}
    model = MedLDA(**chosen, chains=2).fit(corpus()).model
    asked = MedLDA(**chosen).options
    with Threads(1) as engine:
        alone = [Run.start(corpus(), replace(asked, chain=chain), engine).train().result().model for chain in range(2)]
    found = completion(model, None, new, burn_in=5, samples=5, seed=1)
    match = match_vocabulary(model.vocabulary, new.vocabulary)
    total = np.zeros(20)
    for d in range(20):
        words = match[new.words[new.offsets[d] : new.offsets[d + 1]]].astype(np.uint32)
        seen, held = words[: len(words) // 2], words[len(words) // 2 :]
        offsets, each = np.array([0, len(seen)]), []
        for chain, one in enumerate(alone):
            one_document = Documents(Strings.of(["d"]), seen, offsets, np.zeros(1, np.int64))
            reader, streams = Admixture(one), Streams(words, np.array([0, len(words)]), chain_seed(1, chain))
            read = reader.read(one_document, reader.prior(one_document), streams, Sampling("cgsp", 5, 5, 2))
            each.append(one.phi_of(held) @ read.theta[0])
        total[d] = np.log(np.mean(each, axis=0)).sum()
    np.testing.assert_allclose(found.documents, total, rtol=1e-4)


def test_new_documents_are_drawn_where_samples_are_asked_for() -> None:
    model, new = MedLDA(**SETTINGS, lambda_=20.0).fit(corpus()).model, corpus(20, seed=1)
    assert Inference(model).sampling.theta == Inference(model, burn_in=3).sampling.theta == "cvb0"
    for asked in ({"samples": 2}, {"chains": 1}, {"lag": 2}, {"theta": "cgsp"}):
        found = Inference(model, **asked).sampling  # type: ignore[arg-type]
        assert found.theta == "cgsp" and found.chains == asked.get("chains", 5)
    alike = infer(model, new, burn_in=40) - infer(model, new, burn_in=50)  # a fixed point, from the only start
    assert np.abs(alike).max() < 1e-3
    with pytest.raises(InputError, match="cvb0 draws nothing"):
        Inference(model, theta="cvb0", lag=2)


def test_one_against_all_others_is_a_binary_model_for_each_class() -> None:
    new, chosen = corpus(20, seed=1), {name: SETTINGS[name] for name in ("topics", "iterations", "alpha_sum")}
    model = MedLDA(**SETTINGS, lambda_=20.0, strategy="one-vs-all").fit(corpus())
    assert model.model.n_topics == 18 and model.score(new) > 0.9
    docs, subjects = documents()
    alone = []
    for chain, name in enumerate(model.classes):
        two = Corpus.from_documents(docs, labels=[name if subject == name else "-" for subject in subjects])
        own = {"lambda_": 20.0, "nu": 1.0, "task": "binary"}
        with Threads(1) as engine:
            asked = Options(**chosen, seed=3, chain=chain, model="medlda", own=own)
            alone.append(Run.start(two, asked, engine).train().result())
    with pytest.raises(InputError, match="more than a model can have"):
        MedLDA(30_000, iterations=1, strategy="one-vs-all").fit(corpus())
    with pytest.raises(InputError, match="strategy one-vs-all is for several classes"):
        MedLDA(**SETTINGS, strategy="one-vs-all", task="binary").fit(two)
    expected = np.hstack(scores_of(alone, new))
    np.testing.assert_allclose(model.decision_function(new), expected, rtol=1e-4, atol=1e-4)
    assert [row["topics"][0]["topic"] // 6 for row in strongest_topics(model.model)] == [0, 1, 2]
    assert all(len(row["topics"]) <= 6 for row in strongest_topics(model.model))


def test_one_against_all_others_on_the_command_line(topicx: CommandLine, tmp_path: Path) -> None:
    """Interrupted in the second class; the command that is printed finishes it and goes on with the third."""
    corpus(600).save(tmp_path / "c")
    corpus(30, seed=1).save(tmp_path / "new")
    call = ("train", "c", "--model", "medlda", "-k", 6, "--iterations", 60, "--strategy", "one-vs-all", "--lambda", 20)
    assert topicx(*call, "-o", "whole").returncode == 0
    process = start_training(tmp_path, *call[1:], "-o", "some")
    assert process.stderr is not None
    while "chain 0:" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    done = topicx(*shlex.split(err.splitlines()[-1])[1:])
    assert done.returncode == 0 and "model of 3 chains" in done.stderr
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "some").read_bytes()
    done = topicx("evaluate", "whole", "new", "-m", "prediction", "--json", "-q")
    assert json.loads(done.stdout)["prediction"]["accuracy"] > 0.9
    for more, message in (
        (["--state", "s"], "--state: the chains that the model is made of have one each"),
        (["--keep", "best"], "the models of one-vs-all make one model together"),
    ):
        done = topicx(*call, "-o", "m", *more)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    done = topicx("infer", "whole", "new", "-o", "x", "--state", "y")
    assert done.returncode == 2 and "side by side" in done.stderr and not (tmp_path / "x").exists()


def test_columns_that_hold_targets() -> None:
    docs, subjects = documents(9)
    texts = Corpus.from_documents(docs, collections=subjects, times=[1990.0 + d for d in range(9)])
    assert read_targets(texts, "auto", "collection").task == "multiclass"
    assert read_targets(texts, "auto", "time").task == "regression"


def test_folds_choose_what_predicts_best(topicx: CommandLine, tmp_path: Path) -> None:
    corpus(60).save(tmp_path / "train.corpus")
    call = [
        "train", "train.corpus", "--model", "medlda", "-o", "m.model", "--iterations", 15, "--nu", 1, "--folds", 3,
        "--try-topics", "1,6", "--try-lambda", "20",
    ]  # fmt: skip
    done = topicx(*call)
    assert done.returncode == 0, done.stderr
    assert "chosen: 6 topics, lambda 20" in done.stderr and done.stderr.count("accuracy") == 2
    model = Model.load(tmp_path / "m.model")
    assert model.n_topics == 6 and model.meta["options"]["own"]["lambda_"] == 20
    with Threads(2) as engine:
        rows = cross_validate(corpus(60), options(iterations=15, own={"nu": 1.0}), engine, folds=3, topics=[1, 6])
    assert rows[0]["topics"] == 6 and len(rows[0]["folds"]) == 3 and rows[0]["mean"] > rows[1]["mean"] + 0.2
    assert topicx("train", "train.corpus", "-o", "m.model", "--folds", 3).returncode == 2
    assert topicx(*call[:6], "--try-lambda", "3").returncode == 2
    assert "not a list" in topicx(*call[:-1], "x").stderr


REFUSED = [
    (["--task", "regression"], "regression needs numbers"),
    (["--task", "binary"], "two classes, and there are 3"),
    (["--loss", "epsilon"], "loss epsilon is not for the task multiclass"),
    (["--target", "nothing"], "no column 'nothing'"),
    (["--sampler", "sparse"], "no factor of a document"),
    (["--family", "slda", "--loss", "hinge"], "family slda"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_is_wrong_is_said(arguments: list[str], message: str, topicx: CommandLine, tmp_path: Path) -> None:
    corpus(12).save(tmp_path / "train.corpus")
    done = topicx("train", "train.corpus", "--model", "medlda", "-o", "m.model", *arguments)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr


def test_targets_that_are_not_there() -> None:
    docs, _ = documents(6)
    with pytest.raises(InputError, match="no labels to learn from"):
        read_targets(Corpus.from_documents(docs), "auto", None)
    with pytest.raises(InputError, match="has 2 labels"):
        read_targets(Corpus.from_documents(docs, labels=[["a", "b"]] * 6), "multiclass", None)

    docs, _ = documents(30)
    model = MedLDA(3, iterations=2).fit(corpus(30)).model
    with pytest.raises(InputError, match=r"sky\), but wet$"):
        measure_predictions(model, Corpus.from_documents(docs, labels=[["wet"]] * 30))
    with pytest.raises(InputError, match="it has time"):
        read_targets(Corpus.from_documents(docs, times=[1.0] * 30), "auto", "kind")


def test_score_takes_what_fit_takes() -> None:
    texts, sides = ["goal match team", "vote law party"] * 20, ["sport", "politics"] * 20
    model = MedLDA(topics=4, iterations=30, nu=1.0, lambda_=10.0, seed=1).fit(texts, sides)
    assert model.score(texts, sides) == 1 == model.score(Corpus.from_texts(texts, labels=sides))
    assert model.score(texts, sides[1:] + sides[:1]) == 0
    values = MedLDA(topics=4, iterations=30, seed=1).fit(texts, [1.0, 3.0] * 20)
    assert values.score(texts, [1.0, 3.0] * 20) > 0.9


def test_small_errors_keep_their_digits(capsys: pytest.CaptureFixture[str]) -> None:
    for unit, told in ((1.0, "mae 0.3333  "), (1e-7, "mae 3.333e-08  "), (0.0, "mae 0  ")):
        values = of_values(unit * np.array([1.0, 2, 3]), unit * np.array([1.0, 2, 4]))
        show_prediction(values | {"task": "regression", "documents": 3, "without_target": 0})
        assert told in capsys.readouterr().out


def test_measures_of_prediction() -> None:
    found = of_classes(["a", "a", "b", "c"], ["a", "b", "b", "b"], ["a", "b", "c"])
    assert found["accuracy"] == 0.5
    assert found["confusion"] == [[1, 1, 0], [0, 1, 0], [0, 1, 0]]
    assert found["f1"]["a"] == pytest.approx(2 / 3) and found["f1"]["c"] == 0
    values = of_values(np.array([1.0, 2, 3]), np.array([1.0, 2, 4]))
    assert values["r2"] == pytest.approx(0.5) and values["mae"] == pytest.approx(1 / 3)
    scores = np.array([[1.0, 0.5, -1], [-1, -2, -0.5]])
    labels = of_labels([[0], [1, 2]], scores, [[0, 1], [2]], 3)
    assert labels["micro_f1"] == pytest.approx(2 * 2 / (3 + 3))
    assert labels["known_number_micro_f1"] == pytest.approx(2 * 2 / (3 + 3))
    assert labels["first_is_right"] == 1


def test_the_papers_script_runs(tmp_path: Path, paper_data: Path) -> None:
    """benchmarks/papers/medlda.py --quick; again, the finished runs are found."""
    script = ROOT / "benchmarks" / "papers" / "medlda.py"
    call = [
        sys.executable,
        str(script),
        "--data",
        str(paper_data),
        "--out",
        str(tmp_path),
        "--part",
        "binary,regression,labels",
    ]
    kept = []
    for _ in range(2):
        done = subprocess.run([*call, "--quick"], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        assert "Figure 1" in done.stdout and "Delicious" in done.stdout
        kept.append((tmp_path / "medlda.jsonl").read_text())
    assert kept[0] == kept[1] and len(kept[0].splitlines()) > 5
