"""The output of a run depends on the kind of experiment that its record names."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from support.runs import make_folder, make_run
from support.user_errors import raises_user_error

from bnnbench.discovery import plugins
from bnnbench.report.run_output import find_run_page, print_run, run_page_for, write_page
from bnnbench.report.run_page import RunPage
from bnnbench.report.split_run_page import SPLIT_RUN_PAGE

OWN = [page for module in plugins("page") for page in getattr(module, "PAGES", ())]
"""The pages of all suites."""

IMPORTED_SUITES = """
import sys
from bnnbench.cli.main import main
from bnnbench.report import run_output

run_output.save_figures = lambda *_: {}
for line in (
    "method=linear dataset=diabetes search=none splits=1",
    "experiment=conjugate_pairs experiment.sizes=[1]",
):
    assert main([*sys.argv[1:], *line.split()]) == 0
    print(sorted(name for name in sys.modules if name.startswith("bnnbench.suites")))
"""


def test_suites_have_pages_for_their_own_kinds() -> None:
    assert len({page.kind for page in OWN}) == len(OWN) > 0
    assert SPLIT_RUN_PAGE.kind not in {page.kind for page in OWN}


@pytest.mark.ci
def test_a_run_imports_no_suite_but_its_own(tmp_path: Path) -> None:
    words = ["run", "workers=1", f"outputs_dir={tmp_path}"]
    result = subprocess.run(
        [sys.executable, "-c", IMPORTED_SUITES, *words], check=True, capture_output=True, text=True
    )
    imported = [
        {name.split(".")[2] for name in ast.literal_eval(line) if name.count(".") > 2}
        for line in result.stdout.splitlines()
        if line.startswith("[")
    ]
    assert imported == [set(), {"inference_toys"}]


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
    folder = make_folder(tmp_path, names, "v1", "unheard_of")
    with raises_user_error("kind"):
        run_page_for(folder)
    (sentence,) = write_page(folder)
    assert "unheard_of" in sentence


@pytest.mark.parametrize("page", [SPLIT_RUN_PAGE, *OWN], ids=lambda page: page.kind)
def test_every_page_is_found_by_its_kind_and_has_its_parts(page: RunPage) -> None:
    assert find_run_page(page.kind) is page
    assert all(map(callable, (page.write, page.table, page.notes)))
