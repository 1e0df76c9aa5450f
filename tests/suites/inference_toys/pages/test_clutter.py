"""Claims about the variance of ADF and EP over simulated data sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.decisions import settled

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.suites.inference_toys import clutter as experiment
from bnnbench.suites.inference_toys.pages.clutter import overestimates_variance

DATA_SETS = 50


@pytest.mark.parametrize(
    ("larger", "holds"),
    [
        ((50, 48), True),
        ((48, 24), None),  # as often larger as smaller with the second size
        ((33, 33), None),  # p 0.033 alone, not after Holm's correction
        ((34, 34), True),
        ((48, 2), False),
    ],
)
def test_a_variance_is_overestimated_in_significantly_more_than_half_of_the_data_sets(
    larger: tuple[int, int], holds: bool | None
) -> None:
    sizes = (20, 200)
    rows = [
        {"observations": size, "exact": 1.0, "ep": 1.0 + (k < count) - 0.5}
        for size, count in zip(sizes, larger, strict=True)
        for k in range(DATA_SETS)
    ]
    points = pd.DataFrame({"observations": np.repeat(sizes, sizes)})
    empty = {name: pd.DataFrame({"observations": []}) for name in experiment.NUMBERS}
    own = {experiment.DATA_SETS: pd.DataFrame(rows), experiment.POINTS: points}
    answers = {ANSWERS: pd.DataFrame({"setting": []})}
    run = SavedRun(RunFolder(Path()), empty | own | answers)
    assert settled(overestimates_variance(run, "ep")[0]) is holds
