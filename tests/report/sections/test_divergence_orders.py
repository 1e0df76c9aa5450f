"""Families of divergences by their order."""

from __future__ import annotations

import math

import pytest
from support.grids import make_grid
from support.runs import divergence_metadata

from bnnbench.report.sections.divergence_orders import best_orders, kl_reference, with_orders
from bnnbench.results.reader import Runs, read_runs


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Return runs with three orders of one family, two of another, and KL elsewhere."""
    path = tmp_path_factory.mktemp("grid")
    means = {("alpha", 0.5): 5, ("alpha", 2): 3, ("alpha", 3): 4, ("renyi", 2): 1, ("renyi", 3): 1}
    for (family, order), mean in means.items():
        kind = divergence_metadata(family, order)
        make_grid(path, {kind["divergence"]: mean}, **kind)
    make_grid(path, {"kl": 4.5}, experiment="other")
    return read_runs(path)


def test_a_family_needs_at_least_three_orders(grid: Runs) -> None:
    rows = with_orders(grid.scored)
    assert rows[["divergence_family", "order"]].to_numpy().tolist() == [
        ["alpha", order] for order in (0.5, 2, 3)
    ]
    assert with_orders(grid.scored[grid.scored["divergence"] == "kl"]).empty


def test_the_best_order_has_the_smallest_mean(grid: Runs) -> None:
    rmse, nll = best_orders(with_orders(grid.scored)).to_dict("records")
    assert (rmse["metric"], rmse["order"], nll["order"]) == ("rmse", 2, 2)
    assert [rmse["mean"], rmse["below"], rmse["above"]] == pytest.approx([3, 5, 3.5])
    assert rmse["stderr"] == pytest.approx(math.sqrt(0.2 / 3 / 4))
    assert nll["mean"] == pytest.approx(0.3), "a higher likelihood is a lower NLL"


def test_the_reference_is_kl_with_the_same_settings(grid: Runs) -> None:
    rows = with_orders(grid.scored)
    kl = kl_reference(grid.scored, rows)
    assert kl is not None and kl["rmse_mean"] == pytest.approx(4.5)
    assert kl_reference(grid.scored, rows.assign(depth=2)) is None


def test_a_score_without_values_is_left_out(grid: Runs) -> None:
    rows = with_orders(grid.scored).assign(rmse_mean=math.nan)
    assert best_orders(rows)["metric"].tolist() == ["log_likelihood"]
