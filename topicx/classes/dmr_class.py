"""The class for topics whose prior depends on what documents carry: a thin front of `topicx.run`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from topicx import model_registry as models
from topicx.classes.lda_class import FURTHER, LDA
from topicx.declare import check_known
from topicx.models.dmr import DirichletMultinomialRegression, DmrOptions, design_of
from topicx.sampling.run_options import Options


class DMR(LDA):
    """Dirichlet-multinomial regression: LDA in which a document's prior depends on what the document carries.

    >>> model = DMR(topics=50, formula="~ party + s(year)").fit(corpus)      # doctest: +SKIP
    >>> model.terms, model.coefficients, model.spread                        # doctest: +SKIP

    Parameters
    ----------
    topics
        Number of topics.
    formula
        What priors depend on: columns that the documents carry, as in `"~ party + s(year, df=4)"`.
    **options
        The arguments of `LDA`, and the model's own: coefficients ("map" or "sample"), sigma, sigma_intercept and
        coefficients_burn_in (`topicx.models.dmr.DmrOptions`). Unlike there, the coefficients are renewed every 20
        sweeps from the 20th on if nothing else is said (`optimize_interval`, `optimize_burn_in`), and β stays
        (`optimize="alpha"`).
    """

    def __init__(self, topics: int = 100, *, formula: str = "~ 1", **options: Any) -> None:
        given = dict(options, formula=formula)
        theirs = {each.name: each.default for each in fields(DmrOptions)}
        own = {name: value for name, value in given.items() if name in theirs and value != theirs[name]}
        rest = {name: value for name, value in options.items() if name not in theirs}
        check_known("DMR", Options, rest, [*FURTHER, *theirs])
        DirichletMultinomialRegression(DmrOptions(**own))  # what is wrong with them is said now
        super().__init__(topics, model="dmr", own=own, **models.with_defaults("dmr", rest))
        self._parameters = {name: self._parameters[name] for name in self._parameters if name not in ("model", "own")}
        self._parameters |= theirs | given

    @property
    def terms(self) -> list[str]:
        """Names of the coefficients, as formulaic and statsmodels have them."""
        return list(design_of(self.model.meta).columns)

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """λ: topics × terms. The logarithm of a document's α is the sum of its row of the design times λ."""
        return np.asarray(self.model.side["coefficients"])

    @property
    def spread(self) -> NDArray[np.float64]:
        """Standard deviations of λ: of the draws, or (coefficients="map") given the topics of the words."""
        return np.asarray(self.model.side["spread"])

    @property
    def draws(self) -> NDArray[np.float32]:
        """Draws of λ (coefficients="sample"): draws × topics × terms."""
        kept = self.model.side.get("coefficient_draws")
        return np.zeros((0, *self.coefficients.shape), np.float32) if kept is None else np.asarray(kept)
