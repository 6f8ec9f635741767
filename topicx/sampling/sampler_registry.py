"""Which samplers and inference methods there are, and what each can do. A new one is a kernel, an entry here, a row in
the tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from topicx.errors import InputError

if TYPE_CHECKING:
    from topicx.sampling.method import Method

GROUPS, GROWS, MODES, SAMPLES, PARTITIONS, PATHS, ALLOWED, FACTOR, PROPOSALS, NEW_TOPICS, BOUND, SOFTENS = (
    "groups", "grows", "modes", "samples", "partitions", "paths", "allowed", "factor", "proposals", "new-topics",
    "bound", "softens",
)  # fmt: skip
WHOLE, KEYWORDS, SLICED, LEVELS, TRAVELS = "whole", "keywords", "sliced", "levels", "travels"
LACKS = {
    GROUPS: "knows one α for all documents",
    GROWS: "starts at random: it cannot begin with a part of the documents",
    MODES: "does not seek modes (that is for Gibbs samplers over cells)",
    SAMPLES: "draws no samples; its model is one already",
    PARTITIONS: "has no partitions",
    PATHS: "has one assignment of the corpus",
    ALLOWED: "gives every document every topic",
    FACTOR: "knows no factor of a document",
    PROPOSALS: "makes no proposals",
    NEW_TOPICS: "has a fixed number of topics",
    BOUND: "has no bound for collections",
    SOFTENS: "cannot begin with the assignments of cvb0",
    WHOLE: "gives every token a topic of its own",
    KEYWORDS: "knows no keywords of topics",
    SLICED: "gives topics the same words everywhere",
    LEVELS: "has partitions of one level: give a number",
    TRAVELS: "does not run on a cluster: what it works on is not in one shard and one block",
}
"""The capabilities, and what is said of a sampler without one.

