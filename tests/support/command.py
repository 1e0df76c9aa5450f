"""Run the command line in the process of a test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from bnnbench.cli import main as command_line
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.types import UserError
from support.user_errors import assert_user_error

PROGRESS = (" ...", " so far", " left")
"""How progress lines end where there is no terminal."""

TABLE_WARNING = " rows: expect "
"""Part of the warning about the small tables of these tests."""


@dataclass
class Command:
    """Call with command-line arguments to get the exit code, stdout and stderr of `bnnbench`.

    Attributes:
        error: the `UserError` that ended the last command, or None.
    """

    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch
    error: UserError | None = None

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self.capsys.readouterr()
        self.error = None
        dispatch = command_line.dispatch

        def recorded(words: list[str]) -> int:
            try:
                return dispatch(words)
            except UserError as error:
                self.error = error
                raise

        with self.monkeypatch.context() as patch:
            patch.setattr(command_line, "dispatch", recorded)
            try:
                code = command_line.main(list(arguments))
            except SystemExit as stop:  # how argparse ends after --help
                code = int(stop.code or 0)
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def assert_refused(
        self, *arguments: str, setting: str | None = None, code: str | None = None
    ) -> None:
        """Assert exit code 2, a `UserError` about `setting`, and a single line of output."""
        assert_one_line_error(*self(*arguments), [])
        assert_user_error(self.error, setting, code)


def assert_one_line_error(code: int, out: str, errors: str, words: list[str]) -> None:
    """Assert exit code 2 and a single error line that contains all words.

    Progress lines, which depend on the speed of the machine, and warnings about the table are
    ignored.
    """
    assert code == 2, errors
    assert out == ""
    lines = [
        line
        for line in errors.splitlines()
        if not line.endswith(PROGRESS) and TABLE_WARNING not in line
    ]
    assert len(lines) == 1 and lines[0].startswith("bnnbench: "), errors
    assert "Traceback" not in errors
    for word in words:
        assert word in lines[0]


def result_folder(out: str) -> RunFolder:
    """Return the folder of a run, from the last line of its output."""
    last = out.strip().splitlines()[-1]
    assert last.startswith("results: ")
    return RunFolder(Path(last.removeprefix("results: ")))
