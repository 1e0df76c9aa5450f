"""Columns from which a target was computed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3

from bnnbench.data.bundled import N_SPLITS, read_table
from bnnbench.data.own_table.columns.exact_relations import determining_columns

N = 400
RNG = np.random.default_rng(0)
NET, TAX = RNG.gamma(2, 100, N).round(2), RNG.gamma(2, 15, N).round(2)
MARKS = RNG.integers(0, 40, (N, 3)).astype(float)
MONTHS = RNG.gamma(2, 50, (N, 12)).round(2)
KM, HOURS = RNG.uniform(1, 100, N).round(1), RNG.uniform(0.2, 4, N).round(2)
FORCE = RNG.normal(0, 5, N).round(2)
OTHERS = {f"z{k}": RNG.normal(size=N).round(3) for k in range(4)}
KINDS = np.eye(5)[RNG.integers(0, 5, N)]
NOISE = RNG.normal(size=N)

Columns = Mapping[str, np.ndarray]


def columns_of(columns: Columns, targets: np.ndarray, others: Columns = OTHERS) -> set[str]:
    """Return what determines the target; the name of a feature begins with that of its column."""
    table = {**others, **columns}
    names = [name.partition("=")[0] for name in table]
    return {*determining_columns(np.column_stack([*table.values()]), targets, names)}


@pytest.mark.parametrize(
    ("columns", "targets"),
    [
        ({"net": NET, "tax": TAX}, NET + TAX),
        ({"net": NET, "tax": TAX, "cents": 100 * NET}, 1.1 * NET - 0.3 * TAX + 7),
        ({"a": NET, "b": TAX, "c": KM}, ((NET + TAX + KM) / 3).round(1)),
        ({f"m{k}": month for k, month in enumerate(MONTHS.T)}, MONTHS.sum(1).round(2)),
        ({"a": MARKS[:, 0], "b": MARKS[:, 1], "c": MARKS[:, 2]}, MARKS.sum(1)),
        ({"a": NET, "b": TAX}, (NET + TAX).round(-1)),
        ({"km": KM, "hours": HOURS}, (KM / HOURS).round(2)),
        ({"km": KM, "hours": HOURS}, (3.6 * KM / HOURS).round()),
        ({"m": HOURS, "v": KM}, 0.5 * HOURS * KM**2),
        ({"force": FORCE, "arm": HOURS}, (FORCE * HOURS).round(2)),  # of either sign
        ({"a": np.where(NOISE > 1, np.nan, NET), "b": TAX}, (NET - TAX).round(2)),
        ({"x": FORCE + 0.005}, (FORCE + 0.005) ** 2),
        ({"treated": (NOISE > -0.5) * 1.0, "week": HOURS}, (NOISE > -0.5) * HOURS),
        (
            {"extra": TAX, **{f"kind={k}": kind for k, kind in enumerate(KINDS.T)}},
            (KINDS @ [10, 25, 17, 50, 31] + TAX).round(2),
        ),
    ],
)
def test_arithmetic_is_found_with_the_columns_that_take_part(
    columns: Columns, targets: np.ndarray
) -> None:
    expected = {name.partition("=")[0] for name in columns} - {"cents"}
    found = columns_of(columns, targets)
    assert {"net" if name == "cents" else name for name in found} == expected


def with_gaps(count: int, rows: int) -> dict[str, np.ndarray]:
    gaps = np.random.default_rng(1).random((count, rows)) < 0.3
    return {f"z{k}": np.where(gap, np.nan, gap + NOISE[:rows]) for k, gap in enumerate(gaps)}


WIDE = {f"z{k}": column for k, column in enumerate(np.random.default_rng(1).normal(size=(100, N)))}
WEIGHT, DAYS, GRAINS = KM + 20, HOURS + 20, RNG.integers(10, 60, N)
TRAITS = {
    "z0": np.exp(np.log(WEIGHT * GRAINS) + 1e-4 * NOISE),
    "z1": GRAINS * 1.0,
    "z2": WEIGHT + NOISE,
}


@pytest.mark.parametrize(
    ("rows", "others"), [(60, with_gaps(3, 60)), (400, with_gaps(20, N)), (30, WIDE), (400, TRAITS)]
)
@pytest.mark.parametrize(
    "targets",
    [
        (WEIGHT / DAYS).round(2),
        WEIGHT / DAYS * 1e-9,
        (3 * WEIGHT - DAYS).round(1),
        (DAYS * WEIGHT).round(),
    ],
)
def test_gaps_and_related_columns_hide_no_arithmetic(
    targets: np.ndarray, rows: int, others: Columns
) -> None:
    table = {**others, "weight": WEIGHT, "days": DAYS}
    cut = {name: values[:rows] for name, values in table.items()}
    assert columns_of(cut, targets[:rows], {}) == {"weight", "days"}


def noisy(values: np.ndarray, r2: float) -> np.ndarray:
    return values + values.std() * np.sqrt(1 / r2 - 1) * NOISE


@pytest.mark.parametrize(
    "targets",
    [
        noisy(NET + TAX, 0.95),
        noisy(NET + TAX, 0.999),
        noisy(NET + TAX, 0.999).round(),
        noisy(NET + TAX, 0.9999).round(2),
        KM / HOURS * np.exp(0.01 * NOISE),
        1 + 2 * HOURS + 0.5 * HOURS**2 - 0.1 * HOURS**3 + 0.1 * NOISE,
        np.sin(KM / 10) + HOURS,
        NET + 1e4 * (NOISE > 2.9) + NOISE,  # a few values far outside the others
        (NOISE > 0) * 1.0,
        (np.arange(N) == 200) * 1.0,  # a single event
        np.where(np.arange(N) % 150 == 7, 3.0, 1.0),
        (5 + 0.8 * OTHERS["z0"] + 0.2 * NOISE).round(),  # ratings
    ],
)
def test_noise_and_other_functions_are_no_arithmetic(targets: np.ndarray) -> None:
    columns = {"net": NET, "tax": TAX, "km": KM, "hours": HOURS}
    assert columns_of(columns, targets) == set()


@pytest.mark.parametrize("make", [make_friedman1, make_friedman2, make_friedman3])
def test_benchmark_functions_without_noise_are_no_arithmetic(
    make: Callable[..., tuple[np.ndarray, np.ndarray]],
) -> None:
    inputs, targets = make(N, noise=0, random_state=0)
    assert determining_columns(inputs, targets, [f"x{k}" for k in range(inputs.shape[1])]) == ()


@pytest.mark.parametrize("name", N_SPLITS)
def test_bundled_sets_are_no_arithmetic(name: str) -> None:
    table = read_table(name)
    names = [f"x{k}" for k in range(table.inputs.shape[1])]
    assert determining_columns(table.inputs, table.targets, names) == ()


@pytest.mark.parametrize(("rows", "features"), [(60, 58), (60, 80), (45, 30), (12, 4), (400, 390)])
@pytest.mark.parametrize("decimals", [0, 1, 17])
def test_a_fit_of_many_columns_is_no_relation(rows: int, features: int, decimals: int) -> None:
    random = np.random.default_rng(rows)
    inputs, targets = random.normal(size=(rows, features)), 10 * random.normal(size=rows)
    names = [f"x{k}" for k in range(features)]
    assert determining_columns(inputs, targets.round(decimals), names) == ()


@pytest.mark.parametrize(("rows", "features"), [(5000, 100), (1000, 1000)])
def test_a_large_table_takes_a_fraction_of_a_second(rows: int, features: int) -> None:
    inputs = np.random.default_rng(0).uniform(1, 2, (rows, features)).round(2)
    started = time.process_time()
    found = determining_columns(inputs, (inputs[:, 5] * inputs[:, 7]).round(2), range(features))  # type: ignore[arg-type]
    assert found == (5, 7)  # type: ignore[comparison-overlap]
    assert time.process_time() - started < 2  # 0.1 s without other programs
