"""Least squares by LSQR: SciPy's own, and the normal equations."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import lsqr

from topicx.predict.least_squares import damped_least_squares, unit_vector


def problem(documents: int, words: int, seed: int) -> tuple[scipy.sparse.csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    features = scipy.sparse.random_array((documents, words), density=0.2, rng=rng, format="csr")
    return features, rng.normal(size=documents)


@pytest.mark.parametrize("damp", [0.5, 3.0, 40.0])
@pytest.mark.parametrize("shape", [(60, 20), (20, 60), (40, 40)])
def test_the_steps_are_those_of_scipy(shape: tuple[int, int], damp: float) -> None:
    features, wanted = problem(*shape, seed=int(damp) + shape[0])
    turned = features.T.tocsr()
    for steps in (1, 2, 5, 100):
        found = damped_least_squares(lambda v: features @ v, lambda u: turned @ u, wanted, damp, steps)
        theirs = lsqr(features, wanted, damp=damp, atol=1e-5, btol=1e-5, iter_lim=steps)[0]
        np.testing.assert_allclose(found, theirs, rtol=1e-5, atol=1e-6)  # rounding grows from step to step


def test_the_penalised_error_is_least() -> None:
    features, wanted = problem(80, 10, seed=4)
    dense = features.toarray()
    turned = features.T.tocsr()
    found = damped_least_squares(lambda v: features @ v, lambda u: turned @ u, wanted, 0.7, 100)
    exact = np.linalg.solve(dense.T @ dense + 0.49 * np.eye(10), dense.T @ wanted)
    np.testing.assert_allclose(found, exact, atol=1e-3)


def test_nothing_is_wanted() -> None:
    features, _ = problem(5, 3, seed=1)
    turned = features.T.tocsr()
    found = damped_least_squares(lambda v: features @ v, lambda u: turned @ u, np.zeros(5), 1.0, 10)
    assert found.tolist() == [0, 0, 0]
    assert unit_vector(np.zeros(2))[0] == 0
