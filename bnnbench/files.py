"""Atomic writing of files, and reading of files that others may have written."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

UNPACKED_VARIABLE, DEFAULT_UNPACKED_GB = "BNNBENCH_MAX_UNPACKED_GB", 2.0
"""Limit of the unpacked size of a compressed file: a file of kilobytes may fill the memory."""

READ_ERRORS = (
    *(OSError, EOFError, zipfile.BadZipFile, zlib.error),
    *(ValueError, LookupError, TypeError, AttributeError, RecursionError),
)
"""Errors raised when a damaged file is read and its content is used."""


def shipped_folder(name: str) -> Path:
    """Return a folder of the repository: inside the package in a wheel, else next to it."""
    package = Path(__file__).parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def raise_disk_error(error: BaseException) -> None:
    """Raise an input/output error of the disk again: the file itself may be intact."""
    if isinstance(error, OSError) and error.errno == errno.EIO:
        raise error


class LimitedFile(io.RawIOBase):
    """A decompressing file that raises `OSError` beyond the limit of unpacked sizes."""

    def __init__(self, file: IO[bytes] | io.BufferedIOBase) -> None:
        self._file, self._total = file, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self._total += len(content)
        check_unpacked_size(self._total)
        return len(content)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def check_unpacked_size(size: int) -> None:
    """Raise `OSError` if a number of bytes exceeds the limit of unpacked sizes."""
    limit = float(os.environ.get(UNPACKED_VARIABLE, DEFAULT_UNPACKED_GB))
    if size > limit * 1e9:
        text = f"unpacks to more than {limit:g} GB; {UNPACKED_VARIABLE} sets the limit"
        raise OSError(errno.EFBIG, text)


def check_archive(path: Path) -> None:
    """Raise `OSError` if the members of a zip archive exceed the limit of unpacked sizes."""
    with zipfile.ZipFile(path) as archive:
        check_unpacked_size(sum(member.file_size for member in archive.infolist()))


def checksum(content: bytes) -> str:
    """Return sixteen hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_atomically(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    """Call `write(file)` on a temporary file in the same folder, then move it into place.

    A link is followed, and its target is replaced. A device or a pipe is written directly.

    Raises:
        IsADirectoryError: if there is a folder of this name that is not empty.
        OSError: with the name of the file.
    """
    if is_device(path):
        with path.open("wb") as file:
            write(file)
        return
    path = Path(os.path.realpath(path))
    remove_empty_folder(path)
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
            error.filename = str(path)  # missing in errors of a full disk
        raise


def is_device(path: Path) -> bool:
    """Return whether a path names a device or a pipe, such as `/dev/stdout`."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return path.is_relative_to("/dev") or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def is_private(path: Path) -> bool:
    """Return whether the user owns a file or folder and no other user can write to it."""
    status = path.stat()
    return status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def cache_folders(name: str) -> Iterator[Path]:
    """Yield the folders to try: `name` in the user's cache, then one in the temporary folder.

    Each belongs to the user, and no other user can write to it.
    """
    folders = [Path(tempfile.gettempdir()) / f"bnnbench-{name}-{os.getuid()}"]
    with suppress(RuntimeError):  # no home directory
        cache_home = os.environ.get("XDG_CACHE_HOME", "")
        cache = Path(cache_home) if os.path.isabs(cache_home) else Path.home() / ".cache"
        folders.insert(0, cache / "bnnbench" / name)
    for folder in folders:
        with suppress(OSError):
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            if is_private(folder) and not folder.is_symlink():
                yield folder


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically; a name of a file that is not UTF-8 text gets question marks."""
    write_bytes(path, text.encode(errors="replace"))


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes atomically."""
    write_atomically(path, lambda file: file.write(content))


def remove(path: Path) -> None:
    """Delete a file if it exists.

    Raises:
        IsADirectoryError: if there is a folder of this name that is not empty.
    """
    remove_empty_folder(path)
    path.unlink(missing_ok=True)


def remove_empty_folder(path: Path) -> None:
    """Delete an empty folder that has the name of a file.

    Raises:
        IsADirectoryError: if it is not empty.
    """
    if path.is_dir():
        try:
            path.rmdir()
        except OSError:
            text = os.strerror(errno.EISDIR)
            raise IsADirectoryError(errno.EISDIR, text, str(path)) from None
