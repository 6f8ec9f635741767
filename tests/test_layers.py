"""The packages stand in layers: each imports only from those before it (CONTRIBUTING.md names them)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYERS = (
    ("errors", "strings", "declare", "schema", "kinds", "files", "output", "progress", "artefact", "__main__"),
    ("_kernels",),
    ("engines",),
    ("corpus",),
    ("state", "model", "allowed"),
    ("estimate",),
    ("sampling", "variational"),
    ("models",),
    ("run",),
    ("evaluate", "interop", "report"),
    ("lda", "labeled", "medlda", "hmm", "fitting", "sklearn"),
    ("datasets",),
    ("cli",),
)
"""From the lowest to the highest; members of one layer may import each other."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
UPWARDS = {("__main__", "cli"), ("model", "evaluate"), ("kinds", "models")}
"""When they are called: `Model.infer` uses what works on models; what a model's side arrays are, the model says."""


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
