"""The thesis's tables, and scores of exact posterior draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bnnbench.suites.lam_density_ratio.comparison.published import (
    AVERAGE_KL_FLOOR,
    MIN_NELBO,
    Cell,
    floor_of,
    min_nelbo,
    printed_tables,
    published_values,
)
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVATIONS, log_evidence


def test_all_rows_of_all_tables() -> None:
    assert {name: len(rows) for name, rows in printed_tables().items()} == {
        "5.1": 4, "6.1": 4, "8.1": 6, "8.2": 6, "9.1": 6, "9.2": 6,
    }  # fmt: skip
    assert len(published_values()) == 2 * 6 * 2 + 2
    assert all(own.size == 30 and own.std > 0 for own in published_values().values())


def test_both_printed_values_of_the_classifier_of_chapter_5_are_kept() -> None:
    cell, tables = Cell("optimal", "joint", "gan", "class_probability"), printed_tables()
    assert tables["5.1"][cell].mean == 1.3688 and tables["8.2"][cell].mean == 1.3648
    assert published_values()[cell].mean == 1.3648


def test_chapter_6_repeats_the_relu_of_chapter_5() -> None:
    first, second = (printed_tables()[name] for name in ("5.1", "6.1"))
    relus = [cell for cell in second if cell.estimator == "relu_ratio"]
    assert [second[c] for c in relus] == [first[c] for c in relus]
    assert [cell.contrast for cell in second] == ["prior", "prior", "joint", "joint"]


def test_the_floors_are_those_of_the_evidence() -> None:
    evidence = -np.mean([log_evidence(x) for x in OBSERVATIONS])
    assert evidence == pytest.approx(MIN_NELBO, abs=1e-5)
    assert AVERAGE_KL_FLOOR - (evidence - math.log(4 * math.pi)) == pytest.approx(0.0041, abs=5e-4)
    # No mean of the thesis is below the floor.
    assert all(own.mean > AVERAGE_KL_FLOOR for own in published_values().values())


def test_other_data_have_other_floors() -> None:
    assert math.isnan(floor_of([0.0, 5.0])) and floor_of(list(OBSERVATIONS)) == AVERAGE_KL_FLOOR
    assert math.isnan(min_nelbo("prior", [1.0], "data"))
    assert min_nelbo("joint", OBSERVATIONS, "model") == 0
    assert math.isinf(min_nelbo("joint", OBSERVATIONS, "data"))
