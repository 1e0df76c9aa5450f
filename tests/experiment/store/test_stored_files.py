"""Readers of tables, arrays and JSON refuse all types that their callers do not expect."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.user_errors import raises_user_error

from bnnbench.experiment.store.stored_files import MAX_DEPTH, read_arrays, read_json, read_table
from bnnbench.experiment.store.unit_store import RunFolder, UnitStore
from bnnbench.files import READ_ERRORS

SHAPE = (10**13,)
"""Of an array of which the file holds only the header."""


def npy(array: Any) -> bytes:
    """Return an array as a member of an archive."""
    content = io.BytesIO()
    np.lib.format.write_array(content, np.asarray(array))
    return content.getvalue()


def header(shape: tuple[int, ...]) -> bytes:
    content = io.BytesIO()
    fields = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(content, fields)
    return content.getvalue()


def write_archive(path: Path, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


ARCHIVES: dict[str, Mapping[str, bytes]] = {
    "no member": {},
    "no name": {".npy": npy([1.0])},
    "an escape in a name": {"\x1b.npy": npy([1.0])},
    "another file": {"x.txt": b"text"},
    "an empty member": {"x.npy": b""},
    "half a header": {"x.npy": b"\x93NUMPY\x01\x00\x10\x00{'descr': garbage"},
    "a huge shape": {"x.npy": header(SHAPE)},
    "truth values": {"x.npy": npy([True])},
    "dates": {"x.npy": npy(["2020-01-01"]).replace(b"<U10", b"<M8[D]")},
    "durations": {"x.npy": npy(np.array([1], "m8[s]"))},
    "complex numbers": {"x.npy": npy([1j])},
    "texts": {"x.npy": npy(["a"])},
    "bytes": {"x.npy": npy([b"a"])},
    "extended precision": {"x.npy": npy(np.ones(1, np.longdouble))},
    "rows of a table": {"x.npy": npy(np.zeros(1, [("a", float)]))},
    "objects": {"x.npy": header((1,)).replace(b"'<f8'", b"'|O' ")},
}


@pytest.mark.parametrize("members", ARCHIVES.values(), ids=ARCHIVES)
def test_an_archive_without_plain_numbers_is_damaged(
    tmp_path: Path, members: Mapping[str, bytes]
) -> None:
    write_archive(tmp_path / "x.npz", {"good.npy": npy([1.0]), **members} if members else {})
    with raises_user_error("x.npz", "damaged"):
        read_arrays(tmp_path / "x.npz")


@pytest.mark.parametrize("flag", [(8, 6, 1), (10, 8, 99)], ids=["encrypted", "compressed"])
def test_an_archive_that_cannot_be_unpacked_is_damaged(
    tmp_path: Path, flag: tuple[int, int, int]
) -> None:
    path, (central, local, value) = tmp_path / "x.npz", flag
    write_archive(path, {"x.npy": npy([1.0])})
    content = bytearray(path.read_bytes())
    content[content.find(b"PK\x01\x02") + central] = value
    content[content.find(b"PK\x03\x04") + local] = value
    path.write_bytes(content)
    with raises_user_error("x.npz", "damaged"):
        read_arrays(path)


@pytest.mark.parametrize("dtype", ["f2", "f4", ">f8", "i1", "u8", ">i4"])
def test_numbers_of_any_size_and_order_are_read(tmp_path: Path, dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    np.savez_compressed(tmp_path / "x.npz", x=array, y=np.float64(2.5))
    read = read_arrays(tmp_path / "x.npz")
    assert read["x"].dtype == array.dtype and read["y"] == 2.5
    np.testing.assert_array_equal(read["x"], array)


CELLS = ("-", "x", "1+2j", "2020-01-01", "True", "9" * 400, "1_000", "0x1F", "\x1b[2J")


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("column", ["split", "value"])
def test_a_table_with_text_for_a_number_is_damaged(tmp_path: Path, column: str, cell: str) -> None:
    row = {"split": "0", "value": "1.5", "name": "a", column: cell}
    path = tmp_path / "x.csv"
    path.write_text(
        "split,value,name\n" + ",".join(row.values()) + "\n1,2.5,b\n" * (cell != "True")
    )
    with raises_user_error("x.csv", "damaged"):
        read_table(path, ("split", "value"), ("name",))


@pytest.mark.parametrize("cell", ["", "nan", "inf", "-inf", "1e400", "-1", "0.5", "1e300"])
def test_a_counter_is_an_integer_from_0_on(tmp_path: Path, cell: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(f"split,value\n{cell},{cell}\n0,1\n")
    assert len(read_table(path, ("value",))) == 2
    with raises_user_error("x.csv", "damaged"):
        read_table(path, ("split", "value"))


@pytest.mark.parametrize(
    "content",
    [b"", b"a\n", b"b\n1\n", b"\xff\xfe\n1\n", b'"a\n1\n', b"a\n1,2,3\n1\n1,2\n", b"\0"],
)
def test_a_file_that_is_no_table_is_damaged(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with raises_user_error("x.csv", "damaged"):
        read_table(path, ("a",))


HOSTILE_JSON = (
    *(
        r'"\udfff"',
        r'{"\udc00": 1}',
        "1e400",
        "NaN",
        "-Infinity",
        "9" * 400,
        "9" * 5000,
        str(2**63),
    ),
    *("[" * 100_000, "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "", "{", '{"a": 1}\0'),
)


@pytest.mark.parametrize("text", HOSTILE_JSON, ids=range(len(HOSTILE_JSON)))
def test_hostile_json_is_damaged(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(READ_ERRORS):
        read_json(tmp_path / "x.json")


def test_a_pair_of_surrogates_is_a_character(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(r'["\ud83d\ude00", -9223372036854775808, 1e308]')
    assert read_json(tmp_path / "x.json") == ["\U0001f600", -(2**63), 1e308]


WRONG_TABLES: dict[str, Any] = {
    "a number": 3,
    "a mapping": {"a": 1},
    "a text": "rows",
    "rows that are numbers": [1],
    "a list in a cell": [{"a": [1]}],
    "a mapping in a cell": [{"a": {}}],
    "half a surrogate pair": [{"a": "\udfff"}],
    "a huge integer": [{"a": 10**400}],
}


@pytest.mark.parametrize("rows", WRONG_TABLES.values(), ids=WRONG_TABLES)
def test_a_unit_with_a_wrong_table_is_not_intact(tmp_path: Path, rows: Any) -> None:
    """Although its checksum is right."""
    store = UnitStore(RunFolder(tmp_path))
    store.save("a", {"t": rows}, {})
    assert not store.intact("a") and not store.rows("a", "t")
    with raises_user_error(None, "damaged_units"):
        store.assemble()


@pytest.mark.parametrize("name", ["../x", "a/b", "", "a\n"])
def test_a_unit_with_a_path_for_a_name_is_not_intact(tmp_path: Path, name: str) -> None:
    store = UnitStore(RunFolder(tmp_path))
    store.save("a", {name: [{"a": 1}]}, {})
    assert not store.intact("a")


@pytest.mark.parametrize(
    "arrays",
    [{}, {"y": np.ones(1)}, {"x": np.ones((1, 2))}, {"x": np.ones(())}, {"x": np.array([True])}],
    ids=["none", "another name", "another dimension", "no dimension", "truth values"],
)
def test_units_whose_arrays_do_not_fit_are_refused(
    tmp_path: Path, arrays: dict[str, np.ndarray]
) -> None:
    store = UnitStore(RunFolder(tmp_path))
    store.save("a", {"t": [{"v": 1}]}, {"p": {"x": np.ones(2)}})
    store.save("b", {"t": [{"v": float("nan")}]}, {"p": {"x": np.ones(3)}})
    assert store.intact("a") and store.intact("b") and store.assemble().units == ["a", "b"]
    store.save("b", {"t": [{"v": 2}]}, {"p": arrays})
    with raises_user_error(None, "damaged_units"):
        store.assemble()
