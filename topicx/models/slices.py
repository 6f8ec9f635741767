"""Topics whose words differ by slice: a slice of time follows the one before (drift), or every group of documents
what all have in common (dialects).

    drift:     φ_0k ~ Dirichlet(β),          φ_sk ~ Dirichlet(b_k φ_{s-1 k})
    dialects:  φ_k  ~ Dirichlet(β),          φ_sk ~ Dirichlet(b_k φ_k)
    both:      θ_d  ~ Dirichlet(α),          z_di ~ θ_d,    w_di ~ φ_{s(d) z_di},    b ~ Gamma(shape, rate)

It is what Blei & Lafferty's dynamic topic model and the content covariates of Roberts, Stewart & Airoldi are for, with
Dirichlet distributions in the place of normal ones, so that it can be sampled exactly. b is the number of tokens that
the slice before counts as: a large one leaves topics as they are, a small one lets each slice begin anew.

The chain is on the topics z of tokens and on numbers of tables t, all φ integrated out: N_skw customers of slice s,
topic k and word w, which are its n_skw tokens and the t_{s+1,kw} tables of the slice after it, sit at t_skw tables
(Teh, Jordan, Beal & Blei 2006; for chains of slices, as a finite case of their hierarchical Dirichlet process),

    p(t_skw | N_skw, φ_{s-1}) = S(N, t) a^t Γ(a) / Γ(a + N),    a = b_k φ_{s-1 kw}     (Antoniak 1974)

and φ_{s-1} sees its n tokens and these t tables as one multinomial draw. A sweep goes down and up again:

    down, s = 0, 1 …  z of slice s given φ_{s-1} and t_{s+1}, φ_s integrated out:
                      p(z = k) ∝ (n_dk + α_k) (n_skw + b_k φ_{s-1 kw} + t_{s+1 kw}) / (n_sk + b_k + t_{s+1 k})
                      φ_s ~ Dirichlet(b_k φ_{s-1 k} + n_sk + t_{s+1 k})
    up, s = … 2, 1    t_s given n_s + t_{s+1} and φ_{s-1}, which is then forgotten

Every step is a draw from a full conditional with some variables integrated out that are drawn again before they are
used, so that the chain's distribution is the posterior's, whatever the number of slices. One slice is LDA; b → ∞ is
LDA of all documents together, b → 0 a model a slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.slices import UNITS
from topicx.declare import declare_option, flag_option, positive_option, whole_option
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.estimate.cgsp_counts import MAX_ENTRIES, DumpCounts, ThetaRows, WordCounts
from topicx.estimate.estimators import TokenMixture
from topicx.files.array_sizes import DOCUMENTS, TOPICS, WORDS, size_beside
from topicx.files.file_kinds import COUNT, HIGHEST, LOWEST
from topicx.files.schema import Array
from topicx.models.definition import Definition, Priors, initial_state
from topicx.models.slice_cuts import SliceCuts, cut_corpus
from topicx.predict.slice_reader import SliceReader
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import SLICED
from topicx.sampling.slice_words import (
    Entries,
    added,
    customers_of,
    expected_words,
    pack_tables,
    parents_of,
    tables_of_state,
    tokens_of_slices,
)
from topicx.sampling.updates.prior_fixed_points import LearnPriors
from topicx.sampling.updates.slice_closeness import DrawCloseness, KeepMoves
from topicx.state import Csr, State, document_batches

if TYPE_CHECKING:
    from topicx.model import Model

SLICES, SLICE_ENTRIES, TABLES = size_beside("slices"), size_beside("entries"), size_beside("tables")
ENTRIES = 1 << 22
"""Probabilities of tokens that are in memory at once."""
Floats = NDArray[np.float64]


def _check_unit(name: str, value: Any) -> None:
    if value not in ("", *UNITS):
        raise InputError(f"{name} must be one of {', '.join(UNITS)}, not {value!r}")


@dataclass(frozen=True)
class SlicesOptions:
    """The options of topics whose words differ by slice."""

    over: str = declare_option(
        "", str, "Drift: a column of times (time, say); a topic's words in a slice of time follow those in the one "
        "before.",
        metavar="COLUMN", shown="none",
    )  # fmt: skip
    across: str = declare_option(
        "", str, "Dialects: a column (party, say); topics' words for each value follow what all have in common.",
        metavar="COLUMN", shown="none",
    )  # fmt: skip
    bins: str = declare_option(
        "", str, f"With --over: slices of the calendar: {', '.join(UNITS)}.", check=_check_unit, metavar="UNIT",
        shown="as narrow as gives 40 slices at most",
    )  # fmt: skip
    every: int = whole_option(
        0, 0, 100_000, shown="1",
        help="With --over: slices of so many of these (years, if --bins is not given; or units, of numbers).",
    )  # fmt: skip
    closeness: float = positive_option(
        1000.0, help="b: the tokens that the words before count as in a slice; where learning begins."
    )
    fixed_closeness: bool = flag_option(help="Keep b as it is; otherwise it is drawn anew after each sweep.")
    closeness_by_topic: bool = flag_option(help="A b for each topic, instead of one for all.")
    closeness_shape: float = positive_option(1.0, help="Shape of the gamma prior of b.")
    closeness_rate: float = positive_option(0.001, help="Rate of this prior.")
    moves_burn_in: int = whole_option(
        100, 0, help="Sweeps before topics' distances between slices are kept, for intervals."
    )


class SlicedDefinition(Definition):
    """Topics whose words differ by slice."""

    name: ClassVar[str] = "slices"
    summary: ClassVar[str] = "slices: topics whose words drift over time (--over) or differ by group (--across)"
    Own: ClassVar[type] = SlicesOptions
    capabilities: ClassVar[frozenset[str]] = frozenset({SLICED})
    defaults: ClassVar[Mapping[str, Any]] = {"start": "soft"}
    unfit: ClassVar[Mapping[str, str]] = {"paths": "its sampler has one assignment of the corpus"}

    # -- training ----------------------------------------------------------------------------------------------

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        own = self.own
        if priors.seed_words:
            raise InputError("seed words are for other models: the slices of a topic have priors of their own")
        if bool(own.over) == bool(own.across):
            raise InputError(
                "slices: say what makes the slices: --over COLUMN (time: topics' words drift) or --across COLUMN "
                "(groups: topics have dialects)"
            )
        if own.across and (own.bins or own.every):
            raise InputError("bins and every are for --over: --across has a slice for each value of the column")
        cuts, slice_of = cut_corpus(corpus, own.over, own.across, own.bins or None, own.every or None)
        state = initial_state(
            corpus, options, priors,
            side={
                "slices": np.array([len(cuts.names), cuts.drift], np.int64), "slice_of": slice_of.astype(np.uint32),
                "closeness": np.full(options.topics, float(own.closeness)), **no_tables(),
            },
        )  # fmt: skip
        state.meta["slices"] = cuts.to_meta()
        return state

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:
        shape = (
            Array("slices", "int64", 2, low=0, high=1 << 31),
            Array("closeness", "float64", TOPICS, low=LOWEST, high=HIGHEST),
            Array("moves", "float32", (size_beside("draws"), 2, SLICES, TOPICS), low=0, high=1.000001, required=False),
        )
        if finished:
            return (
                *shape,
                Array("slice_bounds", "int64", SLICES + 1, ends=SLICE_ENTRIES),
                Array("slice_words", "uint32", SLICE_ENTRIES, below=WORDS),
                Array("slice_topics", "uint16", SLICE_ENTRIES, below=TOPICS),
                Array("slice_counts", "float32", SLICE_ENTRIES, low=0, high=COUNT),
                Array("slice_tokens", "float64", (SLICES, TOPICS), low=0, high=COUNT),
            )
        return (
            *shape,
            Array("slice_of", "uint32", DOCUMENTS),
            Array("table_offsets", "int64", size_beside("bounds")),
            Array("table_words", "uint32", TABLES, below=WORDS),
            Array("table_topics", "uint16", TABLES, below=TOPICS),
            Array("table_counts", "int64", TABLES, low=1, high=COUNT),
        )

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        own = self.own
        if "slice_of" in state.side:
            cuts = SliceCuts.of_meta(state.meta)
            if (own.over if cuts.drift else own.across) != cuts.column:
                option = f"--{'over' if cuts.drift else 'across'} {cuts.column}"
                raise InputError(f"the state has slices of its own: begin with {option}, or with a corpus")
        return [
            DrawCloseness(own.closeness_shape, own.closeness_rate, own.closeness_by_topic, not own.fixed_closeness),
            LearnPriors.of(options),
            KeepMoves(own.moves_burn_in),
        ]

    def notes(self, state: State) -> list[str]:
        if "slice_of" not in state.side:
            return []
        cuts, side = SliceCuts.of_meta(state.meta), state.side
        tokens = np.bincount(side["slice_of"], state.lengths, int(side["slices"][0])).astype(np.int64)
        first = 0 if cuts.drift else 1
        told = tokens[first:]
        least = int(told.argmin())
        return [
            f"{len(told):,} slices {'over' if cuts.drift else 'across'} {cuts.column}, {cuts.names[first]} to "
            f"{cuts.names[-1]}: {int(told.mean()):,} tokens on average, {told[least]:,} in {cuts.names[first + least]}"
        ]

    # -- results -----------------------------------------------------------------------------------------------

    def verify_state(self, state: State) -> None:
        side, cuts = state.side, SliceCuts.of_meta(state.meta)
        number, bounds = int(side["slices"][0]), side["table_offsets"]
        if number != len(cuts.names) or bool(side["slices"][1]) != cuts.drift or number < 1:
            raise InputError("the state is not consistent: its slices are not those that it names")
        if side["slice_of"].max(initial=0) >= number:
            raise InputError("the state is not consistent: it has documents of slices that it does not name")
        if len(bounds) not in (1, number + 1) or bounds[0] or np.any(np.diff(bounds) < 0):
            raise InputError("the state is not consistent: its tables are not those of its slices")
        if bounds[-1] != len(side["table_words"]):
            raise InputError("the state is not consistent: its tables are not those of its slices")

    def verify(self, model: Model) -> None:
        side, cuts = model.side, SliceCuts.of_meta(model.meta)
        if not len(cuts.names) == int(side["slices"][0]) == len(side["slice_tokens"]):
            raise InputError("the model is not consistent: its slices are not those that it names")

    def estimator(self, state: State) -> SliceEstimator:
        return SliceEstimator()

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        """N of each slice and b, the mean over all samples: `topicx.predict.slice_reader.SliceTopics` reads them."""
        if any(one.meta.get("slices") != state.meta.get("slices") for one in samples):
            raise InputError("the states have different slices: there is no average of them")
        number = int(state.side["slices"][0])
        total: list[list[Entries]] = [[] for _ in range(number)]
        tokens = np.zeros((number, state.n_topics))
        for one in samples:
            own, customers = counts_of_slices(one)
            for at, entries in enumerate(customers):
                total[at].append(entries)
            tokens += np.array([entries.of_topics(state.n_topics) for entries in own])
        merged = [added(parts) for parts in total]
        places = np.concatenate([entries.places for entries in merged])
        model.side = {
            "slices": state.side["slices"],
            "closeness": np.mean([one.side["closeness"] for one in samples], axis=0),
            "slice_bounds": np.concatenate([[0], np.cumsum([len(e.places) for e in merged])]).astype(np.int64),
            "slice_words": (places // state.n_topics).astype(np.uint32),
            "slice_topics": (places % state.n_topics).astype(np.uint16),
            "slice_counts": (np.concatenate([e.counts for e in merged]) / len(samples)).astype(np.float32),
            "slice_tokens": tokens / len(samples),
        }
        if len(state.side.get("moves", ())):
            model.side["moves"] = state.side["moves"]

    pools_states: ClassVar[bool] = True

    def pooled_side(
        self, sides: Sequence[Mapping[str, NDArray[Any]]], orders: Sequence[NDArray[np.int64]]
    ) -> dict[str, NDArray[Any]]:
        """Draws of distances of all states; all else `finish` takes from the states."""
        found = dict(sides[0])
        moves = [side.get("moves", np.zeros(0)) for side in sides]
        found.pop("moves", None)
        if all(len(one) for one in moves):
            found["moves"] = np.concatenate([one[..., order] for one, order in zip(moves, orders, strict=True)])
        return found

    def reordered(self, state: State, order: NDArray[np.int64]) -> State:
        place = np.argsort(order)
        side = _tables_at(state, place) | {"closeness": state.side["closeness"][order]}
        if "moves" in state.side:
            side["moves"] = state.side["moves"][..., order]
        return replace(state, z=place[state.z].astype(np.uint16), alpha=state.alpha[:, order], side=state.side | side)

    def merged_side(self, side: Mapping[str, NDArray[Any]], target: NDArray[np.uint16]) -> dict[str, NDArray[Any]]:
        """Tokens and tables of topics that become one add up, slice by slice, and so do their b, which are numbers of
        tokens, too. How far the new topic has moved no draw says: those of all topics are left out."""
        found = {name: array for name, array in side.items() if name != "moves"}
        kept = target == np.arange(len(target))
        found["closeness"] = np.where(kept, np.bincount(target, side["closeness"], len(target)), side["closeness"])
        if "slice_tokens" in side:
            tokens = np.zeros_like(side["slice_tokens"])
            np.add.at(tokens.T, target, side["slice_tokens"].T)
            return found | {"slice_tokens": tokens} | _merged_entries(side, target, "slice", "bounds")
        return found | _merged_entries(side, target, "table", "offsets")

    def reader(self, model: Model) -> SliceReader:
        return SliceReader(model, SliceCuts.of_meta(model.meta))


def _tables_at(state: State, place: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
    """The tables of a state whose topic k has become place[k]."""
    topics, found = state.n_topics, []
    if len(state.side["table_offsets"]) == 1:
        return {}
    for entries in tables_of_state(state):
        places = entries.places // topics * topics + place[entries.places % topics]
        order = np.argsort(places, kind="stable")
        found.append(Entries(places[order], np.asarray(entries.counts)[order]))
    return pack_tables(found, topics)


def _merged_entries(
    side: Mapping[str, NDArray[Any]], target: NDArray[np.uint16], what: str, bounds: str
) -> dict[str, NDArray[Any]]:
    """The entries of each slice (words, topics, counts), those of a word in one topic together."""
    topics, offsets = len(target), side[f"{what}_{bounds}"]
    counts = side[f"{what}_counts"]
    places = side[f"{what}_words"].astype(np.int64) * topics + target[side[f"{what}_topics"]]
    merged = []
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        used, which = np.unique(places[begin:end], return_inverse=True)
        merged.append(Entries(used, np.bincount(which.reshape(-1), counts[begin:end], len(used))))
    all_places = np.concatenate([part.places for part in merged]) if merged else np.zeros(0, np.int64)
    all_counts = np.concatenate([part.counts for part in merged]) if merged else np.zeros(0)
    return {
        f"{what}_{bounds}": np.concatenate([[0], np.cumsum([len(part.places) for part in merged])]).astype(np.int64),
        f"{what}_words": (all_places // topics).astype(np.uint32),
        f"{what}_topics": (all_places % topics).astype(np.uint16),
        f"{what}_counts": all_counts.astype(counts.dtype),
    }


def no_tables() -> dict[str, NDArray[Any]]:
    """The side arrays of a state whose tables have not been drawn yet."""
    return {
        "table_offsets": np.zeros(1, np.int64), "table_words": np.zeros(0, np.uint32),
        "table_topics": np.zeros(0, np.uint16), "table_counts": np.zeros(0, np.int64),
    }  # fmt: skip


def counts_of_slices(state: State) -> tuple[list[Entries], list[Entries]]:
    """Counts of each slice of a state: n, of its tokens, and N, with the tables that it was handed."""
    if "slice_of" not in state.side:
        raise InputError("the state is of another model, and has no slices")
    number, drift = (int(value) for value in state.side["slices"])
    tokens = tokens_of_slices(state)
    return tokens, customers_of(parents_of(number, bool(drift)), tokens, tables_of_state(state))


# -- of a state --------------------------------------------------------------------------------------------------


class SliceEstimator(TokenMixture):
    """θ and φ of topics with slices: cgsp counts a token by what a further sweep would draw, in its slice."""

    def soft_counts(  # type: ignore[override]
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, *, path: int | None = None
    ) -> SliceConditionals:
        return SliceConditionals(state)

    def soft_rows(
        self, state: State, threads: int | Engine, counts: DumpCounts | None = None, word_rows: Csr | None = None,
        *, path: int | None = None,
    ) -> Iterator[ThetaRows]:  # fmt: skip
        yield from SliceConditionals(state).documents()


class SliceConditionals:
    """Expected counts of a state by the full conditionals of its tokens, given the expected words of the slices that
    theirs come from."""

    def __init__(self, state: State) -> None:
        self.state = state
        _, customers = counts_of_slices(state)
        parents = parents_of(*(int(value) for value in state.side["slices"]))  # type: ignore[arg-type]
        topics, closeness = state.n_topics, state.side["closeness"]
        own = np.repeat(state.side["slice_of"].astype(np.int64), state.lengths) * state.n_words + state.words
        self.pairs, self.rows = np.unique(own, return_inverse=True)
        self.rows = self.rows.reshape(-1)
        bounds = np.searchsorted(self.pairs, np.arange(len(customers) + 1) * state.n_words)
        self.weights = np.zeros((len(self.pairs), topics), np.float32)
        self.sums = np.zeros((len(customers), topics))
        for at, words in enumerate(expected_words(parents, customers, closeness, state.beta)):
            self.sums[at] = customers[at].of_topics(topics) + (closeness if at else float(state.beta.sum()))
            begin, end = bounds[at], bounds[at + 1]
            self.weights[begin:end] = words[self.pairs[begin:end] - at * state.n_words] * self.sums[at]

    def probabilities(self, begin: int, end: int) -> tuple[Floats, NDArray[np.int64]]:
        """p(z | all others) of the tokens of these documents, a row each; and the document of each, from 0 on."""
        state = self.state
        first, last = int(state.offsets[begin]), int(state.offsets[end])
        z = state.z[first:last].astype(np.int64)
        document = np.repeat(np.arange(end - begin), np.diff(state.offsets[begin : end + 1]))
        own = np.zeros((end - begin, state.n_topics))
        np.add.at(own, (document, z), 1)
        own += state.alpha[state.groups[begin:end] if len(state.groups) else 0]
        at = np.arange(len(z))
        p = self.weights[self.rows[first:last]].astype(np.float64)
        p[at, z] = np.maximum(p[at, z] - 1, 1e-30)
        sums = self.sums[state.side["slice_of"][begin:end].astype(np.int64)][document]
        sums[at, z] -= 1
        p /= sums
        weights = own[document]
        weights[at, z] -= 1
        p *= weights
        p /= p.sum(axis=1, keepdims=True)
        return p, document

    def documents(
        self, *, proportions: bool = True, wanted: bool = True, for_words: bool = True
    ) -> Iterator[ThetaRows]:  # fmt: skip
        """θ^p in batches of documents."""
        state = self.state
        for begin, end in document_batches(state.offsets, max(ENTRIES // state.n_topics, 1)):
            p, document = self.probabilities(begin, end)
            rows = np.zeros((end - begin, state.n_topics))
            full = np.flatnonzero(np.diff(state.offsets[begin : end + 1]) > 0)
            if len(full):
                rows[full] = np.add.reduceat(p, np.searchsorted(document, full), axis=0)
            rows += state.alpha[state.groups[begin:end] if len(state.groups) else 0]
            yield begin, rows / rows.sum(axis=1, keepdims=True)

    def words(self, max_entries: int = MAX_ENTRIES) -> WordCounts:
        """Expected counts by word, of all slices together."""
        state = self.state
        total = np.zeros((state.n_words, state.n_topics))
        for begin, end in document_batches(state.offsets, max(ENTRIES // state.n_topics, 1)):
            p, _ = self.probabilities(begin, end)
            words = state.words[state.offsets[begin] : state.offsets[end]]
            order = np.argsort(words, kind="stable")
            used, starts = np.unique(words[order], return_index=True)
            if len(used):
                total[used] += np.add.reduceat(p[order], starts, axis=0)
        total[total < LEAST] = 0.0
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(total, axis=1))]).astype(np.int64)
        rows, columns = np.nonzero(total)
        nothing = np.zeros(0)
        return WordCounts(indptr, columns.astype(np.uint16), total[rows, columns], nothing, nothing)


LEAST = 1e-9
"""What an expected count must be to be kept."""
