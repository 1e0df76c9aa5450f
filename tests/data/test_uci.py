"""The UCI sets: whole, with the published splits, and every way a file can be wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.tables import NOWHERE, SHAPES, check_splits, configured
from support.user_errors import assert_one_sentence

from bnnbench.data.uci import UCI
from bnnbench.types import UserError


@pytest.mark.parametrize("name", SHAPES)
def test_uci_set_loads_whole(name: str, data: Path) -> None:
    source, _ = configured(name, directory=str(data), base_url=NOWHERE)
    table = source.load()
    assert table.inputs.shape == SHAPES[name]
    assert table.targets.shape == SHAPES[name][:1]
    assert table.inputs.dtype == table.targets.dtype == np.float64
    assert len(set(table.features)) == SHAPES[name][1]
    assert f"{SHAPES[name][0]} x {SHAPES[name][1]}" in source.summary
    check_splits(table, 5 if name == "protein" else 20)
    # The published splits hold out a tenth of the rows.
    assert all(abs(len(s.test) - len(table.targets) / 10) < 1 for s in table.splits)


def test_seeded_splits_take_the_place_of_the_published_ones(data: Path) -> None:
    published, _ = configured("yacht", directory=str(data))
    seeded, _ = configured("yacht", directory=str(data), seeded_splits=30)
    other, _ = configured("yacht", directory=str(data), seeded_splits=30, split_seed=1)
    tables = [source.load() for source in (published, seeded, other)]
    check_splits(tables[1], 30)
    sizes = [{(len(s.train), len(s.test)) for s in table.splits} for table in tables]
    assert sizes[0] == sizes[1] == sizes[2] == {(277, 31)}
    first = [table.splits[0].test.tolist() for table in tables]
    assert first[0] != first[1] and first[1] != first[2]
    assert (tables[0].inputs == tables[1].inputs).all()
    with pytest.raises(UserError, match="seeded_splits must be a whole number"):
        UCI("yacht", seeded_splits=0)


def test_targets_are_the_right_columns(data: Path) -> None:
    boston = UCI("boston", directory=str(data), base_url=NOWHERE).load()
    assert boston.targets[:3].tolist() == [24.0, 21.6, 34.7]
    assert boston.inputs[0, [0, -1]].tolist() == [0.00632, 4.98]
    naval = UCI("naval", directory=str(data), base_url=NOWHERE).load()
    assert (naval.targets.min(), naval.targets.max()) == (0.95, 1.0)
    assert np.flatnonzero(np.ptp(naval.inputs, axis=0) == 0).tolist() == [8, 11]
    assert naval.features[8] == "column_8"


def test_split_rows_keep_the_published_order(data: Path) -> None:
    split = UCI("boston", directory=str(data), base_url=NOWHERE).load().splits[0]
    assert split.train[:2].tolist() == [307, 343]


def test_wrong_number_of_feature_names(data: Path) -> None:
    with pytest.raises(UserError) as error:
        UCI("yacht", directory=str(data), base_url=NOWHERE, features=("a", "b")).load()
    assert_one_sentence(error, "dataset.features", "6", "not 2")


def test_unknown_set() -> None:
    with pytest.raises(UserError) as error:
        UCI("bosten")
    assert_one_sentence(error, "'bosten'", "boston, concrete")


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty"])
@pytest.mark.parametrize("file", ["data.txt", "index_test_7.txt", "n_splits.txt"])
def test_corrupt_file_is_named_and_refused(yacht: Path, file: str, damage: str) -> None:
    path = yacht / "yacht/data" / file
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[0] ^= 1
    path.write_bytes(
        {"flip": bytes(content), "truncate": bytes(content[:-1]), "empty": b""}[damage]
    )
    with pytest.raises(UserError) as error:
        UCI("yacht", directory=str(yacht), base_url=NOWHERE).load()
    assert_one_sentence(error, str(path), "corrupt", f"bnnbench data fetch yacht --dir {yacht}")


def test_a_folder_must_be_named() -> None:
    with pytest.raises(UserError) as error:
        UCI("yacht", directory="")
    assert_one_sentence(error, "data_dir")
