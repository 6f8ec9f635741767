"""The packages stand in layers: each imports only from those before it (CONTRIBUTING.md names them). And no function is
long."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT

LAYERS = (
    (
        "errors",
        "strings",
        "declare",
        "files",
        "progress",
        "common_methods",
        "__main__",
        "splitmix",
        "lazy_names",
        "library_threads",
        "moved_names",
        "model_registry",
        "stop_signals",
    ),
    ("_kernels",),
    ("engines",),
    ("corpus",),
    ("design",),
    ("state", "model", "topic_sets"),
    ("estimate",),
    ("sampling", "variational"),
    ("predict",),
    ("models",),
    ("run", "chain_series", "spread_chains"),
    ("evaluate", "interop", "regression", "tables", "views", "report", "bench", "mallet"),
    ("hmm", "classes", "sklearn", "plots"),
    ("datasets",),
    ("cli",),
)
"""From the lowest to the highest; members of one layer may import each other."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
UPWARDS = {("__main__", "cli"), ("model", "predict"), ("model", "report"), ("model", "views"), ("state", "report")}
"""When they are called: `Model.infer` and `Model.topic_table` use what works on models; models and states show
themselves in notebooks."""


def modules() -> Iterator[tuple[str, Path]]:
    for folder, prefix in (("topicx", ""), ("cli", "cli"), ("datasets", "datasets")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.parent == ROOT / "topicx" and path.stem == "__init__":
                continue
            part = prefix or path.relative_to(ROOT / "topicx").parts[0].removesuffix(".py")
            yield part, path


def imported(path: Path) -> Iterator[str]:
    """The parts of topicx that a module imports at run time (not for types alone)."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and ast.unparse(test.test) == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "topicx":
            rest = node.module.split(".")[1:]
            yield from [rest[0]] if rest else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("topicx."))


def test_every_part_has_a_layer() -> None:
    assert {part for part, _ in modules()} <= set(LEVEL)


def test_imports_go_downwards() -> None:
    upwards = []
    for part, path in modules():
        for other in imported(path):
            if other == "__version__" or (part, other) in UPWARDS:
                continue
            if LEVEL[other] > LEVEL[part]:
                upwards.append(f"{path.relative_to(ROOT)} ({part}) imports {other}")
    assert not upwards, "\n".join(upwards)


# -- names --------------------------------------------------------------------------------------------------------


def test_a_class_s_name_has_one_meaning() -> None:
    homes: dict[str, list[str]] = {}
    for _, path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert len(homes) > 200
    assert not {name: paths for name, paths in homes.items() if len(paths) > 1}


# -- lengths ------------------------------------------------------------------------------------------------------

LONGEST, LONGEST_KERNEL = 60, 120
"""Lines of a function's body without its docstring; of a kernel function as it stands."""


def own_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """The lines of a function's body without its docstring."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_functions_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {node.name} has {own_lines(node)} lines"
        for _, path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and own_lines(node) > LONGEST
    ]
    assert not long, "\n".join(long)


def kernel_functions(path: Path) -> Iterator[tuple[str, int]]:
    """The functions of a kernel and their lines: of Cython by indentation, of C from the margin to a brace there."""
    lines = path.read_text(encoding="utf-8").splitlines()
    begun = ""
    since = indent = 0
    for number, line in enumerate([*lines, "end"]):
        margin = len(line) - len(line.lstrip())
        if path.suffix == ".pyx":
            if begun and line.strip() and margin <= indent and not line.lstrip().startswith(")"):
                yield begun, number - since
                begun = ""
            found = re.match(r" *(?:def|cdef|cpdef) (?!class|extern|struct|enum)[^=]*?(\w+)\(", line)
        else:
            if begun and line.startswith("}"):
                yield begun, number - since + 1
                begun = ""
            found = None if begun else re.match(r"(?:static|TX_\w+) [^=]*?(\w+\(\w+\)|\w+)\(", line)
        if found and not begun:
            begun, since, indent = found[1], number, margin


def test_kernel_functions_are_short() -> None:
    folder = ROOT / "topicx/_kernels"
    found = [
        (f"{path.name}: {name}", length)
        for path in sorted([*folder.rglob("*.pyx"), *folder.rglob("*.h")])
        for name, length in kernel_functions(path)
    ]
    assert len(found) > 200
    assert not [f"{name} has {length} lines" for name, length in found if length > LONGEST_KERNEL]
