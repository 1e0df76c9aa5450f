"""Answers as they are saved and read back."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path

import pandas as pd
import pytest

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import ANSWERS, COLUMNS, Answer, read_answers, value_of
from bnnbench.types import UserError

GIVEN = (
    Answer("mean", "exact", 2.5),
    Answer("mean", "EP", 2.4, "power 1", standard_error=0.1, exact=2.5, published=2.45),
    Answer("mean", "EP", 2.3, "power 0.5"),
)


def written(root: Path) -> RunFolder:
    folder = RunFolder(root)
    pd.DataFrame([answer.row() for answer in GIVEN]).to_csv(folder.table(ANSWERS), index=False)
    return folder


def test_answers_come_back_as_they_were(tmp_path: Path) -> None:
    table = read_answers(written(tmp_path))
    assert tuple(table) == COLUMNS and len(table) == 3
    back = [Answer(**row) for row in table.to_dict("records")]  # type: ignore[arg-type]
    assert back[1] == GIVEN[1]
    assert back[0].setting == "" and isnan(back[0].exact) and isnan(back[0].published)


def test_one_value_is_found_by_its_words(tmp_path: Path) -> None:
    table = read_answers(written(tmp_path))
    assert value_of(table, "mean", "exact") == 2.5
    assert value_of(table, "mean", "EP") == 2.4
    assert value_of(table, "mean", "EP", "power 0.5") == 2.3
    assert isnan(value_of(table, "variance", "EP")) and isnan(value_of(table, "mean", "VB"))


@pytest.mark.parametrize(
    "text", ["", "quantity,value\nmean,1\n", ",".join(COLUMNS) + "\nmean,EP,,much,,,\n"]
)
def test_what_is_no_table_of_answers_is_named(tmp_path: Path, text: str) -> None:
    folder = RunFolder(tmp_path)
    folder.table(ANSWERS).write_text(text)
    with pytest.raises(UserError, match=r"answers\.csv is missing or not a table of answers"):
        read_answers(folder)


def test_columns_of_missing_numbers_are_still_numbers(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    pd.DataFrame([Answer("mean", "EP", nan).row()]).to_csv(folder.table(ANSWERS), index=False)
    assert read_answers(folder)[["value", "exact"]].isna().all(axis=None)
