"""R-hat and effective sizes of series whose answer is known, and summaries over points."""

from __future__ import annotations

import torch

from bnnbench.methods.shared.hmc.diagnostics import NAMES, diagnosis, mixing


def independent(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_independent_draws_count_in_full_and_agree() -> None:
    found = mixing(independent(4, 500, 3))
    assert (found["r_hat"] < 1.01).all()
    assert (found["bulk_ess"] > 1500).all() and (found["tail_ess"] > 1300).all()


def test_correlated_draws_count_less() -> None:
    """Of an autoregression with 0.8, (1 - 0.8) / (1 + 0.8) of them."""
    series = independent(4, 4000)
    for k in range(1, series.shape[1]):
        series[:, k] = 0.8 * series[:, k - 1] + 0.6 * series[:, k]
    assert 0.8 < mixing(series)["bulk_ess"].item() / (16000 / 9) < 1.2


def test_chains_that_disagree_are_told_by_place_or_by_width() -> None:
    apart, wide = independent(4, 500), independent(4, 500)
    apart[0] += 1
    wide[0] *= 4
    assert mixing(apart)["r_hat"] > 1.05 and mixing(wide)["r_hat"] > 1.05


def test_what_cannot_be_told_is_nan() -> None:
    for series in (independent(1, 100, 2), independent(4, 3, 2), torch.zeros(4, 100, 2)):
        assert all(mixing(series)["r_hat"].isnan())


def test_a_summary_speaks_of_95_percent_of_a_replicas_own_points() -> None:
    """Of 40 points the worst two may be worse; padding is no point."""
    predicted = independent(4, 200, 2, 41)
    predicted[0, :, 0, :2] += 5
    predicted[0, :, 1, :3] += 5
    predicted[0, :, :, 40] += 50
    found = diagnosis(predicted, [40, 40])
    assert {*found.points} == {*found.summary} == {*NAMES}
    assert found.points["r_hat"].shape == (2, 41)
    assert found.summary["r_hat"][0] < 1.2 < found.summary["r_hat"][1]
    assert found.summary["bulk_ess"][0] > found.summary["bulk_ess"][1]
