"""How many labels a document has, from its words: the Meta-Labeler's regression (Tang, Rajan & Narayanan 2009).

A linear regression of the number of labels on log(1 + count) of each word, with a quadratic penalty; solved by LSQR, so
that the words × words matrix is never made. Cross-validation chooses the weight of the penalty, and whether the
features of a document are scaled to unit length: scaled they say what it is about, unscaled also how much it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from topicx.errors import InputError
from topicx.predict.least_squares import damped_least_squares, inner_product

if TYPE_CHECKING:
    import scipy.sparse

PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
FOLDS = 3
_STEPS = 100


@dataclass(frozen=True)
class LabelNumber:
    """Weights of the words, and what is added to them; predictions are rounded and kept within what was seen."""

    weights: NDArray[np.float32]
    base: float
    most: int
    penalty: float
    scaled: bool = False
    """Documents' features are of unit length."""

    @classmethod
    def fit(
        cls, words: NDArray[np.uint32], offsets: NDArray[np.int64], n_words: int, numbers: NDArray[Any]
    ) -> LabelNumber:
        """From documents and how many labels they have."""
        if not len(numbers):  # nothing to learn from: a label each
            return cls(np.zeros(n_words, np.float32), 1.0, 1, 0.0)
        plain, wanted = features_of(words, offsets, n_words), np.asarray(numbers, np.float64)
        choices = [_best_penalty(features, wanted) for features in (plain, scale_to_unit_length(plain))]
        scaled = choices[1] < choices[0]
        penalty = choices[scaled][1]
        weights, base = CentredFeatures(scale_to_unit_length(plain) if scaled else plain, wanted).solve(penalty)
        return cls(weights.astype(np.float32), float(np.float32(base)), int(wanted.max(initial=1)), penalty, scaled)

    def expected(self, words: NDArray[np.uint32], offsets: NDArray[np.int64]) -> NDArray[np.float64]:
        """The regression's own value for each document."""
        features = features_of(words, offsets, len(self.weights))
        features = scale_to_unit_length(features) if self.scaled else features
        result: NDArray[np.float64] = features @ self.weights.astype(np.float64)
        return result + self.base

    def predict(self, words: NDArray[np.uint32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """A whole number of labels for each document, at least one."""
        return np.clip(np.rint(self.expected(words, offsets)), 1, self.most).astype(np.int64)

    def side(self) -> dict[str, NDArray[Any]]:
        """Arrays of a model that hold this."""
        about = np.array([self.base, self.most, self.penalty, self.scaled], np.float64)
        return {"label_number_weights": self.weights, "label_number": about}

    @classmethod
    def from_side(cls, side: dict[str, NDArray[Any]], n_words: int) -> LabelNumber | None:
        """From arrays of a model (perhaps of a damaged file); None: it has none."""
        if "label_number" not in side:
            return None
        about, weights = side["label_number"], side.get("label_number_weights", np.zeros(0, np.float32))
        about = np.append(about, 0.0) if about.shape == (3,) else about  # of before: unscaled
        finite = about.shape == (4,) and bool(np.all(np.isfinite(about)))
        require_arrays_fit(finite and 1 <= about[1] < 1 << 31, "a regression for the number of labels that is none")
        right = weights.shape == (n_words,) and weights.dtype == np.float32 and bool(np.all(np.isfinite(weights)))
        require_arrays_fit(right, "weights of other words for the number of labels")
        base, most, penalty, scaled = about.tolist()
        return cls(weights, base, int(most), penalty, bool(scaled))


def require_arrays_fit(holds: bool, problem: str) -> None:
    """InputError unless the arrays of a model of labels fit together."""
    if not holds:
        raise InputError(f"the model is not consistent: it has {problem}")


def features_of(words: NDArray[np.uint32], offsets: NDArray[np.int64], n_words: int) -> scipy.sparse.csr_array:
    """Documents × words: log(1 + count)."""
    import scipy.sparse  # when there is something to learn: it takes longer to import than all of topicx

    ones = np.ones(len(words))
    shape = (len(offsets) - 1, n_words)
    matrix = scipy.sparse.csr_array((ones, words.astype(np.int64), offsets.copy()), shape=shape)
    matrix.sum_duplicates()  # in place
    matrix.data = np.log1p(matrix.data)
    return matrix


def scale_to_unit_length(features: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """The features with every document's scaled to length 1."""
    import scipy.sparse

    lengths = np.sqrt(np.asarray(features.multiply(features).sum(axis=1)).ravel())
    rows = np.repeat(np.maximum(lengths, 1e-30), np.diff(features.indptr))
    return scipy.sparse.csr_array((features.data / rows, features.indices, features.indptr), shape=features.shape)


class CentredFeatures:
    """Features of some documents less their means, and the numbers that are wanted of them."""

    def __init__(self, features: scipy.sparse.csr_array, wanted: NDArray[np.float64]) -> None:
        self.features, self.transposed = features, features.T.tocsr()
        self.mean = np.asarray(features.mean(axis=0)).ravel()
        self.wanted, self.level = wanted - wanted.mean(), float(wanted.mean())

    def times(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.features @ v - inner_product(self.mean, v))

    def transposed_times(self, u: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.transposed @ u - self.mean * u.sum())

    def solve(self, penalty: float) -> tuple[NDArray[np.float64], float]:
        """Weights and base: least squares + penalty · |weights|², the base not penalised."""
        weights = damped_least_squares(self.times, self.transposed_times, self.wanted, float(np.sqrt(penalty)), _STEPS)
        return weights, self.level - inner_product(self.mean, weights)


def _best_penalty(features: scipy.sparse.csr_array, wanted: NDArray[np.float64]) -> tuple[float, float]:
    """The smallest squared error on documents left out, every third at a time, and its penalty."""
    fold = np.arange(len(wanted)) % FOLDS
    if len(wanted) < 2 * FOLDS:
        return 0.0, PENALTIES[len(PENALTIES) // 2]
    errors = [0.0] * len(PENALTIES)
    for left_out in range(FOLDS):
        rest = CentredFeatures(features[fold != left_out], wanted[fold != left_out])
        held, numbers = features[fold == left_out], wanted[fold == left_out]
        for at, penalty in enumerate(PENALTIES):
            weights, base = rest.solve(penalty)
            errors[at] += float(np.sum((held @ weights + base - numbers) ** 2))
    return min(zip(errors, PENALTIES))
