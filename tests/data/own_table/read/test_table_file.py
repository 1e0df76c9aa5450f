"""The same table in different file formats."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import re
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

import bnnbench
from bnnbench.data.own_table.cells.numbers import MISSING
from bnnbench.data.own_table.read.table_file import read_frame
from bnnbench.data.own_table.read.text_file import ReadingSettings
from bnnbench.data.own_table.source import OwnTable

FRAME = pd.DataFrame(
    {
        "Größe": [1.5, 2.25, -3.0] * 5,
        "ja": [True, False, True] * 5,
        "Preis (€)": np.arange(15) * 1000.5,
    }
)


def text(separator: str = ",", decimal: str = ".", **options: object) -> str:
    return str(FRAME.to_csv(index=False, sep=separator, decimal=decimal, **options))  # type: ignore[call-overload]


def as_table(path: Path) -> np.ndarray:
    table = OwnTable(path=str(path), target="Preis (€)").load()
    assert table.features == ("Größe", "ja")
    return np.column_stack([table.inputs, table.targets])


@pytest.mark.parametrize(
    ("separator", "decimal", "encoding"),
    [(",", ".", "utf-8-sig"), (";", ",", "cp1252"), ("\t", ",", "utf-16"), ("|", ".", "utf-8"),
     (",", ",", "utf-8")],
)  # fmt: skip
def test_text_in_every_format(tmp_path: Path, separator: str, decimal: str, encoding: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text(separator, decimal).encode(encoding))
    assert as_table(path).tolist() == FRAME.astype(float).to_numpy().tolist()


def test_the_detected_format_is_reported_unless_it_is_set(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text(";", ",").encode("cp1252"))
    first = OwnTable(path=str(path), target="Preis (€)").load().warnings[0]
    assert all(word in first for word in ("t.csv", "semicolon", "comma", "cp1252"))
    given = {"separator": "semicolon", "decimal": ",", "encoding": "cp1252"}
    assert "semicolon" not in str(OwnTable(path=str(path), target="ja", **given).load().warnings)
    path.write_text(text())
    assert "comma" not in str(OwnTable(path=str(path), target="ja").load().warnings)


def test_thousands_separators_are_removed_from_numbers_only(tmp_path: Path) -> None:
    """Not from dates (02.01.2024 would be 2012024) or versions."""
    rows = [f"{i + 1:02d}.01.2024;1.{i:03d},5;1.2.{i};{i}.000,0" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["day;grouped;version;whole", *rows]))
    frame, found = read_frame(tmp_path / "t.csv", ReadingSettings())
    assert "thousands" in found
    assert frame["day"].tolist() == [f"{i + 1:02d}.01.2024" for i in range(12)]
    assert frame["grouped"].tolist() == [1000.5 + i for i in range(12)]
    assert frame["version"].tolist() == [f"1.2.{i}" for i in range(12)]
    assert frame["whole"].tolist() == [1000 * i for i in range(12)]


COMMAS: list[tuple[list[str], str, list[object] | None]] = [
    (["1,230", "950", "1,231"], "auto", None),
    (["1,230", "1,234,567", "950"], "auto", [1230, 1234567, 950]),
    (["1,25,000", "950", "12,34,567"], "auto", [125000, 950, 1234567]),
    (["1,230", "950", "1,231"], ".", [1230, 950, 1231]),
    (["1,230", "950", "1,231"], ",", [1.23, 950, 1.231]),
    (["1,230", "950", "2,5"], "auto", [1.23, 950, 2.5]),
    (["1,230", "950", "0,125"], "auto", [1.23, 950, 0.125]),
    (["1,230", "950.5", "1,234,567.25"], "auto", [1230, 950.5, 1234567.25]),
    (["1,230", "950.5", "2,5"], "auto", ["1,230", "950.5", "2,5"]),
]
POINTS: list[tuple[list[str], str, list[object] | None]] = [
    (["1.230", "950", "1.231"], "auto", None),
    (["1.230", "950", "1.231"], ".", [1.23, 950, 1.231]),
    (["1.230", "950", "1.231"], ",", [1230, 950, 1231]),
    (["1.230", "950", "0.125"], "auto", [1.23, 950, 0.125]),
    (["1.230", "950", "2,5"], "auto", [1230, 950, 2.5]),
    (["1.230", "950", "1.234.567"], "auto", [1230, 950, 1234567]),
    (["1.230", "950", "1.234.567,25"], "auto", [1230, 950, 1234567.25]),
]


@pytest.mark.parametrize(
    ("separator", "rows", "decimal", "expected"),
    [(mark, *case) for mark, cases in ((",", COMMAS), (";", POINTS)) for case in cases],
)  # fmt: skip
def test_commas_and_points_separate_decimals_or_thousands(
    tmp_path: Path, separator: str, rows: list[str], decimal: str, expected: list[object] | None
) -> None:
    """`None`: both are possible."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join([f"a{separator}b", *(f'"{row}"{separator}x' for row in rows)]))
    if expected is None:
        with raises_user_error("dataset.decimal", "ambiguous"):
            read_frame(path, ReadingSettings(decimal=decimal))
        return
    assert read_frame(path, ReadingSettings(decimal=decimal))[0]["a"].tolist() == expected


