"""Open files, refuse those that are not tables, and find the encoding of a text."""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from pathlib import Path
from typing import IO

from bnnbench.data.errors import invalid
from bnnbench.files import check_archive, open_unpacked
from bnnbench.notes import shorten

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

ENCODING_BY_BOM = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # starts like that of UTF-16
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings by byte order mark."""

UTF16_WITHOUT_BOM = {
    "utf-16-le": [False, True, False, True],
    "utf-16-be": [True, False, True, False],
}
"""Encodings by which of the first four bytes are zero."""

UTF8, FALLBACK_ENCODING = "utf-8", "cp1252"
"""Encodings to try, in this order, for files without a byte order mark."""

CANDIDATES = [
    "cp949", "cp932", "gb18030", "big5", "cp1251", "koi8_r", "cp1250", "cp1253", "mac_roman",
    "cp437", FALLBACK_ENCODING,
]  # fmt: skip
"""Encodings of East Asia, Russia, Greece and the West, of Windows, DOS and old Macs."""

LETTERS = (char for char in map(chr, range(0xC0, 0x100)) if char.isalpha())

WESTERN = frozenset("€£°µ²³±§«»\u2013\u2019\u201c\u201d\u00a0").union(LETTERS)
"""Frequent characters of Western Europe: with these alone, and few of them, cp1252 is plausible."""

MAX_SHARE = 0.5
"""Fraction of the letters of such cells up to which such characters are few."""

MAX_NAMED = 3

SAMPLE_BYTES = 1 << 16


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


def open_text(path: Path, encoding: str) -> IO[str]:
    """Open a text file, which may be compressed.

    Raises:
        UserError: if it is an archive of several files.
    """
    if codecs.lookup(encoding).name == "utf-8":
        encoding = "utf-8-sig"  # without a byte order mark
    return io.TextIOWrapper(open_content(path), encoding=encoding, errors="strict", newline="")


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
            content = file.read(START_BYTES).removeprefix(codecs.BOM_UTF8)
    matches = (kind for kind, form in SIGNATURES.items() if re.match(form, content, re.S))
    kind = next(matches, None)
    if kind is None or (kind in READABLE and by_suffix):
        kind = by_suffix
    if kind in UNSUPPORTED:
        reader = UNSUPPORTED[kind][1]
        read = f"pandas.read_{reader}" if reader else "a library that makes a pandas frame of it"
        raise invalid(
            "path",
            UNSUPPORTED_FORMAT,
            f"{path} is in the format {kind}, which is not supported; save it as CSV with {read} "
            "and DataFrame.to_csv.",
        )
    if kind is not None and suffix not in READABLE[kind]:
        raise invalid(
            "path",
            WRONG_EXTENSION,
            f"the content of {path} is in the format {kind}; rename it so that it ends in "
            f"{' or '.join(READABLE[kind][::2])}.",
        )


def detect_encoding(path: Path) -> str:
    """Return the encoding of the byte order mark, else UTF-8 if the file is valid, else cp1252.

    Raises:
        UserError: if it is not text, or an archive of several files.
    """
    with open_content(path) as file:
        start = file.read(4)
    for mark, name in ENCODING_BY_BOM.items():
        if start.startswith(mark):
            return name
    for name, zeros in UTF16_WITHOUT_BOM.items():
        if [not byte for byte in start] == zeros:
            return name
    decoder = codecs.getincrementaldecoder(UTF8)()
    with open_content(path) as file:
        try:
            while piece := file.read(1 << 20):
                decoder.decode(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            if b"\0" in piece:
                problem = f"{path} is not a text file; save the table as CSV."
                raise invalid("path", UNSUPPORTED_FORMAT, problem) from None
            return FALLBACK_ENCODING
    return UTF8


def encoding_candidates(path: Path, with_fallback: bool = True) -> str:
    """Describe the first cell that is not ASCII in each plausible encoding, in a clause each.

    Args:
        path: a text file.
        with_fallback: whether the file can be read as cp1252, as it is without a setting. The
            result is then empty if this is plausible.
    """
    from charset_normalizer import from_bytes

    with open_content(path) as file:
        lines = file.read(SAMPLE_BYTES).splitlines()
    cells = [cell for line in lines for cell in re.split(rb"[,;\t\"]", line) if not cell.isascii()]
    sample = b"\n".join(cells)
    text = sample.decode(FALLBACK_ENCODING, errors="replace")
    special = [char for char in text if not char.isascii()]
    few = sum(map(str.isalpha, special)) <= MAX_SHARE * sum(map(str.isalpha, text))
    if with_fallback and few and WESTERN.issuperset(special):
        return ""
    found = from_bytes(sample, cp_isolation=CANDIDATES, enable_fallback=False, threshold=1.0)
    named = [one.encoding for one in found if one.encoding != FALLBACK_ENCODING][: MAX_NAMED - 1]
    shown = [*named, *[FALLBACK_ENCODING] * with_fallback]
    texts = {one: cells[0].decode(one, errors="replace") for one in shown}
    return ", ".join(f"{one} gives {shorten(text.strip())!r}" for one, text in texts.items())
