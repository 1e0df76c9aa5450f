"""The user's own table: what it may hold, and what is refused in one sentence."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.tables import check_splits, configured
from support.user_errors import assert_one_sentence

from bnnbench.cli.line import configs_of
from bnnbench.cli.make import make
from bnnbench.data.own_table.source import OwnTable
from bnnbench.types import Table, UserError

ROWS = [f"{i},{i % 3},{i / 2 + 1}" for i in range(12)]


def write(folder: Path, rows: list[str], header: str = "a,b,price", name: str = "mine") -> str:
    path = folder / f"{name}.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def test_csv_loads(tmp_path: Path) -> None:
    source, _ = configured("csv", path=write(tmp_path, ROWS, name="my own (2)"), target="b")
    table = source.load()
    assert table.name == "my-own-2"
    assert (table.features, table.target) == (("a", "price"), "b")
    assert table.inputs[3].tolist() == [3.0, 2.5]
    assert table.targets[:4].tolist() == [0.0, 1.0, 2.0, 0.0]
    assert table.inputs.dtype == table.targets.dtype == np.float64
    check_splits(table, 20)
    assert {len(split.test) for split in table.splits} == {1}
    assert OwnTable(path=write(tmp_path, ROWS, name="Häuser"), target="b").load().name == "Hauser"
    assert OwnTable(name="houses", path=source.path, target="b").load().name == "houses"


def test_csv_takes_blanks_booleans_constants_and_a_byte_order_mark(tmp_path: Path) -> None:
    rows = [f"{i}, {'true' if i % 2 else 'false'}, 7" for i in range(10)]
    path = write(tmp_path, rows, header="\ufeffa , flag, same")
    table = OwnTable(path=path, target="a").load()
    assert table.features == ("flag", "same")
    assert table.inputs[:2].tolist() == [[0.0, 7.0], [1.0, 7.0]]


def changed(row: int, text: str) -> list[str]:
    return [*ROWS[:row], text, *ROWS[row + 1 :]]


@pytest.mark.parametrize(
    ("rows", "header", "parts"),
    [
        (changed(4, "4,red,1"), "a,b,price", ["dataset.path", "'b'", "'red'", "data row 5"]),
        (changed(4, "4,1,?"), "a,b,price", ["dataset.path", "'price'", "'?'", "data row 5"]),
        (changed(4, "4,true,1"), "a,b,price", ["dataset.path", "'b'", "'true'", "data row 5"]),
        (changed(2, "2,,1"), "a,b,price", ["dataset.path", "'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,  ,1"), "a,b,price", ["dataset.path", "'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,NaN,1"), "a,b,price", ["dataset.path", "'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,-inf,1"), "a,b,price", ["dataset.path", "'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,1"), "a,b,price", ["dataset.path", "'price'", "1 of 12", "data row 3"]),
        (changed(2, "2,1,1,9"), "a,b,price", ["dataset.path", "not a valid table"]),
        ([f"{row},9" for row in ROWS], "a,b,price", ["names 3 columns", "has 4", "separator"]),
        (ROWS[:3], "a,b,price", ["dataset.path", "too few rows", "holds 3", "10"]),
        (ROWS[:9], "a,b,price", ["dataset.path", "too few rows", "holds 9"]),
        ([], "a,b,price", ["dataset.path", "too few rows", "holds 0"]),
        (ROWS, "a,a,price", ["dataset.path", "more than one column 'a'"]),
        (ROWS, ",b,price", ["dataset.path", "column 1", "no name"]),
        (ROWS, "a,b,Price", ["dataset.target", "'price'", "a, b, Price", "'Price' is the closest"]),
        (ROWS, "a,b,zzz", ["dataset.target", "'price'", "a, b, zzz"]),
        ([f"{i},{i},5" for i in range(12)], "a,b,price", ["dataset.target", "'price'", "is 5"]),
        ([str(i) for i in range(12)], "price", ["dataset.path", "no column besides"]),
    ],
)
def test_csv_refuses(tmp_path: Path, rows: list[str], header: str, parts: list[str]) -> None:
    path = write(tmp_path, rows, header)
    with pytest.raises(UserError) as error:
        OwnTable(path=path, target="price").load()
    assert_one_sentence(error, path, *parts)


def test_csv_refuses_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)))
    for name, part in [
        ("none.csv", "no file"),
        ("empty.csv", "empty"),
        ("binary.csv", "dataset.encoding"),
        (".", "cannot read"),
    ]:
        with pytest.raises(UserError) as error:
            OwnTable(path=str(tmp_path / name), target="y").load()
        assert_one_sentence(error, "dataset.path", str(tmp_path / name), part)


def test_csv_needs_path_and_target() -> None:
    with pytest.raises(UserError) as error:
        OwnTable(target="y")
    assert_one_sentence(error, "dataset.path")
    with pytest.raises(UserError) as error:
        OwnTable(path="x.csv")
    assert_one_sentence(error, "dataset.target")


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        (changed(4, "4,1e200,1"), ["'b'", "1e+200", "data row 5", "square", "1e+100"]),
        (changed(4, "4,1,-4e305"), ["'price'", "-4e+305", "data row 5", "square"]),
        (changed(4, "4,3e60,1"), ["'b'", "3e+60", "data row 5", "as far from the others"]),
        ([f"{i},{i}e-14,{i}" for i in range(12)], ["'b'", "varies by 1.1e-13", "rounding"]),
        ([f"{i},{i},{i}e-200" for i in range(12)], ["'price'", "varies by 1.1e-199"]),
        ([f"{i},{i},{1e20 * (1 + i * 1e-14)!r}" for i in range(12)], ["'price'", "every row"]),
    ],
)
def test_csv_refuses_numbers_that_cannot_be_scored(
    tmp_path: Path, rows: list[str], parts: list[str]
) -> None:
    with pytest.raises(UserError) as error:
        OwnTable(path=write(tmp_path, rows), target="price").load()
    assert_one_sentence(error, *parts)


def test_csv_takes_large_numbers_that_are_alike(tmp_path: Path) -> None:
    """Masses of stars in kilograms, of which some are zero; a constant that rounding moves."""
    rows = [f"{1e20 * (1 + i * 1e-14)!r},{0 if i < 7 else i}e30,{i}e31" for i in range(12)]
    table = OwnTable(path=write(tmp_path, rows), target="price").load()
    assert table.targets.max() == 11e31 and len(table.inputs) == 12


def test_pipes_addresses_and_old_workbooks_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    wrong = {str(tmp_path / "pipe"): "pipe", "https://a.org/x.csv": "fetch it", "a.xls": "2007"}
    for name, words in wrong.items():
        with pytest.raises(UserError) as error:
            OwnTable(path=name, target="b").load()
        assert_one_sentence(error, words)


def test_csv_without_a_header_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        OwnTable(path=write(tmp_path, ROWS, header="0,-1.5,2e3"), target="price").load()
    assert_one_sentence(error, "'price'", "the first line must name them")


MIXED = [
    f"{i},{'ab'[i % 2]},2024-01-{i + 1:02d},{'' if i == 3 else i % 5},{i / 2}" for i in range(12)
]
HEAD = "n,kind,day,gappy,y"


def mixed(folder: Path, **settings: Any) -> Table:
    path = write(folder, MIXED, HEAD)
    return OwnTable(path=path, target="y", **settings).load()


def test_what_is_no_number_is_refused_with_what_to_do(tmp_path: Path) -> None:
    for drop, words in [
        (["day", "gappy"], ["'kind'", "'a'", "data row 1", "categorical=onehot", "2 values"]),
        (["kind", "gappy"], ["'day'", "dates", "dataset.dates=numbers"]),
        (["kind", "day"], ["'gappy'", "data row 4", "dataset.missing=drop"]),
    ]:
        with pytest.raises(UserError) as error:
            mixed(tmp_path, drop=drop)
        assert_one_sentence(error, *words)


SETTLED = re.compile(r"all is settled by (.*?)(?: \(dataset\.drop=|;|\.$)")


@pytest.mark.parametrize(
    ("more", "columns"),
    [
        ({}, ["n", "kind", "day", "gappy"]),
        ({"key [no]": [f"c{i}" for i in range(120)]}, ["n", "kind", "day", "gappy"]),
        (
            {"none": [""] * 120, "size": [*["inf"] * 3, *range(117)]},
            ["n", "kind", "day", "gappy"],
        ),
        ({"kind": ["?", *range(119)], "when": ["1/2/2024"] * 120}, ["n", "day", "gappy", "when"]),
    ],
)
def test_all_that_is_to_be_decided_is_said_at_once(
    tmp_path: Path, more: dict[str, list[Any]], columns: list[str]
) -> None:
    """And the settings that the sentence ends with do settle it."""
    frame = pd.DataFrame([line.split(",") for line in MIXED * 10], columns=HEAD.split(","))
    for name, cells in more.items():
        frame[name] = cells
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(UserError) as error:
        OwnTable(path=str(tmp_path / "t.csv"), target="y").load()
    assert_one_sentence(error, "'kind'", "'day'", "'gappy'", "need a decision", *map(repr, more))
    found = SETTLED.search(str(error.value))
    assert found is not None
    words = ["dataset=csv", f"dataset.path={tmp_path / 't.csv'}", "dataset.target=y"]
    (config,) = configs_of([*words, *shlex.split(found[1])])
    settings = {key: value for key, value in config["dataset"].items() if key != "protocol"}
    features = make("dataset", settings).load().features
    assert list(dict.fromkeys(name.partition("=")[0] for name in features)) == columns


def test_words_cannot_be_predicted(tmp_path: Path) -> None:
    path = write(tmp_path, MIXED, HEAD)
    for categorical in ("refuse", "onehot"):
        with pytest.raises(UserError) as error:
            OwnTable(path=path, target="kind", categorical=categorical).load()
        assert_one_sentence(error, "'kind'", "the target", "'a'", "must be a number to predict")


def test_days_with_dots_are_dates(tmp_path: Path) -> None:
    lines = [f"{i},{i % 28 + 1}.{i // 28 + 1:02d}.2024{' 06:00' * (i % 2)},{i}" for i in range(40)]
    path = write(tmp_path, lines, "n,day,y")
    table = OwnTable(path=path, target="y", dates="numbers").load()
    days = table.inputs[:, 1]
    assert days[0] == 19723 and days[1] == 19724.25  # the first of January 2024 and the second
    assert days[28] == 19723 + 31
    by_time = OwnTable(path=path, target="y", time="day").load()
    assert all(split.train.max() < split.test.min() for split in by_time.splits)


@pytest.mark.parametrize("rows", [12, 102])
@pytest.mark.parametrize("form", ["{0:02d}/{1:02d}/2024", "{0:02d}.{1:02d}.24", "31.{0}.2024"])
def test_dates_that_can_be_read_in_two_ways_are_refused(
    tmp_path: Path, rows: int, form: str
) -> None:
    lines = [f"{i},{form.format(i % 28 + 1, i // 28 + 1)},{i / 2}" for i in range(rows)]
    path, words = write(tmp_path, lines, "n,day,y"), "onehot" if rows > 100 else "refuse"
    if form[0] == "3" and rows > 100:
        return  # 28 values of a month that is none
    with pytest.raises(UserError) as error:
        OwnTable(path=path, target="y", dates="numbers", categorical=words).load()
    assert_one_sentence(error, "'day'", "dates are read as 2024-12-31 or 31.12.2024")


def test_words_dates_and_gaps_become_numbers_where_asked(tmp_path: Path) -> None:
    table = mixed(tmp_path, categorical="onehot", dates="numbers", missing="impute")
    assert table.features == ("n", "kind=a", "kind=b", "day", "gappy")
    assert table.inputs[:2, 1:3].tolist() == [[1, 0], [0, 1]]
    assert np.diff(table.inputs[:, 3]).tolist() == [1.0] * 11
    assert table.inputs[0, 3] == 19723  # days from the first of January 1970 to that of 2024
    assert np.isnan(table.inputs[3, 4]) and np.isnan(table.inputs).sum() == 1
    table = mixed(tmp_path, columns=["n", "gappy"], missing="drop")
    assert table.features == ("n", "gappy") and len(table.inputs) == 11
    assert any("1 of 12 rows" in remark for remark in table.remarks)


def test_columns_that_split_are_no_inputs(tmp_path: Path) -> None:
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
    ("settings", "words"),
    [
        ({"group": "who", "time": "n"}, ["group", "time"]),
        ({"group": "nobody"}, ["dataset.group", "'nobody'"]),
        ({"drop": ["y"]}, ["dataset.drop", "target"]),
        ({"drop": "n"}, ["dataset.drop", "list"]),
        ({"group": "y"}, ["dataset.target", "split"]),
        ({"columns": ["y"]}, ["no column besides"]),
        ({"missing": "guess"}, ["dataset.missing", "refuse, drop, impute"]),
        ({"test": "n"}, ["dataset.test", "1 (or true)"]),
        ({"test": "test", "n_splits": 3}, ["dataset.n_splits"]),
        ({"time": "n", "n_splits": 19}, ["dataset.n_splits", "19 windows"]),
        ({"group": "who", "test_fraction": 0.01}, ["dataset.group", "5 groups"]),
    ],
)
def test_settings_that_make_no_sense(
    tmp_path: Path, settings: dict[str, Any], words: list[str]
) -> None:
    rows = [f"{i},{i // 4},{int(i > 15)},{i % 7}" for i in range(20)]
    path = write(tmp_path, rows, header="n,who,test,y")
    with pytest.raises(UserError) as error:
        OwnTable(path=path, target="y", **settings).load()
    assert_one_sentence(error, *words)


def test_categories_without_end_and_words_among_numbers(tmp_path: Path) -> None:
    many = [f"{i},w{i},{i}" for i in range(120)]
    few = [f"{i},{'x' if i == 3 else i},{i}" for i in range(120)]
    for rows, words in [(many, ["120 values", "100"]), (few, ["'x'", "must be a number"])]:
        with pytest.raises(UserError) as error:
            OwnTable(path=write(tmp_path, rows), target="price", categorical="onehot").load()
        assert_one_sentence(error, "'b'", *words)


def test_a_telling_word_is_dropped_with_its_column(tmp_path: Path) -> None:
    """What `dataset.drop` takes is the name in the file, not that of a column of zeros and ones."""
    rows = [f"{i},{'low' if i % 2 else 'high'},{1 + i % 2}" for i in range(20)]
    path = write(tmp_path, rows, "n,shop,y")
    remarks = OwnTable(path=path, target="y", categorical="onehot").load().remarks
    (telling,) = (remark for remark in remarks if "shop=low alone tells y" in remark)
    assert telling.endswith("leave it out by dataset.drop=[shop]")
    left = OwnTable(path=path, target="y", drop=["shop"]).load()
    assert not any("alone tells" in remark for remark in left.remarks)
