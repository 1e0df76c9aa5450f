"""Advice to exclude columns, and on codes of missing values."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bnnbench.data.own_table.columns.advice import missing_codes
from bnnbench.data.own_table.columns.issues import Policy
from bnnbench.data.own_table.source import OwnTable
from bnnbench.types import Table

RNG = np.random.default_rng(0)
N = 200
X = {name: RNG.normal(size=N).round(3) for name in "abc"}
NUMBER = RNG.permutation(N) + 1
Y = sum(X.values()) + RNG.normal(size=N)
KIND = RNG.choice(["x", "y", "z"], N)
BASE = pd.Series(KIND).map({"x": 10.0, "y": 25.0, "z": 17.0}).to_numpy()


def load(folder: Path, columns: dict[str, np.ndarray], **settings: object) -> Table:
    pd.DataFrame(columns).to_csv(folder / "t.csv", index=False)
    return OwnTable(path=str(folder / "t.csv"), target="target", **settings).load()  # type: ignore[arg-type]


def leaks_of(table: Table) -> int:
    return sum("determine" in text for text in table.warnings)


@pytest.mark.parametrize(
    ("columns", "target", "excluded"),
    [
        ({}, Y, set()),
        ({"nr": NUMBER}, Y, {"nr"}),
        ({"later": np.exp(Y)}, Y, {"later"}),
        ({"nr": NUMBER, "later": np.exp(Y)}, Y, {"nr", "later"}),
        ({"nr": NUMBER}, X["a"] - 2 * X["b"], {"nr", "a", "b"}),
        ({"kind": KIND}, BASE + X["c"], {"kind", "c"}),
        ({"kind": KIND}, BASE, {"kind"}),
        ({"later": 3 * (X["a"] + X["b"])}, X["a"] + X["b"], {"later", "a", "b"}),
        ({"gaps": np.where(X["a"] > 1, np.nan, -Y)}, Y, {"gaps"}),
        ({"square": X["a"] ** 2}, Y, set()),
    ],
)
def test_one_sentence_excludes_all_columns(
    tmp_path: Path, columns: dict[str, np.ndarray], target: np.ndarray, excluded: set[str]
) -> None:
    """After this advice was followed, there is no more."""
    settings = {"categorical": "onehot", "missing": "impute"}
    table = load(tmp_path, {**X, **columns, "target": target}, **settings)
    advice = [
        found for text in table.warnings for found in re.findall(r"dataset.drop=\[(.*?)]", text)
    ]
    assert [{*names.split(",")} for names in advice] == [excluded] * bool(excluded)
    assert any("determine" in text and "RMSE" in text for text in table.warnings) == bool(
        excluded - {"nr"}
    )
    if {*X, *columns} - excluded:
        path = str(tmp_path / "t.csv")
        rest = OwnTable(path=path, target="target", drop=[*excluded], **settings).load()  # type: ignore[arg-type]
        assert not any("dataset.drop" in text for text in rest.warnings)


@pytest.mark.parametrize("columns", [{"nr": NUMBER}, {"a": X["a"], "b": X["b"]}])
def test_the_last_inputs_are_not_excluded(tmp_path: Path, columns: dict[str, np.ndarray]) -> None:
    target = X["a"] + X["b"] if "a" in columns else Y
    table = load(tmp_path, {**columns, "target": target})
    assert not any("dataset.drop" in text for text in table.warnings)
    assert leaks_of(table) == ("a" in columns)


def test_time_is_known_before_the_target(tmp_path: Path) -> None:
    columns = {**X, "day": np.arange(N), "target": 3.0 * np.arange(N)}
    columns = {**columns, "half": np.arange(N) // 2}
    assert leaks_of(load(tmp_path, columns))
    assert not leaks_of(load(tmp_path, columns, time="day", drop=["half"]))


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
