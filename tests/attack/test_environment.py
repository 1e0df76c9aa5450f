"""Unusual environments: home folders, terminals, file systems, memory."""

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
from attack.attempt import Outcome, OutcomeCheck, attempt, files, leftovers
from attack.command_lines import command
from attack.sampling import FULL, sample

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
    "nothing at all": dict.fromkeys(os.environ, None),
}

LOCALES = {"C": "ascii", "unknown locale": "ascii"}
"""Encoding of standard output there."""

COMMAND_KINDS = ["run", "report", "compare", "list", "refused"]


def arguments_for(kind: str, table: Path) -> list[str]:
    if kind in ("run", "refused"):
        return command(table, (), "splits=2", *(["seed=-1"] if kind == "refused" else []))
    return [kind]


@pytest.mark.parametrize("kind", COMMAND_KINDS if FULL else ["run", "refused"])
@pytest.mark.parametrize("name", sample(list(ENVIRONMENTS), 1))
def test_an_environment(
    check_outcome: OutcomeCheck,
    table: Path,
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    kind: str,
) -> None:
    if kind in ("report", "compare"):
        for seed in (1, 2):
            assert attempt([*arguments_for("run", table), f"seed={seed}"], empty).code == 0
    with monkeypatch.context() as patched:
        for key, value in ENVIRONMENTS[name].items():
            patched.delenv(key, raising=False) if value is None else patched.setenv(key, value)
        encoding = LOCALES.get(name, "utf-8")
        outcome = attempt(arguments_for(kind, table), empty, encoding=encoding)
    check_outcome("environments", outcome)


def run_in_process(folder: Path, words: list[str], **options: Any) -> Outcome:
    """Run the command in a process of its own."""
    before = files(folder)
    command = [sys.executable, "-m", "bnnbench", *words]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    try:
        done = subprocess.run(command, cwd=folder, timeout=600, **streams)
    except subprocess.TimeoutExpired:
        return Outcome(None, "", "Hang")
    out, errors = ((text or b"").decode(errors="replace") for text in (done.stdout, done.stderr))
    return Outcome(done.returncode, out, errors, leftovers(folder, before, "outputs"))


PROCESSES: dict[str, Callable[[list[str]], dict[str, Any]]] = {
    "ASCII": lambda words: {"env": {"PATH": os.environ["PATH"], "PYTHONIOENCODING": "ascii"}},
    "C": lambda words: {"env": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}},
    "no environment": lambda words: {"env": {}},
    "closed standard input": lambda words: {"stdin": subprocess.DEVNULL},
}


@pytest.mark.parametrize("name", PROCESSES if FULL else [])
def test_a_process(check_outcome: OutcomeCheck, table: Path, empty: Path, name: str) -> None:
    words = arguments_for("run", table)
    check_outcome("processes", run_in_process(empty, words, **PROCESSES[name](words)))


@pytest.mark.skipif(not FULL, reason="in the full form")
@pytest.mark.parametrize("words", [["list"], ["run"]], ids=" ".join)
def test_output_on_a_full_device(
    check_outcome: OutcomeCheck, table: Path, empty: Path, words: list[str]
) -> None:
    given = arguments_for("run", table) if words == ["run"] else words
    with open("/dev/full", "w") as device:
        check_outcome("processes", run_in_process(empty, given, stdout=device))


@pytest.mark.skipif(not FULL, reason="in the full form")
def test_a_pipe_that_nobody_reads(table: Path, empty: Path, check_outcome: OutcomeCheck) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        outcome = run_in_process(empty, ["list"], stdout=pipe)
    check_outcome(
        "processes",
        Outcome(outcome.code, "nobody reads this", outcome.errors, outcome.leftover_files),
    )


@pytest.mark.parametrize("kind", ["mkdir", "open"] if FULL else ["mkdir"])
def test_a_read_only_folder(
    check_outcome: OutcomeCheck,
    table: Path,
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    """No folder can be created and no file can be opened for writing."""

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(empty))

    opened = builtins.open

    def read_only(file: Any, mode: str = "r", *rest: Any, **named: Any) -> Any:
        return refuse() if set(mode) & set("wax+") else opened(file, mode, *rest, **named)

    with monkeypatch.context() as patched:
        if kind == "mkdir":
            patched.setattr(os, "mkdir", refuse)
        else:
            patched.setattr(builtins, "open", read_only)
        check_outcome("file systems", attempt(arguments_for("run", table), empty))


@pytest.mark.parametrize("kind", ["run", "report", "list", "compare"] if FULL else ["run"])
def test_the_working_directory_is_gone(
    check_outcome: OutcomeCheck, table: Path, empty: Path, kind: str
) -> None:
    check_outcome("file systems", attempt(arguments_for(kind, table), empty, prepare=empty.rmdir))


FAILURES = {
    "no memory": MemoryError(),
    "no memory of torch": RuntimeError(
        "[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: can't allocate memory"
    ),
    "interrupted": KeyboardInterrupt(),
}


@pytest.mark.parametrize("name", FAILURES if FULL else ["no memory"])
def test_training_fails(
    check_outcome: OutcomeCheck,
    table: Path,
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """The same command continues afterwards."""
    from bnnbench.methods.shared import trainer

    def fail(*_: Any, **__: Any) -> None:
        raise FAILURES[name]

    words = arguments_for("run", table)
    with monkeypatch.context() as patched:
        patched.setattr(trainer.StochasticMethod, "fit", fail)
        check_outcome("processes", attempt(words, empty))
    assert attempt(words, empty).code == 0
