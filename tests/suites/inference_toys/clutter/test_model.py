"""The exact posterior, compared with a sum over all labels and with a fine grid."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from bnnbench.suites.inference_toys.clutter.model import ClutterModel, exact_posterior, simulate


def test_quadrature_equals_the_sum_over_all_labels() -> None:
    """Each of the `2 ** N` labellings has a conjugate posterior and evidence."""
    x, w, a, b = np.array([-1.0, 0.3, 2.2, 2.4, 5.0, 3.1]), 0.3, 8.0, 40.0
    logs, means, variances = [], [], []
    for labels in product([False, True], repeat=len(x)):
        signal = x[list(labels)]
        covariance = np.eye(len(signal)) + b
        evidence = norm.logpdf(x[[not label for label in labels]], scale=np.sqrt(a)).sum()
        evidence += sum(np.log(1 - w) if label else np.log(w) for label in labels)
        _, determinant = np.linalg.slogdet(2 * np.pi * covariance)
        evidence -= 0.5 * (determinant + signal @ np.linalg.solve(covariance, signal))
        variances.append(1 / (1 / b + len(signal)))
        means.append(variances[-1] * signal.sum())
        logs.append(evidence)
    total = logsumexp(logs)
    weights = np.exp(np.array(logs) - total)
    mean = weights @ means
    variance = weights @ (np.array(variances) + np.array(means) ** 2) - mean**2
    exact = exact_posterior(ClutterModel(x, w, a, b))
    assert exact.mean == pytest.approx(mean, abs=1e-10)
    assert exact.scale == pytest.approx(np.sqrt(variance), abs=1e-10)
    assert exact.log_evidence == pytest.approx(total, abs=1e-10)


def test_simulated_data_follow_the_mixture() -> None:
    values, is_clutter = simulate(40_000, 2.0, 0.25, 9.0, seed=1)
    assert is_clutter.mean() == pytest.approx(0.25, abs=0.01)
    signal, clutter = values[~is_clutter], values[is_clutter]
    assert (signal.mean(), signal.std()) == pytest.approx((2, 1), abs=0.03)
    assert (clutter.mean(), clutter.std()) == pytest.approx((0, 3), abs=0.1)
