"""The user's own table: what it may hold, and what is refused in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.tables import check_splits, configured
from support.user_errors import assert_one_sentence

from bnnbench.data.csv_table import CSV
from bnnbench.types import UserError

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
    assert CSV(name="houses", path=source.path, target="b").load().name == "houses"


def test_csv_takes_blanks_booleans_constants_and_a_byte_order_mark(tmp_path: Path) -> None:
    rows = [f"{i}, {'true' if i % 2 else 'false'}, 7" for i in range(10)]
    path = write(tmp_path, rows, header="\ufeffa , flag, same")
    table = CSV(path=path, target="a").load()
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
        (changed(2, "2,1,1,9"), "a,b,price", ["dataset.path", "not a valid CSV"]),
        ([f"{row},9" for row in ROWS], "a,b,price", ["dataset.path", "saw 4"]),
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
        CSV(path=path, target="price").load()
    assert_one_sentence(error, path, *parts)


def test_csv_refuses_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)))
    for name, part in [
        ("none.csv", "no file"),
        ("empty.csv", "empty"),
        ("binary.csv", "not a valid CSV"),
        (".", "cannot read"),
    ]:
        with pytest.raises(UserError) as error:
            CSV(path=str(tmp_path / name), target="y").load()
        assert_one_sentence(error, "dataset.path", str(tmp_path / name), part)


def test_csv_needs_path_and_target() -> None:
    with pytest.raises(UserError) as error:
        CSV(target="y")
    assert_one_sentence(error, "dataset.path")
    with pytest.raises(UserError) as error:
        CSV(path="x.csv")
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
        CSV(path=write(tmp_path, rows), target="price").load()
    assert_one_sentence(error, *parts)


def test_csv_takes_large_numbers_that_are_alike(tmp_path: Path) -> None:
    """Masses of stars in kilograms, of which some are zero; a constant that rounding moves."""
    rows = [f"{1e20 * (1 + i * 1e-14)!r},{0 if i < 7 else i}e30,{i}e31" for i in range(12)]
    table = CSV(path=write(tmp_path, rows), target="price").load()
    assert table.targets.max() == 11e31 and len(table.inputs) == 12


def test_csv_refuses_other_separators_pipes_and_addresses(tmp_path: Path) -> None:
    path = tmp_path / "other.csv"
    for mark in (";", "\t", "|"):
        path.write_text("\n".join(["a,b", *("1,2" for _ in range(12))]).replace(",", mark))
        with pytest.raises(UserError) as error:
            CSV(path=str(path), target="b").load()
        assert_one_sentence(error, "other.csv", repr(mark), "commas")
    os.mkfifo(tmp_path / "pipe")
    for name, words in {str(tmp_path / "pipe"): "pipe", "https://a.org/x.csv": "fetch it"}.items():
        with pytest.raises(UserError) as error:
            CSV(path=name, target="b").load()
        assert_one_sentence(error, name, words)


def test_csv_without_a_header_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        CSV(path=write(tmp_path, ROWS, header="0,-1.5,2e3"), target="price").load()
    assert_one_sentence(error, "'price'", "the first line must name them")
