"""The data set that is bundled with scikit-learn."""

from __future__ import annotations

import numpy as np
from support.tables import assert_valid_splits, configured_source

from bnnbench.data.bundled import Diabetes


def test_diabetes() -> None:
    source, _ = configured_source("diabetes")
    table = source.load()
    assert table.inputs.shape == (442, 10) and len(table.features) == 10
    assert table.targets[:3].tolist() == [151.0, 75.0, 141.0]
    assert table.inputs[0, :3].tolist() == [59.0, 2.0, 32.1]  # original units, not scaled
    assert_valid_splits(table, 20)
    assert {len(split.test) for split in table.splits} == {44}
    other = Diabetes(split_seed=1).load()
    assert not np.array_equal(table.splits[0].test, other.splits[0].test)
