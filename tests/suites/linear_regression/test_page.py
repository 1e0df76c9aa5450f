"""The run page of linear regression."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from support.runs import make_folder
from torch.distributions import MultivariateNormal

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.run_output import write_page
from bnnbench.suites.linear_regression import KIND, POINTS, POSTERIOR
from bnnbench.suites.linear_regression.experiment import mean_field, tabulate
from bnnbench.suites.linear_regression.page import (
    NAMES,
    PAGES,
    line_notes,
    line_table,
    posterior_figure,
)

TRUTH = (1.0, -0.7)


def posteriors(shift: float) -> dict[str, MultivariateNormal]:
    """Return an exact posterior, its mean-field optimum, and a learned one with a shifted mean."""
    precision = torch.tensor([[8.0, 3.0], [3.0, 4.0]]).double()
    exact = MultivariateNormal(torch.tensor(TRUTH).double(), precision_matrix=precision)
    scale = torch.diag(exact.variance.sqrt())
    learned = MultivariateNormal(exact.mean + shift, scale_tril=scale)
    return {"learned": learned, "mean field": mean_field(exact), "exact": exact}


def points() -> pd.DataFrame:
    return pd.DataFrame({"input": [0.0, 2.0], "target": [1.0, 0.0]})


def make_line_run(
    outputs: Path, shift: float = 0.1, truth: tuple[float, float] = TRUTH
) -> RunFolder:
    """Write a finished run."""
    names = {"experiment": "linear_regression", "dataset": "line", "method": "bbb"}
    names |= {"noise_precision": 4.0, "prior_precision": 1.0}  # type: ignore[dict-item]
    folder = make_folder(outputs, names, "v1", KIND)
    tabulate(posteriors(shift), truth).to_csv(folder.table(POSTERIOR), index=False)
    points().to_csv(folder.table(POINTS), index=False)
    return folder


def test_the_table_compares_learned_and_exact(tmp_path: Path) -> None:
    table = line_table(make_line_run(tmp_path))
    assert [row[0] for row in table.rows] == ["true weights", *(NAMES[n] for n in posteriors(0))]
    assert table.rows[0][1:3] == ("1", "-0.7")
    assert table.rows[3][3:] == ("-0.53", "0.0000")
    assert "noise precision 4.0 and prior precision 1.0" in table.caption
    unknown = line_table(make_line_run(tmp_path / "b", truth=(float("nan"), 0.0)))
    assert "true weights" not in [row[0] for row in unknown.rows]


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_distance_from_the_optimum_is_noted(tmp_path: Path, shift: float) -> None:
    notes = line_notes(make_line_run(tmp_path, shift))
    assert len(notes) == 2 and "mean-field optimum" in notes[0] and "not converged" in notes[-1]


@pytest.mark.slow
def test_the_figure_is_written(tmp_path: Path) -> None:
    folder = make_line_run(tmp_path)
    assert write_page(folder) == []
    assert set(PAGES[0].figures(folder)) == set(PAGES[0].captions)
    for suffix in ("png", "pdf"):
        assert folder.figure("posterior", suffix).stat().st_size > 5000


def test_ellipses_and_bands_match_the_posteriors() -> None:
    given = posteriors(0.1)
    figure = posterior_figure(tabulate(given, TRUTH), points())
    plane = next(axes for axes in figure.axes if "slope" in axes.get_ylabel())
    lines = next(axes for axes in figure.axes if axes.get_ylabel() == "y")
    rings = [line for line in plane.lines if len(line.get_xdata()) == 200]
    for k, name in enumerate(NAMES):
        q = given[name]
        for ring, radius in zip(rings[2 * k : 2 * k + 2], (1.0, 2.0), strict=True):
            away = torch.from_numpy(np.stack(ring.get_data(), 1)) - q.mean
            square = (away @ q.precision_matrix * away).sum(1)
            torch.testing.assert_close(square, torch.full_like(square, radius**2))
    band = lines.collections[0].get_paths()[0].vertices
    at_end = band[np.isclose(band[:, 0], 3.0), 1]  # half the data's width beyond the data
    design = torch.tensor([1.0, 3.0]).double()
    spread = 4 * (design @ given["exact"].covariance_matrix @ design).sqrt()
    assert np.ptp(at_end) == pytest.approx(spread.item())
    without = posterior_figure(tabulate(given, (float("nan"), float("nan"))), points())
    assert len(without.legends[0].get_texts()) == len(figure.legends[0].get_texts()) - 2
