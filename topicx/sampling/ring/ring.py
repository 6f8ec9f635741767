"""A sampler over places that share files alone (`topicx.engines.places`), as a method of the chain.

Every place keeps the shards of its documents; blocks of words go round. Where the run stands is known by the results
of tasks alone, which are lost with a place and made again. From time to time all topics and blocks are kept in files:
tasks before that are never asked for again, and a lost place costs the sweeps since then.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from topicx.engines.places import Places, item_of
from topicx.engines.threads import Engine
from topicx.files.schema import Array, require_consistent
from topicx.files.stored_arrays import StoredArray
from topicx.sampling.joint_likelihood import per_token, words_log_likelihood
from topicx.sampling.method import Method
from topicx.sampling.ring import cell_runs, shards, word_blocks
from topicx.sampling.ring.cell_runs import CellRun, RingPriors
from topicx.sampling.ring.estimates import Estimate, Parts, bytes_of_rows, bytes_that_travel, estimate_sweep
from topicx.sampling.ring.shards import CorpusFiles, TopicSource
from topicx.sampling.run_options import Options
from topicx.sampling.samplers.gibbs import Gibbs, levels_of
from topicx.sampling.schedule import ScheduleLevels, outer_ranks, ranks_by_block, shard_bounds
from topicx.sampling.schedule import word_blocks as blocks_of_words
from topicx.sampling.updates.prior_fixed_points import (
    CountedDocuments,
    CountedWords,
    DocumentStatistics,
    WordStatistics,
)
from topicx.state import Csr, State, document_topics

KEEP_SHARE = 20
"""One part in so many of the time, about, goes into keeping topics and blocks in files."""
KEEP_WITHIN = 50
"""Sweeps after which they are kept at the latest."""
IN_MEMORY = 1 << 30
"""Bytes of an array gathered from all places that may be in memory: a longer array is in a file."""


class Ring(Method):
    """A Gibbs sampler by tasks that travel, with the draws that it makes in one process."""

    def __init__(self, sampler: type[Gibbs], state: State, options: Options, engine: Engine, places: Places) -> None:
        super().__init__(state, options, engine)
        self.sampler, self.places = sampler, places
        self.levels = levels_of(state, options)
        self._name = secrets.token_hex(4)
        """A name of this run's own: several runs may have tasks and files on the same places."""
        self._folder = places.folder / self._name
        self._folder.mkdir()
        frequencies, block_of_word = blocks_of_words(state.words, state.n_words, self.levels.partitions, engine)
        self.rank = ranks_by_block(block_of_word)
        self._steps = 0
        """Tasks of the run so far that have a name each."""
        self._files, self._words = self._share_corpus(frequencies, block_of_word)
        outer = self.levels.outer
        self.threads = max(1, places.threads // max(1, math.ceil(outer / max(places.number, 1))))
        """Threads of a cell: the shards of a place are worked on at the same time."""
        self._shards = [self._submit(shards.load_shard, self._files, i, self.threads, at=i) for i in range(outer)]
        self._topics: list[Any] = []
        self._blocks: list[Any] = []
        self.totals = np.zeros(state.n_topics, np.int64)
        self._may_lack = True
        self._generation, self._since, self._sweep_seconds, self._keep_seconds = 0, 0, 0.0, 0.0
        self._kept: list[Path] = []
        self._long: dict[str, Path] = {}
        """The scratch files of long arrays that were gathered here, by what they are of."""
        self._made = 0
        self.set_priors(state.alpha, state.beta)

    # -- what travels ------------------------------------------------------------------------------------------------

    def _submit(self, function: Any, *arguments: Any, at: int | None = None) -> Any:
        self._steps += 1
        return self.places.submit(function, *arguments, name=(function.__name__, self._name, self._steps), at=at)

    def _ask(self, function: Any, of: list[tuple[Any, ...]]) -> list[Any]:
        """function(*arguments) of every shard or block, where it is."""
        return self.places.take([self._submit(function, *each) for each in of])

    def _store(self, name: str, array: NDArray[Any]) -> StoredArray:
        """Where all places find an array: in the corpus file, or in a scratch file of this run."""
        return StoredArray.of_mapped(array) or StoredArray.write(self._folder / name, array)

    def _share_corpus(
        self, frequencies: NDArray[np.int64], block_of_word: NDArray[np.uint16]
    ) -> tuple[CorpusFiles, list[word_blocks.BlockWords]]:
        state, options, levels = self.state, self.options, self.levels
        bounds = shard_bounds(state.offsets, levels.partitions)
        ranks = np.concatenate([[0], np.cumsum(np.bincount(block_of_word, minlength=levels.partitions))])
        allowed = None
        if self.sampler.travels == "hashed":
            from topicx.topic_sets import allowed_of

            starts, topics = allowed_of(state)
            allowed = self._store("allowed.offsets", starts), self._store("allowed.topics", topics)
        files = CorpusFiles(
            self._store("words", state.words), self._store("offsets", state.offsets), self._store("rank", self.rank),
            self._store("groups", state.groups) if len(state.groups) else None, allowed,
            tuple(bounds.tolist()), tuple(ranks.tolist()), levels, options.seed, options.chain,
        )  # fmt: skip
        by_rank = np.empty(state.n_words, np.int64)
        by_rank[self.rank] = frequencies
        tokens, seeds = self._store("tokens", by_rank), None
        if len(state.seeds):
            of_seeds = self.rank[state.seeds.words]
            order = np.argsort(of_seeds, kind="stable")
            parts = {"words": of_seeds, "topics": state.seeds.topics, "counts": state.seeds.counts}
            seeds = cast(
                Any, tuple(self._store(f"seeds.{name}", cast(Any, part)[order]) for name, part in parts.items())
            )
        edges = pairwise(outer_ranks(block_of_word, levels).tolist())
        self.row_bytes = bytes_of_rows(frequencies, state.n_topics), bytes_that_travel(frequencies, state.n_topics)
        return files, [word_blocks.BlockWords(tokens, seeds, *edge, state.n_topics) for edge in edges]

    def set_priors(self, alpha: NDArray[np.float64], beta: NDArray[np.float64]) -> None:
        super().set_priors(np.ascontiguousarray(alpha), np.ascontiguousarray(beta))
        by_rank = beta[:1].copy()
        if np.ptp(beta) != 0:
            by_rank = np.empty_like(beta)
            by_rank[self.rank] = beta
        priors = RingPriors(self.state.alpha.copy(), by_rank, float(beta.sum()))
        self._priors = self._submit(_itself, priors)

    def estimates(self) -> tuple[Estimate, Estimate]:
        """What a sweep takes here, and what it would on this machine alone: by what the places say of themselves."""
        state, places, levels = self.state, self.places, self.levels
        parts = Parts(**places.measured())
        sizes = state.n_tokens, state.n_documents, self.row_bytes
        alone = ScheduleLevels(1, levels.partitions)
        return (
            estimate_sweep(*sizes, levels, places.number, self.threads * -(-levels.outer // places.number), parts),
            estimate_sweep(*sizes, alone, 1, self.engine.threads, Parts(task=0.0, step=0.0)),
        )

    # -- beginnings --------------------------------------------------------------------------------------------------

    def start(self, random: bool) -> None:
        state = self.state
        if not random:
            source = TopicSource("none")
        elif state.placed:
            source = TopicSource("corpus", file=self._store("begin.z", state.z))
        elif self.sampler.travels == "hashed":  # every document has topics of its own
            from topicx.sampling.samplers.restricted_gibbs import first_topics

            source = TopicSource("corpus", file=self._store("begin.z", first_topics(state, self.options)))
        else:
            source = TopicSource("random", state.n_topics)
        self._adopt(source)

    def _adopt(self, source: TopicSource) -> None:
        """Take these assignments, and count them."""
        outer, levels = self.levels.outer, self.levels
        self._topics = [
            self._submit(shards.load_topics, self._files, i, source, self.threads, at=i) for i in range(outer)
        ]
        form = word_blocks.FORMS[self.sampler.travels]
        blocks = [self._submit(cell_runs.empty_block, form, words, at=b) for b, words in enumerate(self._words)]
        for i in range(outer):  # a block's rows have their topics in the order of the documents
            blocks = [
                self._submit(cell_runs.count_tokens, block, self._shards[i], self._topics[i], levels, b, self.threads)
                for b, block in enumerate(blocks)
            ]  # fmt: skip
        self._blocks = [
            self._submit(cell_runs.finish_block, block, words) for block, words in zip(blocks, self._words, strict=True)
        ]
        found = self._ask(cell_runs.block_totals, [(block, self.state.n_topics) for block in self._blocks])
        self.totals = np.sum(found, axis=0)
        self._may_lack, self._since = True, 1
        self.keep()

    def arrays(self) -> dict[str, NDArray[Any]]:
        if self.sampler.travels == "hashed":
            return {}
        self.keep()
        parts = [{name: file.mapped() for name, file in files.items()} for files in self._block_files]
        return {name: self._gathered(name, [part[name] for part in parts]) for name in ("row_cells", "row_len")}

    def declared(self) -> tuple[Array, ...]:
        return self.sampler.declared(self)  # type: ignore[arg-type]

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._adopt(TopicSource("corpus", file=self._store("begin.z", self.state.z)))
        if not arrays:
            return
        kept = {name: self._store(f"begin.{name}", array) for name, array in arrays.items()}
        sizes = self._ask(_entries, [(block,) for block in self._blocks])
        ends = {"row_cells": np.cumsum([0, *sizes]), "row_len": np.array([0, *(w.last for w in self._words)])}
        found = []
        for b, (block, words) in enumerate(zip(self._blocks, self._words, strict=True)):
            slices = {name: (kept[name], int(edge[b]), int(edge[b + 1])) for name, edge in ends.items()}
            found.append(self._submit(_reordered, block, words, slices))
        right = self.places.take([self._submit(_is_there, block) for block in found])
        require_consistent(all(right), "counts of words that are not those of their tokens")
        self._blocks, self._since = found, 1
        self.keep()

    # -- sweeps ------------------------------------------------------------------------------------------------------

    def sweep(self, step: int, share: float = 1.0) -> dict[str, float]:
        return self._sweep(step, share, False)

    def maximise(self, step: int) -> dict[str, float]:
        return self._sweep(step, 1.0, True)

    def _sweep(self, step: int, share: float, maximise: bool) -> dict[str, float]:
        began = time.monotonic()
        outer, options = self.levels.outer, self.options
        tallied = self.sampler.tallied if not maximise and share == 1 and self._all_placed() else ()
        run = CellRun(
            self.sampler.kernel_for(maximise, bool(tallied)), self.levels, self.state.n_topics, options.seed,
            options.chain, step, share, maximise, options.mh_steps if tallied else 0, 2 * len(tallied), self.threads,
        )  # fmt: skip
        asked = self._submit(_itself, run)
        totals, told = self._submit(_itself, self.totals), []
        topics, blocks = list(self._topics), list(self._blocks)
        for round in range(outer):
            of_round = []
            for i in range(outer):
                b = (i + round) % outer
                cell = self._submit(
                    cell_runs.run_cell, asked, (i, b), self._shards[i], topics[i], blocks[b], self._words[b],
                    self._priors, totals, round == outer - 1, at=i,
                )  # fmt: skip
                # Each part is taken where the cell was: else a place with less to do might have all of it sent.
                topics[i], blocks[b], new = (self._submit(item_of, cell, part, at=i) for part in range(3))
                of_round.append(new)
            totals = self._submit(cell_runs.add_moves, totals, of_round)
            told += of_round
        found, *each = self.places.take([totals, *told])
        self._topics, self._blocks, self.totals = topics, blocks, found
        figures = {"changed": sum(count for _, count, _ in each) / max(self.state.n_tokens, 1)}
        sums = np.sum([tally for _, _, tally in each], axis=0)
        for at, name in enumerate(tallied):
            figures[f"accept_{name}"] = float(sums[2 * at + 1] / max(int(sums[2 * at]), 1))
        self._since += 1
        self._sweep_seconds = time.monotonic() - began
        if self._since >= min(KEEP_WITHIN, KEEP_SHARE * self._keep_seconds / max(self._sweep_seconds, 1e-9)):
            self.keep()
        return figures

    def _all_placed(self) -> bool:
        if self._may_lack and self.sampler.tallied:
            self._may_lack = any(self._ask(shards.has_unplaced, [(z,) for z in self._topics]))
        return not self._may_lack

    # -- what is kept ------------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Have all topics and blocks written to files, and go on from these: no task before is needed any more."""
        if self._kept and not self._since:
            return
        began = time.monotonic()
        self._generation += 1
        folder, g = self._folder, self._generation
        self._topic_files = self._ask(
            shards.store_topics, [(folder, f"{g}.shard.{i}", z) for i, z in enumerate(self._topics)]
        )
        self._block_files = self._ask(
            word_blocks.store_block, [(folder, f"{g}.block.{b}", block) for b, block in enumerate(self._blocks)]
        )
        form = self.sampler.travels
        self._topics = [
            self._submit(shards.load_topics, self._files, i, TopicSource("shard", file=file), self.threads, at=i)
            for i, file in enumerate(self._topic_files)
        ]
        self._blocks = [
            self._submit(word_blocks.read_block, form, words, files)
            for words, files in zip(self._words, self._block_files, strict=True)
        ]
        self.places.take([self._submit(_is_there, one) for one in [*self._topics, *self._blocks]])
        before = self._kept
        self._kept = [Path(file.path) for file in self._topic_files]
        self._kept += [Path(file.path) for files in self._block_files for file in files.values()]
        for path in before:
            with contextlib.suppress(OSError):
                path.unlink()
        self._since, self._keep_seconds = 0, time.monotonic() - began

    def sync(self) -> State:
        self.keep()
        bounds, files = self.state.offsets[list(self._files.bounds[:: self.levels.inner])], self._topic_files
        z = self._room_for("z", np.uint16, int(bounds[-1]))
        for i, (begin, end) in enumerate(pairwise(bounds.tolist())):
            z[begin:end] = shards.restore_topics(self._files, i, files[i].read(), self.engine)
        self.state.z = z
        return self.state

    def _gathered(self, name: str, parts: list[NDArray[Any]]) -> NDArray[Any]:
        """One array of all parts."""
        out, at = self._room_for(name, parts[0].dtype, sum(map(len, parts))), 0
        for part in parts:
            out[at : at + len(part)] = part
            at += len(part)
        return out

    def _room_for(self, name: str, dtype: Any, size: int) -> NDArray[Any]:
        """An array to be filled: in memory, or, if it is long, in a scratch file, which the one before of its name then
        leaves."""
        if size * np.dtype(dtype).itemsize <= IN_MEMORY:
            return np.empty(size, dtype)
        self._made += 1
        path = self._folder / f"{self._made}.all.{name}"
        out = np.asarray(np.memmap(path, dtype, "w+", shape=size))
        if name in self._long:
            self._long[name].unlink(missing_ok=True)  # whoever still has it mapped keeps it
        self._long[name] = path
        return out

    # -- what updates and traces ask ---------------------------------------------------------------------------------

    def score(self) -> float:
        state = self.state
        if self.sampler.travels == "hashed":
            return cast(Any, self.sampler).score_of(self.sync())
        documents = self._ask(
            cell_runs.documents_likelihood,
            [(shard, z, self._priors, self.threads) for shard, z in zip(self._shards, self._topics, strict=True)],
        )
        if self.levels.outer == 1:
            total, tokens = (sum(part) for part in zip((0.0, 0), *documents[0]))
            words = words_log_likelihood(self.word_topics(), self.totals, state.beta, state.seeds)
            return (total + words) / tokens if tokens else 0.0
        found = self._ask(
            cell_runs.words_likelihood,
            [(block, words, self._priors) for block, words in zip(self._blocks, self._words, strict=True)],
        )
        return per_token(
            (one for part in documents for one in part), (one for part in found for one in part), self.totals,
            float(state.beta.sum()), state.beta, state.seeds,
        )  # fmt: skip

    def document_topics(self) -> Csr:
        self.sync()
        return document_topics(self.state.z, self.state.offsets, self.state.n_topics)

    def word_topics(self) -> Csr:
        parts = self._ask(cell_runs.block_csr, [(block, self.state.n_topics) for block in self._blocks])
        lengths = np.concatenate([np.diff(indptr) for indptr, _, _ in parts])
        by_rank = np.concatenate([[0], np.cumsum(lengths)])
        indptr = np.concatenate([[0], np.cumsum(lengths[self.rank])]).astype(np.int64)
        order = np.arange(indptr[-1]) + np.repeat(by_rank[self.rank] - indptr[:-1], lengths[self.rank])
        topics, counts = (np.concatenate([part[at] for part in parts])[order] for at in (1, 2))
        return indptr, topics, counts

    def document_statistics(self) -> DocumentStatistics:
        if self.sampler.travels == "hashed":
            return cast(Any, self.sampler).statistics_of(self.sync())
        shape = self.state.alpha.shape
        parts = self._ask(
            cell_runs.counted_documents,
            [(shard, z, shape) for shard, z in zip(self._shards, self._topics, strict=True)],
        )
        return CountedDocuments.merged(parts, shape)

    def word_statistics(self) -> WordStatistics:
        parts = self._ask(
            cell_runs.counted_words,
            [(block, words, self._priors) for block, words in zip(self._blocks, self._words, strict=True)],
        )
        return CountedWords.merged(parts)


def _itself(value: Any) -> Any:
    """A value that several tasks take: it travels once to each place."""
    return value


def _is_there(value: Any) -> bool:
    """Whether a task has left something."""
    return value is not None


def _entries(block: word_blocks.RowBlock) -> int:
    return len(block.row_cells)


def _reordered(
    block: word_blocks.RowBlock, words: word_blocks.BlockWords, slices: dict[str, tuple[StoredArray, int, int]]
) -> word_blocks.RowBlock | None:
    """The block with its entries in the order that a checkpoint has; None: the checkpoint has others."""
    return block.with_order(words, {name: file.read(first, last) for name, (file, first, last) in slices.items()})
