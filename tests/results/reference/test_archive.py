"""Writers exclude each other, and leave the old or the new archive, whatever stops them."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock
from support.auditing import watched
from support.faults import Disk, fail_with, kill_at
from support.reference import reference_run
from support.user_errors import raises_user_error

from bnnbench.files import pack_members, read_members
from bnnbench.results.reference import write
from bnnbench.results.reference.results import (
    ARCHIVE,
    RUNS,
    SPLITS,
    read_archive,
    read_reference_results,
)
from bnnbench.results.reference.write import LOCK, add


def methods(folder: Path) -> set[str]:
    """Return the methods of reference results, whose checksums are verified."""
    return {*read_reference_results(folder).runs["method"]}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with reference results of pbp, and a run of vadam to add."""
    root = tmp_path_factory.mktemp("reference")
    reference_run(root / "old", method="pbp")
    reference_run(root / "new", method="vadam")
    assert add(root / "reference", root / "old").added
    return root


@pytest.fixture
def folder(template: Path, tmp_path: Path) -> Path:
    """Return reference results of pbp; the run to add is in `new` next to them."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path / "reference"


def operations(template: Path, folder: Path) -> int:
    """Return how many operations on its folder an addition makes."""
    shutil.copytree(template, folder)
    disk = Disk(lambda: None, 10**9)
    with watched(folder / "reference", disk):
        add(folder / "reference", folder / "new")
    return disk.seen


def test_four_processes_add_four_runs(tmp_path: Path) -> None:
    names = ("pbp", "vadam", "swag", "svgd")
    for name in names:
        reference_run(tmp_path / name, method=name)
    words = [
        sys.executable,
        "-m",
        "bnnbench",
        "reference",
        "add",
        "--folder",
        str(tmp_path / "reference"),
    ]
    started = [subprocess.Popen([*words, str(tmp_path / name)]) for name in names]
    assert [process.wait(120) for process in started] == [0, 0, 0, 0]
    assert methods(tmp_path / "reference") == {*names}


def test_a_killed_process_leaves_the_old_state(template: Path, tmp_path: Path) -> None:
    """It is killed at every operation on the folder; the same command then adds the run.

    The last operation replaces the archive.
    """
    count = operations(template, tmp_path / "undisturbed")
    expected = read_archive(tmp_path / "undisturbed" / "reference")
    assert count > 5
    for at in range(1, count + 1):
        root = tmp_path / str(at)
        shutil.copytree(template, root)
        kill_at(at, root / "reference", partial(add, root / "reference", root / "new"))
        assert methods(root / "reference") == {"pbp"}
        add(root / "reference", root / "new")
        assert methods(root / "reference") == {"pbp", "vadam"}
        assert read_archive(root / "reference") == expected
        assert {path.name for path in (root / "reference").iterdir()} == {ARCHIVE, LOCK}
        shutil.rmtree(root)


def test_a_process_killed_while_it_creates_the_folder(template: Path, tmp_path: Path) -> None:
    """At every operation; there are no results before, and the same command creates them."""
    for at in range(1, 7):
        root = tmp_path / str(at)
        root.mkdir()
        kill_at(at, root, partial(add, root / "reference", template / "new"))
        assert add(root / "reference", template / "new").unchanged or methods(
            root / "reference"
        ) == {"vadam"}


@pytest.mark.parametrize("number", [errno.ENOSPC, pytest.param(errno.EIO, marks=pytest.mark.slow)])
def test_a_failing_disk_leaves_the_old_or_the_new_state(
    template: Path, tmp_path: Path, number: int
) -> None:
    """The disk is full from an operation on, or one operation fails."""
    count = operations(template, tmp_path / "undisturbed")
    for at in range(1, count + 1):
        root = tmp_path / str(at)
        shutil.copytree(template, root)
        disk = Disk(fail_with(number), at, once=number == errno.EIO)
        with watched(root / "reference", disk), suppress(OSError):
            add(root / "reference", root / "new")
        assert methods(root / "reference") in ({"pbp"}, {"pbp", "vadam"})
        add(root / "reference", root / "new")
        assert methods(root / "reference") == {"pbp", "vadam"}
        shutil.rmtree(root)


def test_readers_never_see_a_mix(folder: Path) -> None:
    """Another thread writes two states in turn; one has a run more than the other."""
    old = read_archive(folder)
    add(folder, folder.parent / "new")
    states, stop = (old, read_archive(folder)), threading.Event()

    def keep_writing() -> None:
        for turn in range(10**6):
            if stop.is_set():
                return
            with write.locked(folder):
                write.write_archive(folder, states[turn % 2])

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        found = [read_archive(folder) for _ in range(300)]
        while not all(state in found for state in states):  # the machine may be busy
            found.append(read_archive(folder))
    finally:
        stop.set()
        writer.join()
    assert all(state in states for state in found)


def test_a_busy_folder_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "LOCK_TIMEOUT", 0.1)
    with FileLock(folder / LOCK), raises_user_error(None, "locked"):
        add(folder, folder.parent / "new")


def changed_archives(folder: Path) -> Iterator[bytes]:
    """Yield archives that are damaged, or that the package would not write."""
    content, intact = read_archive(folder), (folder / ARCHIVE).read_bytes()
    yield b""
    yield intact[:1000]
    for at in range(100, len(intact) // 2, 500):
        yield intact[:at] + bytes([intact[at] ^ 1]) + intact[at + 1 :]
    yield pack_members({RUNS: content[RUNS], SPLITS: content[SPLITS]})
    yield pack_members({**content, "more.csv": b""})
    yield pack_members({f"../{name}": text for name, text in content.items()})
    yield pack_members({**content, RUNS: b""})
    yield pack_members({**content, RUNS: b'{"run": "0123abcd"}\n'})


def test_nothing_is_added_to_a_changed_archive(folder: Path) -> None:
    for changed in [*changed_archives(folder)]:
        (folder / ARCHIVE).write_bytes(changed)
        for use in (read_reference_results, lambda own: add(own, own.parent / "new")):
            with raises_user_error("folder", "damaged"):
                use(folder)
        assert (folder / ARCHIVE).read_bytes() == changed


def test_the_archive_depends_on_the_content_only(folder: Path) -> None:
    before = (folder / ARCHIVE).read_bytes()
    content = read_archive(folder)
    write.write_archive(folder, {name: content[name] for name in sorted(content)})
    assert (folder / ARCHIVE).read_bytes() == before


def test_more_is_not_unpacked_than_a_member_declares(tmp_path: Path) -> None:
    """The declared size of a member is in its directory entry, 24 bytes after the signature."""
    packed = bytearray(pack_members({RUNS: bytes(10**8)}))
    at = packed.index(b"PK\x01\x02") + 24
    packed[at : at + 4] = (1000).to_bytes(4, "little")
    (tmp_path / ARCHIVE).write_bytes(packed)
    tracemalloc.start()
    with pytest.raises(zipfile.BadZipFile):
        read_members(tmp_path / ARCHIVE, [RUNS])
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
