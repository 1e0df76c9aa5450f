"""Arguments of `bnnbench run`."""

from __future__ import annotations

import pytest

from bnnbench.cli.commands.run import hydra_arguments


@pytest.mark.parametrize(
    "words",
    [("-m", "seed=1,2", "--config-dir", "d", "depth=1"),
     ("seed=1,2", "-m", "depth=1", "--config-dir=d"),
     ("--config-dir", "d", "seed=1,2", "depth=1", "-m")],
)  # fmt: skip
def test_options_may_come_anywhere(words: tuple[str, ...]) -> None:
    found = hydra_arguments(words)
    assert found[-2:] == ["seed=1,2", "depth='1'"]
    assert sorted(" ".join(found[:-2]).replace("=", " ").split()) == ["--config-dir", "-m", "d"]
