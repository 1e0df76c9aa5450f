"""The library is built once for a machine, by whoever asks first, or it is said why not."""

from __future__ import annotations

import ctypes
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from bnnbench.cpp import compiler
from bnnbench.cpp.compiler import Unavailable, built, found_compiler

SMALL = 'extern "C" int answer() { return 42; }\n'


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A C++ file that is compiled in no time."""
    path = tmp_path / "small.cpp"
    path.write_text(SMALL)
    return path


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, and a folder for passing files that is not the machine's."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "cache" / "bnnbench" / "native"


@pytest.fixture
def needed() -> list[str]:
    """The compiler, without which there is nothing to test."""
    try:
        return found_compiler()
    except Unavailable as missing:
        pytest.skip(str(missing))


def script(folder: Path, text: str) -> Path:
    """A program of these lines of shell."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def answer(place: Path) -> int:
    return int(ctypes.CDLL(str(place)).answer())


def files(folder: Path) -> list[str]:
    """What lies in a folder, but for locks."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


@pytest.mark.ci
def test_it_is_built_once_and_found_again(
    source: Path, cache: Path, needed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = built(source)
    assert place.parent == cache and files(cache) == [place.name]
    assert answer(place) == 42
    monkeypatch.setattr(subprocess, "run", None)
    assert built(source) == place


def test_another_source_compiler_flag_or_processor_is_another_file(
    source: Path, cache: Path, needed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {built(source)}
    source.write_text(SMALL.replace("42", "43"))
    made.add(built(source))
    assert answer(max(made, key=lambda place: place.stat().st_mtime_ns)) == 43
    monkeypatch.setattr(compiler, "FLAGS", (*compiler.FLAGS, "-DOTHER"))
    made.add(built(source))
    monkeypatch.setattr(compiler, "_processor", lambda: "another")
    made.add(built(source))
    monkeypatch.setenv("CXX", f"{needed[0]} -g0")
    made.add(built(source))
    assert len(made) == len(files(cache)) == 5


@pytest.mark.parametrize(
    ("maker", "family", "halves"),
    [("AuthenticAMD", "25", True), ("AuthenticAMD", "26", False), ("GenuineIntel", "25", False)],
)
def test_a_processor_that_halves_registers_is_given_halves(
    maker: str, family: str, halves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    told = {"vendor_id": maker, "cpu family": family}
    monkeypatch.setattr(compiler, "_cpuinfo", lambda: told)
    assert ("-DBY_HALVES" in compiler._for_this_processor()) == halves


def test_of_many_processes_that_ask_at_once_one_builds(
    source: Path, cache: Path, needed: list[str], tmp_path: Path
) -> None:
    slow = script(tmp_path, f'echo built >> "{tmp_path}/log"; sleep 0.5; exec {needed[0]} "$@"')
    code = (
        "import ctypes, sys; from pathlib import Path; from bnnbench.cpp.compiler import built; "
        "print(ctypes.CDLL(str(built(Path(sys.argv[1])))).answer())"
    )
    command = [sys.executable, "-c", code, str(source)]
    environment = {**os.environ, "CXX": str(slow)}
    processes = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    assert [process.communicate()[0].strip() for process in processes] == ["42"] * 8
    assert (tmp_path / "log").read_text() == "built\n"
    assert len(files(cache)) == 1


def test_without_a_compiler(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"^there is no compiler$"):
        built(source)
    monkeypatch.setenv("CXX", "nothing++ -O1")
    with pytest.raises(Unavailable, match=r"^there is no nothing\+\+, as CXX says$"):
        built(source)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('echo "note: hm" >&2; echo "x.cpp:1: error: bad flag" >&2; exit 1', "error: bad flag"),
        ("exit 1", "without a word"),
        ("kill -9 $$", "without a word"),
    ],
)
def test_a_compiler_that_fails_leaves_nothing(
    source: Path, cache: Path, tmp_path: Path, lines: str, words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    half = 'while [ "$1" != -o ]; do shift; done; echo half > "$2"; '
    monkeypatch.setenv("CXX", str(script(tmp_path, half + lines)))
    with pytest.raises(Unavailable, match=r"^compiler failed: ") as failed:
        built(source)
    assert words in str(failed.value)
    assert files(cache) == []


def test_a_compiler_that_hangs_is_given_up(
    source: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "PATIENCE", 0.2)
    monkeypatch.setenv("CXX", str(script(tmp_path, "exec sleep 60")))
    with pytest.raises(Unavailable, match=r"^compiler did not end in 0 s$"):
        built(source)
    assert files(cache) == []


def test_where_the_cache_cannot_be_written_it_lies_in_a_folder_of_the_users_own(
    source: Path, needed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    place = built(source)
    assert place.parent == tmp_path / f"bnnbench-{os.getuid()}"
    assert place.parent.stat().st_mode & 0o777 == 0o700 and answer(place) == 42
    assert built(source) == place


def test_without_a_home_the_same(
    source: Path, needed: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_CACHE_HOME", "relative/paths/do/not/count")
    monkeypatch.setattr(Path, "home", homeless)
    assert built(source).parent.parent == tmp_path


@pytest.mark.parametrize("prepared", ["open to others", "a link"])
def test_what_others_may_have_prepared_is_not_run(
    source: Path, needed: list[str], tmp_path: Path, prepared: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    folder = tmp_path / f"bnnbench-{os.getuid()}"
    if prepared == "a link":
        (tmp_path / "theirs").mkdir()
        folder.symlink_to(tmp_path / "theirs")
    else:
        folder.mkdir()
        folder.chmod(0o777)
    with pytest.raises(Unavailable, match=r"^no folder for it can be written to$"):
        built(source)
