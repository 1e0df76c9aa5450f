"""Estimated seconds of groups of splits, and sizes of stacks."""

from __future__ import annotations

import pytest

from bnnbench.experiment.split_cost import FIT_SECONDS, group_seconds, max_stacked_replicas
from bnnbench.settings import Network, Training

SIZES = {"rows": 455, "batch": 32, "splits": 1, "folds": 5, "out_of_fold": True}


def seconds(iterations: int, native: bool = True, **sizes: int) -> float:
    return group_seconds(
        Network(), Training(), **{**SIZES, **sizes}, iterations=iterations, native=native
    )


def test_evaluations_add_up() -> None:
    one, none = (seconds(iterations) for iterations in (1, 0))
    assert seconds(30) == pytest.approx(none + 30 * (one - none))
    assert one - none > FIT_SECONDS


def test_native_code_is_several_times_as_fast() -> None:
    assert 3 < (seconds(30, native=False) / seconds(30)) < 15


def test_twice_the_rows_and_splits_take_twice_as_long() -> None:
    assert seconds(0, rows=910) == pytest.approx(2 * seconds(0), rel=0.05)
    assert seconds(30, splits=2) == pytest.approx(2 * seconds(30), rel=0.05)


def test_the_books_protocol_on_boston_takes_three_seconds_a_split() -> None:
    """Measured: 2.6 s, including the suggestions of the search."""
    assert 2 < seconds(30) < 4


def test_a_stack_of_large_networks_is_small() -> None:
    assert max_stacked_replicas(Network(), Training()) == 5
    assert max_stacked_replicas(Network(width=1000), Training()) == 1
    assert max_stacked_replicas(Network(), Training(), predicted=10**8) == 1


def test_all_rows_at_once_and_three_wide_layers_take_seconds() -> None:
    """Measured: 0.67 s per split of the GVI comparison with KL and a recorded objective."""
    network, training = Network(width=100, depth=3), Training(final_epochs=100, samples=10)
    sizes = {**SIZES, "batch": 455, "out_of_fold": False}
    assert 0.4 < group_seconds(network, training, **sizes, iterations=0, native=True) < 1