def test_commas_between_semicolons_are_decimal_marks(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1,230;4\n2,460;5\n")
    frame, _ = read_frame(tmp_path / "t.csv", ReadingSettings())
    assert frame["a"].tolist() == [1.23, 2.46]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n\n"])
def test_ends_of_lines_and_quotation_marks(tmp_path: Path, end: str) -> None:
    cells = FRAME.to_csv(index=False, quoting=csv.QUOTE_ALL).replace("\n", end)
    (tmp_path / "t.csv").write_bytes(f"{cells}{end}{end}".encode())
    assert as_table(tmp_path / "t.csv").tolist() == FRAME.astype(float).to_numpy().tolist()


def test_long_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"a,b\n1,{'x' * 140_000}\n")
    assert read_frame(tmp_path / "t.csv", ReadingSettings())[0].shape == (1, 2)


def zipped(path: Path, content: bytes) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("t.csv", content)


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [
        (".gz", lambda path, content: path.write_bytes(gzip.compress(content))),
        (".bz2", lambda path, content: path.write_bytes(bz2.compress(content))),
        (".xz", lambda path, content: path.write_bytes(lzma.compress(content))),
        (".zip", zipped),
    ],
)
def test_compressed(tmp_path: Path, suffix: str, pack: Callable[[Path, bytes], object]) -> None:
    path = tmp_path / f"t.csv{suffix}"
    pack(path, text().encode())
    assert as_table(path).tolist() == FRAME.astype(float).to_numpy().tolist()
    assert OwnTable(path=str(path), target="ja").load().name == "t"


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "feather"])
def test_other_files(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("openpyxl" if kind == "xlsx" else "pyarrow")
    path = tmp_path / f"t.{kind}"
    if kind == "xlsx":
        FRAME.to_excel(path, index=False, sheet_name="Daten")
    else:
        getattr(FRAME, f"to_{kind}")(path)
    assert as_table(path).tolist() == FRAME.astype(float).to_numpy().tolist()


def test_sheets(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    with pd.ExcelWriter(path) as book:
        FRAME.head(3).to_excel(book, index=False, sheet_name="first")
        FRAME.to_excel(book, index=False, sheet_name="second")
    assert len(OwnTable(path=str(path), target="ja", sheet="second").load().targets) == 15
    with raises_user_error("dataset.sheet", mentions=["first, second"]):
        OwnTable(path=str(path), target="ja", sheet="third").load()
    FRAME.to_csv(text := tmp_path / "text.csv", index=False)
    with raises_user_error("dataset.sheet", "no_workbook"):
        OwnTable(path=str(text), target="ja", sheet="second").load()


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with raises_user_error("dataset.path", "missing_library", mentions=["pyarrow", ".[tables]"]):
        OwnTable(path=str(path), target="ja").load()


def test_files_that_are_not_tables(tmp_path: Path) -> None:
    two = tmp_path / "two.zip"
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("a.csv", "1")
        archive.writestr("b.csv", "1")
    broken = tmp_path / "broken.gz"
    broken.write_bytes(b"no gzip")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(text())
    for path, settings, setting, code in [
        (two, {}, "dataset.path", "archive"),
        (broken, {}, "dataset.path", "unreadable"),
        (wrong, {"encoding": "klingon"}, "dataset.encoding", None),
        (wrong, {"separator": "semicolon"}, "dataset.target", "unknown_column"),
    ]:
        with raises_user_error(setting, code):
            OwnTable(path=str(path), target="ja", **settings).load()


@pytest.mark.parametrize("content", [b"", b"\0\0", b"a,ja\n1,2\n", "truncated"], ids=str)
@pytest.mark.parametrize("suffix", ["xlsx", "parquet", "feather", "zip", "gz", "bz2", "xz"])
def test_a_file_that_its_name_does_not_describe(
    tmp_path: Path, suffix: str, content: bytes | str
) -> None:
    path = tmp_path / f"t.{suffix}"
    if isinstance(content, str):
        pack = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}.get(suffix, bytes)
        content = pack(text().encode() * 99)[:-20]
    path.write_bytes(content)
    code = "invalid_table" if suffix in ("parquet", "feather") else "unreadable"
    empty = suffix == "gz" and not content  # as gzip itself reads it
    with raises_user_error("dataset.path", "empty_file" if empty else code, mentions=[path]):
        OwnTable(path=str(path), target="ja").load()


@pytest.mark.parametrize("suffix", ["zip", "xlsx"])
@pytest.mark.parametrize(
    ("flags", "method"), [(1, 0), (1, 99), (0, 9), (0, 97), (0x20, 0), (0x41, 8)]
)
def test_an_archive_with_a_password_or_an_unknown_compression(
    tmp_path: Path, suffix: str, flags: int, method: int
) -> None:
    """Bits of the flags: a password, patched data, strong encryption."""
    path = tmp_path / f"t.{suffix}"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", text())
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        start = content.index(signature) + offset
        content[start : start + 4] = struct.pack("<HH", flags, method)
    path.write_bytes(content)
    with raises_user_error("dataset.path", "unreadable", mentions=[path]):
        OwnTable(path=str(path), target="ja").load()


def test_an_archive_that_is_no_workbook(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    zipped(tmp_path / "t.xlsx", text().encode())
    with raises_user_error("dataset.path", "invalid_table"):
        OwnTable(path=str(tmp_path / "t.xlsx"), target="ja").load()


@pytest.mark.parametrize("suffix", ["gz", "bz2", "xz", "zip", "xlsx", "parquet", "feather", "csv"])
def test_the_unpacked_size_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"table.csv.{suffix}"
    frame = pd.DataFrame({"a": np.zeros(4000), "y": np.ones(4000)})
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif suffix in ("parquet", "feather"):
        pytest.importorskip("pyarrow")
        getattr(frame, f"to_{suffix}")(path)
    else:
        frame.to_csv(path, index=False)
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", "0.00002")
    with raises_user_error("dataset.path", "unreadable"):
        read_frame(path, ReadingSettings())
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", "1")
    assert len(read_frame(path, ReadingSettings())[0]) == 4000


def read(path: Path, content: str | bytes, **settings: Any) -> tuple[pd.DataFrame, str]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    codes = tuple(map(str, settings.pop("missing_values", ())))
    return read_frame(path, ReadingSettings(**settings, missing_values=codes))


XY = "1.5,2\n3.5,4\n"

MESSY: dict[str, tuple[str | bytes, dict[str, list[object]], str]] = {
    # content, columns, a note
    "R": ('"x" "the y"\n1.5 2\n3.5 4\n', {"x": [1.5, 3.5], "the y": [2, 4]}, "spaces"),
    "R, row numbers": (
        '"x" "y"\n"1" 1.5 2\n"2" 3.5 4\n',
        {"column_1": [1, 2], "x": [1.5, 3.5], "y": [2, 4]},
        "column_1",
    ),
    "R, row names": (
        '"x"\t"y"\n"Mazda RX4"\t1.5\t2\n"Fiat 128"\t3.5\t4\n',
        {"column_1": ["Mazda RX4", "Fiat 128"], "x": [1.5, 3.5], "y": [2, 4]},
        "column_1",
    ),
    "R, decimal commas": ('"x" "y"\n"1" 1,5 2\n"2" 3,5 4\n', {"x": [1.5, 3.5]}, "commas"),
    "quoted blanks": (
        "kind y\n'a' 2\n\"red car\" 4\n", {"kind": ["'a'", "red car"], "y": [2, 4]}, "spaces",
    ),
    "separators in quotes": (
        '"x;1";"a,b";y\n"1,5";"u;v";2\n"3,5";"w;x";4\n',
        {"x;1": [1.5, 3.5], "a,b": ["u;v", "w;x"], "y": [2, 4]},
        "semicolons",
    ),
    "line breaks in quotes": (
        '"x\n[m]",y\n"1.5",2\n"3.5\n",4\n', {"x [m]": [1.5, 3.5], "y": [2, 4]}, "x [m]",
    ),
    "blanks around names": ("x , y\t\n" + XY, {"x": [1.5, 3.5], "y": [2, 4]}, ""),
    "pandas": ("," + "x,y\n0,1.5,2\n1,3.5,4\n", {"column_1": [0, 1], "x": [1.5, 3.5]}, "column_1"),
    "empty columns": ("x,,y,,\n1.5,,2,,\n3.5,NA,4,,\n", {"x": [1.5, 3.5], "y": [2, 4]}, "2, 4, 5"),
    "trailing separators": ("x,y\n1.5,2,\n3.5,4,\n", {"x": [1.5, 3.5], "y": [2, 4]}, "column 3"),
    "empty rows at the end": ("x,y\n" + XY + ",\n,\n", {"x": [1.5, 3.5], "y": [2, 4]}, "2 empty"),
    "a title": ("Report of May\n\nx,y,z\n1.5,2,3\n3.5,4,5\n", {"x": [1.5, 3.5]}, "skipped 2 lines"),
    "a title above decimal commas": (
        "Report\nx;y;z\n1,5;2;3\n-9;5;6\n3,5;8;9\n2,5;8;9\n", {"x": [1.5, -9, 3.5, 2.5]}, "skipped",
    ),
    "a title in a cell": ("Report,,\nx,y,z\n1,2,3\n4,5,6\n", {"x": [1, 4]}, "skipped 1 line"),
    "Excel's separator": ("sep=;\nx;y\n1,5;2\n3,5;4\n", {"x": [1.5, 3.5]}, "skipped 1 line"),
    "comments": ("# a, b and c\n#\nx,y\n" + XY, {"x": [1.5, 3.5], "y": [2, 4]}, "skipped 2 lines"),
    "numpy": ("# x y\n1.5 2\n3.5 4\n", {"x": [1.5, 3.5], "y": [2, 4]}, ""),
    "a column called #": ("#,y\n1,2\n2,4\n", {"#": [1, 2], "y": [2, 4]}, ""),
    "numbers as names": ("1.5,2\n" + XY, {"1.5": [1.5, 3.5], "2": [2, 4]}, "dataset.header=false"),
    "a row as names": (
        "1.5,red\n2,red\n3,blue\n", {"1.5": [2, 3], "red": ["red", "blue"]}, "dataset.header=false",
    ),
    "years as names": ("place,2001\nx,1\ny,2\n", {"place": ["x", "y"], "2001": [1, 2]}, ""),
    "two byte order marks": (b"\xef\xbb\xbf\xef\xbb\xbf\"x\",y\n1,2\n", {"y": [2]}, "utf-8-sig"),
    "UTF-16": ("x;y\n1,5;2\n".encode("utf-16"), {"x": [1.5], "y": [2]}, "utf-16"),
    "UTF-32": ("x;y\n1,5;2\n".encode("utf-32"), {"x": [1.5], "y": [2]}, "utf-32"),
    "UTF-16 without a mark": ("x;y\n1,5;2\n".encode("utf-16-le"), {"x": [1.5], "y": [2]}, "utf-16"),
    "missing values": (
        "x,y\n1.5,2\nNA , n/a\n<NA>,#N/A\nNone,NULL\nnan,-NaN\n3.5,4\n",
        {"x": [1.5, *[np.nan] * 4, 3.5], "y": [2, *[np.nan] * 4, 4]},
        "",
    ),
    "Swiss": ("x;y\n1'234.5;2\n3.5;4\n", {"x": [1234.5, 3.5], "y": [2, 4]}, "apostrophes"),
    "French": ("x;y\n1\u202f234,5;2\n-3,5;4\n", {"x": [1234.5, -3.5], "y": [2, 4]}, "blanks"),
    "German with a gap": ("x;y\n1.234,5;2\nNA ;4\n", {"x": [1234.5, np.nan]}, "points"),
    "grades": ("x;y\n1-;1,5\n2;2,5\n", {"x": ["1-", "2"], "y": [1.5, 2.5]}, "semicolons"),
}  # fmt: skip


@pytest.mark.parametrize("case", MESSY)
def test_messy_text(tmp_path: Path, case: str) -> None:
    content, columns, note = MESSY[case]
    frame, notes = read(tmp_path / "t.csv", content)
    for name, cells in columns.items():
        np.testing.assert_equal(frame[name].tolist(), cells)
    assert note in notes if note else not notes or "space" in notes


@pytest.mark.parametrize(
    ("codes", "content", "x"),
    [
        ([-200, "?"], "x;y\n-200;1\n?;2\n1,5;3\n", [np.nan, np.nan, 1.5]),
        (["-200"], "x;y\n-200,0;1\n2,5;3\n", [np.nan, 2.5]),
        ([-9999], "x,y\n-9999.00,1\n1.5,2\n", [np.nan, 1.5]),
        ([9999], "x;y\n9.999;1\n1.500,5;2\n", [np.nan, 1500.5]),
        (["-"], 'x,y\n"1,234.5",1\n -  ,2\n"2,000",3\n', [1234.5, np.nan, 2000]),
        (["unknown"], "x,y\nunknown,1\nred,2\n", [np.nan, "red"]),
        ([1], "x,y\ntrue,1\nfalse,2\n", [True, False]),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_codes_of_missing_values(
    tmp_path: Path, codes: list[Any], content: str, x: list[object], kind: str
) -> None:
    frame, _ = read(tmp_path / "t.csv", content, missing_values=codes)
    if kind != "csv":
        pytest.importorskip("openpyxl" if kind == "xlsx" else "pyarrow")
        plain, _ = read(tmp_path / "t.csv", content)
        if plain["x"].dtype == object:
            return  # a mixture of numbers and text in a format with types
        getattr(plain, "to_excel" if kind == "xlsx" else "to_parquet")(
            tmp_path / f"t.{kind}", index=False
        )
        how = ReadingSettings(missing_values=tuple(map(str, codes)))
        frame, _ = read_frame(tmp_path / f"t.{kind}", how)
        x = [None if isinstance(c, float) and np.isnan(c) else c for c in x]
    assert frame["x"].isna().tolist() == [pd.isna(cell) for cell in x]


@pytest.mark.parametrize(
    "content", ["1.5,2\n3.5,4\n", "# text\n1.5,2\n3.5,4\n", "1.5,2,\n3.5,4,\n"]
)
def test_a_file_without_names(tmp_path: Path, content: str) -> None:
    frame, notes = read(tmp_path / "t.csv", content, header=False)
    assert frame.iloc[:, :2].to_dict("list") == {"column_1": [1.5, 3.5], "column_2": [2, 4]}
    assert "dataset.header" not in notes


@pytest.mark.parametrize(
    ("names", "unique"),
    [
        ("Note,y,Note", ["Note", "y", "Note_2"]),
        ("a,a,a", ["a", "a_2", "a_3"]),
        ("a,a_2,a", ["a", "a_2", "a_3"]),
        ("x y, x y,z", ["x y", "x y_2", "z"]),
        ("b,b,B", ["b", "b_2", "B"]),
        ("a,A,b", ["a", "A", "b"]),
        ("a,a_2,b", ["a", "a_2", "b"]),
    ],
)
def test_repeated_names_are_numbered(tmp_path: Path, names: str, unique: list[str]) -> None:
    frame, notes = read(tmp_path / "t.csv", f"{names}\n1,2,3\n4,5,6\n")
    assert list(frame) == unique
    assert all((name in notes) == (name not in names.split(",")) for name in unique if "_" in name)


def test_messy_workbooks(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    path = tmp_path / "t.xlsx"
    cells = [["Report", None, None], [None, None, None], [" x\n[m]", "y", None], [1, "?", None]]
    rows = [*cells, *([k, 2.5 * k, None] for k in range(9)), [None, "", None]]
    pd.DataFrame(rows).to_excel(path, index=False, header=False)
    frame, notes = read_frame(path, ReadingSettings(missing_values=("?",)))
    assert list(frame) == ["x [m]", "y"] and len(frame) == 10 and "x [m]" in notes
    assert frame["y"].isna().tolist() == [True, *[False] * 9]
    pd.DataFrame([[1, 2.5]] * 3).to_excel(path, index=False, header=False)
    assert list(read_frame(path, ReadingSettings(header=False))[0]) == ["column_1", "column_2"]
    pd.DataFrame([["a", "a"], [1, 2]]).to_excel(path, index=False, header=False)
    assert list(read_frame(path, ReadingSettings())[0]) == ["a", "a_2"]


def test_the_page_names_every_text_that_means_a_missing_value() -> None:
    page = Path(bnnbench.__file__).parents[1] / "docs/how_to/own_table.md"
    named = re.search(r"is a missing value in every table: (.*?)\.\n", page.read_text(), re.S)
    assert named is not None
    assert {*re.findall("`(.*?)`", named[1])} == {*MISSING} - {""}
