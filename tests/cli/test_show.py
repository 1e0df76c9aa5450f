"""`bnnbench show`: the results of a finished run, and its page."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from support.command import Command
from support.runs import add_arrays, add_checksums, add_search, make_run


def test_it_prints_the_run_again(command: Command, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "outputs")
    code, out, errors = command("show", str(tmp_path / "outputs"))
    assert code == 0 and errors == ""
    assert out.startswith("boston, bbb_x1") and out.splitlines()[-1] == f"results: {folder.root}"
    assert not (folder.root / "page.html").exists()


def test_a_damaged_run_is_refused(command: Command, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "outputs")
    add_checksums(folder, "splits.csv")
    path = folder.root / "splits.csv"
    path.write_text(path.read_text().replace("3.0", "1.0", 1))
    command.assert_refused("show", str(tmp_path), setting="splits.csv", code="damaged")


@pytest.mark.slow
def test_its_page_opens(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path / "outputs")
    add_arrays(folder)
    add_search(folder)
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda place: opened.append(place) or True)
    code, _, errors = command("show", str(folder.root), "--open")
    page = folder.root / "page.html"
    assert code == 0 and opened == [page.as_uri()]
    assert errors == ""
    text = page.read_text()
    assert text.count('class="figure"') == 4
    for heading in ("Splits", "Settings", "Environment"):
        assert f">{heading}</h2>" in text


@pytest.mark.usefixtures("without_figures")
def test_without_a_browser_the_page_is_named(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_run(tmp_path / "outputs")
    monkeypatch.setattr(webbrowser, "open", lambda place: False)
    code, _, errors = command("show", str(folder.root), "--open")
    page = folder.root / "page.html"
    assert code == 0 and errors == f"bnnbench: no browser was found; the page is {page}.\n"


def test_a_folder_with_several_runs_is_refused(command: Command, tmp_path: Path) -> None:
    for variant in ("v1", "v2"):
        make_run(tmp_path / "outputs", variant)
    words = ("show", str(tmp_path / "outputs"))
    command.assert_refused(*words, setting="RUN", code="several_runs")
