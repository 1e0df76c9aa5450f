"""The user's own table: supported contents, and errors about unsupported ones."""

from __future__ import annotations

import os
import pickle
import re
import shlex
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.config import compose_configs
from support.tables import assert_valid_splits, configured_source
from support.user_errors import raises_user_error

from bnnbench.config.instantiate import instantiate
from bnnbench.data.own_table.source import OwnTable
from bnnbench.identity import identity_of
from bnnbench.types import Table, UserError

ROWS = [f"{i},{i % 3},{i / 2 + 1}" for i in range(12)]

PATH, TARGET = "dataset.path", "dataset.target"


def write(folder: Path, rows: list[str], header: str = "a,b,price", name: str = "mine") -> str:
    path = folder / f"{name}.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def test_csv_loads(tmp_path: Path) -> None:
    source, _ = configured_source("csv", path=write(tmp_path, ROWS, name="my own (2)"), target="b")
    table = source.load()
    assert table.name == "my-own-2"
    assert (table.features, table.target) == (("a", "price"), "b")
    assert table.inputs[3].tolist() == [3.0, 2.5]
    assert table.targets[:4].tolist() == [0.0, 1.0, 2.0, 0.0]
    assert table.inputs.dtype == table.targets.dtype == np.float64
    assert_valid_splits(table, 20)
    assert {len(split.test) for split in table.splits} == {1}
    assert OwnTable(path=write(tmp_path, ROWS, name="Häuser"), target="b").load().name == "Hauser"
    assert OwnTable(path=write(tmp_path, ROWS, name="x" * 200), target="b").load().name == "x" * 50
    assert OwnTable(name="houses", path=source.path, target="b").load().name == "houses"


def test_csv_accepts_blanks_booleans_constants_and_a_byte_order_mark(tmp_path: Path) -> None:
    rows = [f"{i}, {'true' if i % 2 else 'false'}, 7" for i in range(10)]
    path = write(tmp_path, rows, header="\ufeffa , flag, same")
    table = OwnTable(path=path, target="a").load()
    assert table.features == ("flag", "same")
    assert table.inputs[:2].tolist() == [[0.0, 7.0], [1.0, 7.0]]


def rows_of(form: str) -> list[str]:
    """Return twelve rows with the number of the row, and nearly equal large numbers."""
    return [form.format(i, 1e20 * (1 + i * 1e-14)) for i in range(12)]


def changed(row: int, text: str) -> list[str]:
    return [*ROWS[:row], text, *ROWS[row + 1 :]]


def refused(case: str, *parts: str) -> AbstractContextManager[pytest.ExceptionInfo[UserError]]:
    """Expect an error with the setting and code in `case` that names columns, rows, numbers."""
    setting, _, code = case.partition(" ")
    return raises_user_error(setting, code or None, parts)


ISSUE = f"{PATH} column_issue"


