"""The t-test behind claims about means."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from bnnbench.results.claims import CLAIM_LEVEL, NotTestable, check_positive


@pytest.mark.parametrize("shift", [-1.0, 0.3, 0.6, 1.0])
def test_a_claim_needs_a_significant_mean(shift: float) -> None:
    values = pd.Series(np.random.default_rng(0).normal(shift, size=12))
    expected = 1 - ttest_1samp(values, 0, alternative="greater").pvalue
    holds, evidence = check_positive(values, "features", "AUROC of a - b")
    assert holds == (expected > CLAIM_LEVEL) and f"P = {expected:.3f}" in evidence


@pytest.mark.parametrize(("value", "holds"), [(0.1, True), (0.0, False), (-0.1, False)])
def test_equal_values_confirm_a_claim_only_if_positive(value: float, holds: bool) -> None:
    assert check_positive(pd.Series([value] * 4), "features", "AUROC of a - b")[0] is holds


def test_two_values_are_too_few() -> None:
    with pytest.raises(NotTestable):
        check_positive(pd.Series([1.0, 2.0, np.nan]), "features", "AUROC of a - b")
