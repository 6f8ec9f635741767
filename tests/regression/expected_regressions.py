"""Makes tests/regression/regressions.json: statsmodels' coefficients, covariances and Wald tests of small data
(python -m tests.regression.expected_regressions)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLACE = Path(__file__).parent / "regressions.json"
KINDS = ("linear robust", "linear classical", "linear cluster", "weighted robust", "weighted cluster", "logit robust",
         "logit cluster")  # fmt: skip


def data() -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Columns, shares of three topics, weights, clusters of 60 documents."""
    rng = np.random.Generator(np.random.Philox(3))
    documents = 60
    design = np.column_stack(
        [np.ones(documents), 1990 + 10 * rng.standard_normal(documents), rng.integers(0, 2, documents)]
    )
    shares = rng.dirichlet(np.ones(3), documents)
    weights = rng.integers(1, 5, documents).astype(float)
    clusters = np.unique(np.sort(rng.integers(0, 12, documents)), return_inverse=True)[1].reshape(-1)
    return design, shares, weights / weights.mean(), clusters


def main() -> None:
    import statsmodels
    import statsmodels.api as sm

    design, shares, weights, clusters = data()
    found: dict[str, Any] = {"statsmodels": statsmodels.__version__}
    for kind in KINDS:
        model, errors = kind.split()
        how: dict[str, Any] = {
            "robust": {"cov_type": "HC1"}, "classical": {},
            "cluster": {"cov_type": "cluster", "cov_kwds": {"groups": clusters}},
        }[errors]  # fmt: skip
        rows = []
        for share in shares.T:
            if model == "logit":
                fit = sm.GLM(share, design, family=sm.families.Binomial()).fit(tol=1e-14, **how)
            else:
                fit = sm.WLS(share, design, weights=weights if model == "weighted" else 1.0).fit(use_t=True, **how)
            rows.append({"params": fit.params.tolist(), "cov": np.asarray(fit.cov_params()).tolist()})
            if model != "logit":
                test = fit.f_test(np.eye(3)[1:])
                rows[-1] |= {"f": float(test.fvalue), "p": float(test.pvalue), "df": float(test.df_denom)}
        found[kind] = rows
    PLACE.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
