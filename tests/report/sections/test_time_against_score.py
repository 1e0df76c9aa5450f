"""The Pareto front of time and score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from support.runs import make_run

from bnnbench.report.sections.time_against_score import pareto_front, time_against_score
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import read_runs


def test_the_front_consists_of_undominated_points() -> None:
    seconds = np.array([1.0, 2.0, 3.0, 4.0, 2.0, np.nan, 0.5])
    losses = np.array([5.0, 3.0, 4.0, 1.0, 3.0, 0.0, np.nan])
    front = pareto_front(seconds, losses)
    # Equal points do not dominate each other, and a missing value dominates none.
    assert front.tolist() == [True, True, False, True, True, False, False]


def test_runs_are_compared_within_their_experiment(tmp_path: Path) -> None:
    make_run(tmp_path, method="pbp", total_seconds=1.0, log_likelihood=-9.0)
    make_run(tmp_path, method="vadam", total_seconds=5.0)
    make_run(tmp_path, method="map", total_seconds=9.0, rmse=1.0)
    make_run(tmp_path, method="sgld", total_seconds=0.1, rmse=0.1, experiment="alone")
    make_run(tmp_path, method="bbb", dataset="toy", synthetic=True)
    table = time_against_score(read_runs(tmp_path), printed_in("figures")).set_index("label")
    assert table["total_seconds_mean"].to_dict() == {"map": 9.0, "pbp": 1.0, "vadam": 5.0}
    assert table["rmse_front"].to_dict() == {"map": True, "pbp": True, "vadam": False}
    assert table["log_likelihood_front"].to_dict() == {"map": False, "pbp": True, "vadam": True}
