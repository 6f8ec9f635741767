"""Dirichlet-multinomial regression as a model: trained, resumed, finished, used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tests.conftest import lda_corpus, run_topicx
from topicx.corpus.corpus import Corpus
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.evaluate.completion import completion
from topicx.model import Model
from topicx.model_registry import make_definition
from topicx.models.dmr import column_scales, constant_weights, design_of
from topicx.predict.inference import infer
from topicx.run import Result, Run
from topicx.sampling.run_options import Options
from topicx.sampling.sweep_loop import Checkpoints, Interrupted
from topicx.state import State
from topicx.strings import Strings
from topicx.views.prior_coefficients import coefficient_rows, predicted_priors

TRUTH = np.array([[-1.0, 1.5, -0.5], [-1.0, -0.8, 0.0], [-1.2, -1.0, 0.6], [-0.7, 0.6, 0.4]])
"""λ: topics × (intercept, right, standard deviations of the year)."""
FORMULA = "~ party + year"


def parties(documents: int = 300, length: int = 40, seed: int = 1) -> Corpus:
    """Documents of two parties and of years, whose topics depend on both as TRUTH says."""
    random = np.random.default_rng(seed)
    phi = random.dirichlet(np.full(60, 0.05), len(TRUTH))
    right, year = random.integers(0, 2, documents), random.integers(1900, 2000, documents).astype(float)
    rows = np.column_stack([np.ones(documents), right, (year - year.mean()) / year.std()])
    words = [random.choice(60, length, p=random.dirichlet(np.exp(TRUTH @ row)) @ phi) for row in rows]
    vocabulary = Strings.of([f"w{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)])
    return Corpus(
        np.concatenate(words).astype(np.uint32), np.arange(documents + 1, dtype=np.int64) * length,
        vocabulary, ids=Strings.of([f"d{i}" for i in range(documents)]),
        columns={"party": Strings.of(["right" if one else "left" for one in right]), "year": year},
        truth={"topic_word": phi},
    )  # fmt: skip


def train(corpus: Corpus, own: dict[str, Any] | None = None, threads: int = 1, **o: Any) -> Result:
    options = {"topics": 4, "iterations": 60, "optimize_interval": 10, "optimize_burn_in": 10, "optimize": "alpha"} | o
    with Threads(threads) as engine:
        found = {"formula": FORMULA} | (own or {})
        return Run.start(corpus, Options(model="dmr", own=found, **options), engine).train().result()


KINDS: list[dict[str, Any]] = [{}, {"coefficients": "sample", "coefficients_burn_in": 20}]


@pytest.mark.parametrize("own", KINDS)
def test_planted_coefficients_are_found(own: dict[str, Any]) -> None:
    corpus = parties(700)
    found = train(corpus, own, iterations=300, start="random").model
    distance = np.abs(corpus.truth["topic_word"][:, None] - found.topic_word[None]).sum(axis=2)
    order = linear_sum_assignment(distance)[1]
    coefficients, spread = found.side["coefficients"][order], found.side["spread"][order]
    scale = np.array(corpus.columns["year"]).std()
    assert np.all(np.abs(coefficients[:, 1] - TRUTH[:, 1]) < 4 * spread[:, 1])
    assert np.all(np.abs(coefficients[:, 2] * scale - TRUTH[:, 2]) < 4 * spread[:, 2] * scale)
    assert np.all(spread[:, 1] < 0.4) and np.all(spread[:, 2] * scale < 0.2)
    middle = coefficients[:, 0] + coefficients[:, 2] * np.mean(corpus.columns["year"])
    assert np.all(np.abs(middle - TRUTH[:, 0]) < 0.5)
    if own:
        draws = found.side["coefficient_draws"]
        assert len(draws) >= 50 and np.allclose(draws.std(axis=0, ddof=1), found.side["spread"], rtol=1e-3)


@pytest.mark.parametrize("own", KINDS)
def test_a_resumed_run_ends_in_the_same_bits(tmp_path: Path, own: dict[str, Any]) -> None:
    corpus, place = parties(80), str(tmp_path / "checkpoint")
    whole = train(corpus, own, threads=3, optimize="alpha+beta")
    options = Options(topics=4, model="dmr", own={"formula": FORMULA, **own}, iterations=60, optimize_interval=10,
                      optimize_burn_in=10)  # fmt: skip
    with Threads(1) as engine:
        run, sweeps = Run.start(corpus, options, engine), []
        with pytest.raises(Interrupted):
            run.train([sweeps.append], Checkpoints(place), lambda: len(sweeps) == 37)
        resumed = Run.resume(place, engine).train()
        same(whole, resumed.result())
        other = run.next(1).train().result()
        same(resumed.next(1).train().result(), other)
        assert not np.array_equal(other.model.side["coefficients"], whole.model.side["coefficients"])


def same(a: Result, b: Result) -> None:
    assert np.array_equal(a.state.z, b.state.z) and np.array_equal(a.state.alpha, b.state.alpha)
    assert np.array_equal(a.model.alpha, b.model.alpha) and np.array_equal(a.model.values, b.model.values)
    assert a.model.side.keys() == b.model.side.keys()
    assert all(np.array_equal(a.model.side[name], b.model.side[name]) for name in a.model.side)
    assert a.model.meta["covariates"] == b.model.meta["covariates"]
    assert all(np.array_equal(a.model.trace[n], b.model.trace[n], equal_nan=True) for n in a.model.trace)


def test_one_group_is_lda_bit_for_bit() -> None:
    """While its prior is the same, and also with a design of several columns: groups with one prior are one group."""
    corpus = parties(100)
    for own, sampler in (
        ({"formula": "~ 1"}, "sparse"),
        ({"formula": FORMULA}, "sparse"),
        ({"formula": "~ 1"}, "light"),
    ):
        found = train(corpus, own, optimize_interval=0, sampler=sampler, seed=3)
        with Threads(1) as engine:
            lda = Run.start(corpus, Options(topics=4, iterations=60, sampler=sampler, seed=3), engine).train().result()
        assert np.array_equal(found.state.z, lda.state.z)
        if own["formula"] == "~ 1":
            assert np.array_equal(found.model.values, lda.model.values)
            assert np.array_equal(found.model.alpha, lda.model.alpha)


def test_an_intercept_alone_learns_the_prior_of_lda() -> None:
    corpus = lda_corpus(300, 60, 60, seed=3)
    with Threads(1) as engine:
        options = Options(topics=6, iterations=200, optimize_interval=5, optimize="alpha", seed=2)
        lda = Run.start(corpus, options, engine).train().result().model
    found = train(corpus, {"formula": "~ 1"}, topics=6, iterations=200, optimize_interval=5, seed=2).model
    assert found.alpha.sum() == pytest.approx(lda.alpha.sum(), rel=0.1)
    assert np.allclose(np.sort(found.alpha[0]), np.sort(lda.alpha[0]), rtol=0.5)
    assert np.allclose(np.exp(found.side["coefficients"][:, 0]), found.alpha[0], rtol=1e-5)


@pytest.mark.parametrize(
    "formula", ["~ party + s(year, df=4)", "~ 0 + party", "~ party*scale(year)", "~ party:year - 1"]
)
def test_designs_of_every_kind(formula: str, tmp_path: Path) -> None:
    result = train(parties(120), {"formula": formula}, iterations=40)
    result.model.save(str(tmp_path / "x.model"))
    result.state.save(str(tmp_path / "x.state"))
    model, state = Model.load(str(tmp_path / "x.model")), State.load(str(tmp_path / "x.state"))
    terms = design_of(model.meta).columns
    assert model.side["coefficients"].shape == (4, len(terms)) == model.side["spread"].shape
    assert np.all(model.side["spread"] > 0)
    # λ of the model by the formula's columns is λ of the state by the measured ones.
    design = design_of(state.meta)
    corpus = parties(120)
    rows = design.rows(corpus.table)
    alpha = np.exp(rows.matrix @ model.side["coefficients"].T)
    assert np.allclose(alpha, state.alpha[state.groups], rtol=1e-4)
    assert np.allclose(model.alpha[0], alpha.mean(axis=0), rtol=1e-4)


def test_columns_of_numbers_are_measured_in_standard_deviations() -> None:
    corpus = parties(50)
    from topicx.design.design import Design

    design = Design.fit("~ party + year", corpus.table)
    rows = design.rows(corpus.table)
    centres, scales = column_scales(rows.distinct, rows.groups, design)
    year = np.array(corpus.columns["year"])
    assert centres == pytest.approx([0, 0, year.mean()]) and scales == pytest.approx([1, 1, year.std()])
    assert constant_weights(rows.distinct, design).tolist() == [1, 0, 0]
    bare = Design.fit("~ 0 + party + year", corpus.table)
    rows = bare.rows(corpus.table)
    assert constant_weights(rows.distinct, bare).tolist() == [1, 1, 0]
    assert column_scales(rows.distinct, rows.groups, bare)[0].tolist() == [0, 0, 0]


def test_documents_without_a_value_are_the_mean_document() -> None:
    corpus = parties(120)
    year = np.array(corpus.columns["year"])
    year[[3, 50]] = np.nan
    corpus.columns["year"] = year
    options = Options(topics=4, model="dmr", own={"formula": FORMULA}, iterations=20)
    with Threads(1) as engine:
        run = Run.start(corpus, options, engine)
        assert any("2 documents have no value of 'year'" in note for note in run.definition.notes(run.chain.state))
        state = run.train().result().state
    assert state.groups[3] == state.groups[50] == len(state.alpha) - 1
    assert state.side["design"][-1, 0] == 1 and state.side["mean_row"] == pytest.approx([1, 0.5, 1950], rel=0.1)


def test_a_row_for_every_document() -> None:
    """No step looks at all documents for each of them: many are no problem."""
    documents = 4000
    corpus = parties(documents, length=8)
    corpus.columns["year"] = np.arange(documents) / 40.0
    found = train(corpus, iterations=25)
    assert found.state.alpha.shape == (documents, 4)
    assert found.model.alpha.shape == (1, 4)
    assert all(len(values) < 50 for values in found.model.trace.values())


def test_predicted_priors_and_coefficients_are_told() -> None:
    model = train(parties(300), iterations=100).model
    rows = coefficient_rows(model, 5)
    assert [one["term"] for one in rows[0]["coefficients"]] == ["Intercept", "party[T.right]", "year"]
    assert rows[2]["coefficients"][1]["estimate"] == pytest.approx(model.side["coefficients"][2, 1], rel=1e-4)
    predicted = predicted_priors(model)
    assert [(column, value) for column, value, _ in predicted][:2] == [("party", "left"), ("party", "right")]
    usual = model.meta["covariates"]["usual"]["year"]
    wanted = np.exp(model.side["coefficients"] @ [1, 1, usual])
    assert np.allclose(predicted[1][2], wanted)
    shares = [sum(row["priors"][i]["share"] for row in rows) for i in range(len(predicted))]
    assert shares == pytest.approx([1] * len(predicted), rel=1e-4)


def test_new_documents_have_the_prior_of_their_columns(tmp_path: Path) -> None:
    model = train(parties(300), iterations=100).model
    design = design_of(model.meta)
    new = parties(6, seed=2)
    new.words, new.offsets = np.zeros(0, np.uint32), np.zeros(7, np.int64)  # empty documents: θ is the prior's mean
    new.columns["party"] = Strings.of(["left", "right", "right", "green", "", "left"])
    new.columns["year"] = np.array([1900, 1900, 1990, 1950, 1950, np.nan])
    rows = np.array([[1, 0, 1900], [1, 1, 1900], [1, 1, 1990], [1, 0, 1950], model.side["mean_row"],
                     model.side["mean_row"]])  # fmt: skip
    alpha = np.exp(rows @ model.side["coefficients"].T)
    assert np.allclose(infer(model, new), alpha / alpha.sum(axis=1, keepdims=True), rtol=1e-4)
    assert design.columns == ["Intercept", "party[T.right]", "year"]
    assert np.allclose(model.transform(["", ""]), (alpha / alpha.sum(axis=1, keepdims=True))[[5, 5]], rtol=1e-4)
    model.save(str(tmp_path / "m.model"))
    (tmp_path / "new.tsv").write_text(
        "id\tparty\tyear\ttext\na\tright\t1990\twaa wab\nb\tgreen\t1950\twaa wab\nc\t\t1950\twaa wab\n"
    )  # fmt: skip
    told = run_topicx("infer", "m.model", "new.tsv", "-o", "theta.tsv", "--state", "new.state", cwd=tmp_path)
    assert told.returncode == 0 and "2 documents lack a value that the formula takes" in told.stderr
    assert np.allclose(State.load(str(tmp_path / "new.state")).alpha[0], alpha[2], rtol=1e-4)


def test_metadata_help_to_predict_words() -> None:
    """Half a document's words, given the other half: better by those who know its row, best without any words."""
    corpus = parties(900, length=30)
    rows = np.arange(900)
    kept, held = corpus.select(rows[:700]), corpus.select(rows[700:])
    dmr = train(kept, iterations=200).model
    with Threads(1) as engine:
        lda = Run.start(kept, Options(topics=4, iterations=200, optimize_interval=10), engine).train().result().model
    known, plain = (completion(model, None, held).perplexity for model in (dmr, lda))
    assert known < plain
    blind = held.select(np.arange(200))
    blind.columns = {}
    assert known < completion(dmr, None, blind).perplexity


