"""Warnings about suspicious tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from bnnbench.data.own_table.columns.issues import Policy
from bnnbench.data.own_table.table_warnings import missing_codes, table_warnings
from bnnbench.data.splits import seeded_splits

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X.sum(1) + RNG.normal(size=200)


def warnings_about(inputs: np.ndarray, targets: np.ndarray) -> list[str]:
    names = [f"x{k}" for k in range(inputs.shape[1])]
    splits = seeded_splits(len(targets), 5, 0.1, 0)
    return table_warnings(names, inputs, "y", targets, splits)


def test_an_ordinary_table_has_no_warnings() -> None:
    assert warnings_about(X, Y) == []


def with_column(column: np.ndarray) -> np.ndarray:
    return np.column_stack([X, column])


@pytest.mark.parametrize(
    ("inputs", "targets", "words"),
    [
        (with_column(np.full(200, 3.0)), Y, "x3 is constant"),
        (with_column(np.full(200, np.nan)), Y, "x3 is constant"),
        (with_column(X[:, 1]), Y, "x3 duplicates x1"),
        (X, (Y > 0) * 1.0, "regression"),
        (X, np.where(Y > 0, 10.5, 20.25), "regression"),
        (X, np.exp(4 * Y), "orders of magnitude"),
        (X[:99], Y[:99], "only 99 rows"),
        (np.concatenate([X, X[:150]]), np.concatenate([Y, Y[:150]]), "150 rows are duplicates"),
        (np.repeat(X[:100], 2, 0)[99:], np.repeat(Y[:100], 2)[99:], "50 rows are duplicates"),
    ],
)
def test_warnings(inputs: np.ndarray, targets: np.ndarray, words: str) -> None:
    (only,) = warnings_about(inputs, targets)
    assert words in only and not only.endswith(".")


@pytest.mark.parametrize("copies", [1, 3])
def test_a_few_duplicates_are_no_warning(copies: int) -> None:
    rows = np.r_[np.arange(200), np.arange(200), :copies][200:]
    big, target = np.tile(X, (4, 1)) + np.arange(4).repeat(200)[:, None], np.tile(Y, 4)
    chosen = np.r_[:800, rows[-copies:]]
    assert warnings_about(big[chosen], target[chosen]) == []


def test_a_logarithm_is_not_offered_twice() -> None:
    splits = seeded_splits(len(Y), 5, 0.1, 0)
    assert table_warnings(["a", "b", "c"], X, "y", np.exp(4 * Y), splits, log_target=True) == []


@pytest.mark.parametrize(
    ("values", "warns"),
    [
        ([0, 1, 2], True),
        ([-1, 0, 1], True),
        ([3, 4, 5, 6, 8], True),
        ([1, 2, 3, 4, 5, 6], True),
        (range(10), True),
        (range(12), False),  # counts
        ([0.5, 1, 1.5], False),
        ([100, 200, 300], False),
        ([20, 40, 80, 160], False),
        (range(150), False),
    ],
)
def test_a_few_integers_may_be_classes(values: Sequence[float], warns: bool) -> None:
    targets = np.resize(np.array(values, float), 200)[RNG.permutation(200)]
    found = warnings_about(X, targets)
    assert any("regression" in warning for warning in found) == warns


def test_a_short_table_of_integers_has_no_classes() -> None:
    assert not any("regression" in text for text in warnings_about(X[:10], np.arange(10.0)))


POSITIVE = RNG.gamma(2.0, 50.0, 300).round(1)
AGES, LIKERT = RNG.integers(18, 90, 300), RNG.integers(1, 6, 300)


@pytest.mark.parametrize(
    ("values", "codes", "found"),
    [
        (POSITIVE, [-200], "-200"),
        (POSITIVE, [-999.9], "-999.9"),
        (POSITIVE - 100, [-9999], "-9999"),
        (POSITIVE - 100, [1e20], "1e+20"),
        (AGES, [-32768], "-32768"),
        (AGES, [999], "999"),
        (AGES, [998, 999], "998,999"),
        (AGES, [-9, -99], "-99,-9"),
        (AGES, [-1e6, 99999], "-1000000,99999"),
        (LIKERT, [99], "99"),
        (LIKERT == 1, [99], "99"),
        (LIKERT, [6], ""),
        (AGES, [91], ""),
        (AGES, [0], ""),
        (LIKERT == 1, [5], ""),  # three categories
        (np.log(POSITIVE), [], ""),
        (POSITIVE**3, [], ""),
        (AGES, [-1], "-1"),
        (50 + RNG.normal(size=300).round(1), [-99], "-99"),
        (RNG.integers(0, 40, 300), [9999], "9999"),
        (RNG.normal(20, 9, 300).round(1), [-200], "-200"),
        (20_000 + POSITIVE * 100, [1e30], "1e+30"),
        (LIKERT - 3, [], ""),
        (LIKERT - 3, [-3, 3], ""),
        (LIKERT - 1, [-1], ""),
        (LIKERT, [-1, 0], ""),
        (RNG.integers(0, 99, 300), [99], ""),  # scores up to 100
        (RNG.poisson(1.0, 300), [50], ""),
        (RNG.lognormal(3, 1.5, 300).round(), [], ""),
        (np.r_[RNG.normal(0, 1, 150), RNG.normal(99, 1, 150)].round(1), [], ""),
        (POSITIVE, [0], ""),  # no rain
    ],
)
def test_codes_of_missing_values_are_noticed(
    values: np.ndarray, codes: list[float], found: str
) -> None:
    column = np.concatenate([values, np.repeat(codes, 6)]).astype(float)
    warnings = missing_codes({"x": column}, Policy(missing_values=("?",)))
    assert [f"[?,{found}]" in warning for warning in warnings] == [True] * bool(found)
    rare = np.concatenate([np.tile(values, 10), np.repeat(codes, 6)]).astype(float)
    assert missing_codes({"x": rare} | {}, Policy()) == []


@pytest.mark.parametrize("values", [np.r_[RNG.integers(1, 6, 29), 99], np.r_[AGES[:29], -1]])
def test_a_single_value_is_no_code(values: np.ndarray) -> None:
    assert missing_codes({} | {"y": values.astype(float)}, Policy()) == []


def held_out_rmse(x: np.ndarray, y: np.ndarray, truth: np.ndarray) -> float:
    """Fit a line to the first two thirds of the rows and return its error in the others."""
    train = np.arange(len(truth)) < 2 * len(truth) // 3
    rows = train & ~np.isnan(y)
    x = np.where(np.isnan(x), np.nanmean(x[train]), x)
    line = np.polyfit(x[rows], y[rows], 1)
    return float(np.sqrt(np.mean((truth - np.polyval(line, x))[~train] ** 2)))


@pytest.mark.parametrize("seed", range(30))
def test_the_advice_on_codes_does_not_increase_the_error(seed: int) -> None:
    """Half of the columns have codes; the others are scales, counts, and values with outliers."""
    rng = np.random.default_rng(seed)
    scale = rng.choice([-3.0, -2, -1, 0, 1, 2, 3], 600, p=[0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.1])
    x = [scale, rng.integers(18, 90, 600) * 1.0, rng.poisson(1.0, 600) * 1.0,
         rng.normal(70, 10, 600).round(1), rng.lognormal(2, 1, 600).round(1)][seed % 5]  # fmt: skip
    truth = x + x.std() * rng.normal(size=600)
    code = [-99.0, -1.0, 99.0, -200.0, 9999.0][seed % 5] if seed % 2 else np.nan
    of_input, of_target = rng.random((2, 600)) < 0.1
    y = truth.round(1)
    if seed % 2:
        x, y = np.where(of_input, code, x), np.where(of_target, code, y)
    warned = missing_codes({"x": x} | {"y": y}, Policy())
    columns = [name for name in ("x", "y") if f" in {name} (" in " ".join(warned)]
    assert "x" in columns or not seed % 2
    assert not columns or seed % 2
    followed = [np.where(v == code, np.nan, v) if warned else v for v in (x, y)]
    assert held_out_rmse(*followed, truth) <= 1.02 * held_out_rmse(x, y, truth)


@pytest.mark.parametrize("copies", [[0], [0, 1], [0, 0, 2]])
def test_repeated_columns_get_one_warning(copies: list[int]) -> None:
    (only,) = warnings_about(np.column_stack([X, X[:, copies]]), Y)
    assert all(f"x{3 + k} duplicates x{of}" in only for k, of in enumerate(copies))
