"""Assembling runs: devices, compilers and engines."""

from __future__ import annotations

import re

import pytest
from support.config import compose
from support.user_errors import raises_user_error

from bnnbench.config.assemble import build, pick_device
from bnnbench.config.configs import config_folder, read_option
from bnnbench.config.group_checks import PROTOCOL_KEYS
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.engines.slurm import Slurm
from bnnbench.notes import note_once


def test_this_machine_is_the_default() -> None:
    assert build(compose()).engine == Local()


@pytest.mark.parametrize("gpus", [0, 1])
def test_a_remote_engine_chooses_device_and_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], gpus: int
) -> None:
    monkeypatch.setattr(Slurm, "check", lambda self: None)  # no sbatch here
    note_once.cache_clear()
    config = compose("engine=slurm", f"engine.gpus={gpus}")
    runs = [build(config), build({**config, "seed": 1})]
    device = "cuda" if gpus else "cpu"
    for run in runs:
        assert run.experiment.device == run.config["device"]["name"] == device
        assert run.experiment.training.compile == run.config["training"]["compile"] == "never"
    noted = capsys.readouterr().err
    assert noted.count("training.compile=never") == noted.count(f"device={device}") == 1
    assert pick_device("cuda", Slurm(name="slurm")) == "cuda"


def test_an_engine_of_another_class_is_refused() -> None:
    config = compose()
    config["engine"] = {"_target_": "bnnbench.settings.Network", "depth": 1}
    with raises_user_error("engine._target_", "wrong_type"):
        build(config)


@pytest.mark.parametrize("group", PROTOCOL_KEYS)
def test_keys_below_protocol_are_those_that_our_files_set_or_read(group: str) -> None:
    texts = [path.read_text() for path in config_folder().rglob("*.yaml")]
    read = {key for text in texts for key in re.findall(rf"\b{group}\.protocol\.(\w+)", text)}
    files = (config_folder() / group).glob("*.yaml")
    options = [read_option(group, file.stem) for file in files]
    written = {key for option in options for key in option.get("protocol", {})}
    assert read | written == PROTOCOL_KEYS[group]
