"""The objective by epoch, as the median over splits."""

from __future__ import annotations

from pathlib import Path

from support.runs import add_arrays, make_run

from bnnbench.experiment.split_files import OBJECTIVE
from bnnbench.report.sections.objective import median_objectives
from bnnbench.results.reader import read_runs

TRACE = {
    "split": [0, 0, 1, 1, 2, 2],
    "epoch": [1, 2, 1, 2, 1, 2],
    "loss": [3.0, 1.0, 4.0, 2.0, 9.0, 9.0],
    "complexity": [0.5] * 6,
}


def test_medians_of_runs_that_saved_their_objective(tmp_path: Path) -> None:
    make_run(tmp_path)
    assert median_objectives(read_runs(tmp_path)).empty
    add_arrays(make_run(tmp_path, method="vadam"), OBJECTIVE, TRACE)
    rows = median_objectives(read_runs(tmp_path))
    assert rows[["label", "epoch", "objective"]].to_numpy().tolist() == [
        ["vadam", 1, 4.5], ["vadam", 2, 2.5],
    ]  # fmt: skip
