"""What the suite runs: the chains first, then every method that can be given their model."""

from __future__ import annotations

import pytest

from bnnbench.cli.compose import initialised
from bnnbench.cli.line import jobs_of
from bnnbench.suites.gold_standard import CHAINS, SUITE


@pytest.mark.parametrize("experiment", ["gold_standard", "gold_toy"])
def test_methods_are_found_by_being_there(experiment: str) -> None:
    with initialised():
        jobs = jobs_of([f"experiment={experiment}"])
    names = {word.partition("=")[2] for job in jobs for word in job if word.startswith("method=")}
    assert {"vadam", "bbb", "map", "mc_dropout", "laplace", "deep_ensemble", "sgld"} <= names
    # The chains, methods that cannot be given the model, and presets.
    assert not names & {"hmc", "pbp", "gp", "linear", "boosting", "cavi", "bbb_x1", "pbp_200"}


def test_chains_come_first() -> None:
    for size in ("small", "full"):
        own = [sweep for sweep in SUITE.sweeps if size in sweep.sizes]
        assert [sweep.overrides.startswith(CHAINS) for sweep in own] == [True, False] * (
            len(own) // 2
        )
