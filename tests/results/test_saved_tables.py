"""Saved tables of a run: selection of rows and answers, and files that are missing or damaged."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.results.claims import NotTestable
from bnnbench.results.saved_tables import table_reader

ROWS = [Answer("mean", "EP", 1.5, "K = 2"), Answer("mean", "EP", 2.5, "K = 3")]

read = table_reader({"trace": ("step", "value"), "extra": ("number",)}, optional=("extra",))


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path)
    pd.DataFrame([row.row() for row in ROWS]).to_csv(folder.table(ANSWERS), index=False)
    trace = pd.DataFrame({"part": ["a", None], "step": [0, 1], "value": [3.0, None]})
    trace.to_csv(folder.table("trace"), index=False)
    return folder


def test_rows_and_answers_are_selected(folder: RunFolder) -> None:
    run = read(folder)
    assert run["trace"]["part"].tolist() == ["a", ""] and run["extra"].empty
    assert run.rows("trace", part="a", step=0)["value"].tolist() == [3.0]
    assert run.value("mean", "EP") == 1.5 and run.value("mean", "EP", "K = 3") == 2.5
    with pytest.raises(NotTestable):
        run.answer("mean", "EP", "K = 4")


@pytest.mark.parametrize(
    "text", [None, "", "part,step\na,0\n", "step,value\n0,x\n", "step,value\n"]
)
def test_a_missing_or_damaged_table_is_reported(folder: RunFolder, text: str | None) -> None:
    path = folder.table("trace")
    path.unlink() if text is None else path.write_text(text)
    with raises_user_error("trace.csv", "damaged"):
        read(folder)
