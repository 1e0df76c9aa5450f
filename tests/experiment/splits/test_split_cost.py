"""Estimated seconds of groups of splits, and sizes of stacks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.config import compose

from bnnbench.config.assemble import assemble_experiment
from bnnbench.experiment.splits.split_cost import (
    EVALUATION_SECONDS,
    group_seconds,
    max_stacked_replicas,
)
from bnnbench.experiment.splits.split_plan import SplitPlan
from bnnbench.settings import Network, Training

SIZES = {
    **{"rows": 455, "batch": 32, "splits": 1, "folds": 5, "out_of_fold": True},
    **{"searched": 5, "validated": 1},
}


def seconds(iterations: int, native: bool = True, **sizes: int) -> float:
    return group_seconds(
        Network(), Training(), **{**SIZES, **sizes}, iterations=iterations, native=native
    )


def test_evaluations_add_up() -> None:
    one, none = (seconds(iterations) for iterations in (1, 0))
    assert seconds(30) == pytest.approx(none + 30 * (one - none))
    assert one - none > EVALUATION_SECONDS


def test_native_code_is_several_times_as_fast() -> None:
    assert 3 < (seconds(30, native=False) / seconds(30)) < 15


def test_twice_the_rows_and_splits_take_almost_twice_as_long() -> None:
    assert 1.5 < seconds(30, rows=910) / seconds(30) < 2
    assert 1.5 < seconds(30, splits=2) / seconds(30) < 2


MEASURED = pd.read_csv(Path(__file__).parents[3] / "docs/results/speed.csv", index_col=0)
"""Seconds on an idle machine."""

OTHERS = [
    method
    for method in (
        *("map", "mc_dropout_x1", "practical_vi", "svgd", "svgd_liu2016", "bb_alpha_dropout"),
        *("dvi", "renyi_vi_2016"),
    )
    if f"one Boston split, {method}" in MEASURED.index
]


@pytest.mark.parametrize(
    "method",
    [
        *("vadam", "deep_ensemble", "sgld"),
        *(pytest.param(method, marks=pytest.mark.slow) for method in OTHERS),
    ],
)
def test_estimates_are_within_a_factor_of_two(method: str) -> None:
    words = [f"method={method}", "dataset=boston", "splits=1", "evaluation.out_of_fold=false"]
    experiment = assemble_experiment(compose(*words)).resolved()
    assert isinstance(experiment, SplitPlan)
    assert 0.5 < experiment.cost(1) / MEASURED.loc[f"one Boston split, {method}", "value"] < 2


def test_the_books_protocol_on_boston_takes_over_a_second_a_split() -> None:
    """Measured: 1.4 s, including the suggestions of the search."""
    assert 1 < seconds(30) < 2


def test_a_stack_of_large_networks_is_small() -> None:
    assert max_stacked_replicas(Network(), Training()) == 5
    assert max_stacked_replicas(Network(width=1000), Training()) == 1
    assert max_stacked_replicas(Network(), Training(), predicted=10**8) == 1


def test_all_rows_at_once_and_three_wide_layers_take_seconds() -> None:
    """Measured: 0.67 s per split of the GVI comparison with KL and a recorded objective."""
    network, training = Network(width=100, depth=3), Training(final_epochs=100, samples=10)
    sizes = {**SIZES, "batch": 455, "out_of_fold": False}
    assert 0.4 < group_seconds(network, training, **sizes, iterations=0, native=True) < 1
