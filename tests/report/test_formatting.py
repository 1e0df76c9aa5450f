"""How numbers are printed."""

from __future__ import annotations

import math

import pytest

from bnnbench.report.blocks import (
    MISSING,
    describe_scores,
    format_number,
    format_z,
    plus_minus,
    two_digits,
    unit_suffix,
)


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
def test_a_deviation_has_two_significant_digits(std: float, text: str) -> None:
    assert two_digits(std) == text


def test_a_missing_number_is_a_dash() -> None:
    assert format_number(1.234, ".1f") == "1.2" and format_number(math.nan, ".1f") == MISSING


def test_a_single_split_has_no_standard_error() -> None:
    assert "standard error" not in describe_scores([1, 1])
    assert "standard error over 1 to 20 splits" in describe_scores([1, 20])


def test_the_unit_of_a_target() -> None:
    assert unit_suffix("median value [1000 USD]") == " [1000 USD]" and unit_suffix("quality") == ""


def test_a_z_that_rounds_to_zero_is_positive() -> None:
    assert [format_z(z) for z in (-0.04, -0.0, 0.04, -0.06)] == ["+0.0", "+0.0", "+0.0", "-0.1"]
    assert format_z(math.nan) == MISSING
