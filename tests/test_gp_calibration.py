"""The measurement of the calibration of `method=gp`: errors of left-out rows, and the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern, WhiteKernel

from bnnbench.report.blocks import MISSING


@pytest.fixture(autouse=True)
def _tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "docs" / "tools"))


@pytest.mark.parametrize("row", [0, 7])
def test_errors_of_left_out_rows_are_those_without_the_row(row: int) -> None:
    from gp_calibration import left_out_squares

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    process = GaussianProcessRegressor(Matern(1.5) + WhiteKernel(0.3), optimizer=None)
    whole = process.fit(x, y)
    found = left_out_squares(np.linalg.inv(whole.L_), whole.alpha_)[row]
    without = process.fit(np.delete(x, row, 0), np.delete(y, row))
    mean, deviation = without.predict(x[[row]], return_std=True)
    assert found == pytest.approx(((y[row] - mean[0]) / deviation[0]) ** 2, rel=1e-6)


@pytest.mark.parametrize(
    ("noise", "other", "shown"),
    [
        ((1e-4, 2e-4), (2.0, 4.0), ["1 of 2", "1.50 ± 0.55", "2.0 ± 1.1"]),
        ((1e-4, 1e-4), (np.nan, np.nan), ["2 of 2", "1.50 ± 0.55", MISSING]),
    ],
)
def test_the_table_has_a_row_for_each_data_set_and_bound(
    noise: tuple[float, float],
    other: tuple[float, float],
    shown: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import gp_calibration

    rows = pd.DataFrame(
        {"dataset": "yacht", "bound": 1e-4, "split": [0, 1], "test": [1.0, 2.0], "kernel_rows": 1.0,
         "other_rows": other, "coverage": 0.9, "log_likelihood": -1.0, "noise_variance": noise}
    )  # fmt: skip
    rows.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(gp_calibration, "PATH", tmp_path / "t.csv")
    (row,) = gp_calibration.gp_calibration().splitlines()[2:]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert [cells[2], cells[3], cells[5]] == shown
