"""Gap and tail splits: the published rows, the rule for other tables, and ties."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from importlib.resources import files

import numpy as np
import pytest
from support.tables import SHAPES, assert_valid_splits, configured_source
from support.user_errors import raises_user_error

from bnnbench.data.regions import GAP, TAIL, Regions, published_gaps, rows_in_region
from bnnbench.types import Table

TRUE_GAPS = {
    "boston": 8, "concrete": 3, "energy": 0, "kin8nm": 8, "naval": 12, "power": 4, "protein": 9,
    "wine": 10, "yacht": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Own:
    """A source of a given table."""

    table: Table
    name: str = "own"

    def load(self) -> Table:
        return self.table


def own_table(inputs: np.ndarray) -> Table:
    names = tuple(f"x{k}" for k in range(inputs.shape[1]))
    return Table("own", inputs, np.arange(len(inputs), dtype=float), (), names, "y")


def test_the_published_rows_are_intact() -> None:
    folder = files("bnnbench.data")
    digest = hashlib.sha256(folder.joinpath("gap_splits.npz").read_bytes()).hexdigest()
    assert digest in folder.joinpath("gap_splits.LICENSE.txt").read_text("utf-8")
    gaps = {name: published_gaps(name, rows) for name, (rows, _) in SHAPES.items()}
    assert {name: mask.shape[::-1] for name, mask in gaps.items()} == SHAPES
    # A third of the rows, up to rounding.
    assert all((abs(mask.mean(1) - 1 / 3) < 0.005).all() for mask in gaps.values())


@pytest.mark.parametrize("name", SHAPES)
def test_gaps_of_uci_sets(name: str) -> None:
    source, _ = configured_source(name)
    regions = Regions(source, GAP, inside=0)
    table = regions.load()
    assert table.name == f"{name}_gap"
    assert_valid_splits(table, SHAPES[name][1])
    found = list(regions.regions(table))
    assert sum(region.is_true for region in found) == TRUE_GAPS[name]
    for split, region in zip(table.splits, found, strict=True):
        values = table.inputs[:, region.feature]
        assert np.array_equal(split.test, np.flatnonzero(region.tested))
        # No training row lies between the edges of the gap.
        assert not ((values[split.train] > region.low) & (values[split.train] < region.high)).any()
    if name == "kin8nm":  # whose values are distinct
        assert all(
            np.array_equal(region.tested, rows_in_region(table.inputs[:, region.feature], GAP))
            for region in found
        )


@pytest.mark.parametrize("rows", [12, 13, 308])
def test_regions_of_distinct_values(rows: int) -> None:
    values = np.random.default_rng(0).permutation(rows).astype(float)
    gap, tail = rows_in_region(values, GAP), rows_in_region(values, TAIL)
    assert np.array_equal(gap, (values >= (rows - 1) / 3) & (values <= 2 * (rows - 1) / 3))
    assert np.array_equal(tail, (values < (rows - 1) / 6) | (values > 5 * (rows - 1) / 6))


def test_rows_outside_the_region_are_tested_too() -> None:
    table = own_table(np.random.default_rng(0).normal(size=(60, 2)))
    for kind in (GAP, TAIL):
        regions = Regions(Own(table), kind, inside=0.2)
        loaded = regions.load()
        assert_valid_splits(loaded, 2)
        for split, region in zip(loaded.splits, regions.regions(table), strict=True):
            count = int(region.tested.sum())
            assert region.tested[split.test[:count]].all()
            assert not region.tested[split.test[count:]].any()
            assert len(split.test) - count == round(0.2 * (60 - count))
        again = Regions(Own(table), kind, inside=0.2).load()
        assert np.array_equal(again.splits[0].test, loaded.splits[0].test)


def test_ties_at_the_edges_are_counted() -> None:
    binary = np.repeat([0.0, 1.0], 15)
    table = own_table(np.stack([np.arange(30.0), binary], 1))
    first, second = Regions(Own(table), GAP).regions(table)
    assert first.is_true and first.ties == 2 / 30
    assert not second.is_true and (second.ties, second.distinct) == (1.0, 2)


def test_tables_without_regions() -> None:
    table = own_table(np.arange(30.0)[:, None])
    missing = replace(table, inputs=np.where(table.inputs == 3, np.nan, table.inputs))
    with raises_user_error("dataset.missing", "missing_inputs"):
        Regions(Own(missing)).load()
    with raises_user_error("dataset.group", "grouped"):
        Regions(Own(replace(table, groups=np.arange(30)))).load()
    with raises_user_error("dataset", "too_few_training_rows"):
        Regions(Own(own_table(np.arange(6.0)[:, None]))).load()
