"""Ways to damage a file."""

from __future__ import annotations

from pathlib import Path


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def clear(path: Path) -> None:
    path.write_bytes(b"")


def flip_bit(path: Path) -> None:
    """Flip a bit in the middle of the file."""
    content = bytearray(path.read_bytes())
    if content:
        content[len(content) // 2] ^= 0x10
    path.write_bytes(content)
