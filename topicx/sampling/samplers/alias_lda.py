"""AliasLDA (Li, Ahmed, Ravi & Smola 2014): stale Walker tables, corrected by Metropolis-Hastings."""

from __future__ import annotations

from topicx.sampling.samplers.light_lda import Proposing


class Alias(Proposing):
    """A document's topics exactly, the others from tables that the tokens being moved have no part in."""

    proposer = "alias"
    tallied = ("alias",)
