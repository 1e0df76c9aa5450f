"""Files of other formats, with their own and with wrong extensions."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.read.table_file import read_frame
from bnnbench.data.own_table.read.text_file import ReadingSettings

FRAME = pd.DataFrame({"a": np.arange(12.0), "y": np.arange(12.0) ** 2})


@pytest.mark.parametrize(
    ("name", "words"),
    [("t.geojsonl", ["JSON lines"]), ("t.ndjson", ["JSON lines"]),
     ("t.htm", ["HTML"]),
     ("t.xls", ["Excel 97-2003"]), ("t.MAT", ["MATLAB"]), ("t.dta", ["Stata"]),
     ("t.sav", ["SPSS"]), ("t.db", ["SQLite"]), ("t.h5", ["HDF5"]), ("t.ods", []),
     ("t.pkl", ["pickle"]), ("t.orc.gz", ["ORC"]), ("t.yml", ["YAML"]), ("t.tar.gz", ["TAR"])],
)  # fmt: skip
def test_a_format_is_named_by_the_extension(tmp_path: Path, name: str, words: list[str]) -> None:
    path = tmp_path / name
    for exists in (False, True):
        if exists:
            path.write_bytes(gzip.compress(b"a,y\n1,2\n") if name.endswith("gz") else b"a,y\n1,2\n")
        with raises_user_error("dataset.path", "unsupported_format", [name, *words]):
            read_frame(path, ReadingSettings())


def archive(*members: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as one:
        for member in members:
            one.writestr(member, "x")
    return file.getvalue()


def database() -> bytes:
    with sqlite3.connect(":memory:") as connection:
        connection.execute("create table t (a, y)")
        return connection.serialize()


def stata() -> bytes:
    file = io.BytesIO()
    FRAME.to_stata(file, write_index=False)
    return file.getvalue()


CONTENTS = {
    "login page": (b"<!DOCTYPE html>\n<html><body>", "HTML"),
    "after a byte order mark": (b"\xef\xbb\xbf\n<html>", "HTML"),
    "records": (FRAME.to_json(orient="records").encode(), "JSON"),
    "columns": (json.dumps({"a": [1], "y": [2]}, indent=1).encode(), "JSON"),
    "lines": (FRAME.to_json(orient="records", lines=True).encode(), "JSON lines"),
    "XML": (b'<?xml version="1.0"?><rows/>', "XML"),
    "PDF": (b"%PDF-1.7\n", "PDF"),
    "pickle": (pickle.dumps({"a": 1}), "pickle"),
    "database": (database(), "SQLite"),
    "Stata": (stata(), "Stata"),
    "Excel 97": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "Excel 97-2003"),
}


@pytest.mark.parametrize("case", CONTENTS)
@pytest.mark.parametrize("suffix", ["csv", "txt", "xlsx"])
def test_a_format_is_named_by_the_content(tmp_path: Path, case: str, suffix: str) -> None:
    path, (content, kind) = tmp_path / f"t.{suffix}", CONTENTS[case]
    path.write_bytes(content)
    with raises_user_error("dataset.path", "unsupported_format", [f"format {kind},"]):
        read_frame(path, ReadingSettings())


@pytest.mark.parametrize("name", ["t.xlsb", "t.dbf", "t.csv.zst", "t.dat", "t.csv"])
def test_other_binary_files_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\x03\x7a\x00\xff,y\n1,2\n" * 9)
    with raises_user_error("dataset.path", "unsupported_format", [name]):
        read_frame(tmp_path / name, ReadingSettings())


@pytest.mark.parametrize("kind", ["gzip", "zip", "xlsx", "parquet", "feather"])
def test_a_wrong_extension_is_named(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.csv"
    if kind == "gzip":
        path.write_bytes(gzip.compress(b"a,y\n1,2\n"))
    elif kind == "zip":
        path.write_bytes(archive("t.txt"))
    else:
        pytest.importorskip("openpyxl" if kind == "xlsx" else "pyarrow")
        made = tmp_path / f"made.{kind}"
        getattr(FRAME, "to_excel" if kind == "xlsx" else f"to_{kind}")(made)
        made.rename(path)
    ending = ".gz" if kind == "gzip" else f".{kind}"
    with raises_user_error("dataset.path", "wrong_extension", ["ends in", ending]):
        read_frame(path, ReadingSettings())


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", "PAR1,FEA1\n1,2\n"), ("t.csv", "ORC,y\n1,2\n"), ("t.csv", "{a},[b]\n1,2\n"),
     ("t.csv", "<5,y\n1,2\n"), ("t.json.csv", "a,y\n1,2\n"), ("t.sav.csv.gz", "a,y\n1,2\n"),
     ("t.xml.txt", "a,y\n1,2\n"), ("t.dat", "X\ty\n1\t2\n")],
)  # fmt: skip
def test_tables_that_resemble_other_formats_are_read(
    tmp_path: Path, name: str, content: str
) -> None:
    raw = content.encode()
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else raw)
    assert read_frame(tmp_path / name, ReadingSettings())[0].to_numpy().tolist() == [[1, 2]]
