"""What is public is told by the page api (`docs/reference`); pages use nothing else; names of before keep working."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import warnings
from types import ModuleType
from typing import Any

import pytest

from tests.places import ROOT
from topicx import moved_names

PUBLIC = (
    "topicx", "topicx.bench", "topicx.corpus", "topicx.datasets", "topicx.engines", "topicx.estimate",
    "topicx.evaluate", "topicx.interop", "topicx.models", "topicx.plots", "topicx.predict", "topicx.sampling",
    "topicx.sklearn", "topicx.variational", "topicx.views",
)  # fmt: skip
"""Packages and modules whose `__all__` is public."""
PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def public_module(name: str) -> ModuleType:
    if name == "topicx.sklearn":
        pytest.importorskip("sklearn")
    return importlib.import_module(name)


def public_names() -> set[str]:
    """Every public name with its module, and the modules of measures, each with the names that it lists."""
    found = set()
    for module in PUBLIC:
        found.add(module)
        here: Any = public_module(module)
        for name in here.__all__:
            found.add(f"{module}.{name}")
            part = getattr(here, name)
            if isinstance(part, ModuleType) and part.__name__ not in PUBLIC:
                found.update(f"{module}.{name}.{below}" for below in getattr(part, "__all__", ()))
    return found


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_there_and_on_the_page(module: str) -> None:
    here: Any = public_module(module)
    section = re.search(rf"(?ms)^### `{re.escape(module)}`\n(.*?)(?=^##|\Z)", PAGE)
    assert section, f"docs/reference/api.md has no section of {module}"
    for name in here.__all__:
        assert getattr(here, name) is not None
        assert f"`{name}`" in section[1] or f"`{module}.{name}`" in section[1], (
            f"docs/reference/api.md: {module}.{name}"
        )
    told = set(re.findall(r"^\| `(\w+)`", section[1], re.M))
    assert told == set(here.__all__)


def imported_names(code: str) -> set[str]:
    """What a piece of Python takes from topicx, as dotted names."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "topicx":
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if alias.name.split(".")[0] == "topicx")
        elif isinstance(node, ast.Attribute) and re.fullmatch(r"topicx(\.\w+)+", ast.unparse(node)):
            found.add(ast.unparse(node))
    return found


def is_public(name: str, public: set[str]) -> bool:
    """Whether a dotted name is public: one of these, or a member of one that is a class."""
    if name in public:
        return True
    module, _, member = name.rpartition(".")
    owner, _, kind = module.rpartition(".")
    return module in public and owner != "" and hasattr(getattr(importlib.import_module(owner), kind, None), member)


@pytest.mark.parametrize("page", [page.relative_to(ROOT).as_posix() for page in PAGES])
def test_pages_use_public_names_alone(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    names = set()
    for code in re.findall(r"(?ms)^```python[^\n]*\n(.*?)^```", text):
        names |= imported_names(code)
    names |= set(re.findall(r"`(topicx(?:\.\w+)+)[(`]", text))
    names = {name for name in names if name.rpartition(".")[2] not in ("py", "toml", "pyi", "pyx")}
    public = public_names()
    wrong = sorted(name for name in names - INSIDE.get(page, set()) if not is_public(name, public))
    assert not wrong, f"{page} uses what is not public: {', '.join(wrong)}"


INSIDE: dict[str, set[str]] = {
    "docs/explanation/performance.md": {"topicx.sampling.starts", "topicx.sampling.chain.GROWTH"},
    "docs/reference/api.md": {
        "topicx.interop.model_export",
        "topicx.lda",
        "topicx.report.groups",
        "topicx.sampling.options",
    },
}
"""Names that a page tells as things inside, not as something to import."""


@pytest.mark.parametrize("old", moved_names.MODULES)
def test_old_module_names_work_with_a_warning(old: str) -> None:
    names = moved_names.NAMES.get(old, {})
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=re.escape(moved_names.MODULES[old])) as seen:
        module = importlib.import_module(old)
    assert seen[0].filename == __file__ or "importlib" in seen[0].filename
    new = importlib.import_module(moved_names.MODULES[old])
    for was, now in names.items():
        assert getattr(module, was) is getattr(new, now)
    with pytest.raises(AttributeError):
        module.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "line",
    ["from topicx.report.groups import by_documents", "from topicx.sampling.options import Options",
     "from topicx.lda import LDA", "from topicx.evaluate.likelihood import joint_log_likelihood",
     "import topicx.report.collections as c; c.mixtures", "from topicx.corpus.tokenize import Tokenizer"],
)  # fmt: skip
def test_old_imports_work_in_a_fresh_program(line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "always::DeprecationWarning", "-c", line], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "DeprecationWarning: topicx." in done.stderr and "<string>:1" in done.stderr


def test_names_that_never_were_are_not_found() -> None:
    with warnings.catch_warnings(), pytest.raises(ModuleNotFoundError):
        importlib.import_module("topicx.report.nonsense")
