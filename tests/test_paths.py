"""Paths of users: how they are expanded, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command import Command
from support.user_errors import raises_user_error

from bnnbench.files import real_path, user_path

IMPOSSIBLE = {
    "null byte": "a\0b",
    "null byte after a home": "~\0",
    "unknown user": "~no_such_user/x",
    "long name": f"a/{'x' * 256}",
    "long path": "x/" * 5000,
    "loop of links": "loop",
    "below a loop": "loop/x",
    "above a loop": "loop/../x",
    "number": 3,
    "bytes": b"x",
    "nothing": None,
}


@pytest.fixture
def loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A link that points to itself, in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    return tmp_path / "loop"


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_a_path_that_no_file_can_have(kind: str) -> None:
    with raises_user_error("outputs_dir", "path"):
        user_path("outputs_dir", IMPOSSIBLE[kind])


def test_paths_that_files_can_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/mine")
    Path("~$book.xlsx").touch()  # a name of Excel
    for given in (".", "a/b", "~$book.xlsx", "./~x", "na\udcffme", Path("a")):
        assert user_path("path", given) == Path(given)
    assert user_path("path", "~/a") == Path("/home/mine/a")


def test_the_real_path_of_a_loop(loop: Path) -> None:
    assert real_path(loop / "x") == loop / "x"


@pytest.mark.parametrize(
    ("line", "setting"),
    [("trust loop", "FOLDER"), ("report loop", "PATH"), ("compare a loop/x", "PATH"),
     ("show loop", "RUN"), ("predict . loop", "FILE"), ("predict . a -o loop", "--output"),
     ("reference --folder loop", "--folder"), ("reference add a loop", "FOLDER")],
)  # fmt: skip
def test_arguments_of_commands(command: Command, line: str, setting: str) -> None:
    Path("loop").symlink_to("loop")
    command.assert_refused(*line.split(), setting=setting)
