"""Which finished runs may be added to reference results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.reference import CODE, reference_run
from support.runs import add_checksums

from bnnbench.experiment.store.split_files import SPLITS
from bnnbench.results.reference.write import add

Edit = Callable[[pd.DataFrame], Any]


def native_code(*values: str) -> Edit:
    """Return an edit that says whether native code was used, by split."""

    def edit(table: pd.DataFrame) -> None:
        table["native_code"] = [*values, *["used"] * (len(table) - len(values))]

    return edit


@pytest.mark.parametrize(
    ("codes", "edit", "reason"),
    [
        ([CODE], native_code(), ""),
        ([CODE], native_code("none", "none"), ""),
        ([CODE], native_code("missing"), "1 split ran in torch"),
        ([CODE], native_code("used", "missing", "missing"), "2 splits ran in torch"),
        ([CODE, {**CODE, "digest": "b"}], native_code(), "2 versions of the code"),
        ([CODE, {**CODE, "own": "mine"}], native_code(), "2 versions of the code"),
        ([], native_code(), "0 versions of the code"),
    ],
)
def test_runs_of_one_code_with_native_code_are_added(
    tmp_path: Path, codes: list[dict[str, Any]], edit: Edit, reason: str
) -> None:
    folder = reference_run(tmp_path / "runs", codes=codes, method="vadam")
    table = pd.read_csv(folder.table(SPLITS))
    edit(table)
    table.to_csv(folder.table(SPLITS), index=False)
    add_checksums(folder, "record.json", "splits.csv")
    found = add(tmp_path / "reference", tmp_path / "runs")
    assert len(found.added) == (not reason) and len(found.faults) == bool(reason)
    assert all(reason in fault and str(folder.root) in fault for fault in found.faults)