groups: a row of α for each group of documents. grows: can sweep over a part of the documents. modes: iterated
conditional modes. samples: its states are samples, of which an average makes sense. partitions: the schedule's cells
decide how much can run at once. paths: several assignments of the corpus share the counts. allowed: a document may
have some of the topics only. factor: f_d(k) in the token's distribution. proposals: of several kinds. new-topics: K can
change between sweeps. bound: the proportions of collections are in its bound. softens: can begin with topics drawn from
soft assignments. whole: all tokens of a document have one topic.
keywords: topics have a second distribution, over their keywords. sliced: a prior of each word and topic, and totals by
slice. levels: partitions on two levels, machines and the threads of each. travels: the cells of a machine need one
shard and one block of words, and nothing else.
"""


@dataclass(frozen=True)
class Entry:
    """A sampler by name."""

    name: str
    group: str
    summary: str
    home: str
    """Home of the sampler, module:class, imported when it is used."""
    capabilities: frozenset[str]
    exact: bool = True
    """Whether its stationary distribution is the posterior (up to floating point)."""
    most: int = 1 << 16
    """`auto` takes it for so many topics at most."""

    def load(self) -> type[Method]:
        module, _, name = self.home.partition(":")
        found: type[Method] = getattr(import_module(module), name)
        return found


EXACT, MH, APPROXIMATE, VARIATIONAL = (
    "exact Gibbs", "Metropolis-Hastings (exact in the limit)", "approximate", "variational (soft assignments)",
)  # fmt: skip
KINDS = (EXACT, MH, APPROXIMATE, VARIATIONAL)

_CELLS = frozenset({GROUPS, GROWS, MODES, SAMPLES, PARTITIONS, LEVELS, PATHS, NEW_TOPICS, SOFTENS})
_WHOLE = frozenset({GROUPS, GROWS, SAMPLES, SOFTENS})
_SOFT = frozenset({GROUPS, PARTITIONS})
ENTRIES: dict[str, Entry] = {}
VARIANTS: list[Entry] = []
"""Samplers of the same names for models that need more of them (a factor of a document, say)."""


def add_sampler(entry: Entry) -> None:
    """Make a sampler known."""
    ENTRIES[entry.name] = entry


for _name, _group, _summary, _home, _capabilities in (
    ("dense", EXACT, "every topic of every token; simple, best for few topics",
     "sampling.samplers.gibbs:Dense", _CELLS | {TRAVELS}),
    ("sparse", EXACT, "SparseLDA: only the topics that a word has; best for most corpora",
     "sampling.samplers.gibbs:Sparse", _CELLS | {TRAVELS}),
    ("light", MH, "LightLDA: proposals of documents and words by turns, in constant time",
     "sampling.samplers.light_lda:Light", _CELLS),
    ("alias", MH, "AliasLDA: a document's topics exactly, the others from Walker tables",
     "sampling.samplers.alias_lda:Alias", _CELLS | {TRAVELS}),
    ("cvb0", VARIATIONAL, "collapsed variational Bayes of zero order; best for few topics", "variational.cvb0:Cvb0",
     _SOFT),
    ("cvb", VARIATIONAL, "collapsed variational Bayes with the Gaussian approximation", "variational.cvb:Cvb", _SOFT),
    ("vb", VARIATIONAL, "variational Bayes; its bound never falls", "variational.vb:Vb", _SOFT),
    ("vem", VARIATIONAL, "variational EM of the compound model", "variational.vem:Vem", _SOFT | {BOUND}),
    ("scvb0", VARIATIONAL, "stochastic CVB0: minibatches, corpora larger than memory", "variational.scvb0:Scvb0",
     frozenset({GROUPS})),
    ("partial", EXACT, "partially collapsed: φ is drawn, documents are independent given it",
     "sampling.samplers.partially_collapsed:Partial", _WHOLE | {PATHS}),
    ("tree", EXACT, "word after word with a sum tree; for very many topics",
     "sampling.samplers.tree_lda:Tree", _CELLS | {TRAVELS}),
    ("labeled", EXACT, "only the topics that a document may have: models of labels",
     "sampling.samplers.restricted_gibbs:Restricted",
     frozenset({GROUPS, MODES, SAMPLES, PARTITIONS, LEVELS, TRAVELS, ALLOWED})),
    ("labeled-cvb0", VARIATIONAL, "CVB0 over the topics that a document may have",
     "variational.restricted_cvb0:RestrictedCvb0", frozenset({GROUPS, PARTITIONS, ALLOWED})),
    ("warp", APPROXIMATE, "WarpLDA: two phases with delayed counts; the fastest sweep, not the best",
     "sampling.samplers.warp_lda:Warp", _WHOLE | {PATHS}),
):  # fmt: skip
    add_sampler(Entry(_name, _group, _summary, f"topicx.{_home}", _capabilities, exact=_group in (EXACT, MH)))

_FACTOR = frozenset({GROUPS, SAMPLES, PARTITIONS, LEVELS, FACTOR, SOFTENS})
VARIANTS += [
    Entry("dense", EXACT, "every topic of every token, all weights of a classifier together",
          "topicx.sampling.samplers.supervised:Supervised", _FACTOR, most=200),
    Entry("light", MH, "proposals of documents, words and classifiers, in constant time",
          "topicx.sampling.samplers.supervised:LightSupervised", _FACTOR | {PROPOSALS}),
    Entry("dense", EXACT, "every topic of every token, and its keywords",
          "topicx.sampling.samplers.keyword_topics:KeywordTopics", frozenset({GROUPS, SAMPLES, PARTITIONS, KEYWORDS})),
    Entry("dense", EXACT, "every topic of every token, whose slice has words of its own",
          "topicx.sampling.samplers.sliced_topics:SlicedTopics",
          frozenset({GROUPS, SAMPLES, PARTITIONS, SOFTENS, SLICED})),
    Entry("dense", EXACT, "every topic of every document, all its words together",
          "topicx.sampling.samplers.whole_documents:WholeDocuments", frozenset({SAMPLES, PARTITIONS, WHOLE})),
]  # fmt: skip

_PREFERRED = ("sparse",)
"""What `auto` tries first: the benchmark found no K and no corpus where another exact sampler is faster."""


def find_sampler(name: str) -> Entry:
    """The entry of this name, or InputError listing the names."""
    if name not in ENTRIES:
        raise InputError(f"there is no sampler {name!r}; choose one of {', '.join(sampler_names())}")
    return ENTRIES[name]


def sampler_names() -> list[str]:
    return ["auto", *ENTRIES]


def samplers_by_kind() -> dict[str, list[str]]:
    """The names, by kind."""
    return {kind: [entry.name for entry in ENTRIES.values() if entry.group == kind] for kind in KINDS}


def able_samplers(needs: Iterable[str]) -> list[Entry]:
    """The samplers that can do all of this, the preferred ones first."""
    wanted = frozenset(needs)
    found = [entry for entry in (*ENTRIES.values(), *VARIANTS) if wanted <= entry.capabilities]
    return sorted(found, key=lambda entry: (entry.name not in _PREFERRED, not entry.exact))


def choose_sampler(name: str, needs: Iterable[str] = (), model: str = "the model", topics: int = 0) -> Entry:
    """The entry that the option `sampler` names, or (auto) the first that can do what the model needs."""
    wanted = frozenset(needs)
    fit = able_samplers(wanted)
    if name == "auto":
        if not fit:
            raise InputError(f"sampler: none can do what {model} needs ({', '.join(sorted(wanted))})")
        return next(entry for entry in fit if topics <= entry.most)
    entry = next((each for each in fit if each.name == name), None) or find_sampler(name)
    for lacking in sorted(wanted - entry.capabilities):
        others = ", ".join(each.name for each in fit) or "none"
        raise InputError(
            f"sampler {name} is not for {model}: it {LACKS.get(lacking, lacking)}; these would do: {others}"
        )
    return entry