@pytest.mark.parametrize(
    ("rows", "header", "case", "parts"),
    [
        (changed(4, "4,red,1"), "a,b,price", ISSUE, ["'b'", "'red'", "data row 5"]),
        (changed(4, "4,1,?"), "a,b,price", f"{TARGET} not_numeric", ["'price'", "'?'", "row 5"]),
        (changed(4, "4,true,1"), "a,b,price", ISSUE, ["'b'", "'true'", "data row 5"]),
        (changed(2, "2,,1"), "a,b,price", ISSUE, ["'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,  ,1"), "a,b,price", ISSUE, ["'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,NaN,1"), "a,b,price", ISSUE, ["'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,-inf,1"), "a,b,price", ISSUE, ["'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,1"), "a,b,price", ISSUE, ["'price'", "1 of 12", "data row 3"]),
        (changed(2, "2,1,1,9"), "a,b,price", f"{PATH} too_many_fields", ["line 4", "4", "3"]),
        (changed(0, "0,1,1,9"), "a,b,price", f"{PATH} too_many_fields", ["line 2", "4", "3"]),
        (["", "", *ROWS, "9" * 200 + ",1,1,9"], "a,b,y", f"{PATH} too_many_fields", ["line 16"]),
        ([f"{row},9" for row in ROWS], "a,b,price", f"{PATH} too_many_fields", ["line 2", "4"]),
        (ROWS[:3], "a,b,price", f"{PATH} too_few_rows", ["3", "10"]),
        (ROWS[:9], "a,b,price", f"{PATH} too_few_rows", ["9"]),
        ([], "a,b,price", f"{PATH} too_few_rows", ["0"]),
        (ROWS, "1,1,price", f"{PATH} duplicate_column", ["'1'", "dataset.header=false"]),
        (ROWS, "a,b,Price", f"{TARGET} unknown_column", ["'price'", "a, b, Price", "'Price'?"]),
        (ROWS, "a,b,zzz", f"{TARGET} unknown_column", ["'price'", "a, b, zzz"]),
        ([f"{i},{i},5" for i in range(12)], "a,b,price", f"{TARGET} constant", ["'price'", "5"]),
        ([str(i) for i in range(12)], "price", f"{PATH} no_inputs", ["'price'"]),
        (changed(4, "4,1e200,1"), "a,b,price", f"{PATH} too_large", ["'b'", "1e+200", "row 5"]),
        (changed(4, "4,1,-4e305"), "a,b,price", f"{PATH} too_large", ["-4e+305", "row 5"]),
        (changed(4, "4,3e60,1"), "a,b,price", f"{PATH} outlier", ["'b'", "3e+60", "data row 5"]),
        (rows_of("{0},{0}e-150,{0}"), "a,b,price", f"{PATH} too_little_spread", ["'b'", "e-150"]),
        (rows_of("{0},{0},{0}e-200"), "a,b,price", f"{PATH} too_little_spread", ["e-200"]),
        (rows_of("{0},{0},{1!r}"), "a,b,price", f"{TARGET} constant", ["'price'"]),
        (ROWS, "0,-1.5,2e3", f"{TARGET} unknown_column", ["'price'", "dataset.header=false"]),
        (ROWS, "0,-1.5,red", f"{TARGET} unknown_column", ["'price'", "dataset.header=false"]),
        (changed(4, f"4,{'1' * 400},1"), "a,b,price", ISSUE, ["'b'", "infinite", "data row 5"]),
        (changed(4, f"4,1,{'1' * 400}"), "a,b,price", ISSUE, ["'price'", "infinite", "data row 5"]),
        (changed(4, "4,1e400,1"), "a,b,price", ISSUE, ["'b'", "infinite", "data row 5"]),
        (changed(4, "4,0x1F,1"), "a,b,price", ISSUE, ["'b'", "'0x1F'", "data row 5"]),
        (changed(4, "4,\uff11,1"), "a,b,price", ISSUE, ["'b'", "'\uff11'", "data row 5"]),
        (changed(4, "4,1_000,1"), "a,b,price", ISSUE, ["'b'", "'1_000'", "data row 5"]),
        (changed(4, "4,=1+1,1"), "a,b,price", ISSUE, ["'b'", "'=1+1'", "data row 5"]),
        (changed(4, "4,\0,1"), "a,b,price", ISSUE, ["'b'", r"'\x00'", "data row 5"]),
        (changed(4, "4,\x1b[2J,1"), "a,b,price", ISSUE, ["'b'", r"'\x1b[2J'", "data row 5"]),
        ([*ROWS, '"'], "a,b,price", f"{PATH} open_quote", ["line 14"]),
        (changed(3, '3,"1,1'), "a,b,price", f"{PATH} open_quote", ["line 5"]),
    ],
)
def test_csv_refuses(
    tmp_path: Path, rows: list[str], header: str, case: str, parts: list[str]
) -> None:
    path = write(tmp_path, rows, header)
    with refused(case, path, *parts):
        OwnTable(path=path, target="price").load()


