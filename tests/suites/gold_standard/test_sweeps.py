"""The suite runs the chains first, then every method that accepts their model."""

from __future__ import annotations

import pytest

from bnnbench.config.compose import initialise_hydra, job_overrides
from bnnbench.suites.gold_standard import CHAINS, SUITE


@pytest.mark.parametrize("experiment", ["gold_standard", "gold_toy"])
def test_sweeps_contain_all_suitable_methods(experiment: str) -> None:
    with initialise_hydra():
        jobs = job_overrides([f"experiment={experiment}"])
    names = {word.partition("=")[2] for job in jobs for word in job if word.startswith("method=")}
    assert {"vadam", "bbb", "map", "mc_dropout", "laplace", "deep_ensemble", "sgld"} <= names
    # The chains, methods that do not accept the model, and presets.
    assert not names & {"hmc", "pbp", "gp", "linear", "boosting", "cavi", "bbb_x1", "pbp_200"}


def test_chains_come_first() -> None:
    for size in ("small", "full"):
        own = [sweep for sweep in SUITE.sweeps if size in sweep.sizes]
        assert [sweep.overrides.startswith(CHAINS) for sweep in own] == [True, False] * (
            len(own) // 2
        )
