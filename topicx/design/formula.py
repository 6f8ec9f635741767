"""Formulas such as `~ party * s(year, df=4)`: read by a small parser, never evaluated as code, whoever wrote them.

    formula   ~ term + term …        a leading ~ may be left out; - 1 or + 0: no intercept
    term      factor, a:b (interaction), a*b (a + b + a:b), parentheses around sums
    factor    a column (`in backticks` if its name is no plain word) or function(column or function, options)

Terms and coefficients are named as formulaic names them (github.com/matthewwardrop/formulaic).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from topicx.errors import InputError

MOST_CHARACTERS, MOST_TERMS, DEEPEST = 10_000, 1_000, 50
"""Limits of a formula, so that no file's can take long to read."""

Result = TypeVar("Result")
_TOKEN = re.compile(
    r"""\s*(?:(?P<name>[^\W\d][\w.]*)|`(?P<ticked>[^`]+)`|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"""
    r"""|"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<sign>\*\*|[-+*:/^|~(),=]))"""
)


@dataclass(frozen=True)
class ColumnName:
    """A column that documents carry."""

    name: str

    @property
    def text(self) -> str:
        """How it stands inside of a function."""
        return self.name if re.fullmatch(r"[^\W\d][\w.]*", self.name) else f"`{self.name}`"


@dataclass(frozen=True)
class Constant:
    """A number, a text, or True and False."""

    value: float | int | str | bool

    @property
    def text(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Call:
    """A function with what stands in its parentheses."""

    function: str
    arguments: tuple[Expression, ...]
    options: tuple[tuple[str, Expression], ...]

    @property
    def text(self) -> str:
        options = [f"{name}={value.text}" for name, value in self.options]
        inside = ", ".join([one.text for one in self.arguments] + options)
        return f"{self.function}({inside})" if inside or "." not in self.function else self.function


Expression = ColumnName | Constant | Call
Factors = tuple[Expression, ...]
"""The factors of a term in their order; none: the intercept."""


@dataclass(frozen=True)
class Formula:
    """The terms of a formula, those with fewer factors first, and its text in one spelling."""

    terms: tuple[Factors, ...]

    @property
    def intercept(self) -> bool:
        return () in self.terms

    @property
    def text(self) -> str:
        named = [term_name(term) for term in self.terms if term]
        return "~ " + " + ".join(named if self.intercept and named else ["1" if self.intercept else "0", *named])

    @property
    def factors(self) -> list[Expression]:
        """All factors, each once, in their order."""
        return list(dict.fromkeys(factor for term in self.terms for factor in term))

    @property
    def wants(self) -> list[str]:
        """The columns that it takes, in their order."""
        return list(dict.fromkeys(name for factor in self.factors for name in columns_in(factor)))


def term_name(factors: Factors) -> str:
    """A term as coefficients' names and tests have it."""
    return ":".join(factor.text for factor in factors) or "Intercept"


def factor_name(factor: Expression) -> str:
    """A factor as coefficients are named after it: a column by its bare name."""
    return factor.name if isinstance(factor, ColumnName) else factor.text


def columns_in(expression: Expression) -> list[str]:
    """The columns that an expression takes; of a function the first argument, what follows are options."""
    if isinstance(expression, ColumnName):
        return [expression.name]
    if isinstance(expression, Call):
        return [name for one in expression.arguments[:1] for name in columns_in(one)]
    return []


def parse_formula(text: str) -> Formula:
    """The formula that a text spells, or InputError that says what is wrong with it."""
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"formula: {len(text):,} characters are too many; there can be {MOST_CHARACTERS:,}")
    return _Parser(text).formula()


