"""Different tables of the user never share a name, and one table has one name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.runs import RMSE, make_run

from bnnbench.data.own_table.source import OwnTable
from bnnbench.data.splits import data_fingerprint
from bnnbench.experiment.store.record import read_record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.identity import identity_of
from bnnbench.results.compare.outcomes import all_pairs, find_verdicts
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.labels import distinct_data_sets
from bnnbench.results.read.run_tables import read_runs, with_distinct_data_sets
from bnnbench.results.settings import flatten

Written = tuple[str, pd.DataFrame, dict[str, Any]]
"""A file, its content, and settings of the data set."""


def frame(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "y"])


def edited(row: int) -> pd.DataFrame:
    table = frame()
    table.loc[row, "a"] += 1e-9
    return table


def with_gap() -> pd.DataFrame:
    table = frame()
    table.loc[3, "a"] = np.nan
    return table


def describe(folder: Path, number: int, written: Written) -> tuple[str, pd.DataFrame]:
    """Write and load a table; return its own name, and its row of `Runs.tables`."""
    name, content, settings = written
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content.to_csv(path, index=False, sep=";" if "separator" in settings else ",")
    source = OwnTable(**{"path": str(path), "target": "y", **settings})
    table = source.load()
    known = flatten({"dataset": identity_of(source), "table": {"name": table.name}})
    row = {"data": data_fingerprint(table), "file": table.file, "settings": known}
    return table.name, pd.DataFrame([row], index=[f"run{number}"])


def names_of(folder: Path, tables: list[Written]) -> list[str]:
    found = [describe(folder, number, one) for number, one in enumerate(tables)]
    names = distinct_data_sets(row for _, row in found)
    return [names.get(f"run{number}", own) for number, (own, _) in enumerate(found)]


DIFFERENT: dict[str, list[Written]] = {
    "folders": [("plant/day.csv", frame(1), {}), ("lab/day.csv", frame(2), {})],
    "parts after a dot": [("run.2024.csv", frame(1), {}), ("run.2025.csv", frame(2), {})],
    "letters without ASCII": [("данные.csv", frame(1), {}), ("売上.csv", frame(2), {})],
    "accents": [("cafe.csv", frame(1), {}), ("café.csv", frame(2), {})],
    "long names": [(f"{'x' * 60}{k}.csv", frame(k), {}) for k in range(3)],
    "extensions": [("flow.csv", frame(1), {}), ("flow.txt", frame(2), {})],
    "targets": [("day.csv", frame(), {}), ("day.csv", frame(), {"target": "b"})],
    "inputs": [("day.csv", frame(), {}), ("day.csv", frame(), {"drop": ["b"]})],
    "gaps": [("day.csv", with_gap(), {"missing": kind}) for kind in ("drop", "impute")],
    "versions": [("day.csv", edited(row), {}) for row in (1, 2)],
    "folders in folders": [("1/a/day.csv", frame(1), {}), ("2/a/day.csv", frame(2), {})],
    "folders and targets": [
        *(("plant/day.csv", frame(1), {"target": target}) for target in ("y", "b")),
        *(("lab/day.csv", frame(2), {"target": target}) for target in ("y", "b")),
    ],
    "given names": [("u.csv", frame(1), {"name": "mine"}), ("v.csv", frame(2), {"name": "mine"})],
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_different_tables_have_different_names(case: str, tmp_path: Path) -> None:
    tables = DIFFERENT[case]
    names = names_of(tmp_path, tables)
    assert len({*names}) == len(tables)
    assert names_of(tmp_path, tables[::-1]) == names[::-1]
    assert not any("," in name for name in names)  # `--datasets` lists names


SAME: dict[str, list[Written]] = {
    "one file": [("day.csv", frame(), {})] * 2,
    "number of splits": [("day.csv", frame(), {"n_splits": count}) for count in (3, 20)],
    "seed of splits": [("day.csv", frame(), {"split_seed": seed}) for seed in (0, 1)],
    "kind of splits": [("day.csv", frame(), {"test_fraction": part}) for part in (0.1, 0.3)],
    "separators": [("day.csv", frame(), one) for one in ({}, {"separator": "semicolon"})],
    "a copy in another folder": [("a/day.csv", frame(), {}), ("b/day.csv", frame(), {})],
}


@pytest.mark.parametrize("case", SAME)
def test_one_table_has_one_name(case: str, tmp_path: Path) -> None:
    assert names_of(tmp_path, SAME[case]) == ["day"] * 2


def test_a_copy_with_another_name_keeps_it(tmp_path: Path) -> None:
    tables: list[Written] = [("u.csv", frame(), {}), ("v.csv", frame(), {})]
    assert names_of(tmp_path, tables) == ["u", "v"]


@pytest.fixture
def run_on(tmp_path: Path) -> Callable[..., RunFolder]:
    """Return a function that writes a run on a table of the user, all of the name `flow`."""

    def write(file: str, method: str, rmse: float, below: str = "out") -> RunFolder:
        data = file.partition("/")[0]
        prints = [f"{data}-{split}" for split in range(4)]
        folder = make_run(
            tmp_path / below, data, method=method, dataset="flow", rmse=np.array(RMSE) + rmse,
            fingerprint=prints, settings={"table__name": "flow", "table__content": data},
        )  # fmt: skip
        record = read_record(folder)
        metadata = {**record.metadata, "data": data, "file": file}
        write_record(folder, type(record)(**{**vars(record), "metadata": metadata}))
        done = folder.finished()
        assert done is not None
        sums = folder.checksums([folder.record.name])
        folder.write_done(type(done)(done.finished, done.units, {**done.files, **sums}))
        return folder

    return write


def test_runs_are_judged_by_table(run_on: Callable[..., RunFolder], tmp_path: Path) -> None:
    for file, shift in (("north/flow.csv", 0.0), ("south/flow.csv", 10.0)):
        run_on(file, "bbb_x1", shift)
        run_on(file, "vadam", shift + 1)
    runs = read_runs(tmp_path / "out")
    assert {*runs.scored["dataset"]} == {*runs.splits["dataset"]}
    verdicts = list(find_verdicts(runs.scored, all_pairs(runs), BY_KEY["rmse"]))
    assert len(verdicts) == 2
    for one in verdicts:
        assert one.scores.loc[one.best, "method"] == "bbb_x1" and len(one.others) == 1


def test_two_folders_share_the_names(run_on: Callable[..., RunFolder], tmp_path: Path) -> None:
    run_on("north/flow.csv", "bbb_x1", 0.0)
    run_on("south/flow.csv", "bbb_x1", 0.0)
    run_on("north/flow.csv", "vadam", 1.0, "theirs")
    first, second = with_distinct_data_sets([read_runs(tmp_path / n) for n in ("out", "theirs")])
    (theirs,) = second.scored["dataset"]
    assert (first.scored["dataset"] == theirs).tolist().count(True) == 1
