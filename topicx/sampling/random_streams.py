"""Random streams are derived, never carried: a key for each (seed, chain, step, cell), so that a checkpoint holds no
generator and a lost cell can be run again with the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx._kernels.gibbs import first_topics
from topicx.splitmix import GOLDEN, MASK, mix_bits

# What a stream is for: the first word mixed in, so that no two uses share a stream.
CELL, SHUFFLE, START, UPDATE, WARP_WORD, WARP_DOCUMENT, PHI, SPLIT, _, HARDEN, THIN = range(1, 12)

PIECE = 1 << 24
"""Tokens whose first topics come from one stream."""


def stream_key(*parts: int) -> int:
    """A 64-bit key of these numbers, in this order."""
    state = 0
    for part in parts:
        state = mix_bits((state ^ (part & MASK)) + GOLDEN & MASK)
    return state


def make_generator(*parts: int) -> np.random.Generator:
    """A NumPy generator for this use: what is drawn between sweeps."""
    return np.random.Generator(np.random.Philox(key=stream_key(*parts)))


def random_topics_between(begin: int, end: int, topics: int, seed: int, chain: int) -> NDArray[np.uint16]:
    """What `random_topics` gives the tokens from `begin` to before `end`."""
    z = np.empty(end - begin, np.uint16)
    for piece in range(begin // PIECE, -(-end // PIECE)):
        first, last = max(begin, piece * PIECE), min(end, (piece + 1) * PIECE)
        drawn = np.empty(last - piece * PIECE, np.uint16)
        number = (piece,) if piece else ()
        first_topics.draw_first_topics(stream_key(seed, chain, START, *number), topics, drawn)
        z[first - begin : last - begin] = drawn[first - piece * PIECE :]
    return z


def random_topics(
    tokens: int, topics: int, seed: int, chain: int, share: Callable[[Callable[[int], Any], range], Any] = map
) -> NDArray[np.uint16]:
    """A random topic for each token. `share`, an engine's map, draws pieces of them at the same time, each from a
    stream of its own."""
    z = np.empty(tokens, np.uint16)

    def draw(begin: int) -> None:
        number = (begin // PIECE,) if begin else ()
        first_topics.draw_first_topics(stream_key(seed, chain, START, *number), topics, z[begin : begin + PIECE])

    list(share(draw, range(0, tokens, PIECE)))
    return z


def chosen_tokens(tokens: int, share: float, seed: int, chain: int) -> NDArray[np.bool_]:
    """Which tokens belong to a part of about this share of them: each by chance."""
    chosen = np.empty(tokens, bool)
    for begin in range(0, tokens, PIECE):
        piece = chosen[begin : begin + PIECE]
        uniform = make_generator(seed, chain, THIN, begin // PIECE).random(len(piece), np.float32)
        np.less(uniform, np.float32(share), out=piece)
    return chosen
