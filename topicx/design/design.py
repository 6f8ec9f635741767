"""Designs: a formula with what it takes to make the same columns for other documents (levels, knots, scales), all of
which is plain data that a file can hold.

    design = Design.fit("~ party + s(year, df=4)", columns)
    found = design.rows(columns)          # the distinct rows of X, and which of them each document has
    X = found.matrix                      # a row for each document that is kept

Many documents have the same row of X: what is computed from rows is computed once for each distinct one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx.design.coding import full_rank_codings
from topicx.design.covariates import Columns, Floats, Levels, is_factor, levels_of, numbers_of
from topicx.design.formula import (
    Call,
    ColumnName,
    Constant,
    Expression,
    Formula,
    columns_in,
    factor_name,
    parse_formula,
    term_name,
)  # fmt: skip
from topicx.design.transforms import HIDDEN, TRANSFORMS
from topicx.errors import InputError

MOST_COLUMNS = 5000
"""Columns that a design may have."""


@dataclass(frozen=True)
class DesignRows:
    """The rows of X of some documents."""

    distinct: Floats
    """Distinct rows × columns."""
    groups: NDArray[np.int64]
    """The row of each document; -1: it has no value somewhere."""
    notes: list[str] = field(default_factory=list)
    """What was noticed: values that are missing, unknown levels, numbers beyond a spline's ends."""

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which documents have a row."""
        return self.groups >= 0

    @property
    def matrix(self) -> Floats:
        """X: a row for each document that is kept."""
        return self.distinct[self.groups[self.kept]]


@dataclass(frozen=True)
class Design:
    """A formula, and what it has learnt of the documents that it was fitted to."""

    formula: Formula
    states: dict[str, dict[str, Any]]
    """By factors' texts: levels, knots, scales."""

    # -- making, keeping ----------------------------------------------------------------------------------------

    @classmethod
    def fit(cls, formula: str | Formula, columns: Columns, chosen: NDArray[np.bool_] | None = None) -> Design:
        """The design of a formula for these documents, or for those `chosen`, which are the base of levels, knots and
        scales."""
        parsed = parse_formula(formula) if isinstance(formula, str) else formula
        states: dict[str, dict[str, Any]] = {}
        values: dict[str, Floats | Levels] = {}
        for factor in parsed.factors:
            which = _factor_column(factor, columns)
            values[factor.text] = levels_of(columns, which) if which else _raw_numbers(factor, columns)
        kept = np.ones(1, bool) if chosen is None else chosen
        for one in values.values():
            kept = kept & (one.codes >= 0 if isinstance(one, Levels) else np.isfinite(one))
        if values and not kept.any():
            raise InputError(f"formula: no document has a value of all of {', '.join(parsed.wants)}")
        for factor in parsed.factors:
            value = values[factor.text]
            if isinstance(value, Levels):
                used = np.unique(value.codes[kept])
                states[factor.text] = _levels_state(factor, [value.names[number] for number in used.tolist()])
            else:
                _fit_numbers(factor, value[kept], states)
        found = cls(parsed, states)
        if len(found.columns) > MOST_COLUMNS:
            raise InputError(f"formula: it makes {len(found.columns):,} columns; there can be {MOST_COLUMNS:,}")
        return found

    def to_json(self) -> dict[str, Any]:
        """The design as plain data."""
        return {"formula": self.formula.text, "states": self.states}

    @classmethod
    def from_json(cls, data: Any) -> Design:
        """The design that `to_json` has told; InputError where it is none."""
        try:
            found = cls(parse_formula(data["formula"]), {str(name): dict(one) for name, one in data["states"].items()})
            found._verify()
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError):
            raise InputError("the file's design of covariates is none that this program has written") from None
        return found

    def _verify(self) -> None:
        """One of the expected errors where states are not what the formula's factors need."""
        for factor in self.formula.factors:
            state = self.states[factor.text]
            if "levels" in state:
                if not _factor_names(factor) or state["base"] not in state["levels"]:
                    raise ValueError
                if not all(isinstance(level, str) for level in state["levels"]):
                    raise ValueError
            else:
                _check_call(factor)
                _verify_numbers(factor, self.states)
        if len(self.columns) > MOST_COLUMNS:
            raise ValueError

    # -- names --------------------------------------------------------------------------------------------------

    @property
    def wants(self) -> list[str]:
        """The columns that documents must carry."""
        return self.formula.wants

    @cached_property
    def _products(self) -> list[tuple[str, list[tuple[str, tuple[tuple[int, int], ...]]]]]:
        """Coefficients of each term: their names, and the columns of factors whose product they weigh."""
        factors = self.formula.factors
        number = {factor: place for place, factor in enumerate(factors)}
        categorical = ["levels" in self.states.get(factor.text, {}) for factor in factors]
        terms = [tuple(number[factor] for factor in term) for term in self.formula.terms]
        found = []
        for term, codings in zip(self.formula.terms, full_rank_codings(terms, categorical), strict=True):
            coefficients = []
            for coded in codings:
                columns = [self._fields(factors[place], place, reduced) for place, reduced in coded]
                # The first factor's columns run fastest, as in R.
                for chosen in product(*reversed(columns)):
                    pairs = tuple(chosen)[::-1]
                    name = ":".join(name for name, _ in pairs) or "Intercept"
                    coefficients.append((name, tuple(source for _, source in pairs)))
            found.append((term_name(term), coefficients))
        return found

    def _fields(self, factor: Expression, place: int, reduced: bool) -> list[tuple[str, tuple[int, int]]]:
        """Names of a factor's columns, and where their values are: the factor's number, the column's."""
        name, state = factor_name(factor), self.states.get(factor.text, {})
        if "levels" in state:
            base = state["base"]
            return [
                (f"{name}[T.{level}]" if reduced else f"{name}[{level}]", (place, number))
                for number, level in enumerate(state["levels"]) if not (reduced and level == base)
            ]  # fmt: skip
        number = _columns_of_factor(factor, self.states)
        if number == 0:
            return [(name, (place, 0))]
        return [(f"{name}[{one + 1}]", (place, one)) for one in range(number)]

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns of X."""
        return [name for _, coefficients in self._products for name, _ in coefficients]

    @cached_property
    def terms(self) -> dict[str, slice]:
        """The terms, and which columns are theirs."""
        found, begin = {}, 0
        for name, coefficients in self._products:
            if coefficients:
                found[name] = slice(begin, begin + len(coefficients))
            begin += len(coefficients)
        return found

    @property
    def levels(self) -> dict[str, list[str]]:
        """The levels of each factor, by its column's name; the base first."""
        return {
            factor_columns[0]: [state["base"], *(one for one in state["levels"] if one != state["base"])]
            for factor in self.formula.factors
            if "levels" in (state := self.states.get(factor.text, {})) and (factor_columns := columns_in(factor))
        }

    # -- columns of documents -----------------------------------------------------------------------------------

    def rows(self, columns: Columns, documents: int | None = None) -> DesignRows:
        """The rows of X of these documents (how many there are must be said where the formula takes no column)."""
        notes: list[str] = []
        codes: dict[str, NDArray[np.int64]] = {}
        raw: dict[str, Floats] = {}
        keys: list[NDArray[np.int64]] = []
        for factor in self.formula.factors:
            state = self.states[factor.text]
            if "levels" in state:
                codes[factor.text] = self._level_codes(factor, columns, notes)
                keys.append(codes[factor.text])
        for name in self._numeric:
            raw[name] = numbers_of(columns, name)
            keys.append(_number_values(raw[name]))
            missing = int((keys[-1] < 0).sum())
            if missing:
                notes.append(f"{missing:,} documents have no value of {name!r}")
        number = len(keys[0]) if keys else documents
        if number is None:
            raise InputError("formula: it takes no column, so that the number of documents must be said")
        groups, first = _combine_keys(keys, number)
        some = {name: one[first] for name, one in raw.items()}
        notes += self._beyond(raw)
        distinct = self._values({text: one[first] for text, one in codes.items()}, some)
        usable: NDArray[np.bool_] = np.atleast_1d(np.isfinite(distinct).all(axis=1))
        if not usable.all():
            place = np.cumsum(usable) - 1
            lost = (groups >= 0) & ~usable[groups]
            notes.append(f"{int(lost.sum()):,} documents have numbers for which a function of the formula has no value")
            groups = np.where((groups >= 0) & usable[groups], place[groups], -1)
            distinct = distinct[usable]
        return DesignRows(distinct, groups, notes)

    @cached_property
    def _numeric(self) -> list[str]:
        """The columns that are numbers."""
        numeric = (factor for factor in self.formula.factors if "levels" not in self.states[factor.text])
        return list(dict.fromkeys(name for factor in numeric for name in columns_in(factor)))

    def _level_codes(self, factor: Expression, columns: Columns, notes: list[str]) -> NDArray[np.int64]:
        """The number of each document's level: that of the base for levels that are unknown, which is noted."""
        state, name = self.states[factor.text], columns_in(factor)[0]
        place = {level: number for number, level in enumerate(state["levels"])}
        given = levels_of(columns, name)
        base = place[state["base"]]
        known = np.array([place.get(level, base) for level in given.names] + [-1], np.int64)
        strange = np.array([level not in place for level in given.names] + [False])
        if strange[given.codes].any():
            some = ", ".join(given.names[number] for number in np.flatnonzero(strange[:-1])[:3].tolist())
            notes.append(
                f"{int(strange[given.codes].sum()):,} documents have a value of {name!r} that the design does not know "
                f"({some}): taken as {state['base']}"
            )
        missing = int((given.codes < 0).sum())
        if missing:
            notes.append(f"{missing:,} documents have no value of {name!r}")
        found: NDArray[np.int64] = known[given.codes]
        return found

    def _beyond(self, raw: Mapping[str, Floats]) -> list[str]:
        """What is to be said of numbers beyond splines' ends."""
        notes = []
        for factor in self.formula.factors:
            knots = self.states[factor.text].get("knots")
            if not knots or not isinstance(factor, Call) or not isinstance(factor.arguments[0], ColumnName):
                continue
            name = factor.arguments[0].name
            beyond = int(((raw[name] < knots[0]) | (raw[name] > knots[-1])).sum())
            if beyond:
                notes.append(
                    f"{beyond:,} documents have {name!r} beyond {knots[0]:.10g} to {knots[-1]:.10g}, where "
                    f"{factor.text} ends: taken at its ends"
                )
        return notes

    def _values(self, codes: dict[str, NDArray[np.int64]], raw: Mapping[str, Floats]) -> Floats:
        """X from codes of factors and numbers, a row each."""
        each: list[Floats] = []
        length = next((len(one) for one in [*codes.values(), *raw.values()]), 1)
        for factor in self.formula.factors:
            state = self.states[factor.text]
            if "levels" in state:
                each.append(np.eye(len(state["levels"]))[codes[factor.text]])
            else:
                value = _apply_numbers(factor, raw, self.states)
                each.append(value[:, None] if value.ndim == 1 else value)
        columns = []
        for _, coefficients in self._products:
            for _, sources in coefficients:
                column = np.ones(length)
                for place, number in sources:
                    column = column * each[place][:, number]
                columns.append(column)
        return np.column_stack(columns) if columns else np.zeros((length, 0))


