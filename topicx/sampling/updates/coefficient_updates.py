"""The coefficients of topics' priors (topicx.sampling.updates.prior_regression) between sweeps: fitted, or drawn.

λ (`coefficients`, topics × terms) and the rows of the design (`design`, groups × terms) are side arrays of the state;
the sampler knows of them by α = exp(x·λ) alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx.files.schema import require_consistent
from topicx.sampling import random_streams
from topicx.sampling.updates.kept_draws import DrawKeeper
from topicx.sampling.updates.prior_fixed_points import LearnPriors, as_usable_prior, learn_beta, round_to_float32
from topicx.sampling.updates.prior_regression import (
    Floats,
    GroupCounts,
    Regression,
    adapted_step,
    draw_coefficients,
    fit_coefficients,
    make_priors,
)

if TYPE_CHECKING:
    from topicx.sampling.method import Method

ROUNDS = 20
"""Steps of a fit between two sweeps: the next one goes on."""
FIRST_STEP = 0.5
"""ε of the Langevin chain where it begins to adapt."""
REFIT = 10
"""Sweeps between the fits with which a chain of draws begins, in the first half of its burn-in."""


def regression_of(method: Method, variances: Floats) -> Regression:
    """The posterior of λ given the topics as they are."""
    design = method.state.side["design"]
    counts = GroupCounts.of_documents(method.document_topics(), method.groups, method.state.alpha.shape)
    return Regression(np.ascontiguousarray(design), counts, variances, method.engine)


def set_coefficients(method: Method, coefficients: Floats) -> None:
    """λ, and the priors that follow from it."""
    side = method.state.side
    side["coefficients"] = coefficients
    method.set_priors(as_usable_prior(make_priors(side["design"], coefficients)), method.state.beta)


class FitCoefficients(LearnPriors):
    """Now and then the most probable λ is found; and β, if it is asked for."""

    def __init__(self, interval: int, burn_in: int, what: frozenset[str], variances: Floats) -> None:
        super().__init__(interval, burn_in, what)
        self.variances = variances

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        figures = {}
        if "alpha" in self.what:
            before = method.state.side["coefficients"]
            after = fit_coefficients(regression_of(method, self.variances), before, ROUNDS)
            set_coefficients(method, after)
            figures = {"lambda_change": float(np.abs(after - before).max())}
        if "beta" in self.what:
            state = method.state
            method.set_priors(
                state.alpha, round_to_float32(learn_beta(method.word_statistics(), state.beta, state.seeds))
            )
        return figures


class DrawCoefficients:
    """After every sweep a Langevin step of λ. Until the end of burn-in its size moves towards the acceptances wanted;
    then it stays, as a chain that goes on adapting has another stationary distribution. Then draws are kept, in the
    side array `coefficient_draws`.
    """

    name = "coefficients"

    def __init__(self, burn_in: int, variances: Floats) -> None:
        self.variances, self.step = variances, FIRST_STEP
        self.draws = DrawKeeper("coefficient_draws", burn_in)

    def due(self, sweep: int) -> bool:
        return True

    def __call__(self, method: Method, key: int) -> dict[str, float]:
        side = method.state.side
        keeps, sweeps, burn_in = self.draws.count_sweep(), self.draws.sweeps, self.draws.burn_in
        regression, coefficients = regression_of(method, self.variances), side["coefficients"]
        if sweeps <= burn_in // 2 and sweeps % REFIT == 0:
            coefficients = fit_coefficients(regression, coefficients, ROUNDS)
        coefficients, chance = draw_coefficients(
            regression, coefficients, self.step, random_streams.make_generator(key)
        )
        set_coefficients(method, coefficients)
        if sweeps <= burn_in:
            self.step = adapted_step(self.step, chance, sweeps)
        if keeps:
            self.draws.keep(side, coefficients)
        return {"acceptance": chance, "step": self.step}

    def arrays(self) -> dict[str, NDArray[Any]]:
        return self.draws.arrays() | {"step": np.array([self.step])}

    def restore(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.draws.restore(arrays)
        require_consistent(arrays["step"].shape == (1,), "a step of another shape")
        self.step = float(arrays["step"][0])
        require_consistent(0 < self.step < 1e6, f"a step of {self.step}")