def test_csv_refuses_files_that_are_not_tables(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)))
    (tmp_path / "pickle.csv").write_bytes(pickle.dumps({"y": [1.0] * 20}))
    (tmp_path / "nothing.csv").write_bytes(bytes(1000))
    (tmp_path / "mainframe.csv").write_bytes("a,y\n1,2\n".encode("cp037"))
    for name, case in [
        ("none.csv", f"{PATH} file_not_found"),
        ("empty.csv", f"{PATH} empty_file"),
        ("binary.csv", "dataset.encoding"),
        ("pickle.csv", f"{PATH} unsupported_format"),
        ("nothing.csv", f"{TARGET} unknown_column"),
        ("mainframe.csv", "dataset.encoding"),
        (".", f"{PATH} unreadable"),
    ]:
        with refused(case, str(tmp_path / name)):
            OwnTable(path=str(tmp_path / name), target="y").load()


def test_csv_needs_path_and_target() -> None:
    with raises_user_error(PATH):
        OwnTable(target="y")
    with raises_user_error(TARGET):
        OwnTable(path="x.csv")


def test_pipes_urls_and_other_formats_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    pipe = str(tmp_path / "pipe")
    (tmp_path / "arff.txt").write_text("% about\n@RELATION x\n@ATTRIBUTE a NUMERIC\n@DATA\n1\n")
    wrong = {pipe: "not_a_regular_file", "https://a.org/x.csv": "url"}
    others = ("a.xls", "a.ARFF", "a.arff.gz", "a.sav", str(tmp_path / "arff.txt"))
    for name, code in (wrong | dict.fromkeys(others, "unsupported_format")).items():
        with raises_user_error(PATH, code):
            OwnTable(path=name, target="b").load()


MIXED = [
    f"{i},{'ab'[i % 2]},2024-01-{i + 1:02d},{'' if i == 3 else i % 5},{i / 2}" for i in range(12)
]
HEAD = "n,kind,day,gappy,y"


def mixed(folder: Path, **settings: Any) -> Table:
    path = write(folder, MIXED, HEAD)
    return OwnTable(path=path, target="y", **settings).load()


def test_non_numeric_columns_are_refused_with_a_remedy(tmp_path: Path) -> None:
    for drop, parts in [
        (["day", "gappy"], ["'kind'", "'a'", "data row 1", "categorical=onehot", "2 values"]),
        (["kind", "gappy"], ["'day'", "dates", "dataset.dates=numbers"]),
        (["kind", "day"], ["'gappy'", "data row 4", "dataset.missing=drop"]),
    ]:
        with refused(ISSUE, *parts):
            mixed(tmp_path, drop=drop)


OVERRIDES = re.compile(r", add (.*?)(?: \(or |;|\.$)")


@pytest.mark.parametrize(
    ("more", "columns"),
    [
        ({}, ["n", "kind", "day", "gappy"]),
        ({"key [no]": [f"c{i}" for i in range(120)]}, ["n", "kind", "day", "gappy"]),
        (
            {"none": [""] * 120, "size": [*["inf"] * 3, *range(117)]},
            ["n", "kind", "day", "gappy"],
        ),
        (
            {"kind": ["?", *range(119)], "when": ["1/2/2024"] * 120, "n": ["-", ".", *range(118)]},
            ["n", "kind", "day", "gappy"],
        ),
        ({"kind": ["?", "!", "x", "w", *range(116)]}, ["n", "day", "gappy"]),
        ({"kind": ["a, b", "it's", "c [m]", *range(117)]}, ["n", "kind", "day", "gappy"]),
    ],
)
def test_all_columns_with_issues_are_reported_at_once(
    tmp_path: Path, more: dict[str, list[Any]], columns: list[str]
) -> None:
    """The overrides at the end of the message resolve all of them."""
    frame = pd.DataFrame([line.split(",") for line in MIXED * 10], columns=HEAD.split(","))
    for name, cells in more.items():
        frame[name] = cells
    frame.to_csv(tmp_path / "t.csv", index=False)
    with refused(f"{PATH} column_issues", "'kind'", "'day'", "'gappy'", *map(repr, more)) as error:
        OwnTable(path=str(tmp_path / "t.csv"), target="y").load()
    found = OVERRIDES.search(str(error.value))
    assert found is not None
    words = ["dataset=csv", f"dataset.path={tmp_path / 't.csv'}", "dataset.target=y"]
    (config,) = compose_configs([*words, *shlex.split(found[1])])
    settings = {key: value for key, value in config["dataset"].items() if key != "protocol"}
    features = instantiate("dataset", settings).load().features
    assert list(dict.fromkeys(name.partition("=")[0] for name in features)) == columns


