"""Gibbs sampling of topics whose words differ by slice (the kernel: `topicx._kernels.gibbs.slices`). What it draws
from, and why it is exact, stands in `topicx.models.slices`.

A sweep goes down the slices and up again. Down: the tokens of a slice are drawn with its words integrated out, given
the words m of the slice that it comes from and the tables t that those after it have handed to it; then its words are
drawn, for the next. Up: every slice draws the tables that it hands to the slice it comes from, those of its tokens
and of what it was handed. Between sweeps there are topics and tables, and no words.

Words are numbered by row, those that are found latest first: a slice has rows of those alone that it or a later one
has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import cell as cell_kernel
from topicx._kernels.gibbs import slices as kernel
from topicx.engines.threads import Engine
from topicx.errors import InputError
from topicx.files.schema import require_consistent
from topicx.sampling import random_streams
from topicx.sampling.joint_likelihood import documents_log_likelihood
from topicx.sampling.method import Method
from topicx.sampling.run_options import Options
from topicx.sampling.schedule import Cell, Schedule
from topicx.sampling.slice_words import (
    NO_ENTRIES,
    Entries,
    added,
    customers_of,
    expected_words,
    pack_tables,
    parents_of,
    tables_of_state,
    tokens_of_slices,
)
from topicx.sampling.special_functions import gammaln
from topicx.sampling.updates.prior_fixed_points import CountedWords, WordStatistics
from topicx.state import Csr, State, document_topics

LANES, PIECES = 16, 16
Floats = NDArray[np.float64]
CELL_PART, WORDS_PART, REST_PART, TABLES_PART = range(4)
"""What a stream of a slice is for."""


def default_slice_partitions(tokens: int) -> int:
    """P of a slice, by its tokens: slices come one after another, so that threads work within one."""
    return 1 if tokens < 10_000 else 2 if tokens < 1_000_000 else 4


@dataclass
class Part:
    """The documents of one slice."""

    slice: int
    tokens: NDArray[np.int64]
    """Where its tokens are in the corpus."""
    offsets: NDArray[np.int64]
    groups: NDArray[np.uint32]
    schedule: Schedule
    words: NDArray[np.uint32]
    """The row of each token's word, in the schedule's order."""
    z: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, np.uint16))
    """The topic of each token, in that order."""
    entries: Entries = NO_ENTRIES
    """Counts n_kw, by row."""


def aligned_rows(rows: int, width: int, kind: type) -> NDArray[Any]:
    """Rows of zeros that begin on a cache line."""
    raw: NDArray[Any] = np.zeros(max(rows, 1) * width + 16, kind)
    start = (-raw.ctypes.data % 64) // 4
    return raw[start : start + max(rows, 1) * width].reshape(max(rows, 1), width)


class SlicedTopics(Method):
    """The sampler."""

    def __init__(self, state: State, options: Options, engine: Engine) -> None:
        super().__init__(state, options, engine)
        side = state.side
        if "slice_of" not in side:
            raise InputError("the state is of another model, and has no slices: the model slices begins with a corpus")
        self.slices = int(side["slices"][0])
        self.parents = parents_of(self.slices, bool(side["slices"][1]))
        self.width = -(-state.n_topics // LANES) * LANES
        self._order_words()
        self.parts = [self._part(number) for number in range(self.slices)]
        self.tables: list[Entries] = [NO_ENTRIES] * self.slices
        """Tables of each slice, by row and topic."""
        self.customers = np.zeros((self.slices, state.n_topics), np.int64)
        """N_sk and, of those that come from another, T_sk: what the tables say of b."""
        self.counts = aligned_rows(state.n_words, self.width, np.int32)
        self.prior = aligned_rows(state.n_words, self.width, np.float32)
        self.words_drawn = [
            aligned_rows(self.needed[child], self.width, np.float32) if child else None
            for child in (self._first_child(number) for number in range(self.slices))
        ]
        """The words of each slice from which others come."""

    @classmethod
    def memory(cls, state: State, options: Options) -> int:
        width = -(-state.n_topics // LANES) * LANES
        kept = int(state.side["slices"][0]) - 1 if "slices" in state.side and state.side["slices"][1] else 1
        return super().memory(state, options) + 8 * state.n_tokens + 4 * state.n_words * width * (2 + max(kept, 1))

    def _first_child(self, number: int) -> int:
        found = np.flatnonzero(self.parents == number)
        return int(found[0]) if len(found) else 0

    def _order_words(self) -> None:
        """Rows of words, and how many of them each slice needs: its own, and those of slices that come after it."""
        state = self.state
        of_token = np.repeat(state.side["slice_of"].astype(np.int64), state.lengths)
        latest = np.full(state.n_words, -1, np.int64)
        np.maximum.at(latest, state.words, of_token)
        if self.slices > 1 and not np.all(self.parents[1:] == np.arange(self.slices - 1)):
            latest[latest >= 0] = self.slices
        order = np.argsort(-latest, kind="stable")
        self.word_of_row = order
        self.row_of_word = np.empty(state.n_words, np.int64)
        self.row_of_word[order] = np.arange(state.n_words)
        self.needed = [int(np.count_nonzero(latest >= number)) for number in range(self.slices)]

    def _part(self, number: int) -> Part:
        state, options = self.state, self.options
        documents = np.flatnonzero(state.side["slice_of"] == number)
        lengths = state.lengths[documents]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        tokens = np.repeat(state.offsets[documents] - offsets[:-1], lengths) + np.arange(offsets[-1])
        words = np.ascontiguousarray(self.row_of_word[state.words[tokens]], dtype=np.uint32)
        rows = max(self.needed[number], 1)
        partitions = int(options.partitions) or default_slice_partitions(len(words))
        partitions = max(1, min(partitions, len(documents), rows))
        schedule = Schedule(
            words, offsets, rows, partitions, random_streams.stream_key(options.seed, number), options.chain, 1,
            self.engine,
        )  # fmt: skip
        groups = np.ascontiguousarray(state.groups[documents]) if len(state.groups) else state.groups
        return Part(number, tokens, offsets, groups, schedule, schedule.arranged(words))

    # -- beginnings and ends ----------------------------------------------------------------------------------------

    def start(self, random: bool) -> None:
        state, options = self.state, self.options
        z = state.z
        if not state.placed:
            z = random_streams.random_topics(
                state.n_tokens, state.n_topics, options.seed, options.chain, self.engine.map
            )
        none = [NO_ENTRIES] * self.slices
        self._adopt(np.ascontiguousarray(z), tables_of_state(state) if state.placed else none)

    def _adopt(self, z: NDArray[np.uint16], kept: list[Entries]) -> None:
        """These topics and tables; where there are none, one for every word and topic that there is."""
        state = self.state
        for part in self.parts:
            part.z = part.schedule.arranged(np.ascontiguousarray(z[part.tokens]))
            self._count(part)
            self._remember(part)
        if not any(len(entries.places) for entries in kept) and self.slices > 1:
            kept = [NO_ENTRIES] * self.slices
            for number in range(self.slices - 1, 0, -1):
                places = self.parts[number].entries.places
                children = [kept[s].places for s in np.flatnonzero(self.parents == number)]
                places = np.sort(np.concatenate([places, *children]), kind="stable")
                places = places[np.diff(places, prepend=-1) > 0]  # np.unique hashes, which is slow of such numbers
                kept[number] = Entries(places, np.ones(len(places), np.int64))
            self.tables = kept
        else:
            self.tables = [self._renumbered(entries, self.row_of_word, state.n_topics, self.width) for entries in kept]
        for number in range(1, self.slices):
            require_consistent(self._tables_fit(number), f"tables of slice {number} that are not those of its tokens")
        self._count_customers()

    @staticmethod
    def _renumbered(entries: Entries, to: NDArray[np.int64], before: int, width: int) -> Entries:
        """Places by other numbers of words, and rows of another width."""
        places = to[entries.places // before] * width + entries.places % before
        order = np.argsort(places, kind="stable")
        return Entries(places[order], np.asarray(entries.counts)[order])

    def _count(self, part: Part) -> NDArray[np.int64]:
        """n_kw and n_k of a slice from its topics; n_kw stands in `counts` afterwards."""
        rows = self.needed[part.slice]
        self.counts[:rows] = 0
        totals = np.zeros(self.width, np.int64)
        kernel.count(part.words, part.z, self.counts, totals)
        return totals[: self.state.n_topics].copy()

    def _remember(self, part: Part) -> None:
        places, found = np.empty(len(part.z), np.int64), np.empty(len(part.z), np.int64)
        n = kernel.find_entries(self.counts, self.needed[part.slice], places, found)
        part.entries = Entries(places[:n].copy(), found[:n].copy())

    def _count_customers(self) -> None:
        topics = self.state.n_topics
        self.table_sums = np.array([t.of_topics(self.width)[:topics] for t in self.tables]).astype(np.int64)
        own = np.array([part.entries.of_topics(self.width)[:topics] for part in self.parts]).astype(np.int64)
        for number in range(1, self.slices):
            own[self.parents[number]] += self.table_sums[number]
        self.customers = own

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {}  # topics and tables are the state's

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._adopt(np.ascontiguousarray(self.state.z), tables_of_state(self.state))

    def sync(self) -> State:
        state = self.state
        z = np.empty(state.n_tokens, np.uint16)
        for part in self.parts:
            z[part.tokens] = part.schedule.restored(part.z)
        state.z = z
        kept = [self._renumbered(entries, self.word_of_row, self.width, state.n_topics) for entries in self.tables]
        state.side |= pack_tables(kept, state.n_topics)
        return state

    def verify(self) -> None:
        """AssertionError unless each slice hands on a table at least, and a customer a table at most."""
        for number in range(1, self.slices):
            assert self._tables_fit(number), f"tables of slice {number}"

    def _tables_fit(self, number: int) -> bool:
        """Whether a slice hands on a table at least for all its customers of a word and topic, and one each at most."""
        of = added([self.parts[number].entries, *(self.tables[s] for s in self._children(number))])
        tables = self.tables[number]
        fit = np.array_equal(of.places, tables.places) and np.all(tables.counts >= 1)
        return bool(fit and np.all(tables.counts <= of.counts))

    def _children(self, number: int) -> list[int]:
        return [int(s) for s in np.flatnonzero(self.parents == number)]

    # -- sweeps -----------------------------------------------------------------------------------------------------

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        changed = sum(self._down(part, step) for part in self.parts)
        for number in range(self.slices - 1, 0, -1):
            self._up(number, step)
        self._count_customers()
        return {"changed": changed / max(self.state.n_tokens, 1)}

    def _key(self, step: int, number: int, use: int, more: int = 0) -> int:
        options = self.options
        return random_streams.stream_key(options.seed, options.chain, random_streams.CELL, step, number, use, more)

    def _down(self, part: Part, step: int) -> int:
        """The tokens of a slice, and its words, where others come from it."""
        number, topics = part.slice, self.state.n_topics
        base = self._make_prior(number)
        totals = self._count(part)
        changed = 0
        for cells in part.schedule.epochs() if len(part.z) else ():
            before = totals

            def work(cell: Cell, totals: NDArray[np.int64] = before) -> tuple[int, NDArray[np.int64]]:
                own = totals.copy()
                at = cell.shard * part.schedule.partitions + cell.block
                made = cell_kernel.Cell(
                    words=part.words, assigned=part.z, offsets=part.offsets, segments=part.schedule.segments,
                    blocks=part.schedule.partitions, alpha=self.state.alpha, groups=part.groups, totals=own,
                )  # fmt: skip
                moved = kernel.sweep(
                    made, part.schedule.shards[cell.shard], cell.block, self._key(step, number, CELL_PART, at),
                    self.prior, self.counts, base,
                )  # fmt: skip
                return int(moved), own

            results = self.engine.map(work, part.schedule.largest_first(cells))
            totals = before + sum(after - before for _, after in results)
            changed += sum(moved for moved, _ in results)
        self._remember(part)
        drawn = self.words_drawn[number]
        if drawn is not None:
            shapes = base[:topics] + totals
            self._draw_words(number, step, drawn, shapes)
        return changed

    def _make_prior(self, number: int) -> Floats:
        """p_kw of a slice, in `prior`; returns P_k."""
        topics, rows = self.state.n_topics, self.needed[number]
        base = np.ones(self.width)
        if number == 0:
            self.prior[:rows, :topics] = self.state.beta[self.word_of_row[:rows], None]
            base[:topics] = float(self.state.beta.sum())
        else:
            closeness = self.state.side["closeness"]
            words = self.words_drawn[self.parents[number]]
            assert words is not None
            factor = np.zeros(self.width, np.float32)
            factor[:topics] = closeness
            np.multiply(words[:rows], factor, out=self.prior[:rows])
            base[:topics] = closeness
        flat = self.prior.reshape(-1)
        for child in self._children(number):
            handed = self.tables[child]
            flat[handed.places] += handed.counts.astype(np.float32)
            base[:topics] += self.table_sums[child]
        return base

    def _draw_words(self, number: int, step: int, drawn: NDArray[np.float32], shapes: Floats) -> None:
        """φ of a slice given its tokens and what it was handed: gamma variates of the words that others need, and their
        sum of the rest."""
        rows, topics = len(drawn), self.state.n_topics
        bounds = [rows * at // PIECES for at in range(PIECES + 1)]
        pieces = list(zip(bounds[:-1], bounds[1:], strict=True))
        key, rest_key = self._key(step, number, WORDS_PART), self._key(step, number, REST_PART)

        def draw(piece: tuple[int, int]) -> tuple[Floats, Floats]:
            sums, known = np.zeros(topics), np.zeros(topics)
            kernel.draw_gammas(self.prior, self.counts, topics, *piece, key, drawn, sums, known)
            return sums, known

        found = self.engine.map(draw, pieces)
        total = np.sum([sums for sums, _ in found], axis=0)
        rest = np.maximum(shapes - np.sum([known for _, known in found], axis=0), 0.0)
        others = np.zeros(topics)
        kernel.draw_gamma_each(rest, rest_key, others)
        factors = 1.0 / np.maximum(total + others, 1e-300)
        self.engine.map(lambda piece: kernel.scale_rows(drawn, factors, *piece), pieces)

    def _up(self, number: int, step: int) -> None:
        """The tables that a slice hands to the one that it comes from."""
        own = self.parts[number].entries
        children = self._children(number)
        handed = self.tables[children[0]] if children else NO_ENTRIES
        words = self.words_drawn[self.parents[number]]
        assert words is not None
        room = len(own.places) + len(handed.places)
        places, customers, tables = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
        n = kernel.draw_tables(
            own.places, own.counts, handed.places, handed.counts, words, self.state.side["closeness"],
            self._key(step, number, TABLES_PART), places, customers, tables,
        )  # fmt: skip
        self.tables[number] = Entries(places[:n].copy(), tables[:n].copy())

    # -- what is told -----------------------------------------------------------------------------------------------

    def expected(self) -> tuple[list[Entries], list[Entries]]:
        """Counts n and N of each slice, by word and topic: of tokens, and with the tables that it was handed."""
        state = self.sync()
        tokens = tokens_of_slices(state)
        return tokens, customers_of(self.parents, tokens, tables_of_state(state))

    def score(self) -> float:
        """Per token: log p(z), and of each slice's words the logarithm of their Dirichlet-multinomial, given the
        expected words of the slice that it comes from."""
        state = self.state
        tokens, customers = self.expected()
        batches = documents_log_likelihood(state.z, state.offsets, state.alpha, state.groups, self.engine)
        total, number = (sum(part) for part in zip(*batches, strict=True))
        if not number:
            return 0.0
        closeness, before = state.side["closeness"], np.repeat(state.beta[:, None], state.n_topics, axis=1)
        weight: Floats | float = float(state.beta.sum())
        drift = np.all(self.parents[1:] == np.arange(self.slices - 1))
        for at, words in enumerate(expected_words(self.parents, customers, closeness, state.beta)):
            prior = before.reshape(-1)[tokens[at].places]
            total += float(np.sum(gammaln(prior + tokens[at].counts) - gammaln(np.maximum(prior, 1e-300))))
            sums = np.broadcast_to(np.asarray(weight, np.float64), (state.n_topics,))
            total -= float(np.sum(gammaln(sums + tokens[at].of_topics(state.n_topics)) - gammaln(sums)))
            if at == 0 or drift:
                before, weight = words * closeness, closeness
        return total / number

    def document_topics(self) -> Csr:
        state = self.sync()
        return document_topics(state.z, state.offsets, state.n_topics)

    def word_topics(self) -> Csr:
        return self.sync().word_topics()

    def word_statistics(self) -> WordStatistics:
        """What N_0kw says of β."""
        root = self.expected()[1][0]
        topics = self.state.n_topics
        per_word = np.bincount(root.places // topics, minlength=self.state.n_words)
        indptr = np.concatenate([[0], np.cumsum(per_word)]).astype(np.int64)
        csr = indptr, (root.places % topics).astype(np.uint16), np.asarray(root.counts, np.int64)
        return CountedWords(csr, self.state.beta, topics)

    def verify_arrays(self, arrays: dict[str, NDArray[Any]]) -> None:
        super().verify_arrays(arrays)
        side = self.state.side
        require_consistent(
            len(side["table_offsets"]) in (1, self.slices + 1), "tables of another number of slices"
        )  # fmt: skip
