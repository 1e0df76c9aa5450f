"""Grid search: the combinations, their order and their units."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.user_errors import raises_user_error

from bnnbench.search.base import Trial
from bnnbench.search.grid import Grid

NAMES = ("noise_precision", "prior_precision", "dropout")
BOUNDS = {"noise_precision": [1, 100], "prior_precision": [0.5, 2]}


def tried(grid: Grid, free: tuple[str, ...]) -> list[tuple[float, ...]]:
    """Return the values of all evaluations of a search, in order."""
    grid = grid.for_method(NAMES, free)
    names = (*free, *grid.training_settings)
    space = [grid.dimension(name, BOUNDS, {}) for name in names]
    history: list[Trial] = []
    for k in range(grid.iterations):
        values = grid.suggest(space, history, seed=k)
        assert tuple(values) == names
        history.append(Trial(values, 0.0, (0.0,), 0.0, 0.0))
    return [tuple(trial.values.values()) for trial in history]


NOISE, PRIOR, DROPOUT = NAMES


@pytest.mark.parametrize(
    ("values", "free", "expected"),
    [
        ({NOISE: [3], PRIOR: [2, 1]}, (NOISE, PRIOR), [(3, 2), (3, 1)]),
        ({PRIOR: [2, 1], NOISE: [3, 4]}, (NOISE, PRIOR), [(3, 2), (3, 1), (4, 2), (4, 1)]),
        ({NOISE: [3, 4], PRIOR: [2, 1]}, (PRIOR,), [(2,), (1,)]),
        ({NOISE: None}, (NOISE,), [(1,), (10,), (100,)]),
        ({NOISE: [5]}, (NOISE, PRIOR), [(5, 0.5), (5, 1), (5, 2)]),
        ({"batch_size": [8, 1]}, (PRIOR,), [(p, b) for p in (0.5, 1, 2) for b in (8, 1)]),
        ({"batch_size": [8, 1]}, (), [(8,), (1,)]),
    ],
)
def test_all_combinations_are_tried_once_in_the_order_of_the_method(
    values: dict[str, Any], free: tuple[str, ...], expected: list[tuple[float, ...]]
) -> None:
    assert tried(Grid(label="grid", values=values), free) == expected


def test_values_in_original_units_say_so() -> None:
    grid = Grid(label="grid", values_original_units={NOISE: [40, 20]})
    grid = grid.for_method(NAMES, (NOISE, PRIOR))
    found = [grid.dimension(name, BOUNDS, {}) for name in (NOISE, PRIOR)]
    assert [(d.low, d.high, d.original_units) for d in found] == [(20, 40, True), (0.5, 2, False)]
    in_units = Grid(label="grid").dimension(NOISE, BOUNDS, {NOISE: [4, 9]})
    assert (in_units.values, in_units.original_units) == ((4, 6, 9), True)


@pytest.mark.parametrize(("values", "ends"), [([3], []), ([3, 5, 9], [3, 9])])
def test_a_bound_is_the_end_of_several_values(values: list[float], ends: list[float]) -> None:
    dimension = Grid(label="grid", values={NOISE: values}).for_method(NAMES, (NOISE,))
    space = dimension.dimension(NOISE, {}, {})
    assert [value for value in values if space.at_bound(value)] == ends


@pytest.mark.parametrize(
    ("settings", "setting", "code"),
    [
        ({"values": [1, 2]}, "search.values", "not_a_mapping"),
        ({"values": {NOISE: 3}}, f"search.values.{NOISE}", "not_a_list"),
        ({"values": {NOISE: []}}, f"search.values.{NOISE}", "not_a_list"),
        ({"values": {NOISE: [1, 1]}}, f"search.values.{NOISE}", "not_distinct"),
        ({"values": {NOISE: [0]}}, f"search.values.{NOISE}", None),
        ({"values": {NOISE: [math.inf]}}, f"search.values.{NOISE}", None),
        ({"values": {"batch_size": [1.5]}}, "search.values.batch_size", None),
        ({"values": {NOISE: [1]}, "values_original_units": {NOISE: [1]}},
         f"search.values.{NOISE}", "two_units"),
        ({"held_out_fraction": 1}, "search.held_out_fraction", None),
    ],
)  # fmt: skip
def test_wrong_lists_are_refused(settings: dict[str, Any], setting: str, code: str | None) -> None:
    with raises_user_error(setting, code):
        Grid(label="grid", **settings)


@pytest.mark.parametrize(
    ("group", "name"),
    [("values", "drop"), ("values_original_units", DROPOUT),
     ("values_original_units", "batch_size")],
)  # fmt: skip
def test_lists_of_unknown_names_are_refused(group: str, name: str) -> None:
    grid = Grid(label="grid", **{group: {name: [1]}})  # type: ignore[arg-type]
    with raises_user_error(f"search.{group}.{name}", "unknown"):
        grid.for_method(NAMES, NAMES)


@pytest.mark.parametrize("group", ["values", "values_original_units"])
def test_a_precision_that_the_likelihood_lacks_is_not_searched(group: str) -> None:
    grid = Grid(label="grid", **{group: {NOISE: [1, 2]}})  # type: ignore[arg-type]
    grid = grid.for_method((PRIOR,), (PRIOR,))
    assert (grid.iterations, grid.values, grid.values_original_units) == (3, {}, {})


def test_a_hyper_parameter_without_values_and_bounds_is_refused() -> None:
    with raises_user_error(f"method.{DROPOUT}", "no_bounds"):
        Grid(label="grid").dimension(DROPOUT, BOUNDS, {})