def test_the_target_must_be_numeric(tmp_path: Path) -> None:
    path = write(tmp_path, MIXED, HEAD)
    for categorical in ("refuse", "onehot"):
        with refused(f"{TARGET} not_numeric", "'kind'", "'a'", "data row 1"):
            OwnTable(path=path, target="kind", categorical=categorical).load()


@pytest.mark.parametrize(
    ("cells", "classes"),
    [
        (["A", "B", "C", "D"], True),
        (["yes", "no"], True),
        (["low", "medium", "high"], True),
        (["1st", "2nd", "3rd"], True),
        ([f"class {k}" for k in range(12)], True),
        ([f"name {k}" for k in range(60)], False),
        (["x", *map(str, range(59))], False),
        (["dry", *map(str, range(9))], False),
    ],
)
def test_classes_are_no_target(tmp_path: Path, cells: list[str], classes: bool) -> None:
    path = write(tmp_path, [f"{k},{cells[k % len(cells)]}" for k in range(60)], "x,y")
    with refused(f"{TARGET} not_numeric") as error:
        OwnTable(path=path, target="y").load()
    assert ("regression" in str(error.value)) == classes


def test_days_with_dots_are_dates(tmp_path: Path) -> None:
    lines = [f"{i},{i % 28 + 1}.{i // 28 + 1:02d}.2024{' 06:00' * (i % 2)},{i}" for i in range(40)]
    path = write(tmp_path, lines, "n,day,y")
    table = OwnTable(path=path, target="y", dates="numbers").load()
    days = table.inputs[:, 1]
    assert days[0] == 19723 and days[1] == 19724.25  # the first of January 2024 and the second
    assert days[28] == 19723 + 31
    by_time = OwnTable(path=path, target="y", time="day").load()
    assert all(split.train.max() < split.test.min() for split in by_time.splits)


@pytest.mark.parametrize("categorical", ["refuse", "onehot"])
@pytest.mark.parametrize(
    "form", ["{0:02d}/{1:02d}/2024", "{0}-{1}-2024", "{0:02d}/{1:02d}/24 08:00"]
)
def test_ambiguous_dates_are_refused(tmp_path: Path, form: str, categorical: str) -> None:
    lines = [f"{i},{form.format(i % 9 + 1, i // 9 + 1)},{i / 2}" for i in range(63)]
    path = write(tmp_path, lines, "n,day,y")
    with refused(ISSUE, "'day'", "2024-12-31"):
        OwnTable(path=path, target="y", dates="numbers", categorical=categorical).load()
    with refused("dataset.time not_ordered", "'day'", "2024-12-31"):
        OwnTable(path=path, target="y", time="day").load()


def test_categories_dates_and_missing_values_are_converted_on_request(tmp_path: Path) -> None:
    table = mixed(tmp_path, categorical="onehot", dates="numbers", missing="impute")
    assert table.features == ("n", "kind=a", "kind=b", "day", "gappy")
    assert table.inputs[:2, 1:3].tolist() == [[1, 0], [0, 1]]
    assert np.diff(table.inputs[:, 3]).tolist() == [1.0] * 11
    assert table.inputs[0, 3] == 19723  # days from the first of January 1970 to that of 2024
    assert np.isnan(table.inputs[3, 4]) and np.isnan(table.inputs).sum() == 1
    table = mixed(tmp_path, columns=["n", "gappy"], missing="drop")
    assert table.features == ("n", "gappy") and len(table.inputs) == 11
    assert any("1 of 12 rows" in warning for warning in table.warnings)


