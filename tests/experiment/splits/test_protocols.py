"""Every protocol sets the expected values in the composed configuration."""

from __future__ import annotations

from typing import Any

import pytest
from support.config import compose
from support.user_errors import raises_user_error

from bnnbench.config.assemble import build
from bnnbench.config.configs import options
from bnnbench.experiment.splits.split_experiment import SplitExperiment

EXPECTED: dict[str, dict[str, Any]] = {
    "book": {
        "splits": "all",
        "search": {"iterations": 30, "initial_points": 5, "folds": 5},
        "training": {"epochs": 40, "learning_rate": 0.01, "betas": [0.9, 0.99], "batch_size": 32},
        "evaluation": {"samples": 100, "out_of_fold": True},
        "network": {"width": 50, "depth": 1},
    },
    "trial": {
        "splits": 2,
        "search": {"iterations": 3, "initial_points": 2, "folds": 5},
        "training": {"epochs": 5, "final_epochs": 5, "learning_rate": 0.01},
        "evaluation": {"samples": 100},
    },
}


TESTED_ELSEWHERE = {"auto"}
"""In tests/config/test_auto_protocol.py."""


def test_every_protocol_is_tested() -> None:
    assert {*EXPECTED, *TESTED_ELSEWHERE} == options("protocol").keys()


@pytest.mark.parametrize(
    ("name", "more"),
    [("book", "method=mc_dropout"), ("book", "dataset=yacht depth=2"), ("trial", "method=vadam")],
)
def test_a_protocol_sets_the_expected_values(name: str, more: str) -> None:
    config = compose(f"protocol={name}", *more.split())
    assert config["protocol"]["label"] == name
    for group, expected in EXPECTED[name].items():
        if isinstance(expected, dict):
            depth = {"depth": 2} if "depth=2" in more and group == "network" else {}
            assert config[group].items() >= {**expected, **depth}.items(), group
        else:
            assert config[group] == expected


@pytest.mark.parametrize(
    ("method", "epochs"), [("vadam", (40, 40)), ("mc_dropout", (40, 400)), ("sgld", (400, 400))]
)
def test_methods_set_their_epochs(method: str, epochs: tuple[int, int]) -> None:
    config = compose(f"method={method}")
    assert (config["training"]["epochs"], config["training"]["final_epochs"]) == epochs


def test_a_trial_without_a_search_has_none() -> None:
    with raises_user_error("search") as error:
        build(compose("protocol=trial", "search=none"))
    assert "method.noise_precision=" in str(error.value)
    fixed = ("method.noise_precision=10", "method.prior_precision=1")
    runs = [build(compose("search=none", *fixed, *more)) for more in ([], ["search.iterations=3"])]
    experiments = [run.experiment for run in runs]
    assert all(isinstance(e, SplitExperiment) and e.iterations == 0 for e in experiments)
    assert runs[0].folder == runs[1].folder
