"""The UCI sets: shapes, published splits, and damaged files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tables import SHAPES, UNREACHABLE_URL, assert_valid_splits, configured_source
from support.user_errors import raises_user_error

from bnnbench.config.configs import options
from bnnbench.data.uci import UCI


@pytest.mark.parametrize("name", SHAPES)
def test_uci_set_loads_completely(name: str, data: Path) -> None:
    source, _ = configured_source(name, directory=str(data), base_url=UNREACHABLE_URL)
    table = source.load()
    assert table.inputs.shape == SHAPES[name]
    assert table.targets.shape == SHAPES[name][:1]
    assert table.inputs.dtype == table.targets.dtype == np.float64
    assert len(set(table.features)) == SHAPES[name][1]
    assert f"{SHAPES[name][0]} x {SHAPES[name][1]}" in options("dataset")[name]
    assert_valid_splits(table, 5 if name == "protein" else 20)
    # The published splits hold out a tenth of the rows.
    assert all(abs(len(s.test) - len(table.targets) / 10) < 1 for s in table.splits)


def test_seeded_splits_replace_the_published_ones(data: Path) -> None:
    published, _ = configured_source("yacht", directory=str(data))
    seeded, _ = configured_source("yacht", directory=str(data), seeded_splits=30)
    other, _ = configured_source("yacht", directory=str(data), seeded_splits=30, split_seed=1)
    tables = [source.load() for source in (published, seeded, other)]
    assert_valid_splits(tables[1], 30)
    sizes = [{(len(s.train), len(s.test)) for s in table.splits} for table in tables]
    assert sizes[0] == sizes[1] == sizes[2] == {(277, 31)}
    first = [table.splits[0].test.tolist() for table in tables]
    assert first[0] != first[1] and first[1] != first[2]
    assert (tables[0].inputs == tables[1].inputs).all()
    with raises_user_error("dataset.seeded_splits"):
        UCI("yacht", seeded_splits=0)


def test_targets_are_the_right_columns(data: Path) -> None:
    boston = UCI("boston", directory=str(data), base_url=UNREACHABLE_URL).load()
    assert boston.targets[:3].tolist() == [24.0, 21.6, 34.7]
    assert boston.inputs[0, [0, -1]].tolist() == [0.00632, 4.98]
    naval = UCI("naval", directory=str(data), base_url=UNREACHABLE_URL).load()
    assert (naval.targets.min(), naval.targets.max()) == (0.95, 1.0)
    assert np.flatnonzero(np.ptp(naval.inputs, axis=0) == 0).tolist() == [8, 11]
    assert naval.features[8] == "column_8"


def test_wrong_number_of_feature_names(data: Path) -> None:
    with raises_user_error("dataset.features", "wrong_length"):
        UCI("yacht", directory=str(data), base_url=UNREACHABLE_URL, features=("a", "b")).load()


def test_unknown_set() -> None:
    with raises_user_error("dataset.name"):
        UCI("bosten")


@pytest.mark.parametrize(
    ("file", "damage"),
    [("data.txt", "flip"), ("index_test_7.txt", "empty"), ("n_splits.txt", "truncate")],
)
def test_corrupt_file_is_named_and_refused(yacht: Path, file: str, damage: str) -> None:
    path = yacht / "yacht/data" / file
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[0] ^= 1
    path.write_bytes(
        {"flip": bytes(content), "truncate": bytes(content[:-1]), "empty": b""}[damage]
    )
    with raises_user_error(
        "data_dir", "corrupt_file", mentions=[str(path), f"fetch yacht --dir {yacht}"]
    ):
        UCI("yacht", directory=str(yacht), base_url=UNREACHABLE_URL).load()


def test_an_empty_data_dir_is_refused() -> None:
    with raises_user_error("data_dir"):
        UCI("yacht", directory="")
