"""The same table in different file formats."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.reading import read_frame
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
    frame, found = read_frame(tmp_path / "t.csv", "auto", "auto", "auto", None)
    assert "thousands" in found
    assert frame["day"].tolist() == [f"{i + 1:02d}.01.2024" for i in range(12)]
    assert frame["grouped"].tolist() == [1000.5 + i for i in range(12)]
    assert frame["version"].tolist() == [f"1.2.{i}" for i in range(12)]
    assert frame["whole"].tolist() == [1000 * i for i in range(12)]


COMMAS: list[tuple[list[str], str, list[object] | None]] = [
    (["1,230", "950", "1,231"], "auto", None),
    (["1,230", "1,234,567", "950"], "auto", None),
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
            read_frame(path, "auto", decimal, "auto", None)
        return
    assert read_frame(path, "auto", decimal, "auto", None)[0]["a"].tolist() == expected


def test_commas_between_semicolons_are_decimal_marks(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;b\n1,230;4\n2,460;5\n")
    frame, _ = read_frame(tmp_path / "t.csv", "auto", "auto", "auto", None)
    assert frame["a"].tolist() == [1.23, 2.46]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n\n"])
def test_ends_of_lines_and_quotation_marks(tmp_path: Path, end: str) -> None:
    cells = FRAME.to_csv(index=False, quoting=csv.QUOTE_ALL).replace("\n", end)
    (tmp_path / "t.csv").write_bytes(f"{cells}{end}{end}".encode())
    assert as_table(tmp_path / "t.csv").tolist() == FRAME.astype(float).to_numpy().tolist()


def test_long_cells(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"a,b\n1,{'x' * 140_000}\n")
    assert read_frame(tmp_path / "t.csv", "auto", "auto", "auto", None)[0].shape == (1, 2)


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
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
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


def test_an_archive_that_is_no_workbook(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    zipped(tmp_path / "t.xlsx", text().encode())
    with raises_user_error("dataset.path", "invalid_table"):
        OwnTable(path=str(tmp_path / "t.xlsx"), target="ja").load()


@pytest.mark.parametrize("suffix", ["gz", "zip", "xlsx", "parquet"])
def test_the_unpacked_size_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    path = tmp_path / f"table.csv.{suffix}"
    frame = pd.DataFrame({"a": np.zeros(4000), "y": np.ones(4000)})
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", "0.00002")
    with raises_user_error("dataset.path", "unreadable"):
        read_frame(path, "auto", "auto", "auto", None)
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", "1")
    assert len(read_frame(path, "auto", "auto", "auto", None)[0]) == 4000
