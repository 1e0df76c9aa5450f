"""`bnnbench report` on synthetic finished runs."""

from __future__ import annotations

import errno
import webbrowser
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from support.command import Command, assert_one_line_error
from support.runs import add_arrays, make_folder, make_run

from bnnbench.experiment.store.record import read_record, write_record
from bnnbench.report import run_output
from bnnbench.results.read.run_files import CALIBRATION
from bnnbench.run_all import write_derived_tables


@pytest.mark.usefixtures("without_figures")
def test_it_prints_a_table_and_ends_with_the_page_to_open(command: Command, tmp_path: Path) -> None:
    make_run(tmp_path)
    code, out, _ = command("report", str(tmp_path), "--error-bars", "stderr")
    assert code == 0
    lines = out.splitlines()
    assert any("bbb_x1" in line and "5.0 ± 1.1" in line for line in lines)
    assert lines[-1] == f"report: {tmp_path / 'report' / 'report.html'}"
    assert (tmp_path / "report" / "report.html").is_file()
    code, out, _ = command("report", str(tmp_path), "--output-dir", str(tmp_path / "here"))
    assert code == 0 and (tmp_path / "here" / "results.md").is_file()


@pytest.mark.usefixtures("without_figures")
def test_runs_are_selected_by_settings_and_trials_left_out(
    command: Command, tmp_path: Path
) -> None:
    for method in ("pbp", "map", "vadam"):
        folder = make_run(tmp_path, method=method, seed=int(method == "map"))
    record = read_record(folder)
    write_record(folder, replace(record, metadata={**record.metadata, "protocol": "trial"}))
    for options, expected in {
        (): ["map", "pbp"],
        ("--trials",): ["map", "pbp", "vadam"],
        ("--where", "seed=0", "--trials"): ["pbp", "vadam"],
    }.items():
        code, _, err = command("report", str(tmp_path), *options)
        assert code == 0 and ("left out" in err) == ("--trials" not in options)
        table = pd.read_csv(tmp_path / "report" / "results.csv")
        assert table["method"].tolist() == expected
        code, out, _ = command("compare", str(tmp_path), *options)
        assert code == 0 and [m for m in ("map", "pbp", "vadam") if m in out] == expected
    for name in ("report", "compare"):
        command.assert_refused(
            name, str(tmp_path), "--where", "seed", setting="--where", code="syntax"
        )


def test_a_report_is_not_written_through_a_received_link(
    command: Command, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    make_run(tmp_path / "outputs")
    mine, report = tmp_path_factory.mktemp("mine"), tmp_path / "outputs" / "report"
    (mine / "results.csv").write_text("mine")
    report.symlink_to(mine)
    words = ("report", str(tmp_path / "outputs"))
    command.assert_refused(*words, setting="--output-dir", code="irregular_file")
    report.unlink()
    report.mkdir()
    (report / "results.csv").symlink_to(mine / "results.csv")
    command.assert_refused(*words, setting="results.csv", code="irregular_file")
    assert [path.read_text() for path in mine.iterdir()] == ["mine"]


def test_a_report_does_not_overwrite_a_run(command: Command, tmp_path: Path) -> None:
    folder = make_run(tmp_path)
    before = sorted(path.name for path in folder.root.iterdir())
    words = ("report", str(tmp_path), "--output-dir", str(folder.root))
    for style in ((), ("--style", "paper")):
        command.assert_refused(*words, *style, setting="--output-dir", code="run_folder")
    assert sorted(path.name for path in folder.root.iterdir()) == before


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_the_page_opens_in_the_browser(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "outputs")
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda page: opened.append(page) or True)
    code, out, _ = command("report", str(tmp_path / "outputs"), "--open")
    page = Path(out.splitlines()[-1].removeprefix("report: "))
    assert code == 0 and opened == [page.resolve().as_uri()]


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_the_calibration_of_a_run_without_its_table_is_computed(
    command: Command, tmp_path: Path
) -> None:
    folder = make_run(tmp_path)
    add_arrays(folder)
    page = tmp_path / "report" / "results.md"
    assert command("report", str(tmp_path))[0] == 0 and not folder.table(CALIBRATION).exists()
    before = page.read_text()
    assert "## Calibration" in before
    write_derived_tables(folder)
    assert command("report", str(tmp_path))[0] == 0
    assert folder.table(CALIBRATION).is_file() and page.read_text() == before


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_refresh_draws_every_run_as_png_and_as_pdf(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders, drawn = [make_run(tmp_path), make_run(tmp_path, method="map")], []
    monkeypatch.setattr(run_output, "save_figures", lambda *given: drawn.append(given) or {})
    assert command("report", str(tmp_path), "--refresh")[0] == 0
    assert [(place("x", "pdf"), figures) for _, place, figures, _ in drawn] == [
        (folder.figure("x", "pdf"), ("png", "pdf")) for folder in folders
    ]


def test_a_folder_that_cannot_be_written_is_one_sentence(command: Command, tmp_path: Path) -> None:
    make_run(tmp_path)
    (tmp_path / "file").touch()
    words = ("report", str(tmp_path), "--output-dir", str(tmp_path / "file"))
    for style in ((), ("--style", "paper")):
        command.assert_refused(*words, *style, setting="--output-dir")


@pytest.mark.slow
def test_a_full_disk_leaves_no_empty_folder(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path)

    def full(path: Path, text: str) -> None:
        path.parent.mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bnnbench.report.report_writer.write_text", full)
    code, out, errors = command("report", str(tmp_path))
    (line,) = errors.splitlines()
    assert code == 1 and out == "" and "the disk is full" in line
    assert not (tmp_path / "report").exists()


def test_runs_that_show_themselves_are_left_out(command: Command, tmp_path: Path) -> None:
    names = {"experiment": "linear_regression", "dataset": "line", "method": "bbb"}
    make_folder(tmp_path, names, "v1", "linear_regression")
    for verb in ("report", "compare"):
        assert_one_line_error(*command(verb, str(tmp_path)), ["experiment=linear_regression"])
    assert not (tmp_path / "report").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_several_folders_share_one_report(command: Command, tmp_path: Path) -> None:
    make_run(tmp_path / "ours")
    make_run(tmp_path / "theirs", method="pbp")
    code, _, errors = command("report", str(tmp_path / "ours"), str(tmp_path / "theirs"))
    assert code == 0, errors
    table = pd.read_csv(tmp_path / "ours/report/results.csv")
    assert sorted(table["method"]) == ["bbb_x1", "pbp"]
    words = ("report", "--style", "paper", str(tmp_path / "theirs"), str(tmp_path / "ours"))
    code, _, errors = command(*words)
    assert code == 0, errors
    assert len(pd.read_csv(tmp_path / "theirs/report/paper.csv")) == 4
