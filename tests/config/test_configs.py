"""Every configuration composes and has a summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.config import compose
from support.tiny_runs import finished, tiny_run
from support.user_errors import assert_user_error

from bnnbench.config.assemble import build
from bnnbench.config.compose import compose_configs
from bnnbench.config.configs import GROUPS, config_folder, options
from bnnbench.experiment.run import Run
from bnnbench.types import DuplicateConfiguration, UserError

OPTIONS = [(group, name) for group in GROUPS for name in options(group)]


def test_every_folder_of_options_is_a_group() -> None:
    folders = {path.name for path in config_folder().iterdir() if path.is_dir()}
    assert folders - {"hydra"} == set(GROUPS)


@pytest.mark.parametrize(("group", "name"), OPTIONS, ids=lambda x: x)
def test_every_config_composes_and_has_a_summary(group: str, name: str) -> None:
    assert options(group)[name], "the first comment of the file is its summary"
    config = compose(f"{group}={name}")
    summary = config[group].get("summary") if isinstance(config.get(group), dict) else None
    if summary:
        first = options(group)[name]
        assert (
            summary.split()[:2]
            == [w.rstrip(":") + ("," * w.endswith(":")) for w in first.split()[:2]]
            or summary == first
        )


@pytest.mark.parametrize("name", options("experiment"))
def test_every_experiment_is_built_from_its_config(data: Path, name: str, tmp_path: Path) -> None:
    run = build(compose(f"experiment={name}", f"data_dir={data}", f"outputs_dir={tmp_path}"))
    assert run.experiment.units() and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "overrides",
    [["depth=2"], ["depth=3"], ["training.dtype=float64"], ["method.minibatch_weights=exponential"],
     ["method.initial_precision=5"]],
)  # fmt: skip
def test_settings_that_sources_leave_open_can_be_overridden(
    table_csv: Path, tmp_path: Path, overrides: list[str]
) -> None:
    run = tiny_run(table_csv, tmp_path / "out", "splits=[0]", "method=bbb", *overrides)
    assert finished(run)[1]["diverged"].tolist() == [0]


@pytest.mark.parametrize(
    ("overrides", "setting"),
    [
        (["network.width=[3,4]"], "network.width"),
        (["network.width=[3,0]", "depth=2"], "network.width"),
        (["dataset=gp_sample", "dataset.grid_high=30"], "dataset.grid_high"),
        (["dataset=gp_sample", "dataset.length_scale=0"], "dataset.length_scale"),
        (["evaluation.save_objective=maybe"], "evaluation.save_objective"),
    ],
)
def test_invalid_settings_are_refused_when_a_run_is_built(
    overrides: list[str], setting: str
) -> None:
    with pytest.raises(UserError) as error:
        build(compose(*overrides))
    assert error.value.setting == setting


def test_a_divergence_without_effect_is_refused(tiny: Callable[..., Run]) -> None:
    with pytest.raises(DuplicateConfiguration) as error:
        tiny("method=mc_dropout", "divergence=js")
    assert_user_error(error, "divergence", "not_accepted")


def test_the_jobs_are_those_of_hydra() -> None:
    jobs = compose_configs(["experiment=book_uci", "dataset=boston,yacht", "seed=3"])
    names = [(job["dataset"]["name"], job["method"]["label"]) for job in jobs]
    methods = ["pbp", "vadam", "bbb_x1", "bbb_x2", "mc_dropout_x1", "mc_dropout_x10"]
    assert len(names) == 12 and {name for name, _ in names} == {"boston", "yacht"}
    assert {label for _, label in names} == set(methods) and {job["seed"] for job in jobs} == {3}
    (single,) = compose_configs(["method=pbp", "depth=2"])
    assert single["method"]["label"] == "pbp" and single["network"]["depth"] == 2
    with pytest.raises(UserError) as error:
        compose_configs(["dataset=atlantis"])
    assert_user_error(error, "dataset", "unknown_option")
