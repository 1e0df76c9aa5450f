"""What the thesis prints, and what exact posterior draws score."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bnnbench.suites.lam_density_ratio.comparison.published import (
    FLOOR,
    LEAST_NELBO,
    Cell,
    everything,
    floor_of,
    least_nelbo,
    printed,
)
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVED, log_evidence


def test_all_rows_of_all_tables() -> None:
    assert {name: len(rows) for name, rows in printed().items()} == {
        "5.1": 4, "6.1": 4, "8.1": 6, "8.2": 6, "9.1": 6, "9.2": 6,
    }  # fmt: skip
    assert len(everything()) == 2 * 6 * 2 + 2
    assert all(own.size == 30 and own.std > 0 for own in everything().values())


def test_the_classifier_of_chapter_5_stands_as_printed_twice() -> None:
    cell = Cell("optimal", "joint", "gan", "D")
    assert printed()["5.1"][cell].mean == 1.3688 and printed()["8.2"][cell].mean == 1.3648
    assert everything()[cell].mean == 1.3648


def test_chapter_6_repeats_the_relu_of_chapter_5() -> None:
    relus = [cell for cell in printed()["6.1"] if cell.estimator == "relu"]
    assert [printed()["6.1"][c] for c in relus] == [printed()["5.1"][c] for c in relus]
    assert [cell.contrast for cell in printed()["6.1"]] == ["prior", "prior", "joint", "joint"]


def test_the_floors_are_those_of_the_evidence() -> None:
    evidence = -np.mean([log_evidence(x) for x in OBSERVED])
    assert evidence == pytest.approx(LEAST_NELBO, abs=1e-5)
    assert FLOOR - (evidence - math.log(4 * math.pi)) == pytest.approx(0.0041, abs=5e-4)
    # No mean of the thesis is below it by more than chance.
    assert all(own.mean > FLOOR for own in everything().values())


def test_other_data_have_other_floors() -> None:
    assert math.isnan(floor_of([0.0, 5.0])) and floor_of(list(OBSERVED)) == FLOOR
    assert math.isnan(least_nelbo("prior", [1.0], "data"))
    assert least_nelbo("joint", OBSERVED, "model") == 0
    assert math.isinf(least_nelbo("joint", OBSERVED, "data"))
