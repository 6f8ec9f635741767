"""Formulas become the columns that formulaic makes; files hold them as data; nothing in them is evaluated."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.design.expected_designs import FORMULAS, PLACE, table
from topicx.corpus.table import Column, Labels, Names, Numbers, Texts, Times
from topicx.design.design import Design
from topicx.design.formula import parse_formula
from topicx.design.log_linear import log_linear_prior
from topicx.errors import InputError
from topicx.strings import Strings

EXPECTED = json.loads(PLACE.read_text(encoding="utf-8"))["designs"]


def columns(**changes: list[Any]) -> dict[str, Column]:
    return {
        name: Texts(Strings.of(values)) if isinstance(values[0], str) else Numbers(np.array(values, dtype=np.float64))
        for name, values in (table() | changes).items()
    }


@pytest.mark.parametrize("formula", FORMULAS)
def test_columns_are_formulaics(formula: str) -> None:
    given = columns()
    design = Design.fit(formula, given)
    assert design.columns == EXPECTED[formula]["columns"]
    again = Design.from_json(json.loads(json.dumps(design.to_json())))
    for one in (design, again):
        np.testing.assert_allclose(one.rows(given, 16).matrix, EXPECTED[formula]["matrix"], rtol=1e-12, atol=1e-12)
    assert parse_formula(design.formula.text) == design.formula
    covered = [column for part in design.terms.values() for column in design.columns[part]]
    assert covered == design.columns


def test_distinct_rows() -> None:
    given = columns()
    design = Design.fit("~ party * sex", given)
    found = design.rows(given)
    pairs = set(zip(given["party"].told(), given["sex"].told()))
    assert len(found.distinct) == len(pairs)
    assert found.kept.all() and found.groups.max() == len(pairs) - 1


def test_a_spline_of_our_own_name() -> None:
    given = columns()
    assert Design.fit("~ s(year, df=4)", given).columns[1] == "s(year, df=4)[1]"
    assert len(Design.fit("~ s(year)", given).columns) == 11
    few = columns(year=[1.0, 2.0] * 8)
    assert Design.fit("~ s(year)", few).columns == ["Intercept", "s(year)[1]"]


def test_base_level() -> None:
    given = columns()
    design = Design.fit('~ C(party, base="B")', given)
    assert design.columns == ["Intercept", "C(party, base='B')[T.A]", "C(party, base='B')[T.C]"]
    assert design.levels == {"party": ["B", "A", "C"]}


def test_missing_values_unknown_levels_and_ends() -> None:
    given = columns()
    design = Design.fit("~ party + s(year, df=3) + log(u)", given)
    new = {
        "party": Names.of(["A", "", "Q", "B", "C"]), "year": Numbers(np.array([1995, 1995, 2030, np.nan, 1990.0])),
        "u": Numbers(np.array([1.0, 1.0, 1.0, 1.0, -1.0])),
    }  # fmt: skip
    found = design.rows(new)
    assert found.kept.tolist() == [True, False, True, False, False]
    assert found.matrix.shape == (2, len(design.columns))
    np.testing.assert_array_equal(found.matrix[1, 1:3], [0, 0])
    last = design.rows({name: column.part(15, 16) for name, column in given.items()})
    np.testing.assert_array_equal(found.matrix[1, 3:6], last.matrix[0, 3:6])
    assert [note.split(" documents ")[1].split(" ")[0] for note in found.notes] == ["have"] * 5
    assert any("does not know (Q)" in note for note in found.notes)


def test_chosen_documents_are_the_base() -> None:
    given = columns()
    chosen = np.array([value != "C" for value in given["party"].told()])
    design = Design.fit("~ party + scale(u)", given, chosen)
    assert design.columns == ["Intercept", "party[T.B]", "scale(u)"]
    x = design.rows(given).matrix[chosen, 2]
    assert abs(x.mean()) < 1e-12 and abs(x.std(ddof=1) - 1) < 1e-12


def test_dates_are_years() -> None:
    given = {"time": Times(np.array([7305.0, 10957.0, np.nan]), dates=True)}
    found = Design.fit("~ time", given).rows(given)
    np.testing.assert_allclose(found.matrix[:, 1], [1990, 2000], atol=0.01)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("", "there is no term"), ("y ~ party", "nothing stands before ~"), ("~ party +", "ends too early"),
        ("~ (party + sex)^2", "write a + b + a:b"), ("~ (1 + party)*u", "cannot stand in parentheses"),
        ("~ 3", "1 is the intercept"), ("~ s(year", "a parenthesis is missing"), ("~ 'x'", "is no column"),
        ("~ nobody", "the documents do not carry 'nobody'; they carry party"), ("~ f(u)", "there is no function 'f'"),
        ("~ s(party)", "is to be numbers or dates, but has 'A'"), ("~ s(year, df=2)", "df must be a whole number"),
        ("~ s(year, knots=2)", "has no option 'knots'"), ("~ log(s(year))", "makes several columns"),
        ("~ C(party, base='Z')", "there is no level 'Z'"), ("~ C(party, 1, 2)", "nothing else"),
        ("~ __import__(os)", "there is no function"), ("~ u $ party", "cannot be read"),
        ("~ center(u, False)", "too much"),
        ("~ scale(u, center=3)", "is no value"), ("~ poly(year, 16)", "different values"), ("~ C(log(u))", "C takes"),
        ("~ " + "(" * 60 + "u" + ")" * 60, "nested"), ("~ log()", "it takes a column"),
        ("*".join(f"a{i}" for i in range(15)), "more than 1,000 terms"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(formula: str, message: str) -> None:
    with pytest.raises(InputError, match="formula") as caught:
        Design.fit(formula, columns())
    assert message in str(caught.value)


def test_all_missing_and_all_alike() -> None:
    with pytest.raises(InputError, match="no document has a value"):
        Design.fit("~ u", columns(u=[np.nan] * 16))
    with pytest.raises(InputError, match="the same value"):
        Design.fit("~ scale(u)", columns(u=[1.0] * 16))
    with pytest.raises(InputError, match="several values of 'party'"):
        Design.fit("~ party", columns() | {"party": Labels.of([["a", "b"]] * 16)})


@pytest.mark.parametrize(
    "data",
    [
        None, {}, {"formula": "~ u"}, {"formula": "~ u", "states": {}}, {"formula": 3, "states": {}},
        {"formula": "~ s(u)", "states": {"u": {}, "s(u)": {"knots": ["x"], "degree": 3}}},
        {"formula": "~ s(u)", "states": {"u": {}, "s(u)": {"knots": [0, 1], "degree": float("nan")}}},
        {"formula": "~ party", "states": {"party": {"levels": ["a"], "base": "b"}}},
        {"formula": "~ party", "states": {"party": {"levels": [1], "base": 1}}},
        {"formula": "~ log(u)", "states": {"u": {}, "log(u)": {"levels": ["a"], "base": "a"}}},
    ],
)  # fmt: skip
def test_data_of_other_form_are_refused(data: Any) -> None:
    with pytest.raises(InputError):
        Design.from_json(data)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab+-*:(), 10=~'`su.", max_size=30))
def test_any_text_is_a_formula_or_an_error(text: str) -> None:
    try:
        formula = parse_formula(text)
    except InputError as error:
        assert "\n" not in str(error) or "\n" in text
        return
    assert parse_formula(formula.text) == formula


def test_log_linear_prior() -> None:
    rng = np.random.Generator(np.random.Philox(1))
    rows, coefficients = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    np.testing.assert_allclose(log_linear_prior(rows, coefficients), np.exp(rows @ coefficients.T), rtol=1e-13)
    assert np.isfinite(log_linear_prior(rows * 1e4, coefficients)).all()
