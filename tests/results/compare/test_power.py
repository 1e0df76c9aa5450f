"""Power and level of the correlated t-test, by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import f
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import cross_val_predict

from bnnbench.results.compare.power import (
    POWER,
    detectable_differences,
    repetitions_needed,
    splits_needed,
    trials_needed,
    variances_needed,
)
from bnnbench.results.compare.significance import SIGNIFICANCE_LEVEL, holm, interval_and_p

REPLICATES = 20_000
TOLERANCE = 0.01


def pairs_of(differences: np.ndarray, rho: float) -> pd.DataFrame:
    """Return a row of pairs for each row of `differences`, `[R, S]`."""
    return pd.DataFrame({
        "splits": differences.shape[1], "difference": differences.mean(1),
        "std": differences.std(1, ddof=1), "rho": rho,
    })  # fmt: skip


def correlated(splits: int, rho: float, replicates: int = REPLICATES) -> np.ndarray:
    """Draw normal differences with mean 0, variance 1 and correlation `rho`, `[R, S]`."""
    random = np.random.default_rng(0)
    common = random.standard_normal((replicates, 1))
    own = random.standard_normal((replicates, splits))
    return np.sqrt(rho) * common + np.sqrt(1 - rho) * own


def random_splits(random: np.random.Generator, replicates: int) -> np.ndarray:
    """Return masks of the 10 test rows of 20 random splits of 100 rows, `[R, 20, 100]`."""
    order = random.random((replicates, 20, 100), dtype=np.float32).argsort(-1)
    return order < 10


def half_width_and_p(pairs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return half the width of the interval of each pair, and its p-value."""
    columns = (pairs[name].to_numpy(float) for name in ("difference", "std", "splits", "rho"))
    return interval_and_p(*columns)


def rejection_rate(differences: np.ndarray, rho: float) -> float:
    return float((half_width_and_p(pairs_of(differences, rho))[1] < SIGNIFICANCE_LEVEL).mean())


@pytest.mark.parametrize(("splits", "rho"), [(5, 0.1), (20, 0.1), (20, 0.3)])
def test_level_and_power_under_the_assumed_correlation(splits: int, rho: float) -> None:
    null = correlated(splits, rho)
    assert rejection_rate(null, rho) == pytest.approx(SIGNIFICANCE_LEVEL, abs=TOLERANCE)
    # `std` is the deviation within a data set, whose square has the expectation 1 - rho.
    known = pairs_of(null[:1], rho).assign(std=np.sqrt(1 - rho))
    detected = null + detectable_differences(known).item()
    assert rejection_rate(detected, rho) == pytest.approx(POWER, abs=TOLERANCE)
    pairs = pairs_of(null, rho)
    covered = (pairs["difference"].abs() <= half_width_and_p(pairs)[0]).mean()
    assert covered == pytest.approx(1 - SIGNIFICANCE_LEVEL, abs=TOLERANCE)


BATCHES = [3, pytest.param(10, marks=pytest.mark.slow)]
"""Numbers of batches of 2000 or 4000 data sets; 6000 have a standard error of 0.3 %."""


@pytest.mark.slow
@pytest.mark.parametrize("batches", BATCHES)
def test_the_level_holds_on_resampled_rows_of_equal_predictors(batches: int) -> None:
    """Data sets are resampled from centred differences of squared errors on real rows."""
    inputs, targets = load_diabetes(return_X_y=True)
    errors = [
        (cross_val_predict(model, inputs, targets) - targets) ** 2
        for model in (LinearRegression(), Ridge(1.0))
    ]
    difference = errors[0] - errors[1]
    random, replicates = np.random.default_rng(2), 4000
    rates = []
    for _ in range(batches):
        sample = random.choice(difference - difference.mean(), (replicates, 100))
        means = np.einsum("rsn,rn->rs", random_splits(random, replicates), sample) / 10
        rates.append(rejection_rate(means, 0.1))
    assert np.mean(rates) == pytest.approx(SIGNIFICANCE_LEVEL, abs=TOLERANCE)


@pytest.mark.slow
@pytest.mark.parametrize("batches", BATCHES)
def test_the_level_holds_for_methods_trained_on_every_split(batches: int) -> None:
    """Two regressions use exchangeable halves of the inputs, so neither is better."""
    random, replicates = np.random.default_rng(3), 2000
    rates = []
    for _ in range(batches):
        inputs = random.standard_normal((replicates, 100, 4))
        targets = inputs.sum(-1) + random.standard_normal((replicates, 100))
        test = random_splits(random, replicates).astype(float)
        losses = [
            squared_losses(half, targets, test) for half in (inputs[..., :2], inputs[..., 2:])
        ]
        rates.append(rejection_rate(losses[0] - losses[1], 0.1))
    assert np.mean(rates) == pytest.approx(SIGNIFICANCE_LEVEL, abs=TOLERANCE)


