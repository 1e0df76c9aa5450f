"""Which splits have chains that disagree."""

from __future__ import annotations

import math

import pandas as pd

from bnnbench.results.mixing import R_HAT, told, unmixed


def test_splits_are_told_by_the_r_hat_of_95_percent_of_their_points() -> None:
    splits = pd.DataFrame({"split": [0, 1, 2, 7], R_HAT: [1.0, 1.05, 1.051, math.nan]})
    assert told(splits) and unmixed(splits) == [2, 7]


def test_of_other_methods_nothing_is_said() -> None:
    for splits in (
        pd.DataFrame({"split": [0, 1]}),
        pd.DataFrame({"split": [0, 1], R_HAT: [math.nan, math.nan]}),
    ):
        assert not told(splits) and unmixed(splits) == []
