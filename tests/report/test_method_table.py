"""The table of the methods that `recommend` compared."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bnnbench.report.method_table import method_table


def test_each_method_has_scores_coverage_seconds_and_outcome() -> None:
    numbers = {"log_likelihood": -1.5, "log_likelihood_stderr": 0.05, "rmse": 2.0}
    rows = pd.DataFrame({"method": ["gp", "pbp"], **numbers, "rmse_stderr": 0.1})
    rows = rows.assign(
        coverage_90=[0.915, np.nan], seconds=[12.34, 0.071], outcome=["best", "undecided"]
    )
    assert method_table(rows.set_index("method")).rows == (
        ("gp", "-1.500 ± 0.050", "2.00 ± 0.10", "91.5%", "12", "best"),
        ("pbp", "-1.500 ± 0.050", "2.00 ± 0.10", "–", "0.071", "undecided"),  # noqa: RUF001
    )
