"""Reading `bnnbench.toml`: defaults, location and errors."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.user_errors import raises_user_error

from bnnbench.project import FILE, enter_project, project


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder with `configs`; the current folder is inside it."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "below" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "below" / "here")
    return tmp_path


def test_there_may_be_no_project(folder: Path) -> None:
    assert project() is None


def test_an_empty_file_means_the_defaults(folder: Path) -> None:
    (folder / FILE).touch()
    found = project()
    assert found is not None and found.file == folder / FILE
    assert (found.config_dirs, found.path, found.suites) == ((folder / "configs",), (folder,), ())


def test_the_nearest_file_is_used(folder: Path) -> None:
    (folder / FILE).touch()
    (folder / "below" / FILE).write_text(
        'config_dirs = []\npath = ["here", ".."]\nsuites = ["s"]\n'
    )
    found = project()
    assert found is not None
    assert (found.config_dirs, found.suites) == ((), ("s",))
    assert found.path == (folder / "below" / "here", folder)


def test_folders_are_appended_to_the_module_search_path(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = [*sys.path]
    enter_project()
    assert sys.path == before
    (folder / FILE).touch()
    enter_project()
    enter_project()
    assert sys.path == [*before, str(folder)]


@pytest.mark.parametrize(
    ("text", "setting", "code"),
    [
        (b"path = [", None, "not_toml"),
        (b"# \xff", None, "not_utf8"),
        (b'config = ["a"]', "config", "unknown"),
        (b'path = "."', "path", "type"),
        (b"suites = [1]", "suites", "type"),
        (b'config_dirs = ["nowhere"]', "config_dirs", "folder"),
    ],
)
def test_wrong_files_are_errors(folder: Path, text: bytes, setting: str | None, code: str) -> None:
    (folder / FILE).write_bytes(text)
    with raises_user_error(setting, code) as error:
        project()
    assert str(error.value).startswith(str(folder / FILE))
