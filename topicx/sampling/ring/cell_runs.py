"""A machine's cell: its shard of documents and the block of words that is with it, for one outer epoch.

`run_cell` is a function of values that travel. It changes none of them, so that a cell that was lost is run again with
the same result; and it knows nothing of who asked for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import cell as cell_kernel
from topicx._kernels.gibbs import restricted
from topicx.engines.threads import Threads
from topicx.sampling import random_streams
from topicx.sampling.joint_likelihood import documents_log_likelihood, in_shards, words_in_batches
from topicx.sampling.ring.shards import Shard
from topicx.sampling.ring.word_blocks import BlockWords, HashedBlock, RowBlock
from topicx.sampling.schedule import ScheduleLevels
from topicx.sampling.updates.prior_fixed_points import CountedDocuments, CountedWords
from topicx.state import Csr, document_topics

Block = RowBlock | HashedBlock
Told = tuple[NDArray[np.int64], int, NDArray[np.int64]]
"""How the totals n_k have moved, how many tokens changed their topic, and the tally."""


@dataclass(frozen=True)
class RingPriors:
    """The priors of a sweep. β of every word is one number, where all are alike; else a number a rank."""

    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    beta_sum: float

    def of_words(self, first: int, last: int) -> NDArray[np.float64]:
        """β of the words of these ranks."""
        return np.full(last - first, self.beta[0]) if len(self.beta) == 1 else self.beta[first:last]


@dataclass(frozen=True)
class CellRun:
    """What is asked of all cells of a sweep."""

    kernel: str
    """The kernel, a module of `topicx._kernels.gibbs`."""
    levels: ScheduleLevels
    topics: int
    seed: int
    chain: int
    step: int
    share: float
    maximise: bool
    steps: int
    """Proposals a token, of kernels that make them (0: none)."""
    tallied: int
    """How many numbers their tally has."""
    threads: int


def run_cell(
    run: CellRun, number: tuple[int, int], shard: Shard, topics: NDArray[np.uint16], block: Block,
    words: BlockWords, priors: RingPriors, totals: NDArray[np.int64], last: bool,
) -> tuple[NDArray[np.uint16], Block, Told]:  # fmt: skip
    """Renew the tokens of outer shard number[0] in outer block number[1], in inner epochs: their topics, the block, and
    what is told of it. `last`: the block has been everywhere in this sweep."""
    z = topics.copy()
    outer, at = number
    inner, partitions = run.levels.inner, run.levels.partitions
    block = block.copied()
    kernel = import_module(f"topicx._kernels.gibbs.{run.kernel}").sweep
    make = _cell_maker(run, shard, z, block, priors, priors.of_words(words.first, words.last))
    tally, seen, changed = np.zeros((inner * inner, run.tallied), np.int64), totals, 0

    def renew(epoch: int, before: NDArray[np.int64], i: int) -> tuple[int, NDArray[np.int64]]:
        mine = at * inner + (i + epoch) % inner
        key = random_streams.stream_key(
            run.seed, run.chain, random_streams.CELL, run.step, (outer * inner + i) * partitions + mine
        )
        own = before.copy()
        documents = shard.active(i, run.share)
        return make(kernel, own, documents, mine, key, tally[epoch * inner + i]), own

    with Threads(run.threads) as engine:
        for epoch in range(inner):
            before = seen
            found = engine.map(partial(renew, epoch, before), range(inner))
            seen = before + sum(own - before for _, own in found)
            changed += sum(count for count, _ in found)
    if last:
        block = block.balanced(words)
    return z, block, (seen - totals, changed, tally.sum(axis=0))


def _cell_maker(
    run: CellRun, shard: Shard, z: NDArray[np.uint16], block: Block, priors: RingPriors, beta: NDArray[np.float64]
) -> Callable[..., int]:
    """What calls the kernel for one inner cell."""
    common: dict[str, Any] = {
        "words": shard.words, "offsets": shard.offsets, "segments": shard.segments, "blocks": run.levels.partitions,
        "assigned": z, "alpha": priors.alpha, "groups": shard.groups, "beta_sum": priors.beta_sum,
        **block.cell_arrays(),
    }  # fmt: skip
    if isinstance(block, HashedBlock):
        assert shard.allowed is not None
        common |= {"beta": np.ascontiguousarray(beta), "allowed_offsets": shard.allowed[0], "allowed": shard.allowed[1]}

        def hashed(sweep: Any, totals: Any, documents: Any, mine: int, key: int, tally: Any) -> int:
            cell = restricted.AllowedCell(**common, totals=totals)
            return int(sweep(cell, documents, mine, key, run.maximise))

        return hashed
    common["beta"] = beta.astype(np.float32)

    def plain(sweep: Any, totals: Any, documents: Any, mine: int, key: int, tally: Any) -> int:
        asked = {"steps": run.steps, "tally": tally} if run.steps else {"maximise": run.maximise}
        return int(sweep(cell_kernel.Cell(**common, totals=totals, **asked), documents, mine, key))

    return plain


def add_moves(totals: NDArray[np.int64], told: list[Told]) -> NDArray[np.int64]:
    """The totals after an outer epoch."""
    return np.asarray(totals + sum(moved for moved, _, _ in told))


# -- beginnings ------------------------------------------------------------------------------------------------------


def empty_block(form: type[Block], words: BlockWords) -> Block:
    return form.empty(words)


def count_tokens(
    block: Block, shard: Shard, z: NDArray[np.uint16], levels: ScheduleLevels, at: int, threads: int
) -> Block:  # fmt: skip
    """The block `at` with a shard's tokens put in."""
    blocks = range(at * levels.inner, (at + 1) * levels.inner)
    with Threads(threads) as engine:
        return block.counting(shard, z, blocks, levels.partitions, engine)


def finish_block(block: Block, words: BlockWords) -> Block:
    return block.finished(words)


def block_totals(block: Block, topics: int) -> NDArray[np.int64]:
    return block.totals(topics)


# -- what updates and traces ask -------------------------------------------------------------------------------------


def block_csr(block: Block, topics: int) -> Csr:
    """n_kw of the block's words, by rank."""
    return block.csr(topics)


def words_likelihood(block: Block, words: BlockWords, priors: RingPriors) -> list[float]:
    """What the block's words add to the likelihood, batch by batch."""
    return list(words_in_batches(block.csr(words.topics), priors.of_words(words.first, words.last)))


def documents_likelihood(
    shard: Shard, topics: NDArray[np.uint16], priors: RingPriors, threads: int
) -> list[tuple[float, int]]:
    """What the shard's documents add, batch by batch, and their tokens."""
    batches = in_shards(np.array([0, len(shard.offsets) - 1]), shard.offsets)
    with Threads(threads) as engine:
        return list(documents_log_likelihood(topics, shard.offsets, priors.alpha, shard.groups, engine, batches))


def counted_documents(
    shard: Shard, topics: NDArray[np.uint16], shape: tuple[int, int]
) -> list[tuple[NDArray[Any], ...]]:
    """What the shard's documents say of α, as distinct counts."""
    return CountedDocuments(document_topics(topics, shard.offsets, shape[1]), shard.groups, shape).groups


def counted_words(block: Block, words: BlockWords, priors: RingPriors) -> tuple[NDArray[Any], ...]:
    """What the block's words say of β, as distinct counts."""
    beta = priors.of_words(words.first, words.last)
    return CountedWords(block.csr(words.topics), beta, words.topics).parts
