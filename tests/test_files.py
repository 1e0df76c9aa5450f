"""Writing to links, devices, pipes and failing disks; files that cannot be read."""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import socket
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np
import pytest
from support.runs import add_arrays, make_run
from support.user_errors import raises_user_error

from bnnbench.experiment.kinds.resumable_stack import read_state, saved_steps
from bnnbench.experiment.store.provenance import read_environment
from bnnbench.experiment.store.record import read_record, stored_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.files import (
    RefusedFile,
    check_archive,
    is_device,
    is_private,
    open_file,
    open_unpacked,
    read_arrays,
    read_bytes,
    read_text,
    write_atomically,
    write_text,
)
from bnnbench.prediction.final_model import reading_settings
from bnnbench.results.read.run_files import read_predictions, read_splits, read_verified
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.reference.results import ARCHIVE, read_reference_results
from bnnbench.types import UserError


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


UNIT = "split-00"

READERS: dict[str, Callable[[RunFolder], object]] = {
    "record": read_record,
    "stored record": stored_record,
    "mark": RunFolder.finished,
    "checksums": lambda folder: folder.damaged({"record.json": "0"}),
    "environment": read_environment,
    "scores": read_splits,
    "arrays": read_predictions,
    "configuration": reading_settings,
    "rows of a unit": lambda folder: UnitStore(folder).rows(UNIT, "splits"),
    "unit": lambda folder: UnitStore(folder).intact(UNIT),
    "steps": lambda folder: saved_steps(folder.record),
    "state": lambda folder: read_state(folder.record),
    "reference results": lambda folder: read_reference_results(folder.root),
}
"""Functions that call a damaged file damaged, or replace it."""


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = make_run(tmp_path)
    add_arrays(folder)
    (folder.root / ARCHIVE).touch()
    folder.environment.write_text("{}")
    return folder


@pytest.mark.parametrize("number", [errno.EACCES, errno.EMFILE, errno.ENOMEM, errno.EIO])
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_cannot_be_opened_is_not_called_damaged(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    def fail(path: Path, *_: object) -> NoReturn:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr("bnnbench.files.os.open", fail)
    with pytest.raises((OSError, UserError), match=os.strerror(number)) as error:
        READERS[name](run)
    assert "damaged" not in str(error.value)


@pytest.mark.parametrize("name", [n for n in READERS if n not in ("configuration", "environment")])
def test_a_file_above_the_limit_is_not_called_damaged(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (run.work).mkdir()
    UnitStore(run).save(UNIT, {"splits": [{"split": 0}]}, {})
    (run.root / ARCHIVE).write_text("no archive" * 10)
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", "1e-8")
    with pytest.raises((RefusedFile, UserError), match="BNNBENCH_MAX_UNPACKED_GB") as error:
        READERS[name](run)
    assert "damaged" not in str(error.value)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EFBIG])
def test_a_run_that_cannot_be_read_is_left_out_with_the_reason(
    run: RunFolder, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    other = make_run(run.root.parent, "other")
    opened = os.open

    def fail(path: Path, *others: int) -> int:
        if Path(path) == run.record:
            error = RefusedFile if number == errno.EFBIG else OSError
            raise error(number, "a reason", str(path))
        return opened(path, *others)

    monkeypatch.setattr("bnnbench.files.os.open", fail)
    with raises_user_error("record.json", "unreadable", mentions=["a reason", run.record]):
        read_verified(run)
    runs = read_runs(run.root.parents[2])
    assert list(runs.folders.values()) == [other] and "a reason" in runs.skipped[0]


def saved(path: Path, array: np.ndarray, **claims: object) -> Path:
    """Write an archive with an array, and other claims about it in its header."""
    form = np.lib.format
    header = form.header_data_from_array_1_0(array) | claims
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w") as member,
    ):
        form.write_array_header_1_0(member, header)
        member.write(array.tobytes())
    return path


FALSE_CLAIMS: dict[str, dict[str, object]] = {
    "rows": {"shape": (2**40,)},
    "columns": {"shape": (10, 2**36)},
    "empty texts": {"shape": (2**40,), "descr": "|S0"},
    "wide texts": {"descr": "<U1000000000"},
    "objects": {"descr": "|O"},
}


@pytest.mark.parametrize("claim", FALSE_CLAIMS)
def test_the_claims_of_an_array_file_are_checked(tmp_path: Path, claim: str) -> None:
    path, array = tmp_path / "a.npz", np.arange(10.0)
    np.testing.assert_array_equal(read_arrays(saved(path, array))["a"], array)
    with pytest.raises(ValueError):
        read_arrays(saved(path, array, **FALSE_CLAIMS[claim]))
