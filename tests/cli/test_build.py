"""What is decided here and what where the work is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from support.config import compose

from bnnbench.cli.build import build, pick_device
from bnnbench.experiment.engines.base import Engine, EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.types import UserError


@dataclass(frozen=True, kw_only=True)
class Elsewhere(EngineSettings):
    """Other machines, none of which is there."""

    remote: ClassVar[bool] = True

    def engine(self, workers: int, outputs: Path) -> Engine:
        """Is not asked for in what follows."""
        raise NotImplementedError


def test_this_machine_is_the_default() -> None:
    assert build(compose()).engine == Local()


def test_another_machines_device_is_asked_for() -> None:
    engine = Elsewhere(name="elsewhere")
    assert pick_device("cuda", engine) == "cuda" and pick_device("cpu", engine) == "cpu"
    with pytest.raises(UserError, match=r"device=auto .* engine=elsewhere .* device=cpu or cuda"):
        pick_device("auto", engine)


def test_another_machines_compiler_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    config = compose("device=cpu")
    monkeypatch.setattr("bnnbench.cli.build.make_engine", lambda _: Elsewhere(name="elsewhere"))
    with pytest.raises(UserError, match=r"compile=auto .*compile=always or never"):
        build(config)
    config["training"]["compile"] = "never"
    assert build(config).engine.remote


def test_an_engine_that_is_none_is_refused() -> None:
    config = compose()
    config["engine"] = {"_target_": "bnnbench.settings.Network", "depth": 1}
    with pytest.raises(UserError, match=r"engine\._target_ must name an engine, not Network"):
        build(config)
