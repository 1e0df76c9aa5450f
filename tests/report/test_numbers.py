"""How numbers are printed."""

from __future__ import annotations

import math

import pytest

from bnnbench.report.numbers import MISSING, number, plus_minus, spread, statement, unit_of, z_value


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (3.4567, 0.1432, "3.46 ± 0.14"),
        (3.4567, 0.0996, "3.46 ± 0.10"),
        (0.0054671, 0.000072, "0.005467 ± 0.000072"),
        (1813.4, 120.3, "1813 ± 120"),
        (0.1, math.nan, "0.1"),
        (0.2, 3e-17, "0.2"),
        (math.nan, 1.0, MISSING),
    ],
)
def test_plus_minus_gives_both_numbers_the_same_decimals(
    mean: float, error: float, text: str
) -> None:
    assert plus_minus(mean, error) == text


@pytest.mark.parametrize(
    ("std", "text"),
    [
        (0.1018, "0.10"), (2.96, "3.0"), (9.97, "10"), (12345.6, "12346"), (0.00687, "0.0069"),
        (0.0, "0"), (math.nan, MISSING),
    ],
)  # fmt: skip
def test_a_deviation_has_the_digits_of_an_error(std: float, text: str) -> None:
    assert spread(std) == text


def test_a_missing_number_is_a_dash() -> None:
    assert number(1.234, ".1f") == "1.2" and number(math.nan, ".1f") == MISSING


def test_a_single_split_has_no_standard_error() -> None:
    assert statement([1, 1]).startswith("value on one split; ")
    assert statement([1, 20]).startswith("mean ± standard error over 1 to 20 splits; ")


def test_the_unit_of_a_target() -> None:
    assert unit_of("median value [1000 USD]") == " [1000 USD]" and unit_of("quality") == ""


def test_a_z_that_rounds_to_nothing_has_no_minus() -> None:
    assert [z_value(z) for z in (-0.04, -0.0, 0.04, -0.06)] == ["+0.0", "+0.0", "+0.0", "-0.1"]
    assert z_value(math.nan) == MISSING