# -- factors ------------------------------------------------------------------------------------------------------


def _factor_names(factor: Expression) -> bool:
    """Whether a factor may have levels: a column, or C of one."""
    return isinstance(factor, ColumnName) or (isinstance(factor, Call) and factor.function == "C")


def _verify_numbers(factor: Expression, states: Mapping[str, Any]) -> None:
    """One of the errors of `Design.from_json` where a state is not finite numbers of the right form."""
    state = states[factor.text]
    numbers = [one for value in state.values() for one in (value if isinstance(value, list) else [value])]
    if not all(np.isfinite(float(one)) for one in numbers):
        raise ValueError
    if isinstance(factor, Call):
        found = TRANSFORMS[factor.function].apply(np.ones(1), _options_of_call(factor), state)
        if found.shape != ((1, _columns_of_factor(factor, states)) if found.ndim > 1 else (1,)):
            raise ValueError
        _verify_numbers(factor.arguments[0], states)


def _factor_column(factor: Expression, columns: Columns) -> str:
    """The column that is a factor with levels; '' where it is numbers."""
    if isinstance(factor, ColumnName):
        return factor.name if is_factor(columns, factor.name) else ""
    if isinstance(factor, Call) and factor.function == "C":
        if len(factor.arguments) < 1 or not isinstance(factor.arguments[0], ColumnName):
            raise InputError(f"formula: {factor.text}: C takes a column")
        return factor.arguments[0].name
    return ""


