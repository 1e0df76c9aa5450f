"""Limits of the memory that a table takes: a file of a few kilobytes may hold billions of cells.

Cells are counted before they are created, because the sizes that a file states may be wrong.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from bnnbench.files import check_archive, check_size, open_file
from bnnbench.near_names import list_names

if TYPE_CHECKING:
    import pandas as pd

NUMBER_BYTES, TEXT_FILE_BYTES, OBJECT_BYTES = 8, 16, 64
"""Bytes for which a cell counts: of a typed column, of a text file, and any other cell. The
characters of strings are added."""

TAG_BYTES = OBJECT_BYTES // 4
"""Bytes counted for an XML tag: a cell of a sheet has four."""

ATTRIBUTE_BYTES = 8
"""Bytes counted for an XML attribute."""

PIECE, BATCH_ROWS = 1 << 20, 10_000
"""Numbers of characters or bytes, and of rows, that are read at once."""


def limited_lines(file: IO[str], path: Path) -> Iterator[str]:
    """Yield the lines of a file up to the limit, as if every character were a cell.

    Raises:
        RefusedFile: if the lines exceed it.
    """
    total, pieces = 0, []
    while piece := file.readline(PIECE):
        total += len(piece)
        check_size(NUMBER_BYTES * total, path)
        pieces.append(piece)
        if piece[-1] in "\r\n":
            yield "".join(pieces)
            pieces = []
    if pieces:
        yield "".join(pieces)


class LimitedRows:
    """A text file that raises `RefusedFile` once its cells exceed the limit.

    Short rows count with the width of the table, to which they are padded.
    """

    def __init__(self, file: IO[str], path: Path, separator: str, width: int) -> None:
        self._file, self._path = file, path
        self._separator, self._width = separator, width
        self._lines = self._separators = 0

    def read(self, size: int = -1) -> str:
        """Return some characters."""
        text = self._file.read(size)
        self._lines += max(text.count("\n"), text.count("\r"))
        one = len(self._separator) == 1  # else any number of blanks
        self._separators += text.count(self._separator) if one else len(text.split())
        cells = max(self._lines * self._width, self._separators)
        check_size(TEXT_FILE_BYTES * cells, self._path)
        return text

    def __iter__(self) -> Iterator[str]:
        """Yield the lines."""
        return iter(self._file)


def check_workbook(path: Path) -> None:
    """Raise `RefusedFile` if the XML of a workbook, in members of any name, exceeds the limit."""
    check_archive(path)
    size = 0
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            with archive.open(member) as content:
                while piece := content.read(PIECE):
                    size += TAG_BYTES * piece.count(b"<") + ATTRIBUTE_BYTES * piece.count(b"=")
                    check_size(size, path)


def check_sheet(sheet: Any, path: Path) -> None:
    """Raise `RefusedFile` if the cells of a sheet, blank ones too, exceed the limit.

    Args:
        sheet: of openpyxl, in its read-only mode.
        path: the file.
    """
    sheet.reset_dimensions()  # those in the file may be wrong
    rows, width, characters = 0, 1, 0
    for row in sheet.iter_rows(values_only=True):
        rows, width = rows + 1, max(width, len(row))
        characters += sum(len(cell) for cell in row if isinstance(cell, str))
        check_size(OBJECT_BYTES * rows * width + characters, path)


def check_columns_of(path: Path, feather: bool) -> None:
    """Raise `RefusedFile` if the columns of a parquet or feather file exceed the limit.

    Raises:
        ValueError: if a column holds anything but numbers, dates and text.
    """
    schema, rows = _feather_shape(path) if feather else _parquet_shape(path)
    _check_types(schema)
    size = rows * sum(map(_cell_bytes, schema.types))
    check_size(size, path)
    for k in (k for k, kind in enumerate(schema.types) if _is_text(kind)):
        for array in _arrays(path, feather, k, schema.names[k]):
            size += _characters(array)
            check_size(size, path)


def _feather_shape(path: Path) -> tuple[Any, int]:
    """Return the schema and the number of rows."""
    from pyarrow.dataset import dataset

    found = dataset(path, format="feather")
    return found.schema, found.count_rows()


def _parquet_shape(path: Path) -> tuple[Any, int]:
    """Return the schema and the number of rows; `RefusedFile` if the unpacked pages are large."""
    from pyarrow import parquet

    with open_file(path) as file:
        about = parquet.read_metadata(file)
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    check_size(sum(group.total_byte_size for group in groups), path)
    rows = max(about.num_rows, sum(group.num_rows for group in groups))
    return about.schema.to_arrow_schema(), rows


def check_categories(frame: pd.DataFrame, path: Path) -> None:
    """Raise `RefusedFile` if the strings of a frame's categories, one per row, exceed the limit."""
    import pandas as pd

    size = 0
    for _, column in frame.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            lengths = np.array([len(str(text)) for text in column.cat.categories], np.int64)
            size += int(lengths[column.cat.codes[column.notna()]].sum())
            check_size(size, path)


def _arrays(path: Path, feather: bool, index: int, name: str) -> Iterator[Any]:
    """Yield the chunks of a column, without decoding dictionaries."""
    from pyarrow import ipc, parquet

    with open_file(path) as file:
        if feather:
            options = ipc.IpcReadOptions(included_fields=[index])
            reader = ipc.open_file(file, options=options)
            for k in range(reader.num_record_batches):
                yield reader.get_batch(k).column(0)
        else:
            columns = parquet.ParquetFile(file, read_dictionary=[name])
            for batch in columns.iter_batches(BATCH_ROWS, columns=[name]):
                yield from batch.columns


def _check_types(schema: Any) -> None:
    from pyarrow import types

    other = (types.is_nested, types.is_run_end_encoded, types.is_interval, _is_extension)
    wrong = [field.name for field in schema if any(is_kind(field.type) for is_kind in other)]
    if wrong:
        raise ValueError(f"only numbers, dates and text are read; remove {list_names(wrong)}")


def _is_extension(kind: Any) -> bool:
    from pyarrow import BaseExtensionType

    return isinstance(kind, BaseExtensionType)


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    texts = (types.is_string, types.is_binary, types.is_large_string, types.is_large_binary,
             types.is_string_view, types.is_binary_view)  # fmt: skip
    return any(is_kind(kind) for is_kind in texts)


def _cell_bytes(kind: Any) -> int:
    from pyarrow import types

    fixed = getattr(kind, "byte_width", 0) if types.is_fixed_size_binary(kind) else 0
    typed = (types.is_integer, types.is_floating, types.is_boolean, types.is_timestamp,
             types.is_duration, types.is_dictionary)  # fmt: skip
    return NUMBER_BYTES if any(is_kind(kind) for is_kind in typed) else OBJECT_BYTES + fixed


def _characters(array: Any) -> int:
    """Return the number of bytes of the strings of an array, as if each row had its own."""
    import pyarrow as pa
    from pyarrow import compute

    if isinstance(array, pa.DictionaryArray):
        lengths = compute.binary_length(array.dictionary).cast(pa.int64()).take(array.indices)
    else:
        lengths = compute.binary_length(array).cast(pa.int64())
    return compute.sum(lengths).as_py() or 0
