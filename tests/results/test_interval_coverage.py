"""Shares of targets inside deviations, where targets are quantiles of a Gaussian."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from support.made_data import calibrated

from bnnbench.results.interval_coverage import ONE_SIGMA, inside, sigma_table


def test_shares_inside_deviations() -> None:
    steps = np.array([1.0, 2.0])
    want = norm.cdf(steps) - norm.cdf(-steps)
    np.testing.assert_allclose(inside(calibrated(1.0), steps), want, atol=0.01)
    assert inside(calibrated(2.0), steps)[0] == pytest.approx(want[1], abs=0.01)
    too_sure, honest = sigma_table([calibrated(0.5), calibrated(1.0)]).to_dict("records")
    assert too_sure["difference"] == pytest.approx(ONE_SIGMA - 0.383, abs=0.01)
    assert too_sure["low_excess"] < -0.1 and abs(honest["low_excess"]) < 0.01
    assert too_sure["points"] == 101
