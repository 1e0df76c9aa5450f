"""A run that several versions of the code computed says so wherever its mean is printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.command import Command
from support.tiny_runs import Planner, finished

from bnnbench.api import FinishedRun
from bnnbench.experiment.store.record import read_record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.run_output import run_details
from bnnbench.results.read.run_tables import read_runs

pytestmark = pytest.mark.usefixtures("without_figures")

QUICK = ("training.epochs=1", "training.final_epochs=1", "search=none", "splits=3",
         "method.noise_precision=1", "method.prior_precision=1")  # fmt: skip


@pytest.fixture
def mixed(tiny: Planner) -> RunFolder:
    """A run of two versions of the code, next to one of a single version."""
    finished(tiny("method=vadam", *QUICK))
    folder, _ = finished(tiny("method=map", *QUICK))
    record, done = read_record(folder), folder.finished()
    codes = [{**code, "digest": digest} for code in record.code_versions for digest in "ab"]
    write_record(folder, replace(record, code_versions=codes))
    assert done
    sums = {**done.files, **folder.checksums([folder.record.name])}
    folder.write_done(replace(done, files=sums))
    return folder


@pytest.mark.ci
@pytest.mark.parametrize(
    "words",
    [
        ("show", "{run}"),
        ("report", "{all}"),
        ("report", "{all}", "--methods", "map"),
        ("report", "{all}", "--style", "paper"),
        ("compare", "{all}"),
    ],
)
def test_every_command_says_so(
    command: Command, mixed: RunFolder, tmp_path: Path, words: tuple[str, ...]
) -> None:
    paths = {"run": str(mixed.root), "all": str(tmp_path / "out")}
    _, out, errors = command(*(word.format(**paths) for word in words))
    assert "versions of the code" in out + errors


@pytest.mark.ci
@pytest.mark.parametrize(("words", "file"), [((), "results.md"), ((), "report.html"),
                                             (("--style", "paper"), "paper.tex")])  # fmt: skip
def test_every_report_says_so(
    command: Command, mixed: RunFolder, tmp_path: Path, words: tuple[str, ...], file: str
) -> None:
    assert command("report", str(tmp_path / "out"), *words)[0] == 0
    assert "versions of the code" in (tmp_path / "out" / "report" / file).read_text()


def test_its_mean_is_not_ranked(mixed: RunFolder, tmp_path: Path) -> None:
    table = read_runs(tmp_path / "out").scored.set_index("method")
    assert table["incomplete"].to_dict() == {"map": "by 2 versions of the code", "vadam": ""}
    assert "by 2 versions of the code" in table.at["map", "settings_differ"]


def test_its_page_and_the_python_interface_say_so(mixed: RunFolder, tmp_path: Path) -> None:
    runs = read_runs(tmp_path / "out")
    notes = {details.name: details.summary.notes for details in run_details(runs, tmp_path)}
    said = {run: ["versions of the code" in note for note in texts] for run, texts in notes.items()}
    digest = read_record(mixed).digest
    assert said[digest][0] and sum(map(sum, said.values())) == 1
    with pytest.warns(UserWarning, match="versions of the code"):
        assert len(FinishedRun(mixed).summary)
