"""Fixtures for all tests: tiny data, a quick run, and the command line in this process."""

from __future__ import annotations

from support import one_thread  # isort: skip  # before torch is imported

import gc
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings
from support.quick import (
    files_read_once,
    left_to_the_system,
    no_figures,
    no_report_figures,
    parsed_once,
)
from support.tiny_runs import tiny_run

from bnnbench import forks
from bnnbench.data import archive
from bnnbench.experiment.run import Run

torch.set_num_threads(one_thread.THREADS)

# A commit passes or fails, whenever it is asked; what was tried is kept nowhere.
settings.register_profile("the same each time", derandomize=True, database=None, deadline=None)
settings.load_profile("the same each time")


def pytest_configure(config: pytest.Config) -> None:
    """From collection on; processes that tests start read, compose and write as users' do.

    Besides, what was collected is not searched for garbage at every turn.
    """
    gc.set_threshold(50_000, 20, 50)
    quick = ExitStack()
    quick.enter_context(left_to_the_system())
    quick.enter_context(files_read_once())
    quick.enter_context(parsed_once())
    config.add_cleanup(quick.close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole commands first, which take longest: none is begun when all else is done."""
    items.sort(key=lambda item: item.get_closest_marker("integration") is None)


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Runs and reports write no figures: for tests of something else."""
    with no_figures(), no_report_figures():
        yield


@pytest.fixture
def data() -> Path:
    """The folder BNNBENCH_DATA names; a test that needs it is skipped without one."""
    folder = os.environ.get("BNNBENCH_DATA")
    if not folder:
        pytest.skip("BNNBENCH_DATA is not set")
    return Path(folder)


@pytest.fixture
def yacht(data: Path, tmp_path: Path) -> Path:
    """A data folder that holds a private copy of yacht only."""
    folder = tmp_path / "uci"
    archive.fetch(["yacht"], folder, source=data)
    return folder


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
def tiny(table_csv: Path, tmp_path: Path) -> Callable[..., Run]:
    """`tiny(*overrides)`: a checked run on the small table."""
    return partial(tiny_run, table_csv, tmp_path / "out")


@pytest.fixture
def _logging_as_before() -> Iterator[None]:
    """Hydra may be told to log, to the standard error of a test that is over when others run."""
    root = logging.getLogger()
    level, handlers, switched_off = root.level, root.handlers[:], root.manager.disable
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    logging.disable(switched_off)


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    _logging_as_before: None,
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


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process is taken for one that may be forked; no lock is held here while it is."""
    monkeypatch.setattr(forks, "is_alone", lambda: True)
