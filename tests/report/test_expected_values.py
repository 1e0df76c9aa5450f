"""The numbers in the report over a fixed set of runs do not change.

`report/expected` contains every table of the report at full precision, and the printed numbers of
the generic sections. To regenerate these files, run in `tests`:

    python -m support.report_set
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from support.report_set import EXPECTED, NUMBERS, Numbers, make_runs, read_report

Report = tuple[dict[str, pd.DataFrame], Numbers]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("outputs")
    make_runs(path)
    return read_report(path)


NAMES = sorted(path.stem for path in EXPECTED.glob("*.csv"))


@pytest.mark.ci
def test_the_report_has_the_expected_tables(report: Report) -> None:
    assert sorted(report[0]) == NAMES and len(NAMES) >= 11


@pytest.mark.parametrize("name", NAMES)
def test_tables_have_the_expected_values(report: Report, tmp_path: Path, name: str) -> None:
    report[0][name].to_csv(tmp_path / "new.csv", index=False)
    # Recalibration uses an optimiser, whose last digits depend on the machine.
    closeness = 1e-5 if name == "calibration" else 1e-12
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "new.csv"),
        pd.read_csv(EXPECTED / f"{name}.csv"),
        rtol=closeness,
        atol=1e-12,
    )


def test_printed_numbers_are_as_expected(report: Report) -> None:
    assert report[1] == json.loads(NUMBERS.read_text())