def test_what_does_not_fit_is_refused() -> None:
    corpus = parties(20)
    for own, options, message in (
        ({"formula": "~ weather"}, {}, "weather"),
        ({"formula": "~ party +"}, {}, "ends too early"),
        ({}, {"optimize": "symmetric-alpha"}, "symmetric-alpha"),
        ({}, {"sampler": "cvb0"}, "cvb0 is not for the model dmr"),
        ({"sigma": 0.0}, {}, "sigma"),
    ):
        with pytest.raises(InputError, match=message):
            train(corpus, own, **options)
    lda = Run.start(corpus, Options(topics=4, iterations=5), Threads(1)).train().result().state
    with pytest.raises(InputError, match="begins with a corpus"):
        Run.from_state(lda, Options(topics=4, model="dmr"), Threads(1))


def test_a_state_of_it_begins_another_run_and_makes_a_model(tmp_path: Path) -> None:
    result = train(parties(60))
    options = Options(topics=4, model="dmr", own={"formula": FORMULA}, iterations=10)
    more = Run.from_state(result.state, options, Threads(1)).train().result()
    assert more.model.side["coefficients"].shape == (4, 3)
    result.state.save(str(tmp_path / "s.state"))
    run_topicx("estimate", tmp_path / "s.state", "-o", tmp_path / "again.model", "-q")
    again = Model.load(str(tmp_path / "again.model"))
    assert np.array_equal(again.side["coefficients"], result.model.side["coefficients"])


