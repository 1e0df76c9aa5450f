"""The contract of every experiment, with the settings in `support.experiments`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from support.config import compose
from support.experiments import CASES, NAMES
from support.quick import slow_except
from support.refusals import assert_refused

from bnnbench.config.assemble import build
from bnnbench.constraints import Text, constraints_of
from bnnbench.experiment.kinds.base import Task
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.report.run_output import find_run_page
from bnnbench.types import UserError

FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
"""A unit's name; a dot would separate the suffix of its files."""

FOLDER_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
MACHINE = re.compile(r"seconds|host|device")
"""Columns that depend on the machine."""

WRONG = [(name, wrong) for name, case in CASES.items() for wrong in case.wrong or {}]

every_experiment = pytest.mark.parametrize("name", NAMES)


one_per_class = pytest.mark.parametrize(
    "name", slow_except(NAMES, "clutter", "estimator_parametrisations", "toy_1d")
)
"""Experiments of other classes have tests of their own."""


def make_run(name: str, outputs: Path, *more: str) -> Run:
    settings = (f"experiment={name}", "workers=1", *CASES[name].settings, *more)
    return build(compose(*settings, f"outputs_dir={outputs}"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Return `whole(name)`, which executes a run of an experiment once."""

    @cache
    def finished(name: str) -> Run:
        run = make_run(name, tmp_path_factory.mktemp(name))
        execute(run)
        return run

    return finished


def tables_of(folder: RunFolder) -> dict[str, pd.DataFrame]:
    """Return the tables of a run without the columns that depend on the machine."""
    tables = {path.name: pd.read_csv(path) for path in sorted(folder.root.glob("*.csv"))}
    return {name: without_machine(table) for name, table in tables.items()}


def without_machine(table: pd.DataFrame) -> pd.DataFrame:
    return table.loc[:, [not MACHINE.search(str(name)) for name in table]]


def arrays_of(folder: RunFolder) -> dict[str, np.ndarray]:
    return {
        f"{path.name}/{name}": array
        for path in sorted(folder.root.glob("*.npz"))
        for name, array in np.load(path).items()
    }


def saved_tables(store: UnitStore, unit: str) -> dict[str, Any]:
    """Return the tables that a unit has saved, without the columns that depend on the machine."""
    tables = json.loads(store.file(unit, "json").read_text())["tables"]
    return {name: without_machine(pd.DataFrame(rows)) for name, rows in tables.items()}


def test_every_experiment_has_a_case() -> None:
    assert CASES.keys() == set(NAMES)


@every_experiment
def test_units_folders_and_metadata(name: str, tmp_path: Path) -> None:
    """The folder does not depend on the chosen units, which change no result."""
    run, fewer = make_run(name, tmp_path), make_run(name, tmp_path, *CASES[name].fewer)
    assert set(fewer.experiment.units()) <= set(run.experiment.units())
    assert fewer.folder == run.folder
    units, experiment = run.experiment.units(), run.experiment
    assert units and len(set(units)) == len(units)
    assert all(map(FILE_NAME.fullmatch, units))
    assert sorted(unit for group in experiment.groups(units) for unit in group) == sorted(units)
    assert all(map(FOLDER_NAME.fullmatch, (experiment.label, *experiment.path_parts())))
    assert experiment.title.strip() == experiment.title != ""
    assert "\n" not in experiment.title
    assert json.loads(json.dumps(run.record.metadata)) == run.record.metadata
    assert find_run_page(run.record.kind) is not None
    assert run.cost() > 0
    assert not list(tmp_path.iterdir())


@one_per_class
def test_a_unit_does_not_depend_on_the_others(
    name: str, whole: Callable[[str], Run], tmp_path: Path
) -> None:
    case, run = CASES[name], whole(name)
    experiment = make_run(name, tmp_path, *case.fewer).experiment
    unit = experiment.units()[-1]
    store = UnitStore(RunFolder(tmp_path))
    Task(experiment, store, (unit,)).run_group()
    assert store.units() == [unit] and store.intact(unit)
    ours, expected = saved_tables(store, unit), saved_tables(run.store, unit)
    assert ours.keys() == expected.keys()
    for table, values in expected.items():
        exact = {"rtol": 1e-3} if case.rounding else {"check_exact": True}
        pd.testing.assert_frame_equal(ours[table], values, **exact)


@one_per_class
def test_a_killed_run_resumes_to_the_same_bits(
    name: str, whole: Callable[[str], Run], tmp_path: Path
) -> None:
    run, expected, save = make_run(name, tmp_path), whole(name), UnitStore.save

    def save_and_die(self: UnitStore, *results: Any) -> None:
        save(self, *results)
        raise KeyboardInterrupt

    with patch.object(UnitStore, "save", save_and_die), pytest.raises(KeyboardInterrupt):
        execute(run)
    assert len(run.store.units()) == 1 and not run.complete()
    folder = execute(make_run(name, tmp_path))
    tables, arrays = tables_of(expected.folder), arrays_of(expected.folder)
    assert tables and tables.keys() == tables_of(folder).keys()
    for table, values in tables_of(folder).items():
        pd.testing.assert_frame_equal(values, tables[table], check_exact=True)
    assert arrays.keys() == arrays_of(folder).keys()
    for array, values in arrays_of(folder).items():
        np.testing.assert_array_equal(values, arrays[array])


@every_experiment
def test_every_setting_with_a_declared_range_is_checked(name: str) -> None:
    experiment = make_run(name, Path()).experiment
    for setting, (_, constraints) in constraints_of(type(experiment)).items():
        for wrong in (object(), math.nan, *["another"] * (constraints != (Text(),))):
            with pytest.raises(UserError) as error:
                replace(experiment, **{setting: wrong}).check()
            assert str(error.value.setting).rpartition(".")[2] == setting


@pytest.mark.parametrize(("name", "wrong"), WRONG)
def test_a_wrong_setting_is_refused(name: str, wrong: str) -> None:
    setting, _, rest = wrong.rpartition(": ")
    overrides = rest.split(" ")
    cases = CASES[name].wrong or {}
    setting = setting or overrides[0].partition("=")[0]
    assert_refused([f"experiment={name}", *overrides], setting=setting, code=cases[wrong])
