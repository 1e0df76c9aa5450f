"""The encoding of a text file: detected, or guessed among plausible ones."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from bnnbench.data.errors import invalid
from bnnbench.data.own_table.read.file_kinds import UNSUPPORTED_FORMAT, open_content
from bnnbench.notes import shorten

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
