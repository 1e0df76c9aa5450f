"""Writers exclude each other, and leave the old or the new files, whatever stops them."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from filelock import FileLock
from support.auditing import watched
from support.faults import Disk, fail_with, kill_at
from support.reference import reference_run
from support.user_errors import raises_user_error

from bnnbench.results.reference import files
from bnnbench.results.reference.files import FINGERPRINTS, LOCK, NAMES, SPLITS, SUMS, read_files
from bnnbench.results.reference.results import read_reference_results
from bnnbench.results.reference.write import add


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


def test_a_killed_process_leaves_the_old_or_the_new_state(template: Path, tmp_path: Path) -> None:
    """It is killed at every operation on the folder; the same command then adds the run."""
    count, seen = operations(template, tmp_path / "undisturbed"), []
    expected = read_files(tmp_path / "undisturbed" / "reference")
    assert count > 15
    for at in range(1, count + 1):
        root = tmp_path / str(at)
        shutil.copytree(template, root)
        kill_at(at, root / "reference", partial(add, root / "reference", root / "new"))
        seen.append(methods(root / "reference"))
        add(root / "reference", root / "new")
        assert methods(root / "reference") == {"pbp", "vadam"}
        assert read_files(root / "reference") == expected
        assert {path.name for path in (root / "reference").iterdir()} == {*NAMES, SUMS, LOCK}
        shutil.rmtree(root)
    old, new = {"pbp"}, {"pbp", "vadam"}
    assert seen == sorted(seen, key=len) and old in seen and new in seen


def test_a_process_killed_while_it_creates_the_folder(template: Path, tmp_path: Path) -> None:
    """At every fourth operation; there are no results before, and the same command creates them."""
    for at in range(1, 18, 4):
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
    old = read_files(folder)
    add(folder, folder.parent / "new")
    states, stop = (old, read_files(folder)), threading.Event()

    def write() -> None:
        for turn in range(10**6):
            if stop.is_set():
                return
            with files.locked(folder):
                files.write_files(folder, states[turn % 2])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        found = [read_files(folder) for _ in range(300)]
        while not all(state in found for state in states):  # the machine may be busy
            found.append(read_files(folder))
    finally:
        stop.set()
        writer.join()
    assert all(state in states for state in found)


def test_a_busy_folder_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_TIMEOUT", 0.1)
    with FileLock(folder / LOCK), raises_user_error(None, "locked"):
        add(folder, folder.parent / "new")


@pytest.mark.parametrize("name", [SUMS, FINGERPRINTS])
def test_nothing_is_added_to_an_incomplete_folder(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with raises_user_error("folder", "damaged"):
        add(folder, folder.parent / "new")
    assert not (folder / name).exists() and (folder / SPLITS).exists()
