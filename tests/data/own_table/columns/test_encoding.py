"""Columns as numbers: dates of every year, and words with blanks around them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.columns.encoding import (
    CATEGORIES,
    DATES,
    NUMBER,
    Encoding,
    infer_encoding,
)
from bnnbench.data.own_table.source import OwnTable


@pytest.mark.parametrize("day", ["0001-01-01", "1600-01-01", "2262-04-12", "9999-12-31"])
def test_dates_of_every_year_are_days_since_1970(day: str) -> None:
    days = date.fromisoformat(day).toordinal() - date(1970, 1, 1).toordinal()
    year, month, number = day.split("-")
    dotted = (f"{number}.{month}.{year}", "1.1.2024")
    for cells in ((day, "2024-01-01"), dotted, (date.fromisoformat(day), date(2024, 1, 1))):
        column = pd.Series(cells, name="day")
        encoding = infer_encoding(column)
        assert encoding.kind == DATES
        assert encoding.apply(column)[0].tolist() == [days, 19723]


def test_a_year_of_five_digits_is_not_a_date() -> None:
    assert infer_encoding(pd.Series(["10000-01-01", "2024-01-01"])).kind == CATEGORIES


def test_time_orders_dates_of_every_year(tmp_path: Path) -> None:
    rows = [f"{1000 + 800 * i}-01-01,{i},{i * i}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["day,a,y", *reversed(rows)]))
    table = OwnTable(path=str(tmp_path / "t.csv"), target="y", time="day", n_splits=2).load()
    assert [table.inputs[split.test, 1].tolist() for split in table.splits] == [[10.0], [11.0]]


def test_groups_and_categories_are_stripped(tmp_path: Path) -> None:
    rows = [f"{i},p{i % 4}{' ' * (i % 3)},{i / 2}" for i in range(24)]
    (tmp_path / "t.csv").write_text("\n".join(["a,person,y", *rows]))
    path = str(tmp_path / "t.csv")
    groups = OwnTable(path=path, target="y", group="person", test_fraction=0.25).load().groups
    assert groups is not None and groups.tolist() == [i % 4 for i in range(24)]
    features = OwnTable(path=path, target="y", categorical="onehot").load().features
    assert features == ("a", *(f"person=p{k}" for k in range(4)))


def test_an_empty_column_has_no_category() -> None:
    encoding = Encoding("kind", CATEGORIES, ("a", "b"))
    assert np.array(encoding.apply(pd.Series([np.nan] * 3))).tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize(
    ("kind", "cells", "row"),
    [(NUMBER, [1, None, "x", "y"], 3), (DATES, ["2024-01-01", "1/2/2024"], 2), (DATES, [5, 6], 1)],
)
def test_the_cell_of_another_kind_is_named(kind: str, cells: list[object], row: int) -> None:
    with raises_user_error("a", mentions=[f"data row {row}"]):
        Encoding("a", kind).apply(pd.Series(cells, dtype=object))
