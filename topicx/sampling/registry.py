"""Which samplers and inference methods there are. A new one is a kernel, an entry here, a row in the tests."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from topicx.errors import InputError

if TYPE_CHECKING:
    from topicx.sampling.method import Method
    from topicx.sampling.options import Options
    from topicx.state import State


@dataclass(frozen=True)
class Entry:
    """A sampler by name."""

    name: str
    group: str
    summary: str
    home: str
    """module:class, imported when it is used."""
    exact: bool = True
    """Whether its stationary distribution is the posterior (up to floating point)."""

    def load(self) -> type[Method]:
        module, _, name = self.home.partition(":")
        found: type[Method] = getattr(import_module(module), name)
        return found


EXACT, MH, APPROXIMATE, VARIATIONAL = (
    "exact Gibbs", "Metropolis-Hastings (exact in the limit)", "approximate", "variational (soft assignments)",
)  # fmt: skip

_GIBBS = "topicx.sampling.gibbs"
ENTRIES = {
    entry.name: entry
    for entry in (
        Entry("dense", EXACT, "every topic of every token; simple, best for few topics", f"{_GIBBS}:Dense"),
        Entry("sparse", EXACT, "SparseLDA: only the topics that a word has; best for most corpora", f"{_GIBBS}:Sparse"),
        Entry(
            "light",
            MH,
            "LightLDA: proposals of documents and words by turns, in constant time",
            "topicx.sampling.light:Light",
        ),
        Entry(
            "alias",
            MH,
            "AliasLDA: a document's topics exactly, the others from Walker tables",
            "topicx.sampling.alias:Alias",
        ),
        Entry(
            "cvb0",
            VARIATIONAL,
            "collapsed variational Bayes of zero order; best for few topics",
            "topicx.variational.cvb0:Cvb0",
            exact=False,
        ),
        Entry(
            "cvb",
            VARIATIONAL,
            "collapsed variational Bayes with the Gaussian approximation",
            "topicx.variational.cvb:Cvb",
            exact=False,
        ),
        Entry("vb", VARIATIONAL, "variational Bayes; its bound never falls", "topicx.variational.vb:Vb", exact=False),
        Entry(
            "scvb0",
            VARIATIONAL,
            "stochastic CVB0: minibatches, corpora larger than memory",
            "topicx.variational.scvb0:Scvb0",
            exact=False,
        ),
        Entry(
            "partial",
            EXACT,
            "partially collapsed: φ is drawn, documents are independent given it",
            "topicx.sampling.partial:Partial",
        ),
        Entry("tree", EXACT, "word after word with a sum tree; for very many topics", "topicx.sampling.tree:Tree"),
        Entry(
            "warp",
            APPROXIMATE,
            "WarpLDA: two phases with delayed counts; the fastest sweep, not the best",
            "topicx.sampling.warp:Warp",
            exact=False,
        ),
    )
}


def find(name: str) -> Entry:
    """The entry of this name, or InputError listing the names."""
    if name not in ENTRIES:
        raise InputError(f"there is no sampler {name!r}; choose one of {', '.join(names())}")
    return ENTRIES[name]


def names() -> list[str]:
    return ["auto", *ENTRIES]


def groups() -> dict[str, list[str]]:
    """The names, by kind."""
    kinds = (EXACT, MH, APPROXIMATE, VARIATIONAL)
    return {kind: [entry.name for entry in ENTRIES.values() if entry.group == kind] for kind in kinds}


def choose(state: State, options: Options) -> Entry:
    """The entry that the options name. `auto` is sparse: the benchmark found no K and no corpus where another exact
    sampler is faster (docs/performance.md)."""
    return find("sparse" if options.sampler == "auto" else options.sampler)
