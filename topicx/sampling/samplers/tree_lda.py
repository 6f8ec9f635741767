"""Exact collapsed Gibbs sampling for very many topics: word-major order, and a sum tree over the topics."""

from __future__ import annotations

from topicx.sampling.samplers.gibbs import Gibbs


class Tree(Gibbs):
    """O(K_d + log K) a token. Iterated conditional modes look at every topic anyway: the sparse kernel does them."""

    kernel_name = "tree"

    @classmethod
    def kernel_for(cls, maximise: bool, proposing: bool) -> str:
        return "sparse" if maximise else cls.kernel_name
