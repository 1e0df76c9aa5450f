import datetime
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.columns import Encoding
from bnnbench.data.own_table.frame_file import write_frame
from bnnbench.data.own_table.new_rows import encode_rows
from bnnbench.data.own_table.source import OwnTable

ROWS = 30

COLUMNS: dict[str, tuple[Sequence[object], str | None, list[str]]] = {
    "missing": (["NA", "None", "US"], None, ["c=NA", "c=None", "c=US"]),
    "strings": (["nan", "n/a", "null"], "string", ["c=n/a", "c=nan", "c=null"]),
    "numbers": (["007", "7", "1e5"], None, ["c=007", "c=1e5", "c=7"]),
    "decimals": (["1,5", "1.5", "1;5"], None, ["c=1,5", "c=1.5", "c=1;5"]),
    "dates": (["2024-01-01", "1.2.2024"], None, ["c=1.2.2024", "c=2024-01-01"]),
    "booleans": (["true", "false"], None, ["c=false", "c=true"]),
    "comments": (["#a", '"b', "c\nd"], None, ['c="b', "c=#a", "c=c\nd"]),
    "a text and a gap": (["NA", None], None, ["c=NA"]),
    "categories": (["NA", "x"], "category", ["c=NA", "c=x"]),
    "categories that are numbers": ([3, 1], "category", ["c=1", "c=3"]),
    "integers": ([1, None, 3], "Int64", ["c"]),
    "objects": ([1, 2.5, True], None, ["c"]),
    "moments": ([datetime.date(2024, 1, 2), datetime.date(2024, 3, 4)], None, ["c"]),
    "durations": ([1, 2], "m8[s]", ["c=0 days 00:00:01", "c=0 days 00:00:02"]),
    "truth": ([True, False, None], None, ["c"]),
    "sparse": ([0.0, 0.0, 1.0], "Sparse[float]", ["c"]),
}


def made(cells: Sequence[object], dtype: str | None) -> pd.DataFrame:
    repeated = [cells[k % len(cells)] for k in range(ROWS)]
    column = pd.Series(repeated, dtype=object).astype(dtype or object)  # type: ignore[call-overload]
    return pd.DataFrame({"c": column, "x": range(ROWS), "y": [k**0.5 for k in range(ROWS)]})


@pytest.mark.parametrize("case", COLUMNS)
def test_cells_of_a_frame_are_what_they_are(tmp_path: Path, case: str) -> None:
    cells, dtype, features = COLUMNS[case]
    frame = made(cells, dtype)
    path = str(write_frame(frame, tmp_path))
    rules = {"categorical": "onehot", "dates": "numbers", "missing": "impute"}
    table = OwnTable(path=path, target="y", **rules).load()
    assert table.features == (*features, "x")
    again, _, _ = encode_rows(frame, table.encodings, "rows")
    pd.testing.assert_frame_equal(pd.DataFrame(again), pd.DataFrame(table.inputs))


@pytest.mark.parametrize(
    "cells", [[1, "b"], [1j], [[1]], [{"a": 1}], ["\ud800"], [2**70], [object]], ids=str
)
def test_columns_without_a_single_type_are_refused(tmp_path: Path, cells: list[object]) -> None:
    with raises_user_error("dataset.path", "no_single_type"):
        write_frame(made(cells, None), tmp_path)


def test_columns_with_one_name_are_refused(tmp_path: Path) -> None:
    frame = made([1], None).set_axis(["1", 1, "y"], axis=1)
    with raises_user_error("dataset.path", "duplicate_column"):
        write_frame(frame, tmp_path)


def test_codes_of_missing_values_apply_to_objects() -> None:
    frame = made([-999, "?", "4"], None)[["c"]]
    inputs, _, _ = encode_rows(frame, [Encoding("c", "number")], "rows", ["-999", "?"])
    assert inputs[2:4, 0].tolist() == pytest.approx([4, np.nan], nan_ok=True)
    assert np.isnan(inputs[:2]).all()
