"""In what runs depart from the settings behind the thesis's tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sprinkler_runs import sprinkler

from bnnbench.suites.lam_density_ratio.comparison.departures import (
    fewer_repetitions,
    other_settings,
)

AS_PUBLISHED = {
    "undertrained, prior": ("undertrained", ["protocol=undertrained"]),
    "undertrained, joint": ("undertrained", ["protocol=undertrained", "contrast=joint"]),
    "quick": ("undertrained", ["protocol=quick"]),
    "the text's batch": ("undertrained", ["protocol=undertrained", "schedule.samples=200"]),
    "optimal, prior": ("optimal", ["protocol=published"]),
    "optimal, joint": ("optimal", ["protocol=published", "contrast=joint"]),
    "the text's steps": (
        "optimal",
        ["protocol=published", "contrast=joint", "schedule.estimator_steps=100"],
    ),
}


def words(outputs: Path, setting: str, *overrides: str) -> list[str]:
    return list(other_settings(sprinkler(outputs, *overrides).experiment.names(), setting))


@pytest.mark.parametrize("name", AS_PUBLISHED)
def test_the_protocols_are_the_thesis_s_own(tmp_path: Path, name: str) -> None:
    setting, overrides = AS_PUBLISHED[name]
    assert words(tmp_path, setting, *overrides) == []


def test_the_reduced_protocol_says_what_it_reduces(tmp_path: Path) -> None:
    found = words(tmp_path, "optimal", "protocol=optimal")
    assert {"iterations 4000", "estimator steps 10", "pre-training steps 1000"} <= set(found)
    assert "estimator rate 0.0003" in found and "rates fall from share 0.5" in found


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("schedule.iterations=50", "iterations 50"),
        ("numerics=stable", "numerics stable"),
        ("observations=model", "observations model"),
        ("experiment.data=[0,5]", "data 0/5"),
    ],
)
def test_one_setting_that_differs_is_named(tmp_path: Path, override: str, said: str) -> None:
    assert words(tmp_path, "undertrained", "protocol=undertrained", override) == [said]


def test_fewer_repetitions_are_said_and_more_are_not() -> None:
    assert list(fewer_repetitions(12)) == ["12 of 30 repetitions"]
    assert not list(fewer_repetitions(30)) and not list(fewer_repetitions(31))
