"""Open files, and refuse those that are not tables, by their names and first bytes."""

from __future__ import annotations

import re
import zipfile
from codecs import BOM_UTF8
from pathlib import Path
from typing import IO

from bnnbench.data.errors import invalid
from bnnbench.files import check_archive, open_unpacked
from bnnbench.types import UserError

READABLE = {
    "zip": (".xlsx", ".xlsm", ".zip", ".frame"), "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow"), "gzip": (".gz",), "bzip2": (".bz2",), "xz": (".xz",),
}  # fmt: skip
"""Supported formats, with the extensions that their files may have."""

UNSUPPORTED = {
    "Excel 97-2003": ("xls", "excel"), "OpenDocument": ("ods", "excel"), "ARFF": ("arff", ""),
    "JSON": ("json geojson", "json"), "JSON lines": ("jsonl ndjson geojsonl", "json(lines=True)"),
    "HTML": ("html htm", "html"), "XML": ("xml kml gml", "xml"), "YAML": ("yaml yml", ""),
    "SPSS": ("sav zsav", "spss"), "Stata": ("dta", "stata"), "SAS": ("sas7bdat xpt", "sas"),
    "R": ("rds rdata rda", ""), "MATLAB": ("mat", ""), "NumPy": ("npy npz", ""),
    "SQLite": ("sqlite sqlite3 db", "sql"), "HDF5": ("hdf5 h5 hdf", "hdf"), "NetCDF": ("nc", ""),
    "pickle": ("pkl pickle", "pickle"), "ORC": ("orc", "orc"), "PDF": ("pdf", ""),
    "Word": ("docx doc", ""), "TAR": ("tar tgz", ""), "7-Zip": ("7z", ""), "RAR": ("rar", ""),
}  # fmt: skip
"""Unsupported formats, with their extensions and the reader of pandas, if any."""

BY_SUFFIX = {f".{one}": kind for kind, (names, _) in UNSUPPORTED.items() for one in names.split()}

SIGNATURES = {
    "zip": rb"PK\x03\x04", "gzip": rb"\x1f\x8b", "bzip2": rb"BZh[1-9]1AY", "xz": rb"\xfd7zXZ",
    "parquet": rb"PAR1.*?[\0-\x08]", "feather": rb"(ARROW1|FEA1).*?[\0-\x08]", "PDF": rb"%PDF",
    "Excel 97-2003": rb"\xd0\xcf\x11\xe0", "SQLite": rb"SQLite format 3\0", "HDF5": rb"\x89HDF",
    "pickle": rb"\x80[\x02-\x05]", "MATLAB": rb"MATLAB 5", "SPSS": rb"\$FL[23]@",
    "Stata": rb"<stata_dta>|[\x6c-\x73][\x01\x02]\x01\0", "ARFF": rb"(.*\n)?[ \t]*@(?i:relation)\b",
    "HTML": rb"\s*<(?i:!doctype html|html|head|body|table|script)\b", "XML": rb"\s*<\?xml",
    "JSON lines": rb"\s*\{\s*\"[^\n]*\}[ \t\r]*\n\s*\{", "JSON": rb"\s*(\{\s*\"|\[\s*[{[\"])",
}  # fmt: skip
"""The first bytes of files, after a byte order mark."""

PACKED = (".gz", ".bz2", ".xz", ".zip")

UNSUPPORTED_FORMAT, WRONG_EXTENSION = "unsupported_format", "wrong_extension"
"""Codes of errors."""

START_BYTES = 1 << 14


def open_content(path: Path) -> IO[bytes]:
    """Open a file, which may be compressed, or the only file of a zip archive.

    Raises:
        UserError: if it is an archive of several files.
    """
    suffix = path.suffix.lower()
    if suffix != ".zip":
        return open_unpacked(path)
    check_archive(path)
    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if len(names) != 1:
        raise invalid(
            "path", "archive", f"{path} contains {len(names)} files; unpack the one with the table."
        )
    return archive.open(names[0])


def check_kind(path: Path) -> None:
    """Refuse a file of another kind than a table; it need not exist.

    Raises:
        UserError: if its content or, where that is not known, its extension is of a format that is
            not supported, or if its extension is that of another format.
    """
    suffix = path.suffix.lower()
    by_suffix = BY_SUFFIX.get(path.with_suffix("").suffix.lower() if suffix in PACKED else suffix)
    content = b""
    if path.is_file():
        with open_content(path) as file:
            content = file.read(START_BYTES).removeprefix(BOM_UTF8)
    matches = (kind for kind, form in SIGNATURES.items() if re.match(form, content, re.S))
    kind = next(matches, None)
    if kind is None or (kind in READABLE and by_suffix):
        kind = by_suffix
    if kind in UNSUPPORTED:
        raise _unsupported(path, kind)
    if kind is not None and suffix not in READABLE[kind]:
        raise invalid(
            "path",
            WRONG_EXTENSION,
            f"the content of {path} is in the format {kind}; rename it so that it ends in "
            f"{' or '.join(READABLE[kind][::2])}.",
        )


def _unsupported(path: Path, kind: str) -> UserError:
    reader = UNSUPPORTED[kind][1]
    read = f"pandas.read_{reader}" if reader else "a library that makes a pandas frame of it"
    return invalid(
        "path",
        UNSUPPORTED_FORMAT,
        f"{path} is in the format {kind}, which is not supported; save it as CSV with {read} and "
        "DataFrame.to_csv.",
    )
