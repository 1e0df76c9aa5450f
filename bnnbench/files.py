"""How a file is written: whole, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO


def checksum(content: bytes) -> str:
    """Sixteen hexadecimal digits that a damaged file does not have."""
    return hashlib.sha256(content).hexdigest()[:16]


def write_atomically(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Calls `write(file)` on a temporary sibling, then moves it into place.

    A reader, or a resumed run, sees the whole file or none of it.

    Raises:
        IsADirectoryError: if a folder stands there that holds something.
        OSError: what the machine refuses, with the file's name.
    """
    make_way(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # a full disk does not say what it had no room for
        raise


def write_text(path: Path, text: str) -> None:
    """Writes UTF-8 text atomically."""
    write_atomically(path, lambda file: file.write(text.encode()))


def remove(path: Path) -> None:
    """Removes a file if it is there.

    Raises:
        IsADirectoryError: if a folder stands there that holds something.
    """
    make_way(path)
    path.unlink(missing_ok=True)


def make_way(path: Path) -> None:
    """Removes an empty folder that stands in the place of a file: nothing is lost with it.

    Raises:
        IsADirectoryError: if it holds something.
    """
    if path.is_dir():
        try:
            path.rmdir()
        except OSError:
            text = os.strerror(errno.EISDIR)
            raise IsADirectoryError(errno.EISDIR, text, str(path)) from None
