"""The suite runs the chains first, then every method that accepts their model."""

from __future__ import annotations

import pytest
from support.config import compose_configs, job_overrides

from bnnbench.config.assemble import build
from bnnbench.results.settings import flatten
from bnnbench.suites.gold_standard import SUITE, WITH_OBJECTIVE


@pytest.mark.parametrize("experiment", ["gold_standard", "gold_toy"])
def test_sweeps_contain_all_suitable_methods(experiment: str) -> None:
    jobs = job_overrides(f"experiment={experiment}")
    names = {word.partition("=")[2] for job in jobs for word in job if word.startswith("method=")}
    assert {"vadam", "bbb", "map", "mc_dropout", "laplace", "deep_ensemble", "sgld"} <= names
    # The chains, methods that do not accept the model, and presets.
    assert not names & {"hmc", "pbp", "gp", "linear", "boosting", "cavi", "bbb_x1", "pbp_200"}
    assert not names & {"deep_ensemble_easyuq", "renyi_vi_vrbound", "vprop_khan2018"}
    assert not names & {"deep_ensemble_2017", "laplace_evidence", "sklearn", "tagi"}


@pytest.mark.slow
def test_every_method_of_a_sweep_accepts_the_model() -> None:
    for config in compose_configs(["experiment=gold_toy", "dataset=sine_20"]):
        settings = flatten(build(config).record.identity)
        assert settings["method.prior_precision"] == 1 and settings["likelihood"] == "gaussian"


def test_chains_come_first() -> None:
    pair = [True, False]
    for size, expected in (("small", pair), ("full", [*pair, *pair, *pair, False])):
        own = [sweep for sweep in SUITE.sweeps if size in sweep.sizes]
        assert [sweep.overrides.startswith("method=hmc") for sweep in own] == expected


def test_the_methods_with_an_objective_are_those_of_the_experiment() -> None:
    jobs = job_overrides("experiment=gold_converged")
    names = {word.partition("=")[2] for job in jobs for word in job if word.startswith("method=")}
    assert names == {*WITH_OBJECTIVE.split(",")} and len(jobs) == 2 * len(names)
