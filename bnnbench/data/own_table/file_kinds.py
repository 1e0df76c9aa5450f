"""Refuse files that are not tables, by their names and first bytes, and say how to convert them."""

from __future__ import annotations

import re
import zipfile
from codecs import BOM_UTF8
from pathlib import Path

from bnnbench.data.errors import invalid
from bnnbench.types import UserError

READABLE = {
    "Excel": (".xlsx", ".xlsm"), "parquet": (".parquet", ".pq"), "feather": (".feather", ".arrow"),
    "zip": (".zip", ".frame"), "gzip": (".gz",), "bzip2": (".bz2",), "xz": (".xz",),
}  # fmt: skip
"""Formats that are read, with the extensions that they must have."""

EXCEL_97, LINES = "Excel 97-2003", "JSON lines"

UNSUPPORTED = {
    EXCEL_97: "xls", "Excel binary": "xlsb", "OpenDocument": "ods fods odt", "ARFF": "arff",
    "JSON": "json geojson ipynb", LINES: "jsonl ndjson geojsonl", "HTML": "html htm xhtml mht",
    "XML": "xml kml gml", "YAML": "yaml yml", "PDF": "pdf", "Word": "docx doc rtf",
    "PowerPoint": "pptx ppt", "Numbers": "numbers", "SPSS": "sav zsav por", "Stata": "dta",
    "SAS": "sas7bdat xpt", "R": "rds rdata rda", "MATLAB": "mat", "NumPy": "npy npz",
    "SQLite": "sqlite sqlite3 db", "Access": "mdb accdb", "HDF5": "hdf5 h5 hdf", "NetCDF": "nc",
    "pickle": "pkl pickle joblib", "PyTorch": "pt pth", "ORC": "orc", "Avro": "avro",
    "shapefile": "shp dbf", "GeoPackage": "gpkg",
    "TAR": "tar tgz", "7-Zip": "7z", "RAR": "rar",
}  # fmt: skip
"""Formats that are not supported, with their extensions."""

BY_SUFFIX = {f".{suffix}": kind for kind, names in UNSUPPORTED.items() for suffix in names.split()}

SIGNATURES = {
    "parquet": rb"PAR1.*?[\0-\x08]", "feather": rb"(ARROW1|FEA1).*?[\0-\x08]",
    "zip": rb"PK\x03\x04", "gzip": rb"\x1f\x8b", "bzip2": rb"BZh[1-9]1AY", "xz": rb"\xfd7zXZ",
    "PDF": rb"%PDF", EXCEL_97: rb"\xd0\xcf\x11\xe0", "pickle": rb"\x80[\x02-\x05]",
    "SQLite": rb"SQLite format 3\0", "HDF5": rb"\x89HDF", "MATLAB": rb"MATLAB 5",
    "SPSS": rb"\$FL[23]@", "Avro": rb"Obj\x01", "ORC": rb"ORC.*?[\0-\x08]",
    "Stata": rb"<stata_dta>|[\x6c-\x73][\x01\x02]\x01\0", "TAR": rb".{257}ustar",
    "SAS": rb"\0{12}\xc2\xea\x81\x60", "R": rb"RD[AX][23]\n|X\n\0\0",
    "NetCDF": rb"CDF[\x01\x02\x05]", "NumPy": rb"\x93NUMPY", "Word": rb"\{\\rtf",
    "7-Zip": rb"7z\xbc\xaf", "RAR": rb"Rar!\x1a",
    "HTML": rb"\s*<(?i:!doctype html|html|head|body|table|script)\b", "XML": rb"\s*<\?xml",
    LINES: rb"\s*\{\s*\"[^\n]*\}[ \t\r]*\n\s*\{", "JSON": rb"\s*(\{\s*\"|\[\s*[{[\"])",
    "ARFF": rb"(.*\n)?[ \t]*@(?i:relation)\b",
}  # fmt: skip
"""The first bytes of files, after a byte order mark."""

MEMBERS = {
    "Excel": r"xl/", "Word": r"word/", "PowerPoint": r"ppt/", "OpenDocument": r"content\.xml",
    "Numbers": r"Index/", "NumPy": r".*\.npy", "PyTorch": r".*data\.pkl",
}  # fmt: skip
"""Names in zip archives."""

PACKED = (".gz", ".bz2", ".xz", ".zip")

UNSUPPORTED_FORMAT, WRONG_EXTENSION = "unsupported_format", "wrong_extension"
"""Codes of errors."""

START_BYTES = 1 << 14


def unsupported(path: Path, kind: str) -> UserError:
    """Return the error about a file of a format that is not supported."""
    return invalid(
        "path",
        UNSUPPORTED_FORMAT,
        f"{path} is in the format {kind}, which is not supported; save it as CSV or .xlsx, for "
        "example with pandas: pandas.read_stata(FILE).to_csv('table.csv') for Stata.",
    )


def check_kind(path: Path, start: bytes) -> None:
    """Refuse a file of another kind than a table.

    Args:
        path: the file, which need not exist.
        start: its first `START_BYTES`, unpacked.

    Raises:
        UserError: if its content or, where that is not known, its extension is of a format that is
            not supported, or if its extension is that of another format.
    """
    suffix = path.suffix.lower()
    inner = path.with_suffix("").suffix.lower() if suffix in PACKED else suffix
    content = start.removeprefix(BOM_UTF8)
    matches = (kind for kind, form in SIGNATURES.items() if re.match(form, content, re.S))
    kind = next(matches, BY_SUFFIX.get(inner, ""))
    kind = _kind_of_archive(path, suffix) if kind == "zip" and suffix != ".frame" else kind
    if kind in UNSUPPORTED:
        raise unsupported(path, kind)
    if kind in READABLE and (suffix in PACKED or suffix not in READABLE[kind]):
        unpack = "unpack it and " * (suffix in PACKED)
        raise invalid(
            "path",
            WRONG_EXTENSION,
            f"the content of {path} is in the format {kind}; {unpack}rename it so that it ends in "
            f"{READABLE[kind][0]}.",
        )


def _kind_of_archive(path: Path, suffix: str) -> str:
    """Return the format of a zip archive by its members, else by its extension."""
    unknown = "Excel" if suffix in READABLE["Excel"] else "zip"
    try:
        names = zipfile.ZipFile(path).namelist()
    except (OSError, zipfile.BadZipFile):
        return unknown
    kinds = (kind for kind, form in MEMBERS.items() if any(re.match(form, name) for name in names))
    return next(kinds, unknown)
