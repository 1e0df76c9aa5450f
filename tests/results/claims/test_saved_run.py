"""Tables of a run: saving, selection of rows and answers, and missing or damaged files."""

from __future__ import annotations

from math import isnan, nan
from pathlib import Path

import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.experiment.store.answer_tables import ANSWERS, COLUMNS, Answer
from bnnbench.experiment.store.record import Record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.claims.claims import NotTestable
from bnnbench.results.claims.saved_run import images_of, read_answers, run_reader

ROWS = [Answer("mean", "EP", 1.5, "K = 2"), Answer("mean", "EP", 2.5, "K = 3")]

read = run_reader({"trace": ("step", "value"), "extra": ("number",)}, optional=("extra",))


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


def test_images_with_another_binarisation_are_other_data(tmp_path: Path) -> None:
    metadata = {"images": "mnist", "binarisation": "stochastic"}
    write_record(RunFolder(tmp_path), Record("planar_flows", "0", metadata, {}))
    assert images_of("threshold")(RunFolder(tmp_path)) == "mnist, stochastic"
    assert images_of("stochastic")(RunFolder(tmp_path)) == "mnist"
