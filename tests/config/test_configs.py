"""Every configuration composes and has a summary."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.config import compose
from support.tiny_runs import finished, tiny_run

from bnnbench.config.assemble import build
from bnnbench.config.configs import GROUPS, config_folder, options

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
