"""How many functions have a name of one word, and a draw of functions for a reader who has not seen them.

    python benchmarks/reading/function_names.py                      # a table: functions of modules, by package
    python benchmarks/reading/function_names.py --list cli           # the names of one word in a package
    python benchmarks/reading/function_names.py --draw 40 --seed 1   # forty functions, name and place alone
    python benchmarks/reading/function_names.py --docstrings         # docstrings that do not stand alone

A function of a module is one that stands at its outermost level, in Python or in Cython (`def` and `cpdef`). What a
family of modules shares (`command`, `read`, `write`, `run`, `main`) and names with two underscores are not counted.
The draw also takes methods, and functions of C (`cdef`) in Cython; functions inside functions are left out of both.

How a draw is judged: a reader who has not seen the tree writes for each function, from name and place, what it does;
then the function is read. On 2026-11-19 seed 1922 had 33 of 40; those that failed were renamed, and seed 2026 had 36.
On 2026-11-20 seed 2211 had 37 (by a reader who had seen nine of the 40 before); the three that failed were renamed.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("topicx", "cli", "datasets")
SHARED = frozenset({"command", "read", "write", "run", "main"})
"""What modules of a family are called by: every command has a `command`, every format a `read`."""

_CYTHON = re.compile(r"^(?P<indent> *)(?P<kind>cpdef|cdef|def) (?P<head>[^\n=(]*?)(?P<name>[A-Za-z_]\w*)\(", re.M)
_CYTHON_CLASS = re.compile(r"^(?:cdef )?class (?P<name>\w+)", re.M)
_LOWER = r"(?!log |topicx|python -m |splitmix64 )[a-z](?![\w.]*[(_=])"  # formulas and names may begin in lower case
_RUNS_ON = re.compile(r"(The same\b|Its\b|And\b|Or\b|As\b|Of\b|" + _LOWER + ")")


@dataclass(frozen=True)
class Function:
    """A function of the tree: its file, its class (empty: none), its name, and whether Python can call it."""

    path: str
    owner: str
    name: str
    visible: bool

    @property
    def counted(self) -> bool:
        return not self.owner and self.visible and self.name not in SHARED and not self.name.startswith("__")

    @property
    def one_word(self) -> bool:
        return "_" not in self.name.strip("_")

    def __str__(self) -> str:
        return f"{self.path}: {self.owner + '.' if self.owner else ''}{self.name}"


def python_functions(path: Path, place: str) -> Iterator[Function]:
    """Functions of a Python module and methods of its classes."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            yield Function(place, "", node.name, True)
        elif isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef):
                    yield Function(place, node.name, part.name, True)


def cython_functions(path: Path, place: str) -> Iterator[Function]:
    """Functions of a Cython module and methods of its classes."""
    text = path.read_text(encoding="utf-8")
    classes = [(found.start(), found["name"]) for found in _CYTHON_CLASS.finditer(text)]
    for found in _CYTHON.finditer(text):
        if found["head"].startswith(("extern", "class")):
            continue
        owner = (
            next((name for start, name in reversed(classes) if start < found.start()), "") if found["indent"] else ""
        )
        if len(found["indent"]) <= 4 and (owner or not found["indent"]):
            yield Function(place, owner, found["name"], found["kind"] != "cdef")


def functions_of_tree(root: Path = ROOT) -> list[Function]:
    """Functions and methods of all sources, in the order of their files."""
    found: list[Function] = []
    for source in SOURCES:
        for path in sorted((root / source).rglob("*")):
            place = path.relative_to(root).as_posix()
            if path.suffix == ".py":
                found += python_functions(path, place)
            elif path.suffix == ".pyx":
                found += cython_functions(path, place)
    return found


def share_of_one_word(functions: list[Function]) -> float:
    """The share of counted functions whose name is one word."""
    counted = [function for function in functions if function.counted]
    return sum(function.one_word for function in counted) / len(counted)


def draw_functions(functions: list[Function], number: int, seed: int) -> list[Function]:
    """Functions drawn without replacement, in the order of their places; names with two underscores are left out."""
    named = [function for function in functions if not function.name.startswith("__")]
    return sorted(random.Random(seed).sample(named, number), key=str)


def docstrings_that_run_on(root: Path = ROOT) -> list[str]:
    """Docstrings that lean on another: `path: qualified name: first words`, one a docstring."""
    found = []
    for source in SOURCES:
        for path in sorted((root / source).rglob("*.py")):
            for name, text in _docstrings(ast.parse(path.read_text(encoding="utf-8")), ""):
                if _RUNS_ON.match(text) or text.rstrip().endswith((",", ";", ":")):
                    found.append(f"{path.relative_to(root).as_posix()}: {name}: {text.splitlines()[0]}")
    return found


def _docstrings(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    """Docstrings of a module, its classes and functions, and the strings that stand below a value that they explain."""
    body: list[ast.stmt] = getattr(node, "body", [])
    for number, part in enumerate(body):
        if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str):
            before = body[number - 1] if number else None
            target = getattr(before, "target", None) or next(iter(getattr(before, "targets", [])), None)
            yield f"{name}.{target.id}".strip(".") if isinstance(target, ast.Name) else name, part.value.value.strip()
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield from _docstrings(part, f"{name}.{part.name}".strip("."))


def print_shares(functions: list[Function]) -> None:
    """Print a row a package: functions of modules, those with a name of one word, their share."""
    everything, short = Counter[str](), Counter[str]()
    for function in functions:
        if function.counted:
            package = str(Path(function.path).parent)
            everything[package] += 1
            short[package] += function.one_word
    print(f"{'package':<28} functions  one word")
    for package in sorted(everything):
        print(f"{package:<28} {everything[package]:9}  {short[package]:4} {short[package] / everything[package]:5.0%}")
    print(f"{'all':<28} {everything.total():9}  {short.total():4} {share_of_one_word(functions):5.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draw", type=int, metavar="N", help="draw N functions instead")
    parser.add_argument("--seed", type=int, default=1, help="seed of the draw (1)")
    parser.add_argument("--list", metavar="PACKAGE", help="the names of one word in a package instead")
    parser.add_argument("--docstrings", action="store_true", help="docstrings that do not stand alone instead")
    asked = parser.parse_args()
    functions = functions_of_tree()
    if asked.docstrings:
        print("\n".join(docstrings_that_run_on()))
    elif asked.draw:
        print("\n".join(map(str, draw_functions(functions, asked.draw, asked.seed))))
    elif asked.list:
        short = [each for each in functions if each.counted and each.one_word and each.path.startswith(asked.list)]
        print("\n".join(map(str, short)))
    else:
        print_shares(functions)


if __name__ == "__main__":
    main()
