"""What the tests share: tiny data, a quick plan, and the command line in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

os.environ.setdefault("MPLBACKEND", "Agg")
torch.set_num_threads(1)

# Every setting that makes a run small, without changing what it does.
TINY = [
    "search.iterations=3",
    "search.initial_points=2",
    "search.folds=3",
    "training.epochs=2",
    "training.final_epochs=2",
    "training.samples=2",
    "training.batch_size=16",
    "evaluation.samples=5",
    "network.width=4",
    "splits=2",
]


def compose(*overrides: str) -> dict[str, Any]:
    """The configuration the command line would see, as plain containers."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf

    from bnnbench.cli.configs import config_folder, quote_options

    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = hydra_compose("run", overrides=quote_options(overrides))
    return OmegaConf.to_container(config, resolve=True)  # type: ignore[return-value]


@pytest.fixture
def table_csv(tmp_path: Path) -> Path:
    """60 rows of a noisy nonlinear function of three columns."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=60)
    path = tmp_path / "table.csv"
    rows = np.column_stack([x, y])
    np.savetxt(path, rows, delimiter=",", header="a,b,c,y", comments="", fmt="%.17g")
    return path


@pytest.fixture
def tiny_plan(table_csv: Path, tmp_path: Path) -> Callable[..., Any]:
    """`tiny_plan(*overrides)`: a checked plan on the small table."""
    from bnnbench.cli.build import build

    def make(*overrides: str) -> Any:
        base = ["dataset=csv", f"dataset.path={table_csv}", "dataset.target=y", "workers=1"]
        return build(compose(*base, *TINY, f"outputs_dir={tmp_path / 'out'}", *overrides))[1]

    return make


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """`command(*arguments)`: exit code, stdout and stderr of `bnnbench`, run in an empty folder."""
    from bnnbench.cli.main import main

    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.setattr("sys.argv", ["bnnbench", *arguments])
        try:
            code = main(list(arguments))
        except SystemExit as stop:  # how Hydra and argparse end after --help
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
