"""Tests of OpenML tasks, with a stand-in for the package `openml` that has its interface."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnnbench.data.openml_task import OpenMLTask
from bnnbench.types import UserError

ROWS = 12


def package(kind=2, calls=None):
    frame = pd.DataFrame(
        {
            "x": [np.nan, *np.arange(1.0, ROWS) / 3],
            "code": pd.Categorical(["1", "2", "7"] * 4),
            "y": np.arange(ROWS) ** 2.0,
        }
    )
    rows = np.arange(ROWS)
    task = SimpleNamespace(
        task_type_id=kind,
        target_name="y",
        get_dataset=lambda: SimpleNamespace(
            name="toy", get_data=lambda dataset_format: (frame, None, [False, True, False], [])
        ),
        get_split_dimensions=lambda: (2, 3, 1),
        get_train_test_split_indices=lambda fold, repeat, sample: (
            rows[(rows + repeat) % 3 != fold],
            rows[(rows + repeat) % 3 == fold],
        ),
    )

    def get_task(task_id, download_splits):
        if calls is not None:
            calls.append(task_id)
        return task

    tasks = SimpleNamespace(get_task=get_task, TaskType=SimpleNamespace(SUPERVISED_REGRESSION=2))
    return SimpleNamespace(
        tasks=tasks, exceptions=SimpleNamespace(PyOpenMLError=type("E", (Exception,), {}))
    )


def source(folder):
    return OpenMLTask(task=7, directory=str(folder), missing="impute", categorical="onehot")


def test_official_splits_and_codes_are_kept_and_read_offline(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setitem(sys.modules, "openml", package(calls=calls))
    first = source(tmp_path).load()
    monkeypatch.setitem(sys.modules, "openml", None)
    table = source(tmp_path).load()
    assert calls == [7] and table.name == "toy-7" and table.target == "y"
    np.testing.assert_array_equal(first.inputs, table.inputs)
    assert table.features == ("x", "code=level 1", "code=level 2", "code=level 7")
    assert np.isnan(table.inputs[0, 0])  # filled in later, from training rows
    np.testing.assert_array_equal(table.inputs[1:, 0], np.arange(1.0, ROWS) / 3)
    np.testing.assert_array_equal(table.targets, np.arange(ROWS) ** 2.0)
    assert [split.index for split in table.splits] == [*range(6)]
    np.testing.assert_array_equal(table.splits[4].test, [0, 3, 6, 9])  # repeat 1, fold 1


@pytest.mark.parametrize("name", ["table.csv", "task.json", "SHA256SUMS"])
def test_damaged_files_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "openml", package())
    source(tmp_path).load()
    path = tmp_path / "openml" / "7" / name
    path.write_bytes(path.read_bytes().replace(b"1", b"3"))
    with pytest.raises(UserError) as caught:
        source(tmp_path).load()
    assert caught.value.code == "corrupt_file"


@pytest.mark.parametrize(
    ("module", "code"), [(None, "not_installed"), (package(kind=1), "not_regression")]
)
def test_tasks_that_cannot_be_used_are_refused(tmp_path, monkeypatch, module, code):
    monkeypatch.setitem(sys.modules, "openml", module)
    with pytest.raises(UserError) as caught:
        source(tmp_path).load()
    assert (caught.value.setting, caught.value.code) == ("dataset.task", code)
    assert not (tmp_path / "openml").exists()
