"""Writing to links, devices and pipes, and who may write to a file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from bnnbench.files import is_device, is_private, write_text


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


@pytest.mark.parametrize(("mode", "expected"), [(0o755, True), (0o775, False), (0o757, False)])
def test_private_folders(tmp_path: Path, mode: int, expected: bool) -> None:
    tmp_path.chmod(mode)
    assert is_private(tmp_path) == expected