def squared_losses(inputs: np.ndarray, targets: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return the mean squared test error of least squares on every split, `[R, S]`."""
    train = 1 - test
    gram = np.einsum("rsn,rni,rnj->rsij", train, inputs, inputs, optimize=True)
    moments = np.einsum("rsn,rni,rn->rsi", train, inputs, targets, optimize=True)
    weights = np.linalg.solve(gram, moments[..., None])[..., 0]
    errors = (np.einsum("rsi,rni->rsn", weights, inputs) - targets[:, None]) ** 2
    return (errors * test).sum(-1) / test.sum(-1)


def test_without_its_correction_the_level_would_not_hold() -> None:
    assert rejection_rate(correlated(20, 0.1), rho=0.0) > 0.2


def test_splits_needed_is_the_smallest_number_that_detects_the_difference() -> None:
    effects = np.array([0.9, 0.95, 1.1, 1.3, 5.0, 0.0])
    pairs = pd.DataFrame({"difference": -effects, "std": 1.0, "rho": 0.1})
    needed = splits_needed(pairs)
    assert needed.tolist()[0] == np.inf and needed.tolist()[-1] == np.inf
    finite = pairs[np.isfinite(needed)].assign(splits=needed[np.isfinite(needed)].astype(int))
    assert (detectable_differences(finite) <= finite["difference"].abs()).all()
    more = finite[finite["splits"] > 3]
    fewer = more.assign(splits=more["splits"] - 1)
    assert len(more) >= 3 and (detectable_differences(fewer) > more["difference"].abs()).all()


def test_the_difference_that_no_number_of_splits_detects() -> None:
    """The standard error tends to `std / 3` for a tenth of the rows: 2.80 / 3 = 0.934."""
    pairs = pd.DataFrame({"difference": [0.93, 0.935], "std": 1.0, "rho": 0.1})
    never, late = splits_needed(pairs)
    assert np.isinf(never) and 1000 < late < 10_000


def test_identical_scores_need_no_splits_and_have_no_p_value_below_one() -> None:
    pairs = pd.DataFrame({"difference": [0.0, 1.0], "std": 0.0, "rho": 0.1, "splits": 20})
    assert half_width_and_p(pairs)[1].tolist() == [1, 0]
    assert splits_needed(pairs).tolist() == [np.inf, 3]


@pytest.mark.parametrize("effect", [0.02, 0.5, 1.0, 3.0, 40.0])
def test_independent_repetitions_are_splits_without_correlation(effect: float) -> None:
    pairs = pd.DataFrame({"difference": [-effect], "std": 1.0, "rho": 0.0})
    assert max(3, repetitions_needed(effect)) == splits_needed(pairs).item()
    assert max(3, repetitions_needed(effect, 0.01)) == splits_needed(pairs, 0.01).item()
    assert repetitions_needed(effect, 0.01) >= repetitions_needed(effect)


def test_what_is_equal_is_never_decided() -> None:
    assert repetitions_needed(0.0) == variances_needed(1.0) == trials_needed(0.3, 0.3) == np.inf
    assert 1000 < variances_needed(1.1) < trials_needed(0.501, 0.5) < np.inf


@pytest.mark.parametrize(("ratio", "level"), [(4.0, 0.05), (20.0, 0.05), (9.0, 0.01)])
def test_the_number_that_compares_variances_has_the_power(ratio: float, level: float) -> None:
    random, needed = np.random.default_rng(0), int(variances_needed(ratio, level))

    def power(size: int) -> float:
        first, second = random.normal(size=(2, REPLICATES, size)).var(-1, ddof=1)
        return float((ratio * first / second > f.ppf(1 - level / 2, size - 1, size - 1)).mean())

    assert power(needed) > POWER - TOLERANCE > power(needed - 1) - 2 * TOLERANCE


def test_holm_adjusts_in_steps_and_keeps_the_order() -> None:
    adjusted = holm(np.array([0.03, 0.01, 0.02, 0.9]))
    np.testing.assert_allclose(adjusted, [0.06, 0.04, 0.06, 0.9])
    assert holm(np.array([0.6, 0.7])).tolist() == [1, 1] and holm(np.array([])).size == 0


def test_holm_keeps_the_familywise_level() -> None:
    random = np.random.default_rng(4)
    p = random.random((20_000, 10))
    false = np.mean([holm(row).min() < SIGNIFICANCE_LEVEL for row in p[:4000]])
    assert false == pytest.approx(SIGNIFICANCE_LEVEL, abs=TOLERANCE)
