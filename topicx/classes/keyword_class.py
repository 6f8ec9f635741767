"""The class for topics with keywords: a thin front of `topicx.run`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.classes.lda_class import FURTHER, LDA
from topicx.declare import check_known
from topicx.errors import InputError
from topicx.evaluate.keyword_hold import measure_keywords
from topicx.models.keyword import Keyword, KeywordOptions
from topicx.sampling.run_options import Options


class KeywordLDA(LDA):
    """Topics that are known by their keywords, and some without beside them.

    >>> model = KeywordLDA({"garden": ["soil", "plant*"], "money": ["bank"]}, residual=5).fit(corpus)  # doctest: +SKIP
    >>> model.keyword_shares                                                                           # doctest: +SKIP

    Parameters
    ----------
    keywords
        The words of each topic, by the topic's name, with `*` and `?`; or the name of a file of them.
    residual
        Number of topics without keywords.
    **options
        The arguments of `LDA`, without the number of topics, and the model's own: formula and the further options of
        `DMR`, keyword_beta, keyword_share and regular_share (`topicx.models.keyword.KeywordOptions`). Unlike there,
        α is learnt every ten iterations from the 20th on, and a run begins with random topics, if nothing else is said.
    """

    def __init__(
        self, keywords: Mapping[str, Sequence[str]] | str = "", *, residual: int = 10, **options: Any
    ) -> None:  # fmt: skip
        if "topics" in options:
            raise InputError("topics: there are as many as have keywords, and those of residual")
        given = dict(options, keywords=keywords, residual=residual)
        theirs = {each.name: each.default for each in fields(KeywordOptions)}
        own = {name: value for name, value in given.items() if name in theirs and value != theirs[name]}
        rest = {name: value for name, value in options.items() if name not in theirs}
        check_known("KeywordLDA", Options, rest, [*FURTHER, *theirs])
        Keyword(KeywordOptions(**own))  # what is wrong with them is said now
        super().__init__(model="keyword", own=own, **models.with_defaults("keyword", rest))
        left = ("model", "own", "topics")
        self._parameters = {name: self._parameters[name] for name in self._parameters if name not in left}
        self._parameters |= theirs | given

    @property
    def keyword_shares(self) -> NDArray[np.float64]:
        """π of each topic: the share of its words that are of its keywords; 0 of those without."""
        return np.asarray(self.model.side["keyword_shares"])

    def keywords_held(self, corpus: Any) -> dict[str, Any]:
        """How far keywords are of their topics in documents: what `topicx evaluate -m keywords` measures."""
        return measure_keywords(self.model, corpus)
