"""Saving and reading tables of answers."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path

import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import ANSWERS, COLUMNS, Answer, read_answers

SAVED = (
    Answer("mean", "exact", 2.5),
    Answer("mean", "EP", 2.4, "power 1", standard_error=0.1, exact=2.5, published=2.45),
    Answer("mean", "EP", 2.3, "power 0.5"),
)


def save_answers(root: Path) -> RunFolder:
    folder = RunFolder(root)
    pd.DataFrame([answer.row() for answer in SAVED]).to_csv(folder.table(ANSWERS), index=False)
    return folder


def test_answers_are_read_as_they_were_saved(tmp_path: Path) -> None:
    table = read_answers(save_answers(tmp_path))
    assert tuple(table) == COLUMNS and len(table) == 3
    read = [Answer(**row) for row in table.to_dict("records")]  # type: ignore[arg-type]
    assert read[1] == SAVED[1]
    assert read[0].setting == "" and isnan(read[0].exact) and isnan(read[0].published)


def test_columns_with_only_missing_values_are_numeric(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    pd.DataFrame([Answer("mean", "EP", nan).row()]).to_csv(folder.table(ANSWERS), index=False)
    assert read_answers(folder)[["value", "exact"]].isna().all(axis=None)
