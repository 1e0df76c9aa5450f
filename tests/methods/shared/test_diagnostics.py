"""R-hat and effective sample sizes of series with known values, and summaries over points."""

from __future__ import annotations

import pytest
import torch

from bnnbench.methods.shared.chains import (
    NAMES,
    convergence_diagnostics,
    diagnose_predictions,
)


def independent(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_independent_draws_are_effective_and_mixed() -> None:
    found = convergence_diagnostics(independent(4, 500, 3))
    assert (found["r_hat"] < 1.01).all()
    assert (found["bulk_ess"] > 1500).all() and (found["tail_ess"] > 1300).all()


def test_correlated_draws_are_less_effective() -> None:
    """An autoregression with coefficient 0.8 has the efficiency (1 - 0.8) / (1 + 0.8)."""
    series = independent(4, 4000)
    for k in range(1, series.shape[1]):
        series[:, k] = 0.8 * series[:, k - 1] + 0.6 * series[:, k]
    assert 0.8 < convergence_diagnostics(series)["bulk_ess"].item() / (16000 / 9) < 1.2


def test_r_hat_detects_different_locations_and_scales() -> None:
    apart, wide = independent(4, 500), independent(4, 500)
    apart[0] += 1
    wide[0] *= 4
    assert (
        convergence_diagnostics(apart)["r_hat"] > 1.05
        and convergence_diagnostics(wide)["r_hat"] > 1.05
    )


@pytest.mark.parametrize(
    "series",
    [
        independent(1, 100, 2),
        independent(4, 3, 2),
        torch.zeros(4, 100, 2),
        torch.full((4, 100, 2), 1 / 3),
        independent(4, 100, 2).where(independent(4, 100, 2) < 2, torch.nan),
    ],
)
def test_undefined_diagnostics_are_nan(series: torch.Tensor) -> None:
    found = convergence_diagnostics(series)
    assert all(found[name].isnan().all() for name in NAMES)


@pytest.mark.parametrize("unit", [2.0**-600, 2.0**-70, 2.0**70])
def test_diagnostics_do_not_depend_on_the_unit(unit: float) -> None:
    one, other = (convergence_diagnostics(independent(4, 100, 3) * u) for u in (1, unit))
    for name in NAMES:
        torch.testing.assert_close(one[name], other[name])


@pytest.mark.parametrize(("stuck", "converged"), [(0, True), (1, True), (3, False), (200, False)])
def test_points_without_diagnostics_are_not_met(stuck: int, converged: bool) -> None:
    predicted = independent(4, 100, 1, 200)
    predicted[..., :stuck] = 1.0
    summary = diagnose_predictions(predicted, [200]).summary
    assert all(summary[name].isfinite().all() == converged for name in NAMES)


@pytest.mark.slow
def test_summary_covers_99_percent_of_a_replicas_points() -> None:
    """Two of 200 points may be worse; padding does not count."""
    predicted = independent(4, 200, 2, 201)
    predicted[0, :, 0, :2] += 5
    predicted[0, :, 1, :3] += 5
    predicted[0, :, :, 200] += 50
    found = diagnose_predictions(predicted, [200, 200])
    assert {*found.points} == {*found.summary} == {*NAMES}
    assert found.points["r_hat"].shape == (2, 201)
    assert found.summary["r_hat"][0] < 1.2 < found.summary["r_hat"][1]
    assert found.summary["bulk_ess"][0] > found.summary["bulk_ess"][1]