def _levels_state(factor: Expression, levels: list[str]) -> dict[str, Any]:
    base = levels[0]
    if isinstance(factor, Call):
        asked = _base_asked(factor)
        if asked is not None:
            if asked not in levels:
                raise InputError(f"formula: {factor.text}: there is no level {asked!r}, but {', '.join(levels[:20])}")
            base = asked
    return {"levels": levels, "base": base}


def _base_asked(factor: Call) -> str | None:
    """The base of C(column, base="x") or C(column, contr.treatment("x")); None: the first level."""
    rest = list(factor.arguments[1:])
    options = dict(factor.options)
    if len(rest) == 1 and not options and isinstance(rest[0], Call | ColumnName):
        inner = rest[0]
        if isinstance(inner, ColumnName):
            inner = Call(inner.name, (), ())
        if inner.function in ("contr.treatment", "Treatment"):
            rest, options = list(inner.arguments), dict(inner.options)
    if not rest and not options:
        return None
    given = options.pop("base", None) or (rest.pop(0) if rest else None)
    if rest or options or not isinstance(given, Constant):
        raise InputError(f"formula: {factor.text}: C takes a column and base='level', nothing else")
    return str(given.value)


def _raw_numbers(factor: Expression, columns: Columns) -> Floats:
    """The numbers at the bottom of a factor, after the functions that need no state."""
    names = columns_in(factor)
    _check_call(factor)
    return numbers_of(columns, names[0])


