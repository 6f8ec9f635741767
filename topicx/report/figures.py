"""Numbers as a report writes them: percent, counts, names of spans of time."""

from __future__ import annotations

import re

NARROW = "\u202f"
"""The space between thousands, which is narrow and does not break."""


def as_percent(share: float) -> str:
    """A share with two digits that count: 27%, 7.4%, 0.9%, <0.1%; never 0% for what is not nothing."""
    value = 100 * share
    if value >= 9.95:
        return f"{value:.0f}%"
    if 0 < value < 0.05:
        return "<0.1%"
    return f"{value:.1f}%" if value else "0%"


def format_count(number: float) -> str:
    """A whole number with thousands parted."""
    return f"{round(number):,}".replace(",", NARROW)


def format_size(size: int) -> str:
    """Bytes as people say them."""
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"


def listed_words(items: list[str], last: str = "and") -> str:
    """Words in a sentence: a; a and b; a, b and c."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}" if items else ""


def bin_name(name: str) -> str:
    """A span of time as people say it: 1890s for 1890-1899, 1987 Q1 for 1987-Q1."""
    decade = re.fullmatch(r"(\d{3})0-(\d{3})9", name)
    if decade and decade[1] == decade[2]:
        return f"{decade[1]}0s"
    if re.fullmatch(r"\d+-\d+", name):
        return name.replace("-", "–") if not re.fullmatch(r"\d{4}-\d\d", name) else name
    return re.sub(r"^(\d{4})-(Q\d)$", r"\1 \2", name)


def of_bin(name: str) -> str:
    """A span as it stands after `in`: the 1890s, 1987."""
    return f"the {name}" if re.fullmatch(r"\d{3}0s", name) else name


def plural_unit(unit: str) -> str:
    """Several of a unit of text; a comma parts a plural of its own (story,stories)."""
    one, mark, many = unit.partition(",")
    return many.strip() if mark else f"{one}s"


def singular_unit(unit: str) -> str:
    """One of a unit of text."""
    return unit.partition(",")[0].strip()
