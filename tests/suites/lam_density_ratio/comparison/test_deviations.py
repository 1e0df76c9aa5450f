"""Deviations of runs from the settings behind the thesis's tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sprinkler_runs import sprinkler

from bnnbench.suites.lam_density_ratio.comparison.deviations import (
    deviating_settings,
    fewer_repetitions,
)

AS_PUBLISHED = {
    "undertrained, prior": ("undertrained", ["schedule=undertrained"]),
    "undertrained, joint": (
        "undertrained",
        ["schedule=undertrained", "contrast=joint"],
    ),
    "quick": ("undertrained", ["schedule=quick"]),
    "the text's batch": (
        "undertrained",
        ["schedule=undertrained", "samples=200"],
    ),
    "optimal, prior": ("optimal", ["schedule=published"]),
    "optimal, joint": ("optimal", ["schedule=published", "contrast=joint"]),
    "the text's steps": (
        "optimal",
        [
            "schedule=published",
            "contrast=joint",
            "estimator_steps=100",
        ],
    ),
}


def deviations(outputs: Path, setting: str, *overrides: str) -> list[str]:
    return list(deviating_settings(sprinkler(outputs, *overrides).experiment.metadata(), setting))


@pytest.mark.parametrize("name", AS_PUBLISHED)
def test_schedules_of_the_thesis_have_no_deviation(tmp_path: Path, name: str) -> None:
    setting, overrides = AS_PUBLISHED[name]
    assert deviations(tmp_path, setting, *overrides) == []


def test_deviations_of_the_reduced_schedule(tmp_path: Path) -> None:
    found = deviations(tmp_path, "optimal", "schedule=optimal")
    assert {"iterations 4000", "estimator steps 10", "pre-training steps 1000"} <= set(found)
    assert "estimator rate 0.0003" in found and "rates fall from fraction 0.5" in found


@pytest.mark.parametrize(
    ("override", "deviation"),
    [
        ("iterations=50", "iterations 50"),
        ("numerics=stable", "numerics stable"),
        ("observations=model", "observations model"),
        ("data=[0,5]", "data 0/5"),
    ],
)
def test_a_single_deviation_is_named(tmp_path: Path, override: str, deviation: str) -> None:
    assert deviations(tmp_path, "undertrained", "schedule=undertrained", override) == [deviation]


def test_only_fewer_repetitions_are_a_deviation() -> None:
    assert list(fewer_repetitions(12)) == ["12 of 30 repetitions"]
    assert not list(fewer_repetitions(30)) and not list(fewer_repetitions(31))
