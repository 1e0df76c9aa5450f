"""CPU times relative to `map`, as stored with the package."""

from __future__ import annotations

import pytest

from bnnbench.config.configs import options
from bnnbench.results.reference.relative_costs import (
    BASE,
    RelativeCost,
    cost_cell,
    describe_cost,
    relative_costs,
)

EVERY = ("boston", "concrete", "energy", "wine", "yacht")


def test_stored_costs_are_of_methods_on_the_data_sets_of_map() -> None:
    costs = relative_costs()
    assert costs.keys() <= {*options("method")} and costs[BASE] == RelativeCost(1.0, EVERY)
    for cost in costs.values():
        assert cost.ratio > 0 and {*cost.datasets} <= {*EVERY}


@pytest.mark.parametrize(
    ("ratio", "datasets", "cell"),
    [
        (4.012, EVERY, "4.0"),
        (0.01438, EVERY, "0.014"),
        (15.13, ("boston", "yacht"), "15 (2)"),
        (9.96, EVERY, "10"),
        (1234.0, EVERY[:1], "1234 (1)"),
    ],
)
def test_cells_have_two_digits_and_the_number_of_data_sets_if_they_are_few(
    ratio: float, datasets: tuple[str, ...], cell: str
) -> None:
    cost = RelativeCost(ratio, datasets)
    assert cost_cell(cost) == cell
    described = describe_cost(cost)
    assert cell.split()[0] in described and all(name in described for name in datasets)
    assert not any(name in described for name in {*EVERY} - {*datasets})


def test_a_method_without_stored_runs_has_an_empty_cell_and_a_reason() -> None:
    assert cost_cell(None) == ""
    assert "unknown" in describe_cost(None) and all(name in describe_cost(None) for name in EVERY)
