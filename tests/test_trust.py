"""Projects: defaults, location, errors, and trust."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.user_errors import assert_user_error

from bnnbench import discovery
from bnnbench.discovery import FILE, enter_project, is_own_module, project
from bnnbench.trust import check_trusted, record_trust
from bnnbench.types import UserError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trusted current folder with `configs`, and a configuration folder of the user."""
    (tmp_path / "project" / "configs").mkdir(parents=True)
    (tmp_path / "project" / "below").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("BNNBENCH_TRUST", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(discovery, "_own_folders", {})
    return tmp_path / "project"


def test_there_may_be_no_project(folder: Path) -> None:
    assert project() is None


def test_an_empty_file_means_the_defaults(folder: Path) -> None:
    (folder / FILE).touch()
    found = project()
    assert found is not None and found.file == folder / FILE
    assert (found.config_dirs, found.path, found.suites) == ((folder / "configs",), (folder,), ())


def test_a_file_counts_in_its_own_folder_or_where_a_variable_points(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / FILE).write_text('config_dirs = []\npath = ["below", ".."]\nsuites = ["s"]\n')
    monkeypatch.chdir(folder / "below")
    assert project() is None
    monkeypatch.setenv("BNNBENCH_PROJECT", str(folder))
    found = project()
    assert found is not None
    assert (found.config_dirs, found.suites) == ((), ("s",))
    assert found.path == (folder / "below", folder.parent)
    monkeypatch.setenv("BNNBENCH_PROJECT", str(folder / "below"))
    with pytest.raises(UserError) as error:
        project()
    assert_user_error(error, "BNNBENCH_PROJECT", "no_file")


def test_folders_are_appended_to_the_module_search_path(folder: Path) -> None:
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
        (b'config_dirs = ["bnnbench.toml"]', "config_dirs", "folder"),
        (b'path = ["a\\u0000b"]', "path", "folder"),
        (b'path = ["~no_such_user"]', "path", "folder"),
        (b"path = [[]]", "path", "type"),
        (b"path = nan", "path", "type"),
        (b"suites = 2020-01-01", "suites", "type"),
        (b"suites = {a = 1}", "suites", "type"),
        (b"x = " + b"[" * 3000, None, "not_toml"),
    ],
)
def test_wrong_files_are_errors(folder: Path, text: bytes, setting: str | None, code: str) -> None:
    (folder / FILE).write_bytes(text)
    with pytest.raises(UserError) as error:
        project()
    assert_user_error(error, setting, code)
    assert str(error.value).startswith(str(folder / FILE))


def refused() -> str | None:
    """Return the code of the error of the present project, if it is refused."""
    try:
        project()
    except UserError as error:
        return error.code
    return None


def test_trust_is_of_a_path_and_its_content(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BNNBENCH_TRUST")
    file = folder / FILE
    file.touch()
    assert refused() == "untrusted"
    record_trust(file)
    assert refused() is None
    file.write_text("# changed\n")
    assert refused() == "untrusted"
    record_trust(file)
    (folder / "below" / "configs").mkdir()
    (folder / "below" / FILE).write_bytes(file.read_bytes())
    monkeypatch.chdir(folder / "below")
    assert refused() == "untrusted"
    monkeypatch.chdir(folder)
    assert refused() is None
    (folder.parent / "config" / "bnnbench" / "trusted.json").chmod(0o666)
    assert refused() == "untrusted"


def test_projects_that_are_trusted_at_the_same_time(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BNNBENCH_TRUST")
    files = [tmp_path / str(k) / "bnnbench.toml" for k in range(8)]
    for file in files:
        file.parent.mkdir()
        file.touch()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(record_trust, files))
    for file in files:
        check_trusted(file)


@pytest.mark.parametrize("listed", [".", "", "/nowhere", "project"])
def test_the_variable_lists_absolute_folders(
    folder: Path, monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    (folder / FILE).touch()
    monkeypatch.setenv("BNNBENCH_TRUST", listed)
    assert refused() == "untrusted"
    monkeypatch.setenv("BNNBENCH_TRUST", f"{listed}:{folder}")
    assert refused() is None


def test_a_file_of_another_user_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / FILE).touch()
    monkeypatch.setattr("os.getuid", lambda: (folder / FILE).stat().st_uid + 1)
    assert refused() == "foreign_file"
    with pytest.raises(UserError) as error:
        record_trust(folder / FILE)
    assert_user_error(error, None, "foreign_file")


def test_own_modules_are_those_of_the_project(folder: Path) -> None:
    (folder / "mine.py").touch()
    (folder / "outputs").mkdir()
    (folder / "outputs" / "evil.py").touch()
    assert not is_own_module("mine")
    (folder / FILE).touch()
    assert is_own_module("mine") and is_own_module("mine.part")
    for name in ("outputs.evil", "os", "unittest.__main__", "numpy", "evil"):
        assert not is_own_module(name), name
    assert str(folder / "mine") not in sys.modules and "mine" not in sys.modules
