"""Docstrings stand alone; those of public names are in numpydoc's form, and their examples run."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import itertools
import re
from types import ModuleType
from typing import Any

import pytest

from benchmarks.reading.function_names import docstrings_that_run_on, functions_of_tree, share_of_one_word
from tests.properties.test_public_api import PUBLIC, public_module

MOST_ONE_WORD = 0.30
"""The share of functions of modules that may have a name of one word."""
SECTIONS = ("Parameters", "Returns", "Yields", "Attributes", "Raises", "See Also", "Notes", "References", "Examples")
"""The sections of numpydoc that are in use, in their order."""


def test_docstrings_stand_alone() -> None:
    found = docstrings_that_run_on()
    assert not found, "\n".join(found)


def test_functions_say_what_they_do_to_what() -> None:
    assert share_of_one_word(functions_of_tree()) <= MOST_ONE_WORD


def public_objects() -> list[tuple[str, Any]]:
    """Public classes and functions with their names, and those of the modules of measures."""
    found = {}
    for module in PUBLIC:
        here: Any = public_module(module)
        for name in here.__all__:
            each = getattr(here, name)
            if isinstance(each, ModuleType):
                for below in getattr(each, "__all__", ()):
                    found[f"{module}.{name}.{below}"] = getattr(each, below)
            else:
                found[f"{module}.{name}"] = each
    return [(name, each) for name, each in found.items() if inspect.isclass(each) or inspect.isfunction(each)]


def sections_of(text: str) -> dict[str, str]:
    """The sections of a docstring in numpydoc's form; the text before them is the section ''."""
    parts = re.split(r"(?m)^([A-Z][A-Za-z ]+)\n(-{3,})\n", text)
    found = {"": parts[0]}
    for title, line, body in zip(parts[1::3], parts[2::3], parts[3::3]):
        assert len(line) == len(title), f"the line under {title!r} is {len(line)} long"
        found[title] = body
    return found


def names_of(section: str) -> list[str]:
    """The names that a section of parameters lists, without their types and stars."""
    return [
        name.strip(" *") for line in re.findall(r"(?m)^(\S.*)$", section) for name in line.split(" : ")[0].split(",")
    ]


def fields_told(each: Any) -> list[str]:
    """Fields of a dataclass or a named tuple that say what they are: by a string below them, or by their help."""
    if not inspect.isclass(each):
        return []
    found = [one.name for one in getattr(each, "__dataclass_fields__", {}).values() if "declared" in one.metadata]
    for owner in each.__mro__[:-1]:
        if not owner.__module__.startswith("topicx"):
            continue
        body = ast.parse(inspect.cleandoc("\n" + inspect.getsource(owner))).body[0].body  # type: ignore[attr-defined]
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(field.target, ast.Name):
                found.append(field.target.id)
    return found


def problems_of(name: str, each: Any) -> list[str]:
    """What a docstring in numpydoc's form should have and has not."""
    text = inspect.getdoc(each) or ""
    if not text:
        return [f"{name} has no docstring"]
    sections = sections_of(text)
    found = []
    summary = sections[""].strip().split("\n\n")[0].replace("\n", " ")
    if not summary.endswith("."):
        found.append(f"{name}: the summary ends without a full stop")
    titles = [title for title in sections if title]
    if titles != [title for title in SECTIONS if title in titles]:
        found.append(f"{name}: sections {titles}")
    unmade = inspect.isclass(each) and (issubclass(each, BaseException) or getattr(each, "_is_protocol", False))
    taken = [] if unmade else [
        parameter for parameter in inspect.signature(each).parameters.values()
        if parameter.name != "self" and not parameter.name.startswith("_") and parameter.name != "unknown"
    ]  # fmt: skip
    told = names_of(sections.get("Parameters", "")) or names_of(sections.get("Attributes", ""))
    told += fields_told(each)
    missing = [parameter.name for parameter in taken if parameter.name not in told]
    if missing:
        found.append(f"{name}: Parameters lacks {', '.join(missing)}")
    extra = [one for one in names_of(sections.get("Parameters", "")) if one not in [each.name for each in taken]]
    if extra:
        found.append(f"{name}: Parameters has {', '.join(extra)}")
    if inspect.isfunction(each):
        returned = inspect.signature(each).return_annotation
        if returned not in (None, "None") and not {"Returns", "Yields"} & set(sections):
            found.append(f"{name}: no section Returns")
    return found


def test_public_names_are_documented() -> None:
    problems = {name: problems_of(name, each) for name, each in public_objects()}
    wrong = {name for name, found in problems.items() if found}
    told = "\n".join(line for name in sorted(wrong - NOT_YET) for line in problems[name])
    assert not wrong - NOT_YET, told
    assert not NOT_YET - wrong, f"these are documented now; take them off the list: {sorted(NOT_YET - wrong)}"


NOT_YET: frozenset[str] = frozenset(
    {
        "topicx.corpus.ReadOptions",
        "topicx.effects",
    }
)
"""Public names whose docstrings are not in numpydoc's form yet. The list may only become shorter."""


@pytest.mark.parametrize("name", sorted({each.__module__ for _, each in public_objects()}))
def test_examples_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert not result.failed