def test_states_of_a_chain_are_averaged_with_their_coefficients(tmp_path: Path) -> None:
    corpus = parties(60)
    own = {"formula": FORMULA, "coefficients": "sample", "coefficients_burn_in": 10}
    states = []
    for iterations in (40, 60):
        state = train(corpus, own, iterations=iterations, seed=2).state
        state.save(str(tmp_path / f"{iterations}.state"))
        states.append(state)
    told = run_topicx("estimate", "40.state", "60.state", "-o", "mean.model", "-q", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    mean = Model.load(str(tmp_path / "mean.model"))
    draws = sum(len(state.side["coefficient_draws"]) for state in states)
    assert mean.side["coefficient_draws"].shape == (draws, 4, 3)
    definition = make_definition("dmr", own)
    order = np.array([2, 0, 1, 3])
    found = definition.pooled_side([state.side for state in states], [np.arange(4), order])
    wanted = (states[0].side["coefficients"] + states[1].side["coefficients"][order]) / 2
    assert np.allclose(found["coefficients"], wanted)
    one = definition.pooled_side([train(corpus).state.side, states[1].side], [np.arange(4), order])
    assert "coefficient_draws" not in one


def test_the_command_line(tmp_path: Path) -> None:
    corpus = str(tmp_path / "p.corpus")
    parties(150).save(corpus)
    place = str(tmp_path / "p.model")
    told = run_topicx(
        "train", corpus, "--model", "dmr", "--formula", FORMULA, "-k", "4", "--iterations", "60", "-o", place,
        "--coefficients", "sample", "--coefficients-burn-in", "20", "--sigma", "0.5", "--sigma-intercept", "5",
        "--optimize", "alpha+beta", "--log", "json",
    )  # fmt: skip
    priors = [json.loads(line) for line in told.stderr.splitlines() if '"priors"' in line]
    assert len(priors) == 1 and len(priors[0]["alpha"]) > 50
    shown = run_topicx("topics", place, "--coefficients", "-t", "1", "-n", "3").stdout
    assert "party[T.right]" in shown and "±" in shown and "party:" in shown and "left " in shown
    rows = json.loads(run_topicx("topics", place, "--coefficients", "--json").stdout)
    assert len(rows) == 4 and rows[0]["coefficients"][2]["term"] == "year"
    many = Options(topics=2, model="dmr", own={"formula": "~ party"}, iterations=2)
    assert Run.start(parties(30), many, Threads(1)).chain.state.alpha.shape == (2, 2)
