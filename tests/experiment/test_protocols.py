"""Every protocol keeps its promises on the composed configuration, whatever else is chosen."""

from __future__ import annotations

from typing import Any

import pytest
from support.config import compose

from bnnbench.cli.build import build
from bnnbench.cli.configs import options
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.types import UserError

PROMISES: dict[str, dict[str, Any]] = {
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


OF_SCHEDULES = {"quick", "undertrained", "optimal", "published"}
"""Those that set the schedule of an experiment of its own, whose tests hold them to it."""


OF_ROWS = {"auto"}
"""Those that the number of rows decides; tests/cli/test_scale.py holds them to it."""


def test_every_protocol_has_promises() -> None:
    assert {*PROMISES, *OF_SCHEDULES, *OF_ROWS} == options("protocol").keys()


def test_a_protocol_says_what_it_sets() -> None:
    for name in options("protocol"):
        config = compose(f"protocol={name}")
        sets = "schedule" if name in OF_SCHEDULES else "training"
        assert config["protocol"].items() >= {"label": name, "sets": sets}.items()
        assert ("schedule" in config) == (sets == "schedule")


@pytest.mark.parametrize("name", PROMISES)
@pytest.mark.parametrize("more", ["method=vadam", "method=mc_dropout", "dataset=yacht depth=2"])
def test_a_protocol_keeps_its_promises(name: str, more: str) -> None:
    config = compose(f"protocol={name}", *more.split())
    for group, promised in PROMISES[name].items():
        if isinstance(promised, dict):
            depth = {"depth": 2} if "depth=2" in more and group == "network" else {}
            assert config[group].items() >= {**promised, **depth}.items(), group
        else:
            assert config[group] == promised


@pytest.mark.parametrize(
    ("method", "epochs"), [("vadam", (40, 40)), ("mc_dropout", (40, 400)), ("sgld", (400, 400))]
)
def test_fits_take_the_methods_epochs(method: str, epochs: tuple[int, int]) -> None:
    config = compose(f"method={method}")
    assert (config["training"]["epochs"], config["training"]["final_epochs"]) == epochs


def test_a_trial_without_a_search_has_none() -> None:
    with pytest.raises(UserError, match=r"search=none needs a value .* method\.noise_precision"):
        build(compose("protocol=trial", "search=none"))
    fixed = ("method.noise_precision=10", "method.prior_precision=1")
    runs = [build(compose("search=none", *fixed, *more)) for more in ([], ["search.iterations=3"])]
    experiments = [run.experiment for run in runs]
    assert all(isinstance(e, SplitExperiment) and e.iterations == 0 for e in experiments)
    assert runs[0].folder == runs[1].folder
