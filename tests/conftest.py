"""Fixtures for all tests: small data, a quick run, and the command line in this process."""

from __future__ import annotations

from support import one_thread  # isort: skip  # before torch is imported

import gc
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import settings
from support.command import Command
from support.config import cached_composition
from support.quick import no_figures, no_reference_fit, no_report_figures, without_fsync
from support.tiny_runs import Planner, tiny_run

from bnnbench import forks

torch.set_num_threads(one_thread.THREADS)

# Deterministic examples, without a database.
settings.register_profile("deterministic", derandomize=True, database=None, deadline=None)
settings.load_profile("deterministic")


def pytest_configure(config: pytest.Config) -> None:
    """Apply patches for speed to this process, but not to those that tests start.

    Garbage is collected less often, because the collected tests are many objects.
    """
    gc.set_threshold(50_000, 20, 50)
    quick = ExitStack()
    quick.enter_context(without_fsync())
    quick.enter_context(no_reference_fit())
    quick.enter_context(cached_composition())
    config.add_cleanup(quick.close)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run integration tests first, because they take longest."""
    items.sort(key=lambda item: item.get_closest_marker("integration") is None)


@pytest.fixture
def without_figures() -> Iterator[None]:
    """Do not draw the figures of runs and reports."""
    with no_figures(), no_report_figures():
        yield


@pytest.fixture
def table_csv(tmp_path: Path) -> Path:
    """Return a CSV file with 60 rows of a noisy nonlinear function of three columns."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    y = np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * rng.normal(size=60)
    path = tmp_path / "table.csv"
    rows = np.column_stack([x, y])
    np.savetxt(path, rows, delimiter=",", header="a,b,c,y", comments="", fmt="%.17g")
    return path


@pytest.fixture
def tiny(table_csv: Path, tmp_path: Path) -> Planner:
    """Return `tiny(*overrides)`, which builds a run on the small table."""
    return partial(tiny_run, table_csv, tmp_path / "out")


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Command:
    """Return the command line, which runs in this process and in an empty folder."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BNNBENCH_TRUST", str(tmp_path))
    return Command(capsys, monkeypatch)


@pytest.fixture
def forks_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow forks of this process, which is safe because it holds no locks."""
    monkeypatch.setattr(forks, "can_fork", lambda: True)
