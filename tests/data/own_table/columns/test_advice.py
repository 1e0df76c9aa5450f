"""Advice to exclude columns."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

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
