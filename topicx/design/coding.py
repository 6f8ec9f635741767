"""Which factors of a term leave out their first level, so that all columns together have full rank.

The rule is that of patsy and formulaic: a term spans what its factors span with and without their constants; what
earlier terms span already is taken out, and what remains is written with as few columns as can be.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

Coded = tuple[tuple[int, bool], ...]
"""Factors of a term by number, and whether each leaves out a level."""


def full_rank_codings(terms: Iterable[tuple[int, ...]], categorical: Iterable[bool]) -> list[list[Coded]]:
    """For each term (its factors by number; none: the intercept) the products of columns that it stands for."""
    spans = list(categorical)
    spanned: set[Coded] = set()
    found = []
    for term in terms:
        choices = [((factor, True), None) if spans[factor] else ((factor, False),) for factor in term]
        own = [tuple(one for one in chosen if one is not None) for chosen in product(*choices)]
        own = [one for one in dict.fromkeys(own) if one not in spanned]
        spanned.update(own)
        found.append(_fewest_products(own))
    return found


def _fewest_products(coded: Iterable[Coded]) -> list[Coded]:
    """Products with the same span, but fewer of them: `a` and `a:(b without a level)` are `a:b`."""
    kept: list[Coded] = []
    for one in sorted(coded, key=len):
        for other in kept:
            more = set(one) - set(other)
            factor, reduced = next(iter(more)) if len(more) == 1 else (-1, False)
            if len(one) - 1 == len(other) and reduced:
                whole = tuple((number, False) if number == factor else (number, cut) for number, cut in one)
                kept = _fewest_products([*(each for each in kept if each != other), whole])
                break
        else:
            kept.append(one)
    return kept
