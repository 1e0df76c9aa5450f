"""Standardisation by the statistics of each training part, compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from support.tables import standardised

from bnnbench.preprocessing import pad, real_rows

CPU = torch.device("cpu")
RNG = np.random.default_rng(0)


def test_each_part_is_scaled_by_its_own_statistics() -> None:
    inputs = [RNG.normal(3, 2, size=(n, 2)) for n in (5, 8)]
    targets = [RNG.normal(-1, 4, size=n) for n in (5, 8)]
    data, scaler = standardised(inputs, targets, (0, 0))
    assert data.inputs.shape == (2, 8, 2) and data.counts == (5, 8)
    for r, n in enumerate((5, 8)):
        expected = (inputs[r] - inputs[r].mean(0)) / inputs[r].std(0)
        np.testing.assert_allclose(data.inputs[r, :n], expected)
    assert not data.inputs[0, 5:].any() and not data.targets[0, 5:].any()
    shift, scale = scaler.target_units()
    np.testing.assert_allclose(shift[0] + scale[0] * data.targets[0, :5], targets[0])


UNITS = (1e-90, 1e-30, 1e-13, 1.0, 1e13, 1e30, 1e90)


@pytest.mark.parametrize("unit", UNITS)
def test_units_do_not_matter(unit: float) -> None:
    inputs, targets = RNG.normal(3, 2, size=(20, 2)), RNG.normal(-1, 4, size=20)
    inputs[3, 0] = np.nan
    parts = [standardised([inputs * u], [targets * u], (0,)) for u in (1, unit)]
    for one, other in zip(*([data.inputs, data.targets] for data, _ in parts), strict=True):
        torch.testing.assert_close(one, other)
    loc, scale = (float(part) for part in parts[1][1].target_units())
    assert (loc / unit, scale / unit) == pytest.approx((targets.mean(), targets.std()))


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "constant",
    [
        np.full((50, 1), 0.1) * 3,  # sums of this leave rounding noise in the deviation
        np.full((50, 1), 1 / 3),
        7 + 1e-14 * RNG.normal(size=(50, 1)),
        np.zeros((50, 1)),
    ],
)
def test_constant_columns_are_ignored(constant: np.ndarray, unit: float) -> None:
    data, scaler = standardised([constant * unit], [np.arange(50.0)], (0,))
    assert not data.inputs.any() and not scaler.inputs([constant * unit + 5 * unit]).any()


@pytest.mark.parametrize(("value", "scale"), [(0.0, 1.0), (-3e-20, 3e-20), (5e20, 5e20)])
def test_constant_targets_have_the_scale_of_their_size(value: float, scale: float) -> None:
    _, scaler = standardised([np.arange(9.0)[:, None]], [np.full(9, value)], (0,))
    assert scaler.target_scale[0] == pytest.approx(scale)


def test_missing_values_are_imputed_like_scikit_learn() -> None:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    inputs = np.where(RNG.random((40, 5)) < 0.3, np.nan, RNG.normal(3, 2, size=(40, 5)))
    inputs[:, 4] = np.nan  # a column without any value
    data, scaler = standardised([inputs], [RNG.normal(size=40)], (0,))
    theirs = make_pipeline(StandardScaler(), SimpleImputer()).fit(inputs[:, :4])
    np.testing.assert_allclose(data.inputs[0, :, :4], theirs.transform(inputs[:, :4]), atol=1e-12)
    assert not data.inputs[0, :, 4].any()
    new = np.where(RNG.random((9, 5)) < 0.5, np.nan, 7.0)
    np.testing.assert_allclose(
        scaler.inputs([new])[0, :, :4], theirs.transform(new[:, :4]), atol=1e-12
    )


def test_padding_is_masked() -> None:
    arrays = [np.ones((2, 3)), np.ones((4, 3))]
    assert pad(arrays).sum((1, 2)).tolist() == [6, 12]
    assert real_rows(arrays).tolist() == [[True, True, False, False], [True] * 4]
