"""Expanding a command line into jobs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import pytest
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import OmegaConf
from support.config import compose as compose_in_tests
from support.config import compose_all, compose_configs
from support.user_errors import raises_user_error

from bnnbench.config.compose import (
    MULTIRUN,
    SWEEP,
    Job,
    compose_jobs,
    initialise_hydra,
)
from bnnbench.config.configs import CONFIG_NAME, config_folder
from bnnbench.config.overrides import quote_overrides


@pytest.mark.slow
def test_a_sweep_is_given_by_the_command_line_or_by_the_experiment() -> None:
    with initialise_hydra():
        single, sweep = compose_jobs(["seed=3"], False), compose_jobs(["seed=3"], True)
        of_experiment = compose_jobs(["experiment=book_uci", "dataset=boston"], False)
        with pytest.raises(HydraException, match="Ambiguous value for argument 'seed=1,2'"):
            compose_jobs(["seed=1,2"], False)
    assert not single.is_sweep and len(single.jobs) == 1
    assert sweep.is_sweep and len(sweep.jobs) == 1
    assert of_experiment.is_sweep and len(of_experiment.jobs) == 6
    assert "dataset=boston" in of_experiment.jobs[0].overrides


@pytest.mark.parametrize("choice", ["method=mc_dropout,mc_dropout_x1", "experiment=mine"])
def test_a_setting_may_belong_to_the_options_of_the_jobs_only(tmp_path: Path, choice: str) -> None:
    own_experiment(tmp_path, "sweep: {method: 'mc_dropout,mc_dropout_x1'}\n")
    jobs = compose_configs([choice, "method.dropout=0.02"], config_dir=str(tmp_path))
    methods = [(job["method"]["label"], job["method"]["dropout"]) for job in jobs]
    assert methods == [("mc_dropout", 0.02), ("mc_dropout_x1", 0.02)]


def test_jobs_are_composed_as_hydra_does() -> None:
    jobs = [[f"method={method}", f"seed={seed}"] for method in ("vadam", "map") for seed in (1, 2)]
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        expected = [Job(job, compose(CONFIG_NAME, job)).resolved() for job in jobs]
    assert compose_configs(["method=vadam,map", "seed=1,2"]) == expected


def own_experiment(folder: Path, text: str, defaults: str = "uci") -> list[str]:
    (folder / "experiment").mkdir()
    head = f"# @package _global_\n# My sweep.\ndefaults: [{defaults}]\n"
    (folder / "experiment" / "mine.yaml").write_text(head + text)
    return ["experiment=mine"]


def test_a_single_run_ignores_the_sweep_of_its_experiment(tmp_path: Path) -> None:
    words = own_experiment(tmp_path, "sweep: {seed: '1,2'}\n")
    with initialise_hydra(str(tmp_path)):
        single, sweep = compose_jobs(words, False), compose_jobs(words, True)
    assert [job.resolved()["seed"] for job in single.jobs] == [0]
    assert [job.resolved()["seed"] for job in sweep.jobs] == [1, 2]
    assert not {"sweep", "multirun"} & sweep.jobs[0].resolved().keys()


@pytest.mark.parametrize(
    ("text", "setting", "code"),
    [("hydra: {callbacks: {mine: {_target_: m.C}}}", "hydra.callbacks", "hydra_setting"),
     ("hydra: {launcher: {_target_: hydra_plugins.mine.M}}", "hydra.launcher", "hydra_setting"),
     ("hydra: {sweeper: {params: {seed: '1,2'}}}", "hydra.sweeper", "hydra_setting"),
     ("hydra: {job: {chdir: true}}", "hydra.job", "hydra_setting"),
     ("seed: ${hydra:job.num}", "seed", "hydra_setting"),
     ("sweep: {hydra.mode: RUN}", "hydra.mode", "hydra_setting"),
     ("sweep: {seed: 'range(0,1e15)'}", "seed", "range"),
     ("sweep: x", "sweep", "not_a_group")],
)  # fmt: skip
def test_settings_of_hydra_in_a_file_are_refused(
    tmp_path: Path, text: str, setting: str, code: str
) -> None:
    words = own_experiment(tmp_path, f"{text}\n")
    with raises_user_error(setting, code):
        compose_configs(words, config_dir=str(tmp_path))


def test_a_callback_of_a_file_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "callback_of_mine.py").write_text("class C: pass\n")
    monkeypatch.setattr("sys.path", [*sys.path, str(tmp_path)])
    text = "hydra: {callbacks: {mine: {_target_: callback_of_mine.C}}}\n"
    with raises_user_error("hydra.callbacks", "hydra_setting"):
        compose_configs(own_experiment(tmp_path, text), config_dir=str(tmp_path))
    assert "callback_of_mine" not in sys.modules


def test_an_option_of_hydra_in_a_file_is_refused(tmp_path: Path) -> None:
    words = own_experiment(tmp_path, "", "uci, {override /hydra/hydra_logging: none}")
    with raises_user_error("hydra.hydra_logging", "hydra_setting"):
        compose_configs(words, config_dir=str(tmp_path))


def test_a_file_of_ones_own_is_found_after_ours(tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "vadam.yaml").write_text("label: mine\n")
    (config,) = compose_configs(["method=vadam"], config_dir=str(tmp_path))
    assert config["method"]["label"] == "vadam"


@pytest.mark.slow
def test_no_file_of_ours_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bnnbench.config.compose._compose", compose_all)  # without the tests' cache
    words = ["method=map,vadam"]
    before = compose_configs(words)

    def refuse(file: object) -> NoReturn:
        raise AssertionError(file)

    monkeypatch.setattr(OmegaConf, "load", refuse)
    first, second = compose_configs(words)
    # Changes of one job do not affect the next.
    assert first["method"]["label"] == "map" and [first, second] == before


LINES = (
    *("experiment=gvi_uci", "experiment=sprinkler", "method=mc_dropout_gal2016", "splits=[0,3]"),
    *("dataset=protein seed=3", "method=bbb divergence=alpha_renyi_2", "prior=laplace depth=2"),
    *(
        "protocol=trial method=bbb_slang dataset=yacht",
        "engine=dask workers=2",
        "+method.momentum=3",
    ),
)


@pytest.mark.ci
@pytest.mark.parametrize("line", LINES)
def test_caches_change_no_configuration(line: str) -> None:
    """Neither ours nor that of the tests."""
    words = quote_overrides(line.split())
    with initialise_hydra():
        cached = compose(CONFIG_NAME, words)
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        assert cached == compose(CONFIG_NAME, words)
    composed = Job([], cached).resolved()
    in_tests = {key: value for key, value in composed.items() if key not in (SWEEP, MULTIRUN)}
    assert compose_in_tests(*line.split()) == in_tests
