"""Plausible encodings of a text file, with an example of its text in each."""

from __future__ import annotations

import re
from pathlib import Path

from bnnbench.data.own_table.read.text_format import FALLBACK_ENCODING, open_content
from bnnbench.notes import shorten

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