def test_split_columns_are_not_inputs(tmp_path: Path) -> None:
    rows = [f"{i},{i // 4},{int(i > 15)},{i % 7}" for i in range(20)]
    path = write(tmp_path, rows, header="n,who,test,y")
    table = OwnTable(path=path, target="y", group="who", n_splits=3, test_fraction=0.4).load()
    assert table.features == ("n", "test")
    for split in table.splits:
        assert not {*table.inputs[split.train, 0] // 4} & {*table.inputs[split.test, 0] // 4}
    by_time = OwnTable(path=path, target="y", time="n", columns=["who"], drop=["test"]).load()
    assert by_time.features == ("who",) and len(by_time.splits) == 5
    assert all(split.train.max() < split.test.min() for split in by_time.splits)
    (split,) = OwnTable(path=path, target="y", test="test").load().splits
    assert split.test.tolist() == [16, 17, 18, 19]


@pytest.mark.parametrize(
    ("days", "first"), [(range(12), 0.0), ([f"2024-01-{k:02d}" for k in range(1, 13)], 19723.0)]
)
def test_the_time_is_an_input(tmp_path: Path, days: Sequence[object], first: float) -> None:
    rows = [f"{day},{i % 5},{i**3}" for i, day in enumerate(days)]
    path = write(tmp_path, rows, header="day,a,y")
    table = OwnTable(path=path, target="y", time="day").load()
    assert table.features == ("day", "a") and table.inputs[0, 0] == first
    assert not any("day" in warning for warning in table.warnings), "its order is no accident"
    left_out = OwnTable(path=path, target="y", time="day", time_input=False).load()
    assert left_out.features == ("a",)
    with refused("dataset.drop column_in_use", "dataset.time_input=false"):
        OwnTable(path=path, target="y", time="day", drop=["day"]).load()


@pytest.mark.parametrize(
    ("settings", "case"),
    [
        ({"group": "who", "time": "n"}, "dataset.group two_split_columns"),
        ({"group": "nobody"}, "dataset.group unknown_column"),
        ({"drop": ["y"]}, "dataset.drop column_in_use"),
        ({"drop": "n"}, "dataset.drop"),
        ({"group": "y"}, "dataset.target split_column"),
        ({"columns": ["y"]}, "dataset.path no_inputs"),
        ({"missing": "guess"}, "dataset.missing"),
        ({"test": "n"}, "dataset.test invalid_values"),
        ({"test": "test", "n_splits": 3}, "dataset.n_splits single_split"),
        ({"time": "n", "n_splits": 19}, "dataset.n_splits too_few_training_rows"),
        ({"group": "who", "test_fraction": 0.01}, "dataset.test_fraction no_test_group"),
    ],
)
def test_invalid_settings(tmp_path: Path, settings: dict[str, Any], case: str) -> None:
    rows = [f"{i},{i // 4},{int(i > 15)},{i % 7}" for i in range(20)]
    path = write(tmp_path, rows, header="n,who,test,y")
    with refused(case):
        OwnTable(path=path, target="y", **settings).load()


def test_too_many_categories_and_text_among_numbers(tmp_path: Path) -> None:
    many = [f"{i},w{i},{i}" for i in range(120)]
    few = [f"{i},{'x' if i == 3 else i},{i}" for i in range(120)]
    for rows, parts in [(many, ["120 values", "100"]), (few, ["'x'", "data row 4"])]:
        with refused(ISSUE, "'b'", *parts):
            OwnTable(path=write(tmp_path, rows), target="price", categorical="onehot").load()


def suggested(folder: Path, columns: dict[str, Any], **settings: Any) -> str:
    """Return the message about the columns of a table."""
    rows = len(next(iter(columns.values())))
    frame = pd.DataFrame(columns).assign(x=np.arange(rows) % 7, y=np.arange(rows) % 5)
    frame.to_csv(folder / "t.csv", index=False)
    code = "column_issue" if len(columns) == 1 else "column_issues"
    with raises_user_error(PATH, code) as error:
        OwnTable(path=str(folder / "t.csv"), target="y", **settings).load()
    return str(error.value)


def test_columns_that_should_define_the_splits_are_suggested(tmp_path: Path) -> None:
    ids = [f"p{k // 3}" for k in range(330)]
    days = pd.date_range("2024-01-01", periods=330).astype(str).tolist()
    assert "dataset.group=id" in suggested(tmp_path, {"id": ids})
    assert "dataset.time=day" in suggested(tmp_path, {"day": days})
    both = suggested(tmp_path, {"day": days, "id": ids})
    overrides = re.search("add (dataset.*?);", both)
    assert overrides is not None and overrides[1].split()[:2] == [
        "dataset.dates=numbers",
        "dataset.group=id",
    ]
    for columns, settings in (
        ({"id": [f"p{k}" for k in range(330)]}, {}),  # does not repeat
        ({"day": days[::2] + days[1::2]}, {}),  # not in order
        ({"id": ids}, {"time": "x"}),
        ({"day": days}, {"group": "x"}),
    ):
        assert not {"group=", "time="} & set(re.findall("group=|time=", suggested(
            tmp_path, columns, **settings
        )))  # fmt: skip


DRAWN = np.random.default_rng(0).integers(0, 200, 240)  # about 140 are different

WORDS = ["".join(letters) for letters in product("abcdef", repeat=3)]


@pytest.mark.parametrize(
    ("texts", "groups"),
    [
        ([f"S-{k:04d}" for k in DRAWN], True),
        ([f"p{k}" for k in DRAWN], True),
        ([f"{'NESW'[k % 4]}-{k}" for k in DRAWN], True),
        ([f"Lot 7/{k}b" for k in DRAWN], True),
        ([f"2024_{k:03d}_X" for k in DRAWN // 2], True),
        ([f"{k // 20}A:{k % 20}" for k in DRAWN % 90], True),
        ([WORDS[k] for k in DRAWN % 90], True),  # in two rows on average
        ([f"S-{k:04d}" for k in range(240)], False),  # different in each row
        ([f"S-{max(k, 40):04d}" for k in range(240)], False),  # most are different
        ([WORDS[k] for k in DRAWN], False),
        ([f"{'new ' * (k % 3)}{WORDS[k]} {k}" for k in DRAWN], False),
        ([f"S-{k % 12}" for k in DRAWN], False),  # categories
    ],
)
def test_codes_of_groups_are_suggested(tmp_path: Path, texts: list[str], groups: bool) -> None:
    assert ("dataset.group=code" in suggested(tmp_path, {"code": texts})) == groups
    assert "dataset.group=code" not in suggested(tmp_path, {"code": texts}, time="x")


def test_inputs_that_should_define_the_splits_are_noted(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["x", "y"])
    frame = frame.assign(patient_id=np.arange(120) // 3, day=pd.date_range("2024", periods=120))
    frame.to_csv(tmp_path / "t.csv", index=False)
    source = OwnTable(path=str(tmp_path / "t.csv"), target="y", dates="numbers")
    noted = " ".join(source.load().warnings)
    assert "dataset.time=day" in noted and "dataset.group=patient_id" in noted
    grouped = replace(source, group="patient_id").load().warnings
    assert not any("dataset." in warning for warning in grouped)


NUMBERS = [f"{1000 * i + 999:,}" for i in range(120)]
DAYS = pd.date_range("2024-01-01", periods=120).astype(str).tolist()

CULPRITS: dict[str, tuple[list[str], str, int]] = {
    # cells, the first that is wrong, its data row
    "thousands": ([*NUMBERS[:77], "-", *NUMBERS[78:]], "-", 78),
    "points": ([cell.replace(",", ".") for cell in NUMBERS[:50]] + ["n.a.", "1,5"], "n.a.", 51),
    "apostrophes": ([cell.replace(",", "'") for cell in NUMBERS] + ["?"], "?", 121),
    "decimals": ([f"{i},5" for i in range(99)] + ["k. A."], "k. A.", 100),
    "another notation": ([f"{i}.5" for i in range(99)] + ["1,5"], "1,5", 100),
    "dates": ([*DAYS[:60], "31.02.2024", *DAYS[61:]], "31.02.2024", 61),
    "dates with a gap": (["unknown", *DAYS], "unknown", 1),
    "units": ([f"{i}" for i in range(99)] + ["5 kg", "6 kg"], "5 kg", 100),
}


@pytest.mark.parametrize("text", ["5*", "3.50-", "10+ years", "18-30", "7 (e)"])
def test_repeated_texts_with_digits_do_not_mean_missing_values(tmp_path: Path, text: str) -> None:
    frame = pd.DataFrame({"x": [text, "1", "2.5"] * 20, "y": np.arange(60) % 7})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with refused(ISSUE, repr(text)) as error:
        OwnTable(path=str(tmp_path / "t.csv"), target="y").load()
    assert "missing_values" not in str(error.value)


@pytest.mark.parametrize("case", CULPRITS)
@pytest.mark.parametrize("is_target", [False, True])
def test_the_cell_that_is_wrong_is_named(tmp_path: Path, case: str, is_target: bool) -> None:
    """It can be read as missing."""
    cells, culprit, row = CULPRITS[case]
    if is_target and "dates" in case:
        return
    frame = pd.DataFrame({"x": cells, "y": np.arange(len(cells)) % 7, "z": 1})
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    settings = {"path": str(tmp_path / "t.csv"), "target": "x" if is_target else "y"}
    with refused(
        f"{TARGET} not_numeric" if is_target else ISSUE, repr(culprit), f"data row {row}"
    ) as error:
        OwnTable(**settings).load()
    if "another" not in case:
        advised = overrides(str(error.value), "missing with (.*?)(, or |\\.$)")
        assert advised["missing"] == "impute"
        OwnTable(**settings, **advised | {"dates": "numbers"}).load()


def overrides(message: str, pattern: str) -> dict[str, Any]:
    """Return the settings of the overrides that a message advises, as they would be typed."""
    found = re.search(pattern, message)
    assert found is not None, message
    given = ["dataset=csv", "dataset.path=x", "dataset.target=y", *shlex.split(found[1])]
    (config,) = compose_configs(given)
    return {word.split("=")[0][8:]: config["dataset"][word.split("=")[0][8:]] for word in given[3:]}


@pytest.mark.parametrize(
    "name", ["a b", "it's", "a, b", "p [bar]", "{x}", "Preis (€)", "$HOME", "-"]
)
def test_advice_can_be_typed(tmp_path: Path, name: str) -> None:
    """For every name, and after other columns were dropped."""
    frame = pd.DataFrame({name: [f"w{i}" for i in range(120)], "x": [*range(119), "?"], "w": "v"})
    frame.assign(y=np.arange(120) % 7).to_csv(tmp_path / "t.csv", index=False)
    settings: dict[str, Any] = {"path": str(tmp_path / "t.csv"), "target": "y"}
    with refused(f"{PATH} column_issues") as error:
        OwnTable(**settings, drop=["w"]).load()
    advised = overrides(str(error.value), OVERRIDES.pattern)
    assert advised == {"missing_values": ["?"], "missing": "impute", "drop": ["w", name]}
    assert OwnTable(**settings, **advised).load().features == ("x",)


FEW, MANY = [f"p{k // 9}" for k in range(330)], [f"q{k // 3}" for k in range(330)]

MORNING = [f"{7 + k % 3}:{k % 60:02d}" for k in range(330)]


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        ({"DateTime": True, "Time": MORNING}, "dataset.time=DateTime"),
        ({"Time": MORNING, "DateTime": True}, "dataset.time=DateTime"),
        ({"DateTime": True, "Time": [f"{k}:30:00" for k in range(10, 20)] * 33}, "time=DateTime"),
        ({"DateTime": True, "who": MANY}, "dataset.group=who"),
        ({"DateTime": True, "who": FEW}, "dataset.time=DateTime"),
        ({"a": MANY, "b": MANY}, "dataset.group=a"),
        ({"a": FEW, "b": FEW}, "dataset.group=a"),
        ({"a": FEW, "b": MANY}, "dataset.group=b"),
    ],
)  # fmt: skip
def test_one_column_is_advised_to_define_the_splits(
    tmp_path: Path, columns: dict[str, Any], advice: str
) -> None:
    days = pd.date_range("2024-01-01", periods=330, freq="h").astype(str).tolist()
    message = suggested(tmp_path, {k: days if v is True else v for k, v in columns.items()})
    assert advice in message
    assert len({*re.findall(r"dataset\.(?:group|time)=\w+", message)}) == 1


@pytest.mark.parametrize(
    ("names", "settings"),
    [
        (["t ", "two\nlines", "y"], {"target": " y", "columns": ["t ", "two\nlines"]}),
        (["t", "two lines", "\ty"], {"target": "y", "drop": []}),
        (["\ufefft", "two \r\n lines", "y"], {"target": "y\n"}),
        (["t\u200b", "\u3000two lines\u200b ", "y\ufeff"], {"target": "y"}),
        (["t", "two lines ", "y", " who"], {"target": "y", "group": "who "}),
        (["t", "two lines ", "y", "who "], {"target": "y", "drop": [" who"]}),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_names_are_cleaned_in_files_and_in_settings(
    tmp_path: Path, names: list[str], settings: dict[str, Any], kind: str
) -> None:
    path = tmp_path / f"t.{kind}"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)).round(1)[:, : len(names)])
    frame.columns = pd.Index(names)
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        pytest.importorskip("openpyxl" if kind == "xlsx" else "pyarrow")
        getattr(frame, "to_excel" if kind == "xlsx" else "to_parquet")(path, index=False)
    table = OwnTable(path=str(path), **settings, test_fraction=0.3).load()
    assert (table.features, table.target) == (("t", "two lines"), "y")


@pytest.mark.parametrize(
    ("text", "encoding", "target"),
    [
        ("가격,면적\n", "euc-kr", "y"),
        ("größe,größe\n", "cp1252", "y"),
        ("Größe,y\n", "cp1250", "z"),
    ],
)
def test_an_error_after_a_guessed_encoding_names_the_guess(
    tmp_path: Path, text: str, encoding: str, target: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes((text + "1,2\n" * 12).encode(encoding))
    with pytest.raises(UserError, match=r"cp1252.*dataset\.encoding"):
        OwnTable(path=str(path), target=target).load()
    with pytest.raises(UserError) as error:
        OwnTable(path=str(path), target=target, encoding=encoding).load()
    assert "cp1252" not in str(error.value)


@pytest.mark.parametrize("values", ["?", [None], [True], [["a"]]])
def test_codes_of_missing_values_are_numbers_and_texts(values: Any) -> None:
    with raises_user_error("dataset.missing_values"):
        OwnTable(path="t.csv", target="y", missing_values=values)


def test_reading_is_not_part_of_the_identity_of_a_run() -> None:
    """The digest of a run includes the content of its table."""
    plain = OwnTable(path="t.csv", target="y")
    assert identity_of(replace(plain, header=False, missing_values=[1])) == identity_of(plain)