class _Parser:
    """One formula, token by token."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        """Kinds and texts."""
        self.at = self.depth = 0
        place = 0
        while place < len(text.rstrip()):
            found = _TOKEN.match(text, place)
            if found is None or not found.lastgroup:
                raise self.wrong(f"{text[place:].strip()[:20]!r} cannot be read")
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            place = found.end()

    def wrong(self, why: str) -> InputError:
        return InputError(f"formula {self.text.strip()[:200]!r}: {why}")

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self) -> tuple[str, str]:
        token = self.peek()
        self.at += 1
        return token

    def sign(self, *signs: str) -> str:
        """The sign that comes next, taken, if it is one of these."""
        kind, text = self.peek()
        return self.take()[1] if kind == "sign" and text in signs else ""

    def formula(self) -> Formula:
        self.sign("~")
        if self.peek()[0] == "end":
            raise self.wrong("there is no term")
        terms = self.sum(intercept=True)
        if self.peek()[0] != "end":
            text = self.peek()[1]
            if text == "~":
                raise self.wrong("what is explained are the topics: nothing stands before ~")
            raise self.wrong(f"{text!r} is unexpected")
        if not terms:
            raise self.wrong("there is no term")
        return Formula(tuple(sorted(terms, key=len)))

    def sum(self, intercept: bool) -> list[Factors]:
        """Terms with + and - between."""
        found: dict[Factors, None] = {(): None} if intercept else {}
        sign = self.sign("+", "-") or "+"
        while True:
            if self.peek()[0] == "number":
                number = self.take()[1]
                if number not in ("0", "1"):
                    raise self.wrong(f"{number} is no term; 1 is the intercept, 0 none")
                if not intercept:
                    raise self.wrong("1 and 0 (the intercept) cannot stand in parentheses")
                terms: list[Factors] = [()]
                sign = "-" if (sign == "+") == (number == "0") else "+"
            else:
                terms = self.product()
            for term in terms:
                if sign == "+":
                    found[term] = None
                else:
                    found.pop(term, None)
            if len(found) > MOST_TERMS:
                raise self.wrong(f"more than {MOST_TERMS:,} terms")
            sign = self.sign("+", "-")
            if not sign:
                return list(found)

    def product(self) -> list[Factors]:
        """Interactions with * between."""
        terms = self.interaction()
        while self.sign("*"):
            other = self.interaction()
            terms = self.limited([*terms, *other, *(_join_factors(a, b) for a, b in product(terms, other))])
        if self.peek()[1] in ("**", "^", "/", "|") and self.peek()[0] == "sign":
            raise self.wrong(f"{self.peek()[1]!r} is not known here: write a + b + a:b, or a*b")
        return terms

    def interaction(self) -> list[Factors]:
        terms = self.factor()
        while self.sign(":"):
            other = self.factor()
            terms = self.limited([_join_factors(a, b) for a, b in product(terms, other)])
        return terms

    def limited(self, terms: list[Factors]) -> list[Factors]:
        terms = list(dict.fromkeys(terms))
        if len(terms) > MOST_TERMS or max(map(len, terms)) > DEEPEST:
            raise self.wrong(f"more than {MOST_TERMS:,} terms, or one of more than {DEEPEST} factors")
        return terms

    def factor(self) -> list[Factors]:
        if self.sign("("):
            terms = self.nested(lambda: self.sum(intercept=False))
            if not self.sign(")"):
                raise self.wrong("a parenthesis is not closed")
            return terms
        expression = self.expression()
        if isinstance(expression, Constant):
            raise self.wrong(f"{expression.text} is no column")
        return [(expression,)]

    def nested(self, what: Callable[[], Result]) -> Result:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong(f"it is nested more than {DEEPEST} deep")
        found = what()
        self.depth -= 1
        return found

    def expression(self) -> Expression:
        """A column, a constant, or a function of some."""
        negative = bool(self.sign("-"))
        kind, text = self.take()
        if kind == "number":
            number = float(text) if re.search(r"[.eE]", text) else int(text)
            return Constant(-number if negative else number)
        if negative or kind in ("sign", "end"):
            raise self.wrong(f"{text!r} is unexpected" if text and not negative else "it ends too early")
        if kind in ("double", "single"):
            return Constant(text)
        if kind == "name" and text in ("True", "False"):
            return Constant(text == "True")
        if kind == "name" and self.sign("("):
            return self.nested(lambda: self.call(text))
        return ColumnName(text)

    def call(self, function: str) -> Call:
        arguments: list[Expression] = []
        options: list[tuple[str, Expression]] = []
        while not self.sign(")"):
            after = self.tokens[self.at + 1 : self.at + 2]
            if self.peek()[0] == "name" and after == [("sign", "=")]:
                name = self.take()[1]
                self.take()
                options.append((name, self.expression()))
            elif options:
                raise self.wrong(f"{function}: what has no name stands before what has one")
            else:
                arguments.append(self.expression())
            if not self.sign(",") and self.peek() != ("sign", ")"):
                raise self.wrong(f"{function}(…: a comma or a parenthesis is missing")
        return Call(function, tuple(arguments), tuple(options))


def _join_factors(first: Factors, second: Factors) -> Factors:
    return tuple(dict.fromkeys((*first, *second)))
