"""Coverage of intervals of k standard deviations, on quantiles of a Gaussian."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from support.synthetic_data import calibrated

from bnnbench.report.sections.interval_coverage import ONE_SIGMA, coverage_of_curve, sigma_table


def test_coverage_of_known_quantiles() -> None:
    steps = np.array([1.0, 2.0])
    expected = norm.cdf(steps) - norm.cdf(-steps)
    np.testing.assert_allclose(coverage_of_curve(calibrated(1.0), steps), expected, atol=0.01)
    assert coverage_of_curve(calibrated(2.0), steps)[0] == pytest.approx(expected[1], abs=0.01)
    overconfident, perfect = sigma_table([calibrated(0.5), calibrated(1.0)]).to_dict("records")
    assert overconfident["difference"] == pytest.approx(ONE_SIGMA - 0.383, abs=0.01)
    assert overconfident["small_interval_excess"] < -0.1
    assert abs(perfect["small_interval_excess"]) < 0.01
    assert overconfident["points"] == 101
