"""Dirichlet-multinomial regression (Mimno & McCallum 2008): topics whose prior depends on what a document carries.

    α_dk = exp(x_d·λ_k),    λ_kj ~ Normal(0, σ_j²),    θ_d ~ Dirichlet(α_d)

x_d is a row of the design, which a formula makes of the document's columns. Documents with the same row are a group,
so that any sampler which knows groups draws the topics of the words; λ is renewed between sweeps
(topicx.sampling.updates.coefficient_updates).

Inside, columns of numbers are measured from their mean in standard deviations (those of 0 to 1, such as levels and
splines, stay as they are): σ means the same for years as for parties. The model tells λ as the formula has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from topicx.corpus.corpus import Corpus
from topicx.corpus.table import Column, Numbers, Texts
from topicx.declare import choice_option, declare_option, positive_option, whole_option
from topicx.design.covariates import Columns, Levels, levels_of, numbers_of
from topicx.design.design import Design, DesignRows
from topicx.design.formula import parse_formula
from topicx.engines.threads import Threads
from topicx.errors import InputError
from topicx.files.array_sizes import PRIOR_GROUPS, TOPICS, Shape, size_beside
from topicx.files.file_kinds import FINITE, FLOAT, HIGHEST, LOWEST
from topicx.files.schema import Array
from topicx.models.definition import Definition, Priors, initial_state
from topicx.predict.document_prior import DocumentPrior, as_float32_prior
from topicx.predict.documents import Documents
from topicx.predict.reader import Admixture, Reader
from topicx.sampling.method import Update
from topicx.sampling.run_options import Options
from topicx.sampling.sampler_registry import GROUPS, SAMPLES
from topicx.sampling.special_functions import log
from topicx.sampling.updates.coefficient_updates import DrawCoefficients, FitCoefficients
from topicx.sampling.updates.prior_fixed_points import LEAST, LearnPriors
from topicx.sampling.updates.prior_regression import (
    SIGMA,
    SIGMA_INTERCEPT,
    Floats,
    GroupCounts,
    Regression,
    make_priors,
    spread_of,
    term_variances,
)
from topicx.state import State
from topicx.strings import Strings

if TYPE_CHECKING:
    from topicx.model import Model

TERMS, DRAWS = size_beside("terms"), size_beside("draws")
"""Columns of the design, and draws of the coefficients that are kept."""
INTERCEPT = "Intercept"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Where predicted priors of a column of numbers are told."""
BY_GROUP = ("alias", "tree")
"""Samplers that look at every group's prior in every cell."""
MOST_NUMBERS = 1 << 24
"""How many numbers all groups' priors may be for these samplers."""
ROWS_A_PIECE = 4096
"""Rows of the design whose priors are in memory at once, where their mean is taken."""


