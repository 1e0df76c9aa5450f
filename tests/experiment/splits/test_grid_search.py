"""Runs with a grid search: validation on the last training rows, and a searched batch size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.config import compose
from support.tiny_runs import Planner, finished
from support.user_errors import raises_user_error

from bnnbench.config.assemble import available_inputs, build
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.splits.folds import rows_before, validation_parts
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.split_files import SEARCH
from bnnbench.methods.deep_ensemble import DeepEnsemble
from bnnbench.methods.mc_dropout import MCDropout

GRID = ("search=grid", "search.held_out_fraction=0.2", "evaluation.out_of_fold=false")
FIXED = ("method.noise_precision=10", "method.prior_precision=1")


def split_experiment(run: Run) -> SplitExperiment:
    assert isinstance(run.experiment, SplitExperiment)
    return run.experiment


def test_the_last_rows_of_each_training_part_are_held_out(tiny: Planner) -> None:
    experiment = split_experiment(tiny(*GRID))
    table, splits = experiment.table, experiment.table.splits[:2]
    parts = validation_parts(experiment.fitting, table, splits, experiment.search)
    assert parts.count == 1
    for split, rows, fitted in zip(splits, parts.rows, parts.data.counts, strict=True):
        kept = int(0.8 * len(split.train))
        np.testing.assert_array_equal(rows, split.train[kept:])
        assert int(fitted) == kept


@pytest.mark.parametrize(
    ("fraction", "rows", "expected"), [(0.2, 277, 221), (0.8, 10, 2), (0.9, 10, 1), (0.5, 3, 1)]
)
def test_rounding_does_not_hold_out_another_row(fraction: float, rows: int, expected: int) -> None:
    assert rows_before(fraction, rows) == expected


def test_every_combination_has_one_fit_and_the_best_is_fitted(tiny: Planner) -> None:
    run = tiny(*GRID, "search.values.prior_precision=[0.1,1]", "search.values.noise_precision=[5]")
    folder, table = finished(run)
    trials = pd.read_csv(folder.table(SEARCH))
    assert trials.groupby("split").size().tolist() == [2, 2]
    assert "fold_1" not in trials and (trials["fold_0"] == trials["objective"]).all()
    best = trials.loc[trials.groupby("split")["objective"].idxmax()]
    assert [*table["hp.prior_precision"]] == [*best["hp.prior_precision"]]
    assert set(table["hp.noise_precision"]) == {5}


def test_a_searched_batch_size_is_used_in_the_final_fit(tiny: Planner) -> None:
    """The run equals one with the batch size that the search chose."""
    run = tiny(*GRID, *FIXED, "search.values.batch_size=[4,16]", "splits=[0]")
    assert not split_experiment(run).lockstep
    folder, table = finished(run)
    assert len(pd.read_csv(folder.table(SEARCH))["objective"].unique()) == 2
    chosen, other = (16, 4) if table["hp.batch_size"][0] == 16 else (4, 16)
    same, different = (
        finished(tiny("search=none", *FIXED, f"training.batch_size={size}", "splits=[0]",
                      "evaluation.out_of_fold=false"))[1]
        for size in (chosen, other)
    )  # fmt: skip
    assert same["rmse"][0] == table["rmse"][0] != different["rmse"][0]


def test_splits_with_their_own_batch_sizes_are_never_stacked(tiny: Planner) -> None:
    run = tiny(*GRID, *FIXED, "search.values.batch_size=[4,16]")
    experiment = replace(split_experiment(run), device="cuda")
    assert [len(group) for group in experiment.groups(experiment.units())] == [1, 1]


def test_a_search_may_fit_fewer_members_than_the_final_ensemble(tiny: Planner) -> None:
    words = ("method=deep_ensemble", *GRID, *FIXED, "splits=[0]")
    objectives, scores = [], []
    for searched, members in (("1", 3), ("null", 3), ("null", 1)):
        folder, table = finished(
            tiny(*words, "search.values.batch_size=[8]", f"method.searched_members={searched}",
                 f"method.members={members}")
        )  # fmt: skip
        objectives.append(pd.read_csv(folder.table(SEARCH))["objective"][0])
        scores.append(table["rmse"][0])
    assert objectives[0] == objectives[2] != objectives[1]
    assert scores[0] == scores[1] != scores[2]


@pytest.mark.parametrize(
    ("words", "setting", "code"),
    [
        ("search.values.drop=[1]", "search.values.drop", "unknown"),
        ("method=mc_dropout search.values.dropout=[1.5]", "method.dropout", None),
        ("+method.protocol.grid.drop=[1]", "search.values.drop", "unknown"),
        ("method=pbp search.values.batch_size=[1]", "search.values.batch_size", "no_effect"),
        ("search.held_out_fraction=0.999", "search.held_out_fraction", "too_large"),
    ],
)
def test_a_grid_that_cannot_be_searched_is_refused(
    tiny: Planner, words: str, setting: str, code: str | None
) -> None:
    given = [f"+{w}" if w.startswith("search.values.drop=") else w for w in words.split()]
    with raises_user_error(setting, code):
        tiny("search=grid", *given)


@pytest.mark.parametrize(
    ("words", "tried"),
    [
        # `ratio` stands for a hyper-parameter of a user's method, which grid.yaml does not name
        ("method.protocol.grid.ratio=[0.1,0.2]", {"ratio": [0.1, 0.2]}),
        ("method.protocol.grid.ratio=[0.1] +search.values.ratio=[0.3]", {"ratio": [0.3]}),
        ("method.protocol.grid.dropout=[0.1]", {"dropout": [0.1]}),
        ("method.protocol.grid.dropout=[0.1] search.values.dropout=null", {}),
    ],
)
def test_a_method_declares_the_grid_of_any_hyper_parameter(
    words: str, tried: dict[str, list[float]]
) -> None:
    config = compose("method=mc_dropout", "search=grid", *f"+{words}".split())
    values = available_inputs(config)["search"]["values"]
    assert {name: found for name, found in values.items() if found is not None} == tried


@pytest.mark.parametrize("method", ["bbb", "bbb_slang"])
def test_a_grid_has_the_objective_of_the_method(method: str) -> None:
    grid, default = (
        build(compose(f"method={method}", "dataset=yacht", f"search={search}")).experiment
        for search in ("grid", "bayesian_optimisation")
    )
    assert isinstance(grid, SplitExperiment) and isinstance(default, SplitExperiment)
    assert grid.search.objective == default.search.objective


def test_the_last_rows_of_a_table_with_groups_are_not_held_out(tiny: Planner) -> None:
    experiment = split_experiment(tiny(*GRID))
    groups = np.arange(len(experiment.table.targets)) // 2
    with raises_user_error("search.held_out_fraction", "groups"):
        replace(experiment, loaded=replace(experiment.table, groups=groups)).check()


DROPOUT = {"dropout": (0.005, 0.01, 0.05, 0.1)}


@pytest.mark.parametrize(
    ("dataset", "tau", "epochs"),
    [("yacht", (0.25, 0.5, 0.75), 4000), ("naval", (30000, 40000, 50000), 4000),
     ("protein", (0.025, 0.05, 0.075), 2000)],
)  # fmt: skip
def test_the_second_dropout_experiment_has_its_authors_settings(
    dataset: str, tau: tuple[float, ...], epochs: int
) -> None:
    experiment = split_experiment(build(compose("method=mc_dropout_2018", f"dataset={dataset}")))
    method, training, space = experiment.method, experiment.training, experiment.space
    assert isinstance(method, MCDropout) and method.weight_init == "glorot"
    assert (training.batch_size, training.learning_rate) == (128, 0.001)
    assert (training.epochs, training.final_epochs) == (epochs, epochs)
    assert training.betas == (0.9, 0.999) and experiment.evaluation.samples == 10_000
    assert {d.name: d.values for d in space} == {"noise_precision": tau, **DROPOUT}
    assert {d.name for d in space if d.original_units} == {"noise_precision"}
    assert experiment.search.held_out_fraction == 0.2 and experiment.iterations == 12
    assert experiment.fixed_original_units == {"prior_precision": pytest.approx(0.01**2 / 2)}


PENALTIES = {
    "boston": (1e-4, 1e-5, 1e-6), "concrete": (1e-4, 1e-5, 1e-6), "energy": (1e-4, 1e-5),
    "kin8nm": (1e-4, 1e-5), "naval": (1e-5, 1e-6), "power": (1e-4, 1e-5),
    "protein": (1e-4, 1e-5), "wine": (1e-4, 1e-5), "yacht": (1e-4, 1e-5),
}  # fmt: skip
"""Penalties per squared weight of the EasyUQ code."""


@pytest.mark.parametrize("dataset", PENALTIES)
def test_the_easyuq_ensemble_has_its_authors_penalties(dataset: str) -> None:
    """Their loss is the mean over rows plus a penalty, ours has `prior / (2 N)` in its place."""
    words = ("method=deep_ensemble_easyuq", f"dataset={dataset}")
    experiment = split_experiment(build(compose(*words)))
    rows = len(experiment.table.splits[0].train)
    space = {d.name: d.values for d in experiment.space}
    assert space["prior_precision"] == pytest.approx([2 * rows * p for p in PENALTIES[dataset]])
    assert max(space["batch_size"]) == (8 if dataset in ("concrete", "energy", "wine") else 32)
    assert experiment.training.epochs == experiment.training.final_epochs
    assert experiment.training.epochs == (20 if dataset == "protein" else 40)
    method = experiment.method
    assert isinstance(method, DeepEnsemble) and (method.members, method.searched_members) == (5, 1)
