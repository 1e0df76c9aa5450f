"""Homes, terminals, file systems and memory that are not as they should be."""

from __future__ import annotations

import builtins
import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack.attempts import Judge, Outcome, attempt, files, leftovers
from attack.dying import Moments, full
from attack.form import FULL, sample
from attack.typed import command
from support.quick import no_figures, no_report_figures

ENVIRONMENTS: dict[str, dict[str, str | None]] = {
    "no HOME": {"HOME": None},
    "HOME that is not there": {"HOME": "/nowhere"},
    "HOME that is no folder": {"HOME": "/etc/passwd"},
    "read-only HOME": {"HOME": "/proc"},
    "no temporary folder": {"TMPDIR": "/nowhere"},
    "20 columns": {"COLUMNS": "20", "LINES": "3"},
    "one column": {"COLUMNS": "1"},
    "columns of text": {"COLUMNS": "wide"},
    "no columns": {"COLUMNS": "0"},
    "dumb terminal": {"TERM": "dumb"},
    "no terminal": {"TERM": None},
    "unknown terminal": {"TERM": "nothing"},
    "no colour": {"NO_COLOR": "1"},
    "colour by force": {"FORCE_COLOR": "1"},
    "C": {"LANG": "C", "LC_ALL": "C"},
    "unknown locale": {"LANG": "xx_XX.UTF-8", "LC_ALL": "xx_XX.UTF-8"},
    "unknown backend": {"MPLBACKEND": "nothing"},
    "no PATH": {"PATH": None},
    "data that is not there": {"BNNBENCH_DATA": "/nowhere"},
    "data of nothing": {"BNNBENCH_DATA": ""},
    "data in brackets": {"BNNBENCH_DATA": "[a"},
    "data that refers": {"BNNBENCH_DATA": "${nowhere}"},
    "threads of text": {"OMP_NUM_THREADS": "many"},
    "hydra's errors in full": {"HYDRA_FULL_ERROR": "0"},
    "nothing at all": dict.fromkeys(os.environ, None),
}

LOCALES = {"C": "ascii", "unknown locale": "ascii"}
"""What standard output takes there."""

WAYS = ["run", "report", "compare", "list", "refused"]


def words_of(way: str, table: Path) -> list[str]:
    if way in ("run", "refused"):
        return command(table, (), "splits=2", *(["seed=-1"] if way == "refused" else []))
    return [way]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", sample(list(ENVIRONMENTS), 1))
def test_an_environment(
    judge: Judge, table: Path, empty: Path, monkeypatch: pytest.MonkeyPatch, name: str, way: str
) -> None:
    with no_figures(), no_report_figures():
        if way in ("report", "compare"):
            for seed in (1, 2):
                assert attempt([*words_of("run", table), f"seed={seed}"], empty).code == 0
        with monkeypatch.context() as patched:
            for key, value in ENVIRONMENTS[name].items():
                patched.delenv(key, raising=False) if value is None else patched.setenv(key, value)
            encoding = LOCALES.get(name, "utf-8")
            outcome = attempt(words_of(way, table), empty, encoding=encoding)
    judge("environments", outcome)


