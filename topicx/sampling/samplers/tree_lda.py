"""Exact collapsed Gibbs sampling for very many topics: word-major order, and a sum tree over the topics."""

from __future__ import annotations

from collections.abc import Callable

from topicx._kernels.gibbs import sparse
from topicx.sampling.samplers.gibbs import Gibbs


class Tree(Gibbs):
    """O(K_d + log K) a token. Iterated conditional modes look at every topic anyway: the sparse kernel does them."""

    kernel_name = "tree"

    def _sweeper(self, maximise: bool) -> Callable[..., int]:
        return sparse.sweep if maximise else super()._sweeper(maximise)
