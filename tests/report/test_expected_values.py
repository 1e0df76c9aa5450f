"""The report over a fixed set of runs says what it has always said, number by number."""

from __future__ import annotations

import difflib
from pathlib import Path

import pandas as pd
import pytest
from support.report_set import EXPECTED, make_set, tables_of

Report = tuple[dict[str, pd.DataFrame], str]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("outputs")
    make_set(path)
    return tables_of(path)


NAMES = sorted(path.stem for path in EXPECTED.glob("*.csv"))


def test_it_has_the_tables_that_it_had(report: Report) -> None:
    assert sorted(report[0]) == NAMES and len(NAMES) >= 11


@pytest.mark.parametrize("name", NAMES)
def test_tables_hold_the_same_values(report: Report, tmp_path: Path, name: str) -> None:
    report[0][name].to_csv(tmp_path / "new.csv", index=False)
    # Recalibration is found by an optimiser, whose last digits are the machine's.
    closeness = 1e-5 if name == "calibration" else 1e-12
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "new.csv"),
        pd.read_csv(EXPECTED / f"{name}.csv"),
        rtol=closeness,
        atol=1e-12,
    )


def test_the_page_reads_the_same(report: Report) -> None:
    """But for the rows that count the statements of a method's source, which follow the source."""
    old, new = (EXPECTED / "results.md").read_text(), report[1]
    counted = ("Medium", "None", "Very hard", "Very easy")
    changed = [
        line
        for line in difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
        if not any(f" {word} " in line for word in counted) and line[:2] not in ("--", "++", "@@")
    ]
    assert changed == []
