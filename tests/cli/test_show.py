"""`bnnbench show`: a finished run again, and its page."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import one_sentence
from support.runs import add_arrays, add_search, make_run

Command = Callable[..., tuple[int, str, str]]


def test_it_prints_the_run_again(command: Command, tmp_path: Path) -> None:
    folder = make_run(tmp_path / "outputs")
    code, out, errors = command("show", str(tmp_path / "outputs"))
    assert code == 0 and errors == ""
    assert out.startswith("boston, bbb_x1") and out.splitlines()[-1] == f"results: {folder.root}"
    assert not (folder.root / "page.html").exists()


@pytest.mark.parametrize("there", [True, False])
def test_its_page_opens(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    folder = make_run(tmp_path / "outputs")
    add_arrays(folder)
    add_search(folder)
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda place: opened.append(place) or there)
    code, _, errors = command("show", str(folder.root), "--open")
    page = folder.root / "page.html"
    assert code == 0 and opened == [page.as_uri()]
    assert errors == ("" if there else f"bnnbench: no browser was found; the page is {page}.\n")
    text = page.read_text()
    assert text.count('class="figure"') == 4
    for heading in ("Splits", "Settings", "Environment"):
        assert f">{heading}</h2>" in text


@pytest.mark.parametrize(
    ("name", "words"), [("", ["is no folder"]), ("empty", ["no finished run"])]
)
def test_what_is_no_run_gets_a_sentence(
    command: Command, tmp_path: Path, name: str, words: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    code, out, errors = command("show", str(tmp_path / (name or "nowhere")), "--open")
    one_sentence(code, out, errors, words)


def test_one_of_several_has_to_be_named(command: Command, tmp_path: Path) -> None:
    for variant in ("v1", "v2"):
        make_run(tmp_path / "outputs", variant)
    code, out, errors = command("show", str(tmp_path / "outputs"))
    one_sentence(code, out, errors, ["holds 2 finished runs; name one, such as"])
