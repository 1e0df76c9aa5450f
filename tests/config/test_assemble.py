"""Assembling runs: devices, compilers and engines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from support.config import compose
from support.user_errors import raises_user_error

from bnnbench.config.assemble import build, pick_device
from bnnbench.experiment.engines.base import Engine, EngineSettings
from bnnbench.experiment.engines.local import Local


@dataclass(frozen=True, kw_only=True)
class Elsewhere(EngineSettings):
    """A remote engine without machines."""

    remote: ClassVar[bool] = True

    def create_engine(self, workers: int, outputs: Path) -> Engine:
        """Not used by these tests."""
        raise NotImplementedError


def test_this_machine_is_the_default() -> None:
    assert build(compose()).engine == Local()


def test_a_remote_engine_needs_an_explicit_device() -> None:
    engine = Elsewhere(name="elsewhere")
    assert pick_device("cuda", engine) == "cuda" and pick_device("cpu", engine) == "cpu"
    with raises_user_error("device", "remote"):
        pick_device("auto", engine)


def test_a_remote_engine_needs_an_explicit_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    config = compose("device=cpu")
    monkeypatch.setattr(
        "bnnbench.config.assemble.make_engine", lambda _: Elsewhere(name="elsewhere")
    )
    with raises_user_error("training.compile", "remote"):
        build(config)
    config["training"]["compile"] = "never"
    assert build(config).engine.remote


def test_an_engine_of_another_class_is_refused() -> None:
    config = compose()
    config["engine"] = {"_target_": "bnnbench.settings.Network", "depth": 1}
    with raises_user_error("engine._target_", "wrong_type"):
        build(config)
