"""What a `bnnbench.toml` says, where it counts, and what is wrong with one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.user_errors import assert_one_sentence

from bnnbench.project import FILE, enter_project, project
from bnnbench.types import UserError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a folder of configurations, and one below it that is the current one."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "below" / "here").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "below" / "here")
    return tmp_path


def test_there_need_not_be_one(folder: Path) -> None:
    assert project() is None


def test_an_empty_file_means_the_usual_folders_and_counts_below(folder: Path) -> None:
    (folder / FILE).touch()
    found = project()
    assert found is not None and found.file == folder / FILE
    assert (found.config_dirs, found.path, found.suites) == ((folder / "configs",), (folder,), ())


def test_the_nearest_counts_and_folders_are_relative_to_it(folder: Path) -> None:
    (folder / FILE).touch()
    (folder / "below" / FILE).write_text(
        'config_dirs = []\npath = ["here", ".."]\nsuites = ["s"]\n'
    )
    found = project()
    assert found is not None
    assert (found.config_dirs, found.suites) == ((), ("s",))
    assert found.path == (folder / "below" / "here", folder)


def test_modules_are_found_after_all_that_is_installed(
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
    ("text", "said"),
    [
        (b"path = [", ["is no TOML", "Invalid value"]),
        (b"# \xff", ["is not UTF-8"]),
        (b'config = ["a"]', ["config is no key", "config_dirs, path, suites"]),
        (b'path = "."', ["path must be a list of texts", '["."]']),
        (b"suites = [1]", ["suites must be a list of texts"]),
        (b'config_dirs = ["nowhere"]', ["config_dirs names nowhere", "is no folder"]),
    ],
)
def test_what_is_wrong_is_one_sentence(folder: Path, text: bytes, said: list[str]) -> None:
    (folder / FILE).write_bytes(text)
    with pytest.raises(UserError) as refused:
        project()
    assert_one_sentence(refused, str(folder / FILE), *said)
