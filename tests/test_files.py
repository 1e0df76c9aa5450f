"""Writing to links, devices, pipes and failing disks, and who may write to a file."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NoReturn

import pytest

from bnnbench.files import (
    RefusedFile,
    check_archive,
    is_device,
    is_private,
    open_file,
    open_unpacked,
    read_bytes,
    read_text,
    write_atomically,
    write_text,
)


def test_a_link_is_followed(tmp_path: Path) -> None:
    target, link = tmp_path / "below" / "target", tmp_path / "link"
    target.parent.mkdir()
    link.symlink_to(target)
    for text in ("new", "again"):
        write_text(link, text)
        assert link.is_symlink() and target.read_text() == text
    assert os.listdir(target.parent) == ["target"]


def test_a_pipe_is_written_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_devices(tmp_path: Path) -> None:
    assert is_device(Path("/dev/null")) and is_device(Path("/dev/stdout"))
    assert not is_device(tmp_path) and not is_device(tmp_path / "absent")
    write_text(Path("/dev/null"), "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("operation", ["os.fsync", "os.chmod", "os.replace"])
def test_an_operation_that_fails_keeps_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fail(*_: object) -> NoReturn:
        raise OSError(errno.EIO, "disk error")

    with monkeypatch.context() as patched:
        patched.setattr(operation, fail)
        with pytest.raises(OSError, match="disk error") as error:
            write_text(path, "new")
    assert error.value.filename == str(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]


def test_a_short_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def fill(file: BinaryIO) -> NoReturn:
        file.write(b"ne")
        raise OSError(errno.ENOSPC, "no space")

    with pytest.raises(OSError, match="no space") as error:
        write_atomically(path, fill)
    assert error.value.filename == str(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["file"]


def test_a_name_that_is_not_utf8_is_written_with_question_marks(tmp_path: Path) -> None:
    write_text(tmp_path / "na\udcffme", "na\udcffme")
    assert (tmp_path / "na\udcffme").read_text() == "na?me"


IRREGULAR = {
    "pipe": os.mkfifo,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
    "large": lambda path: (path.touch(), os.truncate(path, 3 * 10**9)),
}  # fmt: skip


@pytest.mark.parametrize("kind", IRREGULAR)
def test_only_regular_files_of_limited_size_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    path = Path(f"{kind}.zip")
    IRREGULAR[kind](path)
    for read in (open_file, open_unpacked, read_bytes, read_text, check_archive):
        with pytest.raises(OSError):
            read(path)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_unpacking_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compress: Callable[[bytes], bytes]
) -> None:
    suffix = {bytes: "csv", lzma.compress: "xz"}.get(compress, compress.__module__[:3])
    path = tmp_path / f"t.{suffix.replace('gzi', 'gz')}"
    path.write_bytes(compress(bytes(100_000)))
    with open_unpacked(path) as file:
        assert file.read() == bytes(100_000)
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", "0.00009")
    with pytest.raises(RefusedFile, match="more than 9e-05 GB"), open_unpacked(path) as file:
        file.read()


@pytest.mark.parametrize(("mode", "expected"), [(0o755, True), (0o775, False), (0o757, False)])
def test_private_folders(tmp_path: Path, mode: int, expected: bool) -> None:
    tmp_path.chmod(mode)
    assert is_private(tmp_path) == expected
