"""Cells of tables of pairs."""

from __future__ import annotations

import math

import pytest
from rich.console import Console
from support.pairs import pairwise_results

from bnnbench.report.blocks import MISSING
from bnnbench.report.comparisons import pair_tables
from bnnbench.report.renderers import terminal
from bnnbench.report.sections.significance import difference_cell, p_value_text


@pytest.mark.parametrize(
    ("difference", "half", "mean", "expected"),
    [
        (-1e-8, 2.2e-7, 2.859, "0"),
        (4e-8, 1.2e-7, 2.859, "0"),
        (4e-8, 0.1, 2.859, "+0.00 [-0.10, 0.10]"),
        (-0.2, 0.31, 2.859, "-0.20 [-0.51, 0.11]"),
        (4e-8, 1.2e-8, 1e-7, "+0.000000040 [0.000000028, 0.000000052]"),
    ],
)
def test_differences_by_rounding_are_zero(
    difference: float, half: float, mean: float, expected: str
) -> None:
    ends = {"low": difference - half, "high": difference + half}
    assert difference_cell({"difference": difference, "mean_b": mean, **ends}) == expected


def test_a_missing_difference_is_a_dash() -> None:
    pair = dict.fromkeys(("difference", "low", "high", "mean_b"), math.nan)
    assert difference_cell(pair) == MISSING


def test_tables_of_pairs_with_long_names_fit_into_80_columns() -> None:
    """Names as long as `laplace_evidence` are on one line with all numbers."""
    pairs = pairwise_results({"laplace_evidence": 0.0, "mc_dropout_x10": 3.0}, noise=0.5)
    named = pairs.assign(a=pairs["run_a"], b=pairs["run_b"])
    console = Console(width=80)
    with console.capture() as text:
        console.print(terminal.Grid(pair_tables(named[named["metric"] == "rmse"], "RMSE")))
    (line,) = [one for one in text.get().splitlines() if "laplace_evidence" in one]
    name, other, difference, low, high, *rest = line.split()
    assert (name, other, difference) == ("laplace_evidence", "mc_dropout_x10", "+3.00")
    assert low.startswith("[") and high.endswith("]") and len(rest) == 3


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (1.0, "1.000"), (0.0512, "0.051"), (0.0504, "0.05040"), (0.04999, "0.04999"),
        (0.0012, "0.001"), (0.0009, "<0.001"), (0.0, "<0.001"),
    ],
)  # fmt: skip
def test_a_printed_p_value_is_on_the_same_side_of_the_level(p: float, expected: str) -> None:
    assert p_value_text(p) == expected
