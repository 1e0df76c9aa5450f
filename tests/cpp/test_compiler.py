"""The library is compiled once per machine, or there is a reason why not."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from bnnbench.cpp import library as compiler
from bnnbench.cpp.library import LibraryUnavailable, build_library, find_compiler

SMALL = 'extern "C" int answer() { return 42; }\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a C++ file that compiles quickly."""
    path = tmp_path / "small.cpp"
    path.write_text(SMALL)
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a separate cache, and set a separate temporary folder."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "cache" / "bnnbench" / "native"


@pytest.fixture
def compiler_command() -> list[str]:
    """Return the compiler command, or skip the test if there is none."""
    try:
        return find_compiler()
    except LibraryUnavailable as missing:
        pytest.skip(str(missing))


def script(folder: Path, text: str) -> Path:
    """Write a shell script to use as a compiler."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def answer(library: Path) -> int:
    return int(ctypes.CDLL(str(library)).answer())


def files(folder: Path) -> list[str]:
    """Return the files in a folder, except locks and digests."""
    return sorted(path.name for path in folder.iterdir() if path.suffix not in (".lock", ".sha256"))


@pytest.mark.ci
def test_the_library_is_compiled_once(
    source: Path, cache: Path, compiler_command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = build_library(source)
    assert place.parent == cache and files(cache) == [place.name]
    assert answer(place) == 42
    monkeypatch.setattr(subprocess, "run", None)
    assert build_library(source) == place


def test_the_file_depends_on_source_compiler_flags_and_processor(
    source: Path, cache: Path, compiler_command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {build_library(source)}
    source.write_text(SMALL.replace("42", "43"))
    made.add(build_library(source))
    assert answer(max(made, key=lambda place: place.stat().st_mtime_ns)) == 43
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-DOTHER"))
    made.add(build_library(source))
    monkeypatch.setattr(compiler, "_processor_identity", lambda: "another")
    made.add(build_library(source))
    monkeypatch.setenv("CXX", f"{compiler_command[0]} -g0")
    made.add(build_library(source))
    assert len(made) == len(files(cache)) == 5


@pytest.mark.parametrize(
    ("maker", "family", "halves"),
    [("AuthenticAMD", "25", True), ("AuthenticAMD", "26", False), ("GenuineIntel", "25", False)],
)
def test_processors_with_half_width_units_use_half_registers(
    maker: str, family: str, halves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    info = {"vendor_id": maker, "cpu family": family}
    monkeypatch.setattr(compiler, "_cpuinfo", lambda: info)
    assert ("-DBY_HALVES" in compiler._processor_flags()) == halves


def test_one_of_many_processes_compiles(
    source: Path, cache: Path, compiler_command: list[str], tmp_path: Path
) -> None:
    slow = script(
        tmp_path, f'echo built >> "{tmp_path}/log"; sleep 0.5; exec {compiler_command[0]} "$@"'
    )
    code = (
        "import ctypes, sys; from pathlib import Path; "
        "from bnnbench.cpp.library import build_library; "
        "print(ctypes.CDLL(str(build_library(Path(sys.argv[1])))).answer())"
    )
    command = [sys.executable, "-c", code, str(source)]
    environment = {**os.environ, "CXX": str(slow)}
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate()[0].strip() for process in processes] == ["42"] * 3
    assert (tmp_path / "log").read_text() == "built\n" * 2, "a unit, and the library"
    assert len(files(cache)) == 1


def test_nothing_is_compiled_on_windows(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "platform", "win32")
        with pytest.raises(LibraryUnavailable, match="Windows"):
            build_library(source)


@pytest.mark.parametrize(
    ("machine", "flag"),
    [("arm64", "-mcpu=native"), ("aarch64", "-mcpu=native"), ("x86_64", "-march=native")],
)
def test_processors_without_proc(machine: str, flag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS: the machine decides, and no variant of a wheel fits."""
    monkeypatch.setattr(compiler, "_cpuinfo", lambda: {})
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert compiler._processor_flags() == (flag,)
    assert compiler.prebuilt_library() is None
    assert machine in compiler._processor_identity()


def test_without_a_compiler(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LibraryUnavailable, match=r"^there is no compiler$"):
        build_library(source)
    monkeypatch.setenv("CXX", "nothing++ -O1")
    with pytest.raises(
        LibraryUnavailable, match=r"^there is no compiler nothing\+\+, as given by CXX$"
    ):
        build_library(source)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('echo "note: hm" >&2; echo "x.cpp:1: error: bad flag" >&2; exit 1', "error: bad flag"),
        ("exit 1", "no error message"),
        ("kill -9 $$", "ended by signal 9"),
    ],
)
def test_a_failed_compilation_leaves_no_file(
    source: Path, cache: Path, tmp_path: Path, lines: str, words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    half = 'while [ "$1" != -o ]; do shift; done; echo half > "$2"; '
    monkeypatch.setenv("CXX", str(script(tmp_path, half + lines)))
    with pytest.raises(LibraryUnavailable, match=r"^compiler failed: ") as failed:
        build_library(source)
    assert words in str(failed.value)
    assert files(cache) == []


def test_a_unit_that_fails_among_others_is_compiled_again_alone(
    source: Path, tmp_path: Path, compiler_command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory may suffice for one unit, but not for all at once."""
    other = tmp_path / "other.cpp"
    other.write_text("int other() { return 1; }\n")
    killed = f'case "$*" in *other.cpp*) [ -e "{tmp_path}/seen" ] || {{ touch "{tmp_path}/seen"; '
    lines = f'{killed} kill -9 $$; }} ;; esac; exec {compiler_command[0]} "$@"'
    monkeypatch.setenv("CXX", str(script(tmp_path, lines)))
    assert answer(build_library(source, other)) == 42 and (tmp_path / "seen").exists()


def test_a_process_says_that_it_waits(
    source: Path, cache: Path, compiler_command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    build_library(source)
    assert "waiting" not in capsys.readouterr().err
    source.write_text(SMALL.replace("42", "43"))
    with (cache / ".compilation.lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        threading.Timer(0.3, fcntl.flock, (held, fcntl.LOCK_UN)).start()
        assert answer(build_library(source)) == 43
    assert capsys.readouterr().err.count("waiting for another process") == 1


def test_without_a_writable_cache_a_private_temporary_folder_is_used(
    source: Path, compiler_command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    place = build_library(source)
    assert place.parent == tmp_path / f"bnnbench-native-{os.getuid()}"
    assert place.parent.stat().st_mode & 0o777 == 0o700 and answer(place) == 42
    assert build_library(source) == place


@pytest.mark.parametrize("prepared", ["open to others", "a link"])
def test_folders_that_others_can_write_are_not_used(
    source: Path, compiler_command: list[str], tmp_path: Path, prepared: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    folder = tmp_path / f"bnnbench-native-{os.getuid()}"
    if prepared == "a link":
        (tmp_path / "theirs").mkdir()
        folder.symlink_to(tmp_path / "theirs")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(LibraryUnavailable, match=r"^no cache folder is writable$"):
        build_library(source)


@pytest.mark.parametrize("change", ["another content", "open to others", "no digest"])
def test_a_library_that_others_may_have_placed_is_compiled_again(
    source: Path, cache: Path, compiler_command: list[str], change: str
) -> None:
    place = build_library(source)
    before = place.stat().st_ino
    if change == "another content":
        place.write_bytes(b"planted")
    elif change == "open to others":
        place.chmod(0o777)
    else:
        place.with_name(f".{place.name}.sha256").unlink()
    assert build_library(source) == place
    assert place.stat().st_ino != before and answer(place) == 42
