"""The output of a run depends on the kind of experiment that its record names."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support.runs import make_folder, make_run
from support.user_errors import assert_user_error

from bnnbench.discovery import plugins
from bnnbench.report.run_output import print_run, run_page_for, run_pages, write_run_output
from bnnbench.report.split_run_page import SPLIT_RUN_PAGE
from bnnbench.types import UserError


def test_suites_add_pages_for_their_own_kinds() -> None:
    own = {page.kind for module in plugins("page") for page in getattr(module, "PAGES", ())}
    assert own and set(run_pages()) == {SPLIT_RUN_PAGE.kind, *own}


def test_a_run_prints_its_table_and_its_notes(tmp_path: Path) -> None:
    folder = make_run(tmp_path, times=5)
    assert run_page_for(folder) is SPLIT_RUN_PAGE
    console = Console(width=140, file=io.StringIO())
    with console.capture() as capture:
        print_run(folder, console)
    text = capture.get()
    assert "RMSE [1000 USD]" in text and "5.00 ± 0.43" in text and "3.59 ± 0.21" in text
    assert "+3.0" in text and "Khan et al. 2018: BBVI" in text and "Total [s]" in text
    assert "noise_precision" in text and "15 of 20 splits" in text


def test_brackets_in_notes_are_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_run(tmp_path)
    bracketed = replace(SPLIT_RUN_PAGE, notes=lambda folder: ["E_q[log r] - E_p[r] is a bound"])
    monkeypatch.setattr("bnnbench.report.run_output.run_page_for", lambda folder: bracketed)
    console = Console(width=140, file=io.StringIO())
    with console.capture() as capture:
        print_run(folder, console)
    assert "E_q[log r] - E_p[r] is a bound" in capture.get()


def test_a_kind_without_a_page_is_refused(tmp_path: Path) -> None:
    names = {"experiment": "x", "dataset": "x", "method": "x"}
    folder = make_folder(tmp_path, names, "v1", "unheard of")
    with pytest.raises(UserError) as error:
        write_run_output(folder)
    assert_user_error(error, "kind")


@pytest.mark.parametrize("kind", run_pages())
def test_every_page_has_its_parts(kind: str) -> None:
    page = run_pages()[kind]
    assert page.kind == kind and all(map(callable, (page.write, page.table, page.notes)))