def _check_formula(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise InputError(f"{name} must be a text such as '~ party + s(year)', not {value!r}")
    parse_formula(value)


@dataclass(frozen=True)
class DmrOptions:
    """The options of Dirichlet-multinomial regression."""

    formula: str = declare_option(
        "~ 1", str, "What documents' priors depend on: columns that they carry, such as '~ party + s(year)'; "
        "see docs/reference/models/dmr.md.", check=_check_formula, metavar="FORMULA",
    )  # fmt: skip
    coefficients: str = choice_option(
        "map", ("map", "sample"),
        help="How λ is renewed: map (the most probable one, every --optimize-interval sweeps), sample (drawn after "
        "each sweep: the model has intervals).",
    )  # fmt: skip
    sigma: float = positive_option(SIGMA, help="Standard deviation of the coefficients' normal prior.", shown="0.7071")
    sigma_intercept: float = positive_option(SIGMA_INTERCEPT, help="Standard deviation of the intercepts' prior.")
    coefficients_burn_in: int = whole_option(
        100, 0, help="Sweeps before draws of λ are kept (sample); until then the size of its steps adapts."
    )


class DirichletMultinomialRegression(Definition):
    """A prior for each row of a design."""

    name: ClassVar[str] = "dmr"
    summary: ClassVar[str] = "Dirichlet-multinomial regression: priors that depend on what documents carry (--formula)"
    Own: ClassVar[type] = DmrOptions
    capabilities: ClassVar[frozenset[str]] = frozenset({GROUPS, SAMPLES})
    defaults: ClassVar[Mapping[str, Any]] = {
        "optimize_interval": 20, "optimize_burn_in": 20, "optimize": "alpha",
    }  # fmt: skip

    # -- training ----------------------------------------------------------------------------------------------

    def state(self, corpus: Corpus, options: Options, priors: Priors) -> State:
        return self.regressed_state(corpus, options, priors, options.alpha_vector())

    def regressed_state(self, corpus: Corpus, options: Options, priors: Priors, alpha: Floats) -> State:
        """The corpus with a prior for each row of the design, all of which begin with this one."""
        columns = corpus.table
        design = Design.fit(self.own.formula, columns)
        found = design.rows(columns, corpus.n_documents)
        raw, groups = with_mean_row(found)
        centres, scales = column_scales(raw, groups, design)
        rows = (raw - centres) / scales
        coefficients = log(alpha)[:, None] * constant_weights(rows, design)
        state = initial_state(
            corpus, options, priors, alpha=np.tile(alpha, (len(rows), 1)),
            groups=groups if len(rows) > 1 else None,
            side={
                "design": rows, "coefficients": coefficients, "centres": centres, "scales": scales,
                "mean_row": mean_of_rows(raw, groups),
            },
        )  # fmt: skip
        state.meta["covariates"] = {"design": design.to_json(), **told_values(design, columns), "notes": found.notes}
        return state

    @staticmethod
    def side_arrays(own: Any, meta: Mapping[str, Any], finished: bool) -> tuple[Array, ...]:

        def numbers(name: str, shape: Shape) -> Array:
            return Array(name, "float64", shape, low=-FINITE, high=FINITE)

        draws = Array("coefficient_draws", "float32", (DRAWS, TOPICS, TERMS), low=-FLOAT, high=FLOAT, required=False)
        common = numbers("coefficients", (TOPICS, TERMS)), numbers("mean_row", TERMS), draws
        if finished:
            return (*common, Array("spread", "float64", (TOPICS, TERMS), low=0, high=FINITE))
        scales = Array("scales", "float64", TERMS, low=LOWEST, high=HIGHEST)
        return (*common, numbers("design", (PRIOR_GROUPS, TERMS)), numbers("centres", TERMS), scales)

    def updates(self, options: Options, state: State) -> Sequence[Update]:
        what = frozenset(options.optimize.split("+"))
        if "symmetric-alpha" in what:
            raise InputError("optimize: symmetric-alpha is not for the model dmr; alpha renews its coefficients")
        if "coefficients" not in state.side:
            raise InputError("the state is of another model, and has no design: the model dmr begins with a corpus")
        if options.sampler in BY_GROUP and state.alpha.size > MOST_NUMBERS:
            raise InputError(
                f"sampler: {options.sampler} looks at the priors of all {len(state.alpha):,} different rows of the "
                "design all the time; sparse and dense at a document's own"
            )
        variances = self._variances(state)
        if self.own.coefficients == "map":
            return [FitCoefficients(options.optimize_interval, options.optimize_burn_in, what, variances)]
        found: list[Update] = [DrawCoefficients(self.own.coefficients_burn_in, variances)]
        if "beta" in what:
            found.append(LearnPriors(options.optimize_interval, options.optimize_burn_in, frozenset({"beta"})))
        return found

    def _variances(self, state: State) -> Floats:
        constant = constant_weights(state.side["design"], design_of(state.meta)) != 0
        return term_variances(constant, self.own.sigma, self.own.sigma_intercept)

    def notes(self, state: State) -> list[str]:
        found = state.meta.get("covariates", {}).get("notes", [])
        return [f"{note}: their prior is that of the mean document" if "no value" in note else note for note in found]

    # -- results -----------------------------------------------------------------------------------------------

    def verify_state(self, state: State) -> None:
        if "design" in state.side and len(design_of(state.meta).columns) != state.side["design"].shape[1]:
            raise InputError("the state's coefficients are not those of its design")

    def verify(self, model: Model) -> None:
        if len(design_of(model.meta).columns) != len(model.side["mean_row"]):
            raise InputError("the model's coefficients are not those of its design")

    def finish(self, state: State, model: Model, samples: Sequence[State]) -> None:
        """λ as the formula has it, and its spread; α is the mean over the training documents."""
        side, back = state.side, self._back(state)
        draws = side.get("coefficient_draws", np.zeros((0, 0, 0), np.float32)).astype(np.float64)
        if len(draws) > 1:
            told = np.stack([transform_coefficients(draw, back) for draw in draws])
            inside, spread = draws.mean(axis=0), told.std(axis=0, ddof=1)
            model.side = {"coefficient_draws": told.astype(np.float32)}
        else:
            inside = side["coefficients"]
            model.side = {}
            spread = spread_of(self._regression(state).at(inside, curved=True), back)
        model.side |= {
            "coefficients": transform_coefficients(inside, back),
            "spread": spread,
            "mean_row": side["mean_row"],
        }
        if len(state.alpha) > 1:
            model.alpha = np.maximum(mean_prior(side["design"], inside, state.groups), LEAST)[None, :]

    def pooled_side(
        self, sides: Sequence[Mapping[str, NDArray[Any]]], orders: Sequence[NDArray[np.int64]]
    ) -> dict[str, NDArray[Any]]:
        """The mean of λ, and the draws of all states."""
        pairs = list(zip(sides, orders, strict=True))
        found = dict(sides[0])
        found["coefficients"] = np.mean([side["coefficients"][order] for side, order in pairs], axis=0)
        found.pop("coefficient_draws", None)
        if all(len(side.get("coefficient_draws", ())) for side in sides):
            found["coefficient_draws"] = np.concatenate([side["coefficient_draws"][:, order] for side, order in pairs])
        return found

    def reader(self, model: Model) -> Reader:
        return RegressedReader(model)

    @staticmethod
    def _back(state: State) -> Floats:
        """The matrix that makes coefficients of the formula's columns of those of the measured ones."""
        centres, scales = state.side["centres"], state.side["scales"]
        intercept = np.array([name == INTERCEPT for name in design_of(state.meta).columns], np.float64)
        return np.asarray(np.diag(1 / scales) - intercept[:, None] * (centres / scales))

    def _regression(self, state: State) -> Regression:
        """The posterior of λ given the topics of a state's words (of several paths: the first)."""
        state = state.path(0) if state.paths > 1 else state
        counts = GroupCounts.of_documents(state.document_topics(), state.groups, state.alpha.shape)
        return Regression(np.ascontiguousarray(state.side["design"]), counts, self._variances(state), Threads(1))


class RegressedReader(Admixture):
    """Documents whose priors follow from what they carry."""

    stranger_note = (
        "documents lack a value that the formula takes, or have one that it does not know: they get the mean "
        "document's prior, or that of the level others are compared with"
    )

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.design = design_of(model.meta)
        self.coefficients = model.side["coefficients"]
        self._mean = make_priors(model.side["mean_row"][None, :], self.coefficients)
        self.wants = tuple(self.design.wants)

    def prior(self, documents: Documents) -> DocumentPrior:
        columns = {
            name: as_column(documents.carried.get(name), len(documents), name in self.design.levels)
            for name in self.wants
        }  # fmt: skip
        rows = self.design.rows(columns, len(documents))
        alpha = as_float32_prior(np.vstack([make_priors(rows.distinct, self.coefficients), self._mean]))
        missing = rows.groups < 0
        groups = np.where(missing, len(alpha) - 1, rows.groups)
        unknown = missing | unknown_levels(self.design, columns, len(documents))
        return DocumentPrior(alpha[groups], np.arange(len(groups), dtype=np.uint32), int(unknown.sum()), each=True)


def as_column(column: Column | None, documents: int, factor: bool) -> Column:
    """A column of new documents, which may lack it altogether."""
    if column is not None:
        return column
    return Texts(Strings.of([""] * documents)) if factor else Numbers(np.full(documents, np.nan))


def unknown_levels(design: Design, columns: Columns, documents: int) -> NDArray[np.bool_]:
    """Which documents have a level that the design does not know."""
    found = np.zeros(documents, bool)
    for name, known in design.levels.items():
        levels = levels_of(columns, name)
        strange = np.array([level not in known for level in levels.names] + [False])
        found |= strange[levels.codes]
    return found


# -- designs ---------------------------------------------------------------------------------------------------


def design_of(meta: Mapping[str, Any]) -> Design:
    """The design that a model or a state remembers."""
    covariates = meta.get("covariates")
    return Design.from_json(covariates.get("design") if isinstance(covariates, dict) else None)


def with_mean_row(found: DesignRows) -> tuple[Floats, NDArray[np.uint32]]:
    """The distinct rows and each document's; documents without a value have the mean of the others' rows, the last."""
    missing = found.groups < 0
    if not missing.any():
        return np.ascontiguousarray(found.distinct), found.groups.astype(np.uint32)
    mean = mean_of_rows(found.distinct, found.groups[~missing])
    groups = np.where(missing, len(found.distinct), found.groups)
    return np.vstack([found.distinct, mean]), groups.astype(np.uint32)


def mean_of_rows(rows: Floats, groups: NDArray[Any]) -> Floats:
    """The mean row of documents."""
    sizes = np.bincount(groups, minlength=len(rows))
    result: Floats = np.sum(sizes[:, None] * rows, axis=0) / max(int(sizes.sum()), 1)
    return result


def column_scales(rows: Floats, groups: NDArray[Any], design: Design) -> tuple[Floats, Floats]:
    """What is taken from each column, and what it is divided by. Columns of 0 to 1 stay as they are; without an
    intercept nothing is taken from any."""
    inside = np.all((rows >= 0) & (rows <= 1), axis=0)
    means = mean_of_rows(rows, groups)
    spread = np.sqrt(mean_of_rows((rows - means) ** 2, groups))
    centres = np.where(inside | (INTERCEPT not in design.columns), 0.0, means)
    return centres, np.where(inside | ~(spread > LEAST), 1.0, spread)


def constant_weights(rows: Floats, design: Design) -> Floats:
    """Weights of the columns whose sum is 1 for every document: the intercept, or the levels that stand for it; all 0,
    if there is none."""
    weights = np.zeros(rows.shape[1])
    if INTERCEPT in design.columns:
        weights[list(design.columns).index(INTERCEPT)] = 1.0
        return weights
    for columns in design.terms.values():
        if np.all(np.abs(rows[:, columns].sum(axis=1) - 1) < 1e-9):
            weights[columns] = 1.0
            break
    return weights


def transform_coefficients(coefficients: Floats, back: Floats) -> Floats:
    """Each topic's coefficients by a matrix, the sums in one order."""
    result: Floats = np.sum(coefficients[:, None, :] * back, axis=2)
    return result


def mean_prior(rows: Floats, coefficients: Floats, groups: NDArray[np.uint32]) -> Floats:
    """The mean of α over documents."""
    sizes = np.bincount(groups, minlength=len(rows))
    total = np.zeros(len(coefficients))
    for begin in range(0, len(rows), ROWS_A_PIECE):
        piece = slice(begin, begin + ROWS_A_PIECE)
        total += np.sum(sizes[piece, None] * make_priors(rows[piece], coefficients), axis=0)
    result: Floats = total / max(int(sizes.sum()), 1)
    return result


def told_values(design: Design, columns: Columns) -> dict[str, dict[str, Any]]:
    """Values of each column of the design at which predictions are told, and its usual one: levels and the
    most frequent; quantiles and the median."""
    values: dict[str, Any] = {}
    usual: dict[str, Any] = {}
    for name in design.wants:
        if name in design.levels:
            found: Levels = levels_of(columns, name)
            sizes = np.bincount(found.codes[found.codes >= 0], minlength=len(found.names))
            values[name], usual[name] = design.levels[name], found.names[int(sizes.argmax())]
        else:
            numbers = numbers_of(columns, name)
            quantiles = np.quantile(numbers[np.isfinite(numbers)], QUANTILES)
            values[name] = list(dict.fromkeys(quantiles.tolist()))
            usual[name] = float(quantiles[len(QUANTILES) // 2])
    return {"values": values, "usual": usual}
