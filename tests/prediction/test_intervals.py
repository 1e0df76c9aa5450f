"""Conformal intervals."""

from __future__ import annotations

import numpy as np
import pytest
from support.user_errors import assert_user_error

from bnnbench.prediction.intervals import conformal_half_width
from bnnbench.types import UserError


def test_conformal_half_widths() -> None:
    scores = np.arange(1.0, 20)
    assert conformal_half_width(scores, 0.9) == 18
    assert conformal_half_width(scores, 0.5) == 10
    assert conformal_half_width(np.arange(1.0, 100), 0.55) == 55, "100 * 0.55 is above 55 in floats"
    with pytest.raises(UserError) as error:
        conformal_half_width(scores, 0.99)
    assert_user_error(error, "--interval", "few_rows")
    assert "0.950" in str(error.value)


def test_conformal_intervals_have_their_guarantee() -> None:
    """Over many draws of 19 held-out scores, at least 90 % of new ones are inside."""
    rng = np.random.default_rng(0)
    widths = [conformal_half_width(rng.exponential(size=19), 0.9) for _ in range(4000)]
    inside = rng.exponential(size=4000) <= widths
    assert 0.89 < inside.mean() < 0.915
