"""Conformal intervals, for rows and for rows in groups."""

from __future__ import annotations

import numpy as np
import pytest
from support.user_errors import assert_user_error

from bnnbench.prediction.intervals import conformal_half_width
from bnnbench.types import UserError

ROWS = np.arange(99)


def half_width(scores: np.ndarray, level: float) -> float:
    return conformal_half_width(scores, ROWS[: len(scores)], level)


def test_conformal_half_widths() -> None:
    scores = np.arange(1.0, 20)
    assert half_width(scores, 0.9) == 18
    assert half_width(scores, 0.5) == 10
    assert half_width(np.arange(1.0, 100), 0.55) == 55, "100 * 0.55 is above 55 in floats"
    with pytest.raises(UserError) as error:
        half_width(scores, 0.99)
    assert_user_error(error, "--interval", "few_rows")
    assert "0.950" in str(error.value)


def test_groups_have_equal_weights() -> None:
    """Of nine groups, the large one counts as much as the others."""
    groups = np.repeat(np.arange(9), [92, *[1] * 8])
    scores = np.where(groups == 0, 0.0, groups)
    assert conformal_half_width(scores, groups, 0.1) == 0
    assert conformal_half_width(scores, groups, 0.2) == 1
    assert conformal_half_width(scores, groups, 0.9) == 8


def test_groups_cover_rows_of_new_groups() -> None:
    """Rows of one group share a deviation; as rows of their own they promise too much."""
    rng, groups = np.random.default_rng(0), np.repeat(np.arange(12), 8)
    inside: list[tuple[bool, bool]] = []
    for _ in range(2000):
        scores = np.abs(rng.standard_normal(13)[np.append(groups, 12)] + 0.3 * rng.normal(size=97))
        widths = (
            conformal_half_width(scores[:96], groups, 0.9),
            half_width(scores[:96], 0.9),
        )
        inside.append((bool(scores[96] <= widths[0]), bool(scores[96] <= widths[1])))
    by_group, by_row = np.mean(inside, axis=0)
    assert 0.9 - 0.02 < by_group < 0.96
    assert by_row < by_group - 0.02
