"""Machine failures and signals end a command with one line and an exit code."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest
from support.command import Command
from support.config import TINY

from bnnbench.cli.exit_codes import RESUME_HINT
from bnnbench.experiment.engines.local import LocalEngine
from bnnbench.notes import one_line

FAILURES = {
    "disk full": (OSError(errno.ENOSPC, "No space left on device", "/x/y"), 1, "disk is full (/x"),
    "permission": (PermissionError(errno.EACCES, "denied"), 1, "permission"),
    "read-only": (OSError(errno.EROFS, "read-only"), 1, "read-only"),
    "memory": (MemoryError(), 1, "out of memory"),
    "torch's memory": (RuntimeError("can't allocate memory: you tried 99"), 1, "out of memory"),
    "a missing folder": (FileNotFoundError(errno.ENOENT, "gone", "x"), 1, "(x)"),
    "a long name": (OSError(errno.ENAMETOOLONG, "long", "x"), 2, "(x)"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_machine_failures(
    command: Command, table_csv: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    error, expected, words = FAILURES[name]

    def fail(*arguments: object) -> NoReturn:
        raise error

    monkeypatch.setattr(LocalEngine, "finish", fail)
    table = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]
    code, out, errors = command("run", *table, *TINY, "splits=1")
    assert "Error executing" not in errors, "Hydra's message"
    last = errors.strip().splitlines()[-1]
    assert code == expected and out == "" and "Traceback" not in errors
    assert last.startswith("bnnbench: ") and words in last
    assert (RESUME_HINT in last) == (code == 1)


def test_a_bug_keeps_its_traceback(
    command: Command, table_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> NoReturn:
        raise ValueError("a bug")

    monkeypatch.setattr(LocalEngine, "finish", fail)
    table = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]
    with pytest.raises(ValueError, match="a bug"):
        command("run", *table, *TINY, "splits=1")


def test_an_interrupted_import_of_a_compiled_module_is_an_interruption(
    command: Command, table_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a module raises ImportError from KeyboardInterrupt."""

    def fail(*arguments: object) -> NoReturn:
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setattr(LocalEngine, "finish", fail)
    table = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]
    code, _, errors = command("run", *table, *TINY, "splits=1")
    assert code == 130 and "bnnbench: interrupted;" in errors


def test_a_message_is_one_line(command: Command) -> None:
    assert one_line("a\nb\tc\x1b[0m é\u202e") == r"a\nb\tc\x1b[0m é\u202e"
    code, _, errors = command("run", "seed=1\n2")
    assert code == 2 and len(errors.splitlines()) == 1


@pytest.mark.integration
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_a_run(table_csv: Path, tmp_path: Path, number: int, code: int) -> None:
    words = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]
    command = [sys.executable, "-m", "bnnbench", "run", *words, "training.epochs=2000", "splits=1"]
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


@pytest.mark.integration
def test_a_terminal_of_ascii_prints(table_csv: Path, tmp_path: Path) -> None:
    words = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]
    locale = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
    words += ["method.noise_precision=5", "method.prior_precision=1", "search=none"]
    words += ["training.final_epochs=1", "evaluation.samples=5", "evaluation.out_of_fold=false"]
    a_run = ["run", *words, "splits=1"]
    for arguments, more in ((["list"], {"PYTHONIOENCODING": "ascii"}), (a_run, {})):
        environment = {**os.environ, **locale, **more}
        command = [sys.executable, "-m", "bnnbench", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=environment)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()


def test_a_full_disk_ends_a_sweep(
    command: Command, table_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def fail(*arguments: object) -> NoReturn:
        calls.append(arguments)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(LocalEngine, "finish", fail)
    table = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]
    code, _, errors = command("run", "-m", *table, *TINY, "splits=1", "seed=0,1,2")
    assert code == 1 and len(calls) == 1
    assert errors.strip().splitlines()[-1].startswith("bnnbench: the disk is full; ")
