"""A block `{public-names} MODULE` in a page becomes the API of a public module, by autodoc and numpydoc."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import topicx

BLOCK = re.compile(r"(?m)^```\{public-names\} ([\w.]+)\n```$")


def autodoc_kind(each: Any) -> str:
    """The directive of autodoc for a public object; nothing for what is neither a class nor a function."""
    if inspect.isclass(each):
        return "exception" if issubclass(each, BaseException) else "class"
    return "function" if inspect.isroutine(each) else ""


def documented_names(module: str) -> list[tuple[str, str]]:
    """What is documented of a module, and of the modules that it lists: autodoc's directive and the dotted name."""
    here: Any = import_module(module)
    found = []
    for name in here.__all__:
        each = getattr(here, name)
        if not isinstance(each, ModuleType):
            found.append((autodoc_kind(each), f"{module}.{name}"))
        elif module != "topicx":  # the packages of topicx itself have pages of their own
            found += [
                (autodoc_kind(getattr(each, one)), f"{module}.{name}.{one}") for one in getattr(each, "__all__", ())
            ]
    return [(kind, name) for kind, name in found if kind]


def autodoc_lines(module: str) -> str:
    """The directives of a module's names, as a block of reStructuredText within Markdown."""
    lines = []
    for kind, name in documented_names(module):
        settings = ["   :members:"] if kind == "class" else []
        if module != "topicx" and name.rpartition(".")[2] in topicx.__all__:  # its own page has it, too
            settings.append("   :no-index:")
        lines += [f".. auto{kind}:: {name}", *settings, ""]
    return "\n".join(["```{eval-rst}", *lines, "```"])


def fill_blocks(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the API where a page asks for it."""
    source[0] = BLOCK.sub(lambda found: autodoc_lines(found[1]), source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", fill_blocks)
    return {"parallel_read_safe": True}
