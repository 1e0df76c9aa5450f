"""Machine failures and signals end a command with one line and an exit code."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from support.command import Command, assert_one_line_error
from support.config import TINY
from support.runs import make_run
from support.user_errors import assert_user_error

from bnnbench.cli.exit_codes import RESUME_HINT
from bnnbench.experiment.engines.local import LocalEngine
from bnnbench.files import RefusedFile
from bnnbench.notes import one_line

FAILURES = {
    "disk full": (OSError(errno.ENOSPC, "No space left on device", "/x/y"), 1, "disk is full (/x"),
    "permission": (PermissionError(errno.EACCES, "denied"), 1, "permission"),
    "read-only": (OSError(errno.EROFS, "read-only"), 1, "read-only"),
    "memory": (MemoryError(), 1, "out of memory"),
    "torch's memory": (RuntimeError("can't allocate memory: you tried 99"), 1, "out of memory"),
    "a missing folder": (FileNotFoundError(errno.ENOENT, "gone", "x"), 1, "(x)"),
    "a pipe": (RefusedFile(errno.EINVAL, "a pipe", "x"), 2, "x: a pipe."),
    "a variable": (ValueError("OMP_NUM_THREADS is wrong"), 2, "variable OMP_NUM_THREADS"),
    "a long name": (OSError(errno.ENAMETOOLONG, "long", "x"), 2, "(x)"),
}


Failing = Callable[..., tuple[int, str, str]]


@pytest.fixture
def table(table_csv: Path) -> list[str]:
    """Settings of a run on a small table."""
    return ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]


@pytest.fixture
def failing(command: Command, table: list[str], monkeypatch: pytest.MonkeyPatch) -> Failing:
    """Return a function that runs a command in which the first run raises an error."""

    def failing_run(error: BaseException, *words: str) -> tuple[int, str, str]:
        errors = iter([error])

        def fail(*_: object) -> NoReturn:
            raise next(errors)

        monkeypatch.setattr(LocalEngine, "finish", fail)
        return command("run", *table, *TINY, "splits=1", *words)

    return failing_run


@pytest.mark.parametrize("name", FAILURES)
def test_machine_failures(failing: Failing, name: str) -> None:
    error, expected, words = FAILURES[name]
    code, out, errors = failing(error)
    assert "Error executing" not in errors, "Hydra's message"
    last = errors.strip().splitlines()[-1]
    assert code == expected and out == "" and "Traceback" not in errors
    assert last.startswith("bnnbench: ") and words in last
    assert (RESUME_HINT in last) == (code == 1)


def test_a_low_limit_of_memory(command: Command) -> None:
    """Libraries would abort, or wait forever."""
    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2_900_000_000, limit[1]))
    try:
        code, out, errors = command("list")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)
    assert_one_line_error(code, out, errors, ["2.9 GB", "ulimit -v"])
    assert_user_error(command.error, "ulimit -v", "address_space")


def test_a_bug_keeps_its_traceback(failing: Failing) -> None:
    with pytest.raises(ValueError, match="a bug"):
        failing(ValueError("a bug"))


def test_an_interrupted_import_of_a_compiled_module_is_an_interruption(failing: Failing) -> None:
    """Such a module raises ImportError from KeyboardInterrupt."""
    error = ImportError("initialization failed")
    error.__cause__ = KeyboardInterrupt()
    code, _, errors = failing(error)
    assert code == 130 and "bnnbench: interrupted;" in errors


@pytest.mark.slow
def test_a_full_disk_ends_a_sweep(failing: Failing) -> None:
    code, _, errors = failing(OSError(errno.ENOSPC, "No space left"), "-m", "seed=0,1,2")
    assert code == 1
    assert errors.strip().splitlines()[-1].startswith("bnnbench: the disk is full; ")


def test_a_message_is_one_line(command: Command) -> None:
    assert one_line("a\nb\tc\x1b[0m é\u202e") == r"a\nb\tc\x1b[0m é\u202e"
    code, _, errors = command("run", "seed=1\n2")
    assert code == 2 and len(errors.splitlines()) == 1


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_a_signal_ends_a_run(table: list[str], tmp_path: Path, number: int, code: int) -> None:
    command = [sys.executable, "-m", "bnnbench", "run", *table, "training.epochs=2000", "splits=1"]
    ours = signal.signal(number, signal.SIG_DFL)  # nohup would make the child ignore it
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    signal.signal(number, ours)
    deadline = time.monotonic() + 60
    while not list(tmp_path.rglob("record.json")) and time.monotonic() < deadline:
        time.sleep(0.2)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert errors.strip().splitlines()[-1].startswith("bnnbench: terminated;")
    assert "Warning" not in errors and "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.integration
def test_a_terminal_of_ascii_prints(tmp_path: Path) -> None:
    make_run(tmp_path)
    locale = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    environment = {**os.environ, **locale, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "bnnbench", "show", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii() and b"5.0 " in done.stdout
