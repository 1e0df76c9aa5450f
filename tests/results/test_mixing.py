"""Splits whose chains have not converged."""

from __future__ import annotations

import math

import pandas as pd

from bnnbench.results.reader import R_HAT, unmixed_splits


def test_splits_are_judged_by_the_95th_percentile_of_r_hat() -> None:
    splits = pd.DataFrame({"split": [0, 1, 2, 7], R_HAT: [1.0, 1.05, 1.051, math.nan]})
    assert unmixed_splits(splits) == [2, 7]


def test_methods_without_r_hat_have_no_unmixed_splits() -> None:
    splits = pd.DataFrame({"split": [0, 1]})
    assert unmixed_splits(splits) == unmixed_splits(splits.assign(**{R_HAT: math.nan})) == []