def outside(folder: Path, words: list[str], **options: Any) -> Outcome:
    """The same in a process of its own."""
    before = files(folder)
    command = [sys.executable, "-m", "bnnbench", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(command, cwd=folder, timeout=120, **streams)
    out, errors = ((text or b"").decode(errors="replace") for text in (done.stdout, done.stderr))
    return Outcome(done.returncode, out, errors, leftovers(folder, before, "outputs"))


PROCESSES: dict[str, Callable[[list[str]], dict[str, Any]]] = {
    "ASCII": lambda words: {"env": {"PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii"}},
    "C": lambda words: {"env": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
    "no environment": lambda words: {"env": {}},
    "closed standard input": lambda words: {"stdin": subprocess.DEVNULL},
}


@pytest.mark.parametrize("name", PROCESSES if FULL else [])
def test_a_process(judge: Judge, table: Path, empty: Path, name: str) -> None:
    words = words_of("run", table)
    judge("processes", outside(empty, words, **PROCESSES[name](words)))


@pytest.mark.skipif(not FULL, reason="in the full form")
@pytest.mark.parametrize("words", [["list"], ["run"]], ids=" ".join)
def test_output_on_a_full_device(judge: Judge, table: Path, empty: Path, words: list[str]) -> None:
    given = words_of("run", table) if words == ["run"] else words
    with open("/dev/full", "w") as device:
        judge("processes", outside(empty, given, stdout=device))


@pytest.mark.skipif(not FULL, reason="in the full form")
def test_a_pipe_that_nobody_reads(table: Path, empty: Path, judge: Judge) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        outcome = outside(empty, ["list"], stdout=pipe)
    judge("processes", Outcome(outcome.code, "nobody reads this", outcome.errors, outcome.left))


NUMBERS = {
    "permission lost": errno.EACCES,
    "read-only": errno.EROFS,
    "quota": errno.EDQUOT,
    "broken disk": errno.EIO,
    "too many files": errno.EMFILE,
}


@pytest.mark.parametrize("moment", [1, 5, 20] if FULL else [1])
@pytest.mark.parametrize("name", NUMBERS if FULL else ["read-only"])
def test_writing_fails(judge: Judge, table: Path, empty: Path, name: str, moment: int) -> None:
    with no_figures(), Moments(full(NUMBERS[name]), moment).watched():
        judge("file systems", attempt(words_of("run", table), empty))


@pytest.mark.parametrize("way", ["report", "refresh"] if FULL else ["report"])
@pytest.mark.parametrize("moment", [1, 2, 3, 7] if FULL else [2])
def test_a_report_on_a_full_disk(
    judge: Judge, table: Path, empty: Path, moment: int, way: str
) -> None:
    with no_figures(), no_report_figures():
        assert attempt(words_of("run", table), empty).code == 0
        with Moments(full(), moment).watched():
            words = ["report", "--refresh"] if way == "refresh" else ["report"]
            judge("full disk", attempt(words, empty))


@pytest.mark.parametrize("way", ["mkdir", "open"] if FULL else ["mkdir"])
def test_a_read_only_folder(
    judge: Judge, table: Path, empty: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """No folder can be made and no file opened for writing."""

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(empty))

    opened = builtins.open

    def read_only(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        return refuse() if set(mode) & set("wax+") else opened(file, mode, *rest, **named)

    with no_figures(), monkeypatch.context() as patched:
        if way == "mkdir":
            patched.setattr(os, "mkdir", refuse)
        else:
            patched.setattr(builtins, "open", read_only)
        judge("file systems", attempt(words_of("run", table), empty))


@pytest.mark.parametrize("way", ["run", "report", "list", "compare"] if FULL else ["run"])
def test_the_working_directory_is_gone(judge: Judge, table: Path, empty: Path, way: str) -> None:
    with no_figures():
        judge("file systems", attempt(words_of(way, table), empty, inside_first=empty.rmdir))


FAILURES = {
    "no memory": MemoryError(),
    "no memory of torch": RuntimeError(
        "[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: can't allocate memory"
    ),
    "interrupted": KeyboardInterrupt(),
}


@pytest.mark.parametrize("name", FAILURES)
def test_training_fails(
    judge: Judge, table: Path, empty: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Then the same command goes on."""
    from bnnbench.methods.shared import stochastic

    def fail(*_: Any, **__: Any) -> None:
        raise FAILURES[name]

    words = words_of("run", table)
    with no_figures():
        with monkeypatch.context() as patched:
            patched.setattr(stochastic.StochasticMethod, "fit", fail)
            judge("processes", attempt(words, empty))
        assert attempt(words, empty).code == 0
