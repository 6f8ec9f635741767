"""The page of results: every table says which tree its figures are of, and the rows that are made anew are there."""

from __future__ import annotations

import re
import sys

import pytest

from tests.places import ROOT

PAGE = ROOT / "docs" / "project" / "results.md"


def test_every_table_names_its_tree() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    ends = [at for at, line in enumerate(lines[:-1]) if line.startswith("|") and not lines[at + 1].startswith("|")]
    assert len(ends) > 50
    bare = [lines[at] for at in ends if not any(re.match(r"\*Tree: [0-9a-f]{8}", line) for line in lines[at : at + 3])]
    assert not bare, bare


def test_every_table_says_what_it_takes_or_that_nobody_knows() -> None:
    trees = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("*Tree")]
    assert not [line for line in trees if "Time not recorded." not in line and "Time: " not in line]
    assert sum("Time: " in line for line in trees) >= 3


def test_the_rows_that_are_made_anew_are_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "papers"))
    import one_row

    for row in one_row.ROWS.values():
        assert all(figure > 0 for figure in one_row.page_figures(row.line, row.cells))
    sys.modules.pop("one_row", None)
