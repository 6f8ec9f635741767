"""Makes tests/design/designs.json: what formulaic makes of the formulas (python -m tests.design.expected_designs)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PLACE = Path(__file__).parent / "designs.json"
PARTY = "ABCABCABBBCCAACB"
SEX = "ffmmfmfmffmmfmfm"
YEARS = [1990, 1991, 1991, 1994, 1996, 1997, 1999, 2001, 2001, 2004, 2006, 2007, 2011, 2011, 2015, 2019]
NUMBERS = [-1.5, 0.25, 0.75, 2.0, -0.5, 1.125, -2.25, 0.0, 3.5, -1.0, 0.5, 1.75, -0.125, 2.5, -3.0, 1.0]
POSITIVE = [1.5, 2.0, 1.25, 3.5, 4.0, 1.0, 2.75, 3.25, 5.0, 6.5, 1.75, 2.5, 3.0, 4.5, 7.0, 2.25]
FORMULAS = (
    "~ party + year", "~ party*sex", "~ 0 + party + sex", "~ -1 + party:sex", "~ party:sex", "~ party:year",
    "~ party:sex + year", "~ bs(year, df=4)", "~ party*bs(year, df=4)", "~ poly(year, 2)", "~ scale(year)",
    "~ center(year)", "~ log(u)", "~ C(party)", "~ C(party, contr.treatment('B'))",
    "~ C(party,contr.treatment(base='B'))", "~ C(party, Treatment('B'))", "~ `my col` + u", "~ (party+sex)*u",
    "~ u:party + sex:u", "~ C(year)", "~ scale(log(u))", "~ u:bs(year,df=4)", "~ party:sex:u", "~ u + party:u",
    "~ party + party:sex", "~ 1", "~ bs( year , df = 3, degree=2)", "~ u*year*party", "~ `my col`:party",
    "~ scale(`my col`)", "~ u-1", "~ party - party + u", "~ party + 1", "~ party + sex:u:party", "~ 0 + u + party",
    "~ exp(`my col`)", "~ scale(u, center=False)", "~ C(sex, contr.treatment)*u",
)  # fmt: skip


def table() -> dict[str, list[Any]]:
    """The documents' columns."""
    return {"party": list(PARTY), "sex": list(SEX), "year": YEARS, "my col": NUMBERS, "u": POSITIVE}


def main() -> None:
    import pandas
    from formulaic import __version__, model_matrix

    found = {}
    for formula in FORMULAS:
        made = model_matrix(formula, pandas.DataFrame(table()))
        found[formula] = {"columns": list(made.columns), "matrix": made.to_numpy(float).tolist()}
    PLACE.write_text(json.dumps({"formulaic": __version__, "designs": found}), encoding="utf-8")


if __name__ == "__main__":
    main()
