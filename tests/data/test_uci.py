"""The UCI sets that ship with the package: their tables, splits and settings."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from support.tables import SHAPES, assert_valid_splits, configured_source
from support.user_errors import raises_user_error

from bnnbench.config.configs import options
from bnnbench.data.bundled import N_SPLITS
from bnnbench.types import Table

RECORDED = json.loads(Path(__file__).with_name("uci.json").read_text())
"""SHA-256 of each table and of the indices of each split, of the published files."""


def load(option: str, /, **changes: object) -> Table:
    return configured_source(option, **changes)[0].load()


def sha256(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


@pytest.mark.parametrize("name", SHAPES)
def test_tables_and_splits_are_the_published_ones(name: str) -> None:
    table = load(name)
    assert table.inputs.shape == SHAPES[name]
    assert table.inputs.dtype == table.targets.dtype == np.float64
    assert_valid_splits(table, N_SPLITS[name])
    assert sha256(table.inputs, table.targets) == RECORDED[name]["table"]
    indices = [
        [sha256(part.astype(np.int64)) for part in (split.train, split.test)]
        for split in table.splits
    ]
    assert indices == RECORDED[name]["splits"]


@pytest.mark.parametrize("name", SHAPES)
def test_the_list_states_the_size_of_a_set(name: str) -> None:
    rows, inputs = SHAPES[name]
    size = f"{rows:,} rows, {inputs} inputs, {N_SPLITS[name]} splits ("
    assert options("dataset")[name].startswith(size)


def test_seeded_splits_replace_the_published_ones() -> None:
    seeds = ({}, {"seeded_splits": 30}, {"seeded_splits": 30, "split_seed": 1})
    tables = [load("yacht", **settings) for settings in seeds]
    assert_valid_splits(tables[1], 30)
    sizes = [{(len(s.train), len(s.test)) for s in table.splits} for table in tables]
    assert sizes[0] == sizes[1] == sizes[2] == {(277, 31)}
    first = [table.splits[0].test.tolist() for table in tables]
    assert first[0] != first[1] and first[1] != first[2]
    assert (tables[0].inputs == tables[1].inputs).all()


def test_targets_are_the_right_columns() -> None:
    boston, naval = load("boston"), load("naval")
    assert boston.targets[:3].tolist() == [24.0, 21.6, 34.7]
    assert boston.inputs[0, [0, -1]].tolist() == [0.00632, 4.98]
    assert (naval.targets.min(), naval.targets.max()) == (0.95, 1.0)
    constant = np.flatnonzero(np.ptp(naval.inputs, axis=0) == 0)
    assert [naval.features[column] for column in constant] == ["T1", "P1"]


@pytest.mark.parametrize(
    ("changes", "setting", "code"),
    [
        ({"features": ["a", "b"]}, "dataset.features", "wrong_length"),
        ({"features": "a"}, "dataset.features", None),
        ({"seeded_splits": 0}, "dataset.seeded_splits", None),
        ({"name": "bosten"}, "dataset.name", None),
    ],
)
def test_wrong_settings_are_refused(
    changes: dict[str, object], setting: str, code: str | None
) -> None:
    with raises_user_error(setting, code):
        load("yacht", **changes)
