"""Every configuration composes and says what it is; readings are one override away."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.config import compose
from support.tiny_runs import finished, tiny_run

from bnnbench.cli.build import build
from bnnbench.cli.configs import GROUPS, OWN_GROUPS, bringing, config_folder, options
from bnnbench.cli.line import configs_of
from bnnbench.experiment.run import Run
from bnnbench.types import UserError

OPTIONS = [(group, name) for group in (*GROUPS, *OWN_GROUPS) for name in options(group)]


def test_every_folder_of_options_is_a_group() -> None:
    folders = {path.name for path in config_folder().iterdir() if path.is_dir()}
    assert folders - {"hydra"} == {*GROUPS, *OWN_GROUPS}


@pytest.mark.parametrize(("group", "name"), OPTIONS, ids=lambda x: x)
def test_every_config_composes_and_says_what_it_is(group: str, name: str) -> None:
    assert options(group)[name], "the first comment of the file is its summary"
    own = [f"experiment={bringing(group)[0]}"] if group in OWN_GROUPS else []
    config = compose(*own, f"{group}={name}")
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
def test_other_readings_are_one_override_away(
    table_csv: Path, tmp_path: Path, overrides: list[str]
) -> None:
    run = tiny_run(table_csv, tmp_path / "out", "splits=[0]", "method=bbb", *overrides)
    assert finished(run)[1]["diverged"].tolist() == [0]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["network.width=[3,4]"], ["network.width", "network.depth=1", "not of 2"]),
        (["network.width=[3,0]", "depth=2"], ["network.width", "0"]),
        (["dataset=gp", "dataset.grid_high=30"], ["dataset.grid_high", "15 length scales"]),
        (["dataset=gp", "dataset.length_scale=0"], ["dataset.length_scale"]),
        (["evaluation.trace=maybe"], ["evaluation.trace", "true or false"]),
    ],
)
def test_what_is_refused_when_a_run_is_built(overrides: list[str], words: list[str]) -> None:
    with pytest.raises(UserError) as error:
        build(compose(*overrides))
    assert all(word in str(error.value) for word in words)


def test_a_name_that_is_chosen_and_changes_nothing_is_refused(tiny: Callable[..., Run]) -> None:
    with pytest.raises(UserError, match="divergence is js, but method=mc_dropout has none"):
        tiny("method=mc_dropout", "divergence=js")


def test_the_jobs_are_those_that_hydra_would_start() -> None:
    jobs = configs_of(["experiment=book_uci", "dataset=boston,yacht", "seed=3"])
    names = [(job["dataset"]["name"], job["method"]["label"]) for job in jobs]
    methods = ["pbp", "vadam", "bbb_x1", "bbb_x2", "mc_dropout_x1", "mc_dropout_x10"]
    assert len(names) == 12 and {name for name, _ in names} == {"boston", "yacht"}
    assert {label for _, label in names} == set(methods) and {job["seed"] for job in jobs} == {3}
    (single,) = configs_of(["method=pbp", "depth=2"])
    assert single["method"]["label"] == "pbp" and single["network"]["depth"] == 2
    with pytest.raises(UserError, match=r"dataset=atlantis does not exist; dataset is one of"):
        configs_of(["dataset=atlantis"])
