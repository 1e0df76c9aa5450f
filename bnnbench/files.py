"""Paths that users give, atomic writing, and reading of files that others may have written."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import math
import os
import pickle
import re
import stat
import struct
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from bnnbench.system import (
    READ_FLAGS,
    is_own,
    is_writable_by_others,
    positive_number,
    read_variable,
    user_id,
)
from bnnbench.types import UserError

if TYPE_CHECKING:
    import numpy as np

SIZE_VARIABLE, DEFAULT_SIZE_GB = "BNNBENCH_MAX_UNPACKED_GB", 2.0
"""Limit of the unpacked size of a file: one of a few kilobytes may fill the memory."""

DECOMPRESSORS: Mapping[str, Callable[..., IO[bytes]]] = {
    ".gz": gzip.open,  # type: ignore[dict-item]
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
"""By suffix of a file."""

READ_ERRORS = (
    *(FileNotFoundError, NotADirectoryError, IsADirectoryError, gzip.BadGzipFile, EOFError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, pickle.UnpicklingError, struct.error),
    *(ValueError, LookupError, TypeError, AttributeError, AssertionError, ArithmeticError),
    *(RuntimeError, SyntaxError, tokenize.TokenError),
)
"""Errors raised when a missing or damaged file is read and its content is used. A `RuntimeError` is
that of an archive with a password or an unknown compression, or a `RecursionError`.

Any other `OSError` means that an intact file could not be read: it exceeds the limit of sizes, its
permissions do not allow it, too many files are open, or the disk fails.
"""


MAX_NAME_BYTES = 255
"""Maximum length of a name in a path, on every common file system."""

IMPOSSIBLE = {
    errno.ELOOP: "contains a link that points to itself",
    errno.ENAMETOOLONG: "is too long for a path",
}
"""Errors of paths that no file can have, with a description."""


def expand(given: str | os.PathLike[str]) -> Path:
    """Return a path with the home of a user in the place of `~`; the path need not exist.

    Raises:
        ValueError: if no file can have this path; its text says why.
    """
    text = os.fspath(given)
    if "\0" in text:
        raise ValueError(f"{text!r} contains a null byte")
    if any(len(os.fsencode(name)) > MAX_NAME_BYTES for name in text.split("/")):
        raise ValueError(f"a name in {text[:40]!r}... is longer than {MAX_NAME_BYTES} bytes")
    expanded = os.path.expanduser(text)
    user = text.partition("/")[0]
    if text.startswith("~") and expanded == text and not os.path.lexists(user):
        raise ValueError(f"{user!r} names no user of this machine")
    try:
        os.stat(expanded)
    except OSError as error:
        if error.errno in IMPOSSIBLE:
            raise ValueError(f"{text[:40]!r} {IMPOSSIBLE[error.errno]}") from None
    return Path(expanded)


def user_path(key: str, given: Any) -> Path:
    """Return `expand(given)`.

    Args:
        key: the setting or option that gives it, for messages.
        given: a string or a path.

    Raises:
        UserError: if no file can have this path.
    """
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise UserError(f"{key} must be a path, not {given!r}.", key, "path")
    try:
        return expand(given)
    except ValueError as error:
        raise UserError(f"{key}: {error}.", key, "path") from None


def real_path(path: Path) -> Path:
    """Return the absolute path without links; unlike `Path.resolve`, never an error of a loop."""
    return Path(os.path.realpath(path))


def shipped_folder(name: str) -> Path:
    """Return a folder of the repository: inside the package in a wheel, else next to it."""
    package = Path(__file__).parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


class RefusedFile(OSError):
    """The error for a file that is too large, or is not a regular file."""

    def __str__(self) -> str:
        """Return a sentence."""
        return f"{self.filename}: {self.strerror}."


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error, which may be that of torch, means that memory ran out."""
    torch = isinstance(error, RuntimeError) and re.search("(allocate|out of) memory", str(error))
    return isinstance(error, MemoryError) or bool(torch)


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading.

    Raises:
        RefusedFile: if it is a pipe or a device, whose reading may never end, or exceeds the limit
            of sizes.
        OSError: if it cannot be read.
    """
    try:
        handle = os.open(path, READ_FLAGS)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise FileNotFoundError(errno.ELOOP, "a link to itself", str(path)) from None
    try:
        status = os.fstat(handle)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise RefusedFile(errno.EINVAL, "a pipe or a device, not a file", str(path))
        check_size(status.st_size, path)
    except OSError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file; `OSError` as in `open_file`."""
    with open_file(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """Return the UTF-8 text of a regular file; `OSError` as in `open_file`."""
    return read_bytes(path).decode()


def open_unpacked(path: Path) -> IO[bytes]:
    """Open a regular file, decompressed as its suffix says; `OSError` as in `open_file`."""
    file, decompress = open_file(path), DECOMPRESSORS.get(path.suffix.lower())
    if decompress is None:
        return file
    return io.BufferedReader(_LimitedFile(file, decompress(file), path))


class _LimitedFile(io.RawIOBase):
    """A decompressing file that raises `RefusedFile` beyond the limit of sizes."""

    def __init__(self, packed: BinaryIO, file: IO[bytes], path: Path) -> None:
        self._packed, self._file, self._path, self._total = packed, file, path, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes."""
        content = self._file.read(len(buffer))
        buffer[: len(content)] = content
        self._total += len(content)
        check_size(self._total, self._path)
        return len(content)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._packed.close()
        super().close()


def check_size(size: float, path: Path) -> None:
    """Raise `RefusedFile` if a number of bytes, unpacked, exceeds the limit of sizes."""
    limit = read_variable(SIZE_VARIABLE, positive_number, DEFAULT_SIZE_GB)
    if size > limit * 1e9:
        text = f"it has more than {limit:g} GB, unpacked; {SIZE_VARIABLE} sets the limit"
        raise RefusedFile(errno.EFBIG, text, str(path))


def check_archive(path: Path) -> None:
    """Raise `RefusedFile` if the members of a zip archive exceed the limit of sizes."""
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        check_size(sum(member.file_size for member in archive.infolist()), path)


def read_members(path: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Return the members of a zip archive, by name; `OSError` as in `open_file`.

    Raises:
        ValueError: if the archive does not have exactly the members `names`, in this order.
        Exception: one of `READ_ERRORS` if it is damaged.
    """
    check_archive(path)
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if [member.filename for member in members] != [*names]:
            raise ValueError(f"its members are not {', '.join(names)}")
        # At most the declared size is unpacked, whatever the archive contains.
        return {one.filename: archive.open(one).read(one.file_size) for one in members}


def pack_members(contents: Mapping[str, bytes]) -> bytes:
    """Return a zip archive whose bytes depend only on its members, not on time or system."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in contents.items():
            member = zipfile.ZipInfo(name)
            member.create_system = 3  # Unix
            archive.writestr(member, content, zipfile.ZIP_DEFLATED, compresslevel=9)
    return packed.getvalue()


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an `.npz` file; `OSError` as in `open_file`.

    Raises:
        ValueError: if it is damaged, or an array has more values than it has bytes in the file.
    """
    import numpy as np

    check_archive(path)
    with open_file(path) as file, zipfile.ZipFile(file) as archive:
        if len({*archive.namelist()}) < len(archive.namelist()):
            raise ValueError("two members have the same name")
        for member in archive.infolist():
            with archive.open(member) as array:
                is_old = np.lib.format.read_magic(array) == (1, 0)
                form = np.lib.format
                read = form.read_array_header_1_0 if is_old else form.read_array_header_2_0
                shape, _, dtype = read(array)
            size = math.prod(shape) * max(dtype.itemsize, 1)
            if size > member.file_size or dtype.itemsize < 0:  # an overflow in old versions
                raise ValueError(f"{member.filename} is truncated")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}


