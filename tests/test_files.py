"""Writing to links, devices, pipes and failing disks, and who may write to a file."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, NoReturn

import pytest

from bnnbench.files import is_device, is_private, write_atomically, write_text


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


@pytest.mark.parametrize(("mode", "expected"), [(0o755, True), (0o775, False), (0o757, False)])
def test_private_folders(tmp_path: Path, mode: int, expected: bool) -> None:
    tmp_path.chmod(mode)
    assert is_private(tmp_path) == expected