def _check_call(factor: Expression) -> None:
    """InputError unless all functions are known, with known options, around one column."""
    if isinstance(factor, ColumnName):
        return
    if isinstance(factor, Constant):
        raise InputError(f"formula: {factor.text} is no column")
    transform = TRANSFORMS.get(factor.function)
    if transform is None:
        raise InputError(
            f"formula: there is no function {factor.function!r}, but {', '.join(sorted([*TRANSFORMS, 'C']))}"
        )
    if not factor.arguments:
        raise InputError(f"formula: {factor.text}: it takes a column")
    _options_of_call(factor)
    _check_call(factor.arguments[0])
    inner = factor.arguments[0]
    if isinstance(inner, Call) and inner.function in ("s", "bs", "poly"):
        raise InputError(
            f"formula: {factor.text}: {inner.function} makes several columns, of which nothing can be taken"
        )


def _options_of_call(factor: Call) -> dict[str, Any]:
    """A function's options, given and not."""
    options = dict(TRANSFORMS[factor.function].options)
    names = [name for name in options if name not in HIDDEN]
    if factor.function == "center":
        names = []
    given = dict(zip(names, factor.arguments[1:]))
    if len(factor.arguments) - 1 > len(names) or set(given) & set(dict(factor.options)):
        raise InputError(f"formula: {factor.text}: too much in the parentheses")
    given |= dict(factor.options)
    for name, value in given.items():
        if name not in names:
            raise InputError(f"formula: {factor.text}: {factor.function} has no option {name!r}")
        if not isinstance(value, Constant) or (isinstance(options[name], bool) != isinstance(value.value, bool)):
            raise InputError(f"formula: {factor.text}: {name}={value.text} is no value for it")
        options[name] = value.value
    return options


def _fit_numbers(factor: Expression, numbers: Floats, states: dict[str, dict[str, Any]]) -> Floats:
    """States of a factor and of what stands within; its values where it is one column."""
    if not isinstance(factor, Call):
        states.setdefault(factor.text, {})
        return numbers
    x = _fit_numbers(factor.arguments[0], numbers, states)
    x = x[np.isfinite(x)]
    if not len(x):
        raise InputError(f"formula: {factor.text}: no document has a value there")
    transform, options = TRANSFORMS[factor.function], _options_of_call(factor)
    states[factor.text] = transform.fit(factor.text, x, options)
    return transform.apply(x, options, states[factor.text])


def _apply_numbers(factor: Expression, raw: Mapping[str, Floats], states: Mapping[str, Any]) -> Floats:
    if not isinstance(factor, Call):
        return raw[columns_in(factor)[0]]
    inner = _apply_numbers(factor.arguments[0], raw, states)
    known = np.isfinite(inner)
    found = TRANSFORMS[factor.function].apply(
        np.where(known, inner, 1.0), _options_of_call(factor), states[factor.text]
    )
    found[~known] = np.nan
    return found


def _columns_of_factor(factor: Expression, states: Mapping[str, Any]) -> int:
    """How many numbered columns a factor of numbers has; 0: one without a number."""
    state = states[factor.text]
    if "knots" in state:
        return len(state["knots"]) - 2 + int(state["degree"])
    return len(state["alpha"]) if "alpha" in state else 0


# -- distinct rows --------------------------------------------------------------------------------------------------


def _number_values(values: Floats) -> NDArray[np.int64]:
    """Equal numbers get one number; NaN gets -1."""
    known = np.isfinite(values)
    found = np.full(len(values), -1, np.int64)
    found[known] = np.unique(values[known], return_inverse=True)[1].reshape(-1)
    return found


def _combine_keys(keys: Sequence[NDArray[np.int64]], documents: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The number of each document's combination (-1: one of the keys is), and the first document of each."""
    kept = np.ones(documents, bool)
    for key in keys:
        kept &= key >= 0
    combined = np.zeros(int(kept.sum()), np.int64)
    for key in keys:
        more = key[kept]
        combined = np.unique(combined * (int(more.max(initial=0)) + 1) + more, return_inverse=True)[1].reshape(-1)
    groups = np.full(documents, -1, np.int64)
    groups[kept] = combined
    first = np.unique(groups[kept], return_index=True)[1]
    return groups, np.flatnonzero(kept)[first]
