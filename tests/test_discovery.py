"""Discovery of suites in folders of the package and in entry points of other packages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import bnnbench.suites
from bnnbench import discovery


@pytest.fixture(autouse=True)
def _clear_cache() -> Iterator[None]:
    discovery._packages.cache_clear()
    yield
    discovery._packages.cache_clear()


def test_every_folder_is_a_suite_with_its_name() -> None:
    top = Path(bnnbench.suites.__path__[0])
    folders = {path.parent.name for path in top.glob("*/__init__.py")}
    assert {suite.name for suite in discovery.suites()} == folders and len(folders) >= 3


def test_every_sweep_has_sizes() -> None:
    for suite in discovery.suites():
        assert suite.summary and suite.sweeps
        for sweep in suite.sweeps:
            assert sweep.sizes and set(sweep.sizes) <= set(discovery.SIZES)


def test_a_suite_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "foreign_suite"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from bnnbench.discovery import Suite, Sweep\n"
        'SUITE = Suite("foreign", "of another package", (Sweep("mine"),))\n'
    )
    (package / "page.py").write_text("SECTIONS = ()\n")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("foreign", "foreign_suite", discovery.SUITE_GROUP)
    monkeypatch.setattr(discovery, "entry_points", lambda group: [point])
    assert discovery.suites()[-1].name == "foreign"
    assert [module.__name__ for module in discovery.plugins("page")][-1] == "foreign_suite.page"
    assert [module.__name__ for module in discovery.plugins("page", {"mine"})] == [
        "foreign_suite.page"
    ]
    assert "foreign_suite.claims" not in [m.__name__ for m in discovery.plugins("claims")]


def test_a_broken_suite_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = discovery.suites()
    (tmp_path / "broken_suite.py").write_text("import nothing_of_this_name\n")
    monkeypatch.syspath_prepend(tmp_path)
    discovery._packages.cache_clear()
    point = EntryPoint("broken", "broken_suite", discovery.SUITE_GROUP)
    monkeypatch.setattr(discovery, "entry_points", lambda group: [point])
    assert discovery.suites() == own
    assert "broken_suite" in capsys.readouterr().err
