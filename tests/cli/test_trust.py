"""The trust boundary: nothing in a folder runs before the user trusts it."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from support.command import Command

from bnnbench import discovery
from bnnbench.cli.completion import complete
from bnnbench.cli.main import build_parser

HOSTILE = "from pathlib import Path\nPath({!r}).touch()\n"
"""A module that leaves a file when it is imported."""


@pytest.fixture
def executed(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that exists once the code of the current folder has run."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("BNNBENCH_TRUST")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(discovery, "_own_folders", {})
    mark = tmp_path / "executed"
    Path("hostile.py").write_text(HOSTILE.format(str(mark)))
    Path("bnnbench.toml").write_text('suites = ["hostile"]\n')
    Path("configs/method").mkdir(parents=True)
    Path("configs/method/mine.yaml").write_text("_target_: hostile.Mine\nlabel: mine\n")
    return mark


@pytest.mark.parametrize(
    "words", ["list", "run", "check method=mine", "reproduce small --dry-run"], ids=str
)
def test_commands_refuse_a_project_that_is_not_trusted(
    executed: Path, command: Command, words: str
) -> None:
    command.assert_refused(*words.split(), code="untrusted")
    assert "bnnbench trust" in str(command.error)
    assert not executed.exists()


@pytest.mark.parametrize("trusted", [False, True])
def test_version_help_and_completion_execute_nothing(
    executed: Path, command: Command, monkeypatch: pytest.MonkeyPatch, trusted: bool
) -> None:
    if trusted:
        assert command("trust")[0] == 0
    for words in ("--version", "--help", "report --help", "reproduce --help"):
        assert command(*words.split())[0] == 0, words
    monkeypatch.setattr("argcomplete.CompletionFinder.__call__", lambda *_, **__: None)
    with suppress(SystemExit):
        complete(build_parser())
    assert not executed.exists()


def test_a_trusted_project_is_used_until_its_file_changes(executed: Path, command: Command) -> None:
    code, out, _ = command("trust")
    assert code == 0 and str(Path.cwd() / "configs") in out
    command.assert_refused("list", setting="suites", code="no_suite")
    assert executed.exists()
    Path("bnnbench.toml").write_text("")
    command.assert_refused("list", code="untrusted")


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("hostile.Mine", "unknown_class"),
        ("unittest.__main__.Mine", "unknown_class"),
        ("bnnbench.__main__.Mine", "wrong_type"),
        ("bnnbench.experiment.engines.dask.Dask", "wrong_type"),
    ],
)
def test_a_class_is_checked_before_its_module_is_imported(
    executed: Path, command: Command, monkeypatch: pytest.MonkeyPatch, target: str, code: str
) -> None:
    Path("bnnbench.toml").unlink()
    monkeypatch.syspath_prepend(Path.cwd())  # as `python -m bnnbench` does
    before = {*sys.modules}
    words = ("run", f"method._target_={target}", "method.label=another")
    command.assert_refused(*words, setting="method._target_", code=code)
    assert not executed.exists()
    assert target.rpartition(".")[0] not in {*sys.modules} - before
