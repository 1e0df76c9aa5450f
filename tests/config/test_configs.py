"""Every configuration composes and has a summary."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.config import compose
from support.tiny_runs import finished, tiny_run

from bnnbench.config.assemble import build
from bnnbench.config.configs import GROUPS, config_folder, options

OTHER_GROUPS = [group for group in GROUPS if group not in ("experiment", "method", "protocol")]

TOGETHER = [
    tuple([*options(group)][number % len(options(group))] for group in OTHER_GROUPS)
    for number in range(max(len(options(group)) for group in OTHER_GROUPS))
]
"""Combinations of every option; tests/methods/test_contract.py composes each method."""


def test_every_folder_of_options_is_a_group() -> None:
    folders = {path.name for path in config_folder().iterdir() if path.is_dir()}
    assert folders == set(GROUPS)
    assert all(summary for group in GROUPS for summary in options(group).values())


@pytest.mark.slow
@pytest.mark.parametrize("chosen", TOGETHER, ids="-".join)
def test_every_option_composes(chosen: tuple[str, ...]) -> None:
    """One option of each group at a time, since composing takes long."""
    assert compose(*(f"{group}={name}" for group, name in zip(OTHER_GROUPS, chosen, strict=True)))


@pytest.mark.slow
@pytest.mark.parametrize("name", options("experiment"))
def test_every_experiment_is_built_from_its_config(name: str, tmp_path: Path) -> None:
    config = compose(f"experiment={name}", f"outputs_dir={tmp_path}")
    run = build(config)
    assert run.experiment.units() and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "overrides",
    [["depth=2", "training.dtype=float64"], ["method.minibatch_weights=exponential"]],
)
def test_settings_that_sources_leave_open_can_be_overridden(
    table_csv: Path, tmp_path: Path, overrides: list[str]
) -> None:
    run = tiny_run(table_csv, tmp_path / "out", "splits=[0]", "method=bbb", *overrides)
    assert finished(run)[1]["diverged"].tolist() == [0]
