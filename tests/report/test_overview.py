"""The report over many runs: which sections it has, what it reads and what it writes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.grids import make_grid
from support.made_data import make_curve_run
from support.runs import add_arrays, make_folder, make_run

from bnnbench.discovery import plugins
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import OBJECTIVE
from bnnbench.report import overview
from bnnbench.report.overview import found_sections, sections_of, write_report
from bnnbench.report.section import Drawing, Style
from bnnbench.results.reader import read_runs
from bnnbench.results.run_files import CALIBRATION
from bnnbench.types import UserError

TRACE = {"split": [0, 0], "epoch": [1, 2], "loss": [2.0, 1.0], "complexity": [0.5, 0.5]}


def test_sections_find_themselves_and_suites_stand_behind() -> None:
    found = list(found_sections())
    behind = [make for page in plugins("page") for make in getattr(page, "SECTIONS", ())]
    own = [make.__module__ for make in found[: len(found) - len(behind)]]
    assert found[len(own) :] == behind and len(behind) > 4
    assert own[0].endswith(".results") and len(own) == 12
    assert all(name.startswith("bnnbench.report.sections.") for name in own)


@pytest.mark.usefixtures("alone")
def test_every_table_and_figure_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_run(tmp_path)
    make_run(tmp_path, method="my_method")
    report = write_report(read_runs(tmp_path), Style("stderr"))
    assert report.root == tmp_path / "report"
    assert pd.read_csv(report.table("results"))["rmse_mean"].tolist() == pytest.approx([5, 5])
    page = report.page.read_text()
    for name in ("rmse", "log_likelihood", "comparison_rmse"):
        assert report.figure(name, "png").read_bytes().startswith(b"\x89PNG")
        assert report.figure(name, "pdf").read_bytes().startswith(b"%PDF")
        assert f"]({name}.png)" in page
    paper = report.latex.read_text()
    assert "BBB (SLANG paper baseline)" in page and paper.count(r"\toprule") == 2
    again = {path: path.read_bytes() for path in report.root.iterdir()}
    monkeypatch.setattr(overview, "MANY", 2)  # by several processes, as many runs are
    write_report(read_runs(tmp_path), Style("stderr"), processes=2)
    assert {path: path.read_bytes() for path in report.root.iterdir()} == again


def test_runs_of_which_no_section_speaks_are_refused(tmp_path: Path) -> None:
    names = {"experiment": "line", "dataset": "line", "method": "bbb"}
    make_folder(tmp_path / "runs", names, "v1", "toy")
    with pytest.raises(UserError, match="none with scores on splits"):
        write_report(read_runs(tmp_path / "runs"), to=tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_no_such_kind_of_error() -> None:
    with pytest.raises(UserError, match="--error must be one of std, stderr"):
        Style("variance")


def test_every_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of runs of which every section has something to say."""
    make_grid(tmp_path, {"kl": 5, "js": 3}, experiment="gvi_uci")
    scored = {"train_log_likelihood": -2.0, "training_rows": 50, "parameters": 7}
    folder = make_curve_run(tmp_path, scale=1.0, dataset="gp", experiment="gp_toy", **scored)
    add_arrays(folder, OBJECTIVE, TRACE)
    calibration = {"recalibration": ["none"], "split": [0]}
    pd.DataFrame(calibration).assign(
        calibration_error=0.1, coverage_50=0.5, coverage_90=0.9, coverage_95=0.9,
        width_50=1.0, width_90=2.0, width_95=3.0,
    ).to_csv(folder.table(CALIBRATION), index=False)  # fmt: skip
    opened: Counter[str] = Counter()
    for kind in ("table", "arrays"):
        original = getattr(RunFolder, kind)

        def counting(self: RunFolder, name: str, original: Any = original) -> Path:
            path: Path = original(self, name)
            opened[str(path)] += path.is_file()
            return path

        monkeypatch.setattr(RunFolder, kind, counting)
    sections = sections_of(read_runs(tmp_path), Style())
    assert len(sections) == 11
    assert {Path(name).name for name, count in opened.items() if count} == {
        "splits.csv", "calibration.csv", "predictions.npz", "training.npz", "objective.npz",
    }  # fmt: skip
    assert set(opened.values()) <= {0, 1}


def test_figures_of_very_many_runs_stay_readable(tmp_path: Path) -> None:
    for k in range(9):
        make_run(tmp_path, dataset=f"set_{k}")
    drawings = [
        block.name
        for section in sections_of(read_runs(tmp_path), Style())
        for block in section.blocks
        if isinstance(block, Drawing)
    ]
    assert drawings == ["rmse", "rmse_2", "log_likelihood", "log_likelihood_2"]
