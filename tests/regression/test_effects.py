"""Effects from Python and from the command line, on documents whose topics are planted."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import run_topicx
from tests.places import ROOT
from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Names, Numbers, Table
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.model import Model
from topicx.regression.effects import effects
from topicx.regression.results import Effects
from topicx.strings import Strings

WORDS, TOPICS = 60, 4


@cache
def planted(documents: int = 300, tokens: int = 12, seed: int = 1) -> tuple[Model, Corpus]:
    """A model, and documents of two parties over thirty years: party B has more of topic 0, later years of topic 1."""
    rng = np.random.Generator(np.random.Philox(seed))
    phi = rng.dirichlet(np.full(WORDS, 0.1), TOPICS) + 1e-4
    phi /= phi.sum(axis=1, keepdims=True)
    party, year = rng.integers(0, 2, documents), rng.integers(1990, 2020, documents)
    alpha = np.column_stack(
        [np.exp(-0.5 + party), np.exp(-0.5 + (year - 2005) / 15), *np.full((TOPICS - 2, documents), 0.6)]
    )
    words = [
        rng.choice(WORDS, p=phi[k])
        for row in alpha for theta in [rng.dirichlet(row)] for k in rng.choice(TOPICS, tokens, p=theta)
    ]  # fmt: skip
    vocabulary = Strings.of(f"w{w}" for w in range(WORDS))
    corpus = Corpus(
        np.array(words, np.uint32), np.arange(documents + 1, dtype=np.int64) * tokens, vocabulary,
        columns=Table({
            "party": Names.of(np.array(["A", "B"])[party].tolist()), "year": Numbers(year.astype(np.float64)),
            "author": Names.of([f"a{one}" for one in rng.integers(0, 25, documents)]),
            "gap": Numbers(np.where(rng.random(documents) < 0.1, np.nan, 1.0 + party)),
        }).packed(),
    )  # fmt: skip
    counts = phi.T * 1e7
    model = Model(
        vocabulary, np.full((1, TOPICS), 0.6), np.full(WORDS, 0.01), np.arange(0, counts.size + 1, TOPICS),
        np.tile(np.arange(TOPICS, dtype=np.uint16), WORDS), counts.ravel(),
    )  # fmt: skip
    return model, corpus


def estimated(formula: Any = "~ party + year", **options: Any) -> Effects:
    model, corpus = planted()
    return effects(model, corpus, formula, **{"draws": 6, "burn_in": 30, "lag": 4, "threads": 1} | options)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("effects")
    model, corpus = planted()
    model.save(folder / "p.model")
    corpus.save(folder / "p.corpus")
    return folder


def test_planted_effects_are_found() -> None:
    found = estimated()
    rows = {(row["topic"], row["term"]): row for row in found.rows()}
    assert list(found.rows()[0]) == [
        "topic", "name", "term", "estimate", "std_error", "statistic", "p_value", "p_adjusted", "conf_low", "conf_high",
    ]  # fmt: skip
    party, year = rows[0, "party[T.B]"], rows[1, "year"]
    assert party["conf_low"] > 0.05 and party["p_adjusted"] < 1e-3
    assert year["conf_low"] > 0.001 and year["p_adjusted"] < 1e-3
    assert rows[0, "Intercept"]["p_adjusted"] is None
    sums = [sum(row["estimate"] for (_, term), row in rows.items() if term == name) for name in found.columns]
    np.testing.assert_allclose(sums, [1, 0, 0], atol=1e-8)
    assert "party[T.B]" in found.summary([0]) and "topic 1" not in found.summary([0])
    assert len(found.to_dataframe()) == len(rows)


def test_the_plug_in_is_attenuated_and_says_so() -> None:
    full, plug_in = (estimated("~ party", uncertainty=kind) for kind in ("local", "none"))
    shares = [one.pooled.value[0, 1] for one in (full, plug_in)]
    assert shares[1] < 0.95 * shares[0]
    assert any("shrink to about 0.83" in line for line in plug_in.footer())
    assert np.all(full.pooled.between > 0) and np.all(plug_in.pooled.between < 1e-20)


def test_predictions_are_the_regression_s() -> None:
    found = estimated("~ party * year")
    shares = found.predict(party=["A", "B"])
    by = {row["value"]: row for row in shares.rows if row["topic"] == 0}
    [difference] = [row for row in found.difference(party=("B", "A")) if row["topic"] == 0]
    np.testing.assert_allclose(difference["estimate"], by["B"]["share"] - by["A"]["share"], rtol=1e-9)
    assert by["A"]["documents"] + by["B"]["documents"] == 300
    corpus = planted()[1]
    years = np.asarray(corpus.table["year"].packed)
    value = found.pooled.value[0]
    np.testing.assert_allclose(by["B"]["share"], value[0] + value[1] + (value[2] + value[3]) * years.mean(), rtol=1e-8)
    assert len(found.curve("year").rows) == 50 * TOPICS
    point = found.predict(party="A", year=2000).rows[0]
    assert point["covariate"] == "party, year" and point["value"] == "party=A, year=2000"


def test_logit_shares_stay_between_0_and_1() -> None:
    found = estimated("~ party + s(year, df=3)", family="logit", se="cluster:author", weights="tokens")
    shares = [row["share"] for row in found.curve("year").rows]
    assert 0 < min(shares) < max(shares) < 1
    assert {row["term"]: row["df"] for row in found.tests()} == {"party": 1, "s(year, df=3)": 3}


def test_every_option_changes_the_result() -> None:
    plain = estimated().rows()
    others: list[dict[str, Any]] = [
        {"draws": 7}, {"lag": 5}, {"burn_in": 31}, {"family": "logit"}, {"se": "classical"}, {"cluster": "author"},
        {"weights": "year"}, {"uncertainty": "none"}, {"level": 0.9}, {"adjust": "bh"}, {"topics": [1]}, {"seed": 2},
        {"groups_max": 4}, {"se": "cluster:author"},
    ]  # fmt: skip
    for other in others:
        assert estimated(**other).rows() != plain, other
    assert estimated(threads=2).rows() == plain
    assert estimated("~ party").rows() == estimated("~ party", weights="tokens").rows()  # all are of 12 tokens


def test_designs_of_other_kinds() -> None:
    _, corpus = planted()
    table = corpus.table
    matrix = np.column_stack([np.ones(300), [name == "B" for name in table.told("party")], table["year"].packed])
    names = ["Intercept", "party[T.B]", "year"]
    plain = estimated().rows()
    assert estimated(matrix, names=names).rows() == plain
    pandas = pytest.importorskip("pandas")
    assert estimated(pandas.DataFrame(matrix, columns=names)).rows() == plain
    frame = pandas.DataFrame({"side": table.told("party"), "when": table.told("year")})
    found = estimated("~ side + when", columns=frame)
    np.testing.assert_array_equal(found.pooled.value, estimated().pooled.value)
    twice = estimated("~ party + year + center(year)")
    assert twice.dropped == ["center(year)"] and any("center(year)" in line for line in twice.footer())


def test_missing_values_are_counted() -> None:
    found = estimated("~ gap")
    assert found.draws.arranged.cells.documents < 300
    assert any("no value of 'gap'" in line for line in found.footer())
    with pytest.raises(InputError, match="lack values"):
        estimated("~ gap", missing="refuse")


def test_global_uncertainty_is_of_several_models() -> None:
    model, corpus = planted()
    turned = Model(
        model.vocabulary, model.alpha, model.beta, model.indptr, model.topics,
        np.roll(model.values.reshape(WORDS, TOPICS), 1, axis=1).ravel(),
    )  # fmt: skip
    found = effects([model, turned], corpus, "~ party", draws=4, burn_in=20, threads=1)
    assert found.draws.coefficients.shape == (8, TOPICS, 2)
    first, second = found.draws.coefficients.reshape(2, 4, TOPICS, 2).mean(axis=1)
    np.testing.assert_allclose(first, second, atol=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "probit"}, "family"), ({"se": "hc3"}, "se"), ({"se": "cluster:nobody"}, "nobody"),
        ({"weights": "nobody"}, "nobody"), ({"draws": 1}, "draws"), ({"level": 1.0}, "level"),
        ({"adjust": "x"}, "adjust"),
        ({"topics": [9]}, "topics"), ({"uncertainty": "global"}, "several"), ({"missing": "x"}, "missing"),
        ({"se": "classical", "weights": "tokens"}, "classical"), ({"columns": {"a": [1]}}, "columns of 1"),
    ],
)  # fmt: skip
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        estimated(**options)


def test_too_many_columns_and_too_little_memory() -> None:
    """One line before the work: columns that leave no document over, and draws for which there is no room."""
    _, corpus = planted()
    matrix = np.random.Generator(np.random.Philox(5)).standard_normal((300, 300))
    with pytest.raises(InputError, match="300 are too few for 300 columns"):
        estimated(matrix)
    with pytest.raises(InputError, match="memory: effects take about"):
        estimated(matrix[:, :40], threads=Threads(1, memory=1_000_000))
    assert len(corpus.offsets) == 301


def test_command(files: Path) -> None:
    done = run_topicx(
        "effects", "p.model", "p.corpus", "--formula", "~ party + year", "--topics", "0,1", "--family", "linear",
        "--se", "cluster:author", "--weights", "documents", "--uncertainty", "local", "--draws", "5",
        "--lag", "3", "--burn-in",
        "20", "--level", "0.9", "--adjust", "bh", "--at", "party=A,B", "--curve", "year", "--difference", "party=B,A",
        "--missing", "drop", "--groups-max", "500", "-o", "c.tsv", "--predictions", "p.jsonl", "--tests", "t.csv",
        "--plot", "e.png", "--seed", "3", "--threads", "1", "-q", cwd=files,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "party=B - party=A" in done.stdout and "5 draws of topics" in done.stdout
    assert (files / "c.tsv").read_text().splitlines()[0].split("\t")[:4] == ["topic", "name", "term", "estimate"]
    assert len((files / "c.tsv").read_text().splitlines()) == 7
    assert len((files / "p.jsonl").read_text().splitlines()) == 104
    assert (files / "t.csv").read_text().count("\n") == 5
    assert (files / "e.png").read_bytes()[:4] == b"\x89PNG"


def test_command_tells_json(files: Path) -> None:
    done = run_topicx("effects", "p.model", "p.corpus", "-f", "~ party", "--draws", "3", "--burn-in", "9", "--json",
                      cwd=files)  # fmt: skip
    told = json.loads(done.stdout)
    assert set(told) == {"coefficients", "tests", "predictions", "differences", "notes"}
    assert {row["value"] for row in told["predictions"]} == {"A", "B"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("p.model", "-f", "~ party"), "give the documents"), (("p.corpus", "-f", "~ party"), "takes a MODEL"),
        (("p.model", "p.corpus", "-f", "~ nobody"), "do not carry 'nobody'"),
        (("p.model", "p.corpus", "-f", "~ party", "--at", "party"), "COLUMN=VALUE"),
        (("p.model", "p.corpus", "-f", "~ party", "--at", "party=Z"), "no such level"),
        (("p.model", "p.corpus", "-f", "~ party", "--difference", "party=A"), "COLUMN=A,B"),
        (("p.model", "p.corpus", "-f", "~ party", "--curve", "year"), "not in the formula"),
        (("p.model", "p.corpus", "-f", "~ party", "--topics", "x"), "--topics"),
        (("p.model", "p.corpus", "-f", "~ party", "-o", "c.xls"), "by the name's ending"),
        (("p.model", "p.corpus", "p.corpus", "-f", "~ party"), "one CORPUS"),
    ],
)  # fmt: skip
def test_wrong_calls(arguments: tuple[str, ...], message: str, files: Path) -> None:
    done = run_topicx("effects", *arguments, cwd=files)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1, done.stderr


def test_what_the_page_says_for_users_of_stm_runs(files: Path) -> None:
    """The options of the table "In stm, in topicx", with the names of the planted documents."""
    page = (ROOT / "docs/reference/commands/effects.md").read_text(encoding="utf-8")
    table = page.split("## In stm, in topicx")[1].split("##")[0]
    cells = [line.split("|")[-2] for line in table.splitlines() if line.startswith("| `")]
    calls = [code for cell in cells for code in re.findall(r"`(--[^`]*)`", cell)]
    assert len(calls) >= 4 and all(any(name in call for call in calls) for name in ("--at", "--curve", "--difference"))
    for call in calls:
        words = shlex.split(call.replace("FILE", "stm.png"))
        done = run_topicx(
            "effects", "p.model", "p.corpus", "-f", "~ party + s(year)", "--draws", "3", "--burn-in", "9", "-q", *words,
            cwd=files,
        )  # fmt: skip
        assert done.returncode == 0, (call, done.stderr)
