"""Estimators with the same initial weights and random numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sprinkler_runs import finished_run

from bnnbench.report.blocks import Table
from bnnbench.suites.lam_density_ratio.comparison.evidence import evidence_of, read_sprinkler
from bnnbench.suites.lam_density_ratio.comparison.shared_starts import shared_blocks, shared_rows


def test_only_the_estimator_may_differ(tmp_path: Path) -> None:
    folders = [
        finished_run(
            tmp_path,
            "schedule=undertrained",
            "estimator=class_probability",
            ends=[1.40, 1.42, 1.44],
        ),
        finished_run(
            tmp_path,
            "schedule=undertrained",
            "estimator=log_ratio",
            ends=[1.41, 1.42, 1.42, 1.40],
        ),
        finished_run(
            tmp_path,
            "schedule=undertrained",
            "estimator=ratio",
            "seed=1",
            ends=[1.41, 1.42],
        ),
        finished_run(
            tmp_path,
            "schedule=undertrained",
            "estimator=relu_ratio",
            ends=[1.41, 1.42],
        ),
    ]
    evidence = evidence_of([read_sprinkler(folder) for folder in folders])
    (row,) = shared_rows(evidence)
    assert row["pair"] == "undertrained, prior, reverse KL, D - T" and row["repetitions"] == 3
    assert row["first_distance"] == pytest.approx(0)
    assert row["last_distance"] == pytest.approx(0.01)
    assert row["difference"] == pytest.approx(0.01 / 3)
    # Mean distances: (2 + 4 + 2) / 3 hundredths, and (1 + 1 + 0) / 3 of the first three.
    assert row["independent_distance"] == pytest.approx((8 / 3 + 2 / 3) / 2 / 100)
    _, _, table, _ = shared_blocks(evidence)
    assert isinstance(table, Table) and len(table.rows) == 1


def test_without_two_estimators_there_is_no_table(tmp_path: Path) -> None:
    folder = finished_run(tmp_path, "schedule=undertrained", ends=[1.40, 1.42])
    assert not list(shared_blocks(evidence_of([read_sprinkler(folder)])))
