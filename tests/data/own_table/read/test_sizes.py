"""Small files that would fill the memory are refused before they are read."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.read import sizes
from bnnbench.data.own_table.read.frame_file import SUFFIX, write_frame
from bnnbench.data.own_table.read.table_file import read_frame
from bnnbench.data.own_table.read.text_file import ReadingSettings
from bnnbench.data.own_table.source import OwnTable
from bnnbench.files import RefusedFile

LIMIT_GB = 0.0004
"""25,000 cells of a text file, 50,000 numbers, or 6,250 cells of a sheet."""


def workbook(path: Path, end: str) -> None:
    """Write a workbook of a few rows, with further rows as XML."""
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": range(30), "y": range(30)}).to_excel(path, index=False)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    members[sheet] = members[sheet].replace(b"</sheetData>", f"{end}</sheetData>".encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def cell(place: str) -> str:
    row = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    return f'<row r="{row}"><c r="{place}" t="inlineStr"><is><t> </t></is></c></row>'


def repeated_texts(path: Path, count: int = 1000, **changes: object) -> None:
    """Write a column of one long text."""
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": ["x" * 1000] * count, "y": np.arange(count), **changes})
    getattr(frame, f"to_{path.suffix[1:]}")(path)


def categories(path: Path) -> None:
    repeated_texts(path, a=pd.Categorical(["x" * 1000] * 1000))


def constants(path: Path) -> None:
    pytest.importorskip("pyarrow")
    pd.DataFrame(np.zeros((10**5, 2), np.int8), columns=["a", "y"]).to_parquet(path)


def decimals(path: Path) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    column = pa.array([1] * 10_000).cast(pa.decimal128(30, 2))
    parquet.write_table(pa.table({"a": column}), path)


def text(*parts: str) -> Callable[[Path], None]:
    content = gzip.compress("".join(parts).encode())
    return lambda path: (path.write_bytes(content), None)[1]


NAMES = ",".join(f"c{k}" for k in range(500)) + "\n"

BOMBS: dict[str, Callable[[Path], None]] = {
    "a far column.xlsx": lambda path: workbook(path, cell("ZZZ40")),
    "a far row.xlsx": lambda path: workbook(path, cell("A1048576")),
    "a far corner.xlsx": lambda path: workbook(path, cell("XFD1048576")),
    "an impossible row.xlsx": lambda path: workbook(path, cell("A99999999999")),
    "cells without places.xlsx": lambda path: workbook(path, f"<row>{'<c/>' * 30_000}</row>"),
    "long texts.parquet": repeated_texts,
    "long texts.feather": repeated_texts,
    "a long category.parquet": categories,
    "a long category.feather": categories,
    "runs.parquet": constants,
    "decimals.parquet": decimals,
    "short rows.csv.gz": text(NAMES, "1,2\n" * 100),
    "short rows of Windows.csv.gz": text(NAMES, "1,2\r\n" * 100),
    "short rows of blanks.csv.gz": text(NAMES.replace(",", " "), "1 2\n" * 100),
    "separators above.csv.gz": text("," * 100_000, "\n1,2\n"),
    "separators below.csv.gz": text("a,y\n", "1,2\n" * 300, "," * 30_000),
    "many rows.csv.gz": text("a,y\n", "1,2\n" * 20_000),
    "one line.csv.gz": text("1;" * 100_000),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_table_of_too_many_cells_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / name
    BOMBS[name](path)
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", str(LIMIT_GB))
    with raises_user_error("dataset.path", "unreadable", ["BNNBENCH_MAX_UNPACKED_GB", path]):
        read_frame(path, ReadingSettings())


def test_a_long_category_of_a_frame_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_frame(pd.DataFrame({"a": ["x" * 1000] * 1000}), tmp_path)
    assert path.suffix == SUFFIX and len(read_frame(path, ReadingSettings())[0]) == 1000
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", str(LIMIT_GB))
    with raises_user_error("dataset.path", "unreadable"):
        read_frame(path, ReadingSettings())


def test_encoded_columns_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,y\n" + "".join(f"word{k % 90},{k}\n" for k in range(1000)))
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", str(LIMIT_GB))
    with pytest.raises(RefusedFile):
        OwnTable(path=str(path), target="y", categorical="onehot").load()


@pytest.mark.parametrize("kind", ["list", "struct", "map"])
def test_nested_columns_are_refused(tmp_path: Path, kind: str) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    nested = {
        "list": pa.array([[1, 2]] * 20),
        "struct": pa.array([{"b": 1}] * 20),
        "map": pa.array([[("b", 1)]] * 20, pa.map_(pa.string(), pa.int64())),
    }
    parquet.write_table(pa.table({"a": nested[kind], "y": range(20)}), tmp_path / "t.parquet")
    with raises_user_error("dataset.path", "invalid_table"):
        read_frame(tmp_path / "t.parquet", ReadingSettings())


@pytest.mark.parametrize("content", ["", "a", "a\n", "a\r\nb\r", "é" * 20 + "\nb", "a\n\n\nb"])
def test_lines_are_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    monkeypatch.setattr(sizes, "PIECE", 7)
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode())
    with path.open(newline="") as file:
        assert "".join(sizes.limited_lines(file, path)) == content
    with path.open(newline="") as file, path.open(newline="") as same:
        assert [*sizes.limited_lines(file, path)] == [*same]
