"""CPU time of a split by method, relative to that of `map`, from the reference results."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bnnbench.notes import decimals_of, join_words

STORED = Path(__file__).with_name("relative_costs.csv")
"""Ratio and data sets by method; `docs/tools/update_pages.py` writes it from the reference results.
It is read without pandas, whose import would take longer than `bnnbench list`."""

BASE = "map"
"""The method with ratio 1."""

COUNTED = "search, training, predictions, scores"
"""The parts of the CPU seconds of a split."""


@dataclass(frozen=True)
class RelativeCost:
    """The CPU time of a method relative to that of `map`.

    Attributes:
        ratio: geometric mean over data sets; of each data set, the median over splits of either
            method, in units of a fixed fit on the same machine.
        datasets: those on which both methods have stored runs.
    """

    ratio: float
    datasets: tuple[str, ...]


@cache
def relative_costs() -> Mapping[str, RelativeCost]:
    """Return the costs by method; a method without stored runs is missing."""
    with STORED.open(encoding="utf-8", newline="") as file:
        return {
            row["method"]: RelativeCost(float(row["ratio"]), tuple(row["datasets"].split()))
            for row in csv.DictReader(file)
        }


def cost_cell(cost: RelativeCost | None) -> str:
    """Return the ratio, followed by its number of data sets if `map` has more; empty for None."""
    if cost is None:
        return ""
    every = len(relative_costs()[BASE].datasets)
    few = f" ({len(cost.datasets)})" if len(cost.datasets) < every else ""
    return f"{_text(cost.ratio)}{few}"


def describe_cost(cost: RelativeCost | None) -> str:
    """Describe the cost of a method in a line; if it is None, say why."""
    title = f"CPU seconds of a split ({COUNTED}), relative to {BASE}"
    if cost is None:
        every = join_words(relative_costs()[BASE].datasets)
        return f"{title}: unknown, since none of the stored runs on {every} is of this method"
    return f"{title}: {_text(cost.ratio)} in stored runs on {join_words(cost.datasets)}"


def cost_footnotes() -> tuple[str, str]:
    """Return what the column of ratios shows, and over which data sets."""
    return (
        f"CPU / {BASE}: CPU seconds of a split ({COUNTED}), relative to {BASE} on the same data "
        "sets, in stored runs on the published splits, at equal machine speed; the code of these "
        "runs may be older",
        f"geometric mean over {join_words(relative_costs()[BASE].datasets)}; (n): over n of them; "
        "empty: no such run is stored",
    )


def _text(ratio: float) -> str:
    """Return two significant digits, without an exponent."""
    return f"{ratio:.{decimals_of(ratio)}f}"