def check_regular_files(root: Path) -> None:
    """Check that a folder contains only files and folders, and no links out of it.

    A received folder may contain a pipe, whose reading never ends, or a link to a folder of the
    user, into which a report would write.

    Raises:
        UserError: for the first other file.
    """
    top = Path(os.path.realpath(root))
    for folder, folders, files in os.walk(top):
        for path in (Path(folder, name) for name in (*folders, *files)):
            target = Path(os.path.realpath(path))  # also of a link to itself
            leaves = path.is_symlink() and not target.is_relative_to(top)
            if leaves or _is_special(path):
                kind = "a link out of its folder" if leaves else "a pipe or a device"
                raise UserError(f"{path} is {kind}; delete it.", path.name, "irregular_file")


def _is_special(path: Path) -> bool:
    """Whether a path is a pipe, a device or a socket; False if it has just been removed."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def checksum(content: bytes) -> str:
    """Return sixteen hexadecimal digits of the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()[:16]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def write_atomically(path: Path, write: Callable[[BinaryIO], Any], *, flush: bool = True) -> None:
    """Call `write(file)` on a temporary file in the same folder, then move it into place.

    A link is followed, and its target is replaced. A device or a pipe is written directly.

    Args:
        path: of the file.
        write: writes its content.
        flush: whether to wait until the content is on the disk. Otherwise the file may be empty
            after a power failure, but not after the end of the process.

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
            if flush:
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
    return is_own(status) and not is_writable_by_others(status)


def cache_folders(name: str) -> Iterator[Path]:
    """Yield the folders to try: `name` in the user's cache, then one in the temporary folder.

    Each belongs to the user, and no other user can write to it.
    """
    folders = [Path(tempfile.gettempdir()) / f"bnnbench-{name}-{user_id() or 0}"]
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


def write_text(path: Path, text: str, *, flush: bool = True) -> None:
    """Write UTF-8 text atomically; characters that UTF-8 lacks become question marks."""
    write_bytes(path, text.encode(errors="replace"), flush=flush)


def write_bytes(path: Path, content: bytes, *, flush: bool = True) -> None:
    """Write bytes atomically."""
    write_atomically(path, lambda file: file.write(content), flush=flush)


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
