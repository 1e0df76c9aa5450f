"""The protocol: no leakage, folds, out-of-fold predictions, divergence, final epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.tiny_runs import SCORES, Planner, finished, with_experiment
from support.user_errors import raises_user_error

from bnnbench.experiment.run.run import Run
from bnnbench.experiment.splits.fitting import Values
from bnnbench.experiment.splits.folds import make_folds, shuffled_folds
from bnnbench.experiment.splits.protocol import cross_validate, final_fit, out_of_fold
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.split_files import FOLDS, MACHINE_COLUMNS, OUT_OF_FOLD
from bnnbench.types import Split, Table


def split_experiment(run: Run) -> SplitExperiment:
    assert isinstance(run.experiment, SplitExperiment)
    return run.experiment


def changed(table: Table, rows: Any) -> Table:
    """Return the table with other targets in some rows."""
    targets = table.targets.copy()
    targets[rows] += 100.0
    return replace(table, targets=targets)


def held_out(
    experiment: SplitExperiment, table: Table, splits: Sequence[Split], values: Sequence[Values]
) -> list[dict[str, np.ndarray]]:
    folds = make_folds(experiment.fitting, table, splits, experiment.search.folds)
    found = out_of_fold(experiment.fitting, table, splits, folds, values, test_rows=True)
    assert all(set(one) == {OUT_OF_FOLD, FOLDS} for one in found)
    return [one[OUT_OF_FOLD] for one in found]


@pytest.mark.parametrize(
    "method", ["vadam", "mc_dropout", pytest.param("bbb", marks=pytest.mark.slow)]
)
def test_test_targets_change_nothing_but_the_scores(tiny: Planner, method: str) -> None:
    run = tiny(f"method={method}", "splits=[0]")
    table = split_experiment(run).table
    folder, honest = finished(run)
    leaked, other = finished(with_experiment(run, loaded=changed(table, table.splits[0].test)))
    assert leaked.root != folder.root, "edited data is another run"
    others = {*MACHINE_COLUMNS, *SCORES, "fingerprint", "training_fingerprint"}
    same = [name for name in honest if name not in others]
    pd.testing.assert_frame_equal(honest[same], other[same])
    assert (other["rmse"] > honest["rmse"] + 50).all()
    searches = [
        pd.read_csv(f.table("search")).drop(columns=["seconds", "suggest_seconds"])
        for f in (folder, leaked)
    ]
    pd.testing.assert_frame_equal(*searches)
    with np.load(folder.arrays("predictions")) as a, np.load(leaked.arrays("predictions")) as b:
        for name in ("split", "row", "mean", "epistemic_variance", "noise_variance"):
            np.testing.assert_array_equal(a[name], b[name])
    with np.load(folder.arrays("out_of_fold")) as a, np.load(leaked.arrays("out_of_fold")) as b:
        for name in a.files:
            np.testing.assert_array_equal(a[name], b[name])


def test_test_inputs_change_neither_search_nor_fit(tiny: Planner) -> None:
    """Nor do missing values: scales and imputed values come from the training rows."""
    experiment = split_experiment(tiny())
    gaps = np.random.default_rng(1).random(experiment.table.inputs.shape) < 0.2
    table = replace(experiment.table, inputs=np.where(gaps, np.nan, experiment.table.inputs))
    other = table.inputs.copy()
    other[table.splits[0].test] = 1e6 * np.nan_to_num(other[table.splits[0].test], nan=3.0)
    values = [{name: 1.0 for name in experiment.method.hyper_names}]
    first, second = (
        held_out(experiment, t, table.splits[:1], values)[0]
        for t in (table, replace(table, inputs=other))
    )
    assert np.isfinite(first["mean"]).all()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])
    fitting, evaluation = (
        experiment.fitting,
        replace(experiment.evaluation, score_training_rows=True),
    )
    fits = [
        final_fit(fitting, t, table.splits[:1], values, evaluation)[0].arrays["training"]["mean"]
        for t in (table, replace(table, inputs=other))
    ]
    np.testing.assert_array_equal(*fits)


def test_folds_keep_groups_together(tiny: Planner) -> None:
    experiment = split_experiment(tiny())
    groups = np.arange(len(experiment.table.targets)) // 7
    table = replace(experiment.table, groups=groups)
    folds = make_folds(experiment.fitting, table, table.splits[:1], 3)
    parts = [{*groups[rows]} for rows in folds.rows]
    assert sum(map(len, parts)) == len(set.union(*parts))
    assert sum(len(rows) for rows in folds.rows) == len(table.splits[0].train)
    few = replace(experiment, loaded=replace(table, groups=groups // 5))
    with raises_user_error("search.folds") as error:
        few.check()
    assert "at most 2," in str(error.value)


def test_scores_that_are_not_finite_count_as_diverged(tiny: Planner) -> None:
    words = ("method.noise_precision=1e-40", "method.prior_precision=1", "search=none")
    _, table = finished(tiny("method=vadam", *words))
    assert table["diverged"].tolist() == [1, 1]
    assert table["rmse"].isna().all()


def test_a_diverged_final_fit_is_reported(tiny: Planner) -> None:
    overrides = ("method.noise_precision=10", "method.prior_precision=1")
    run = tiny(*overrides, "method=bbb", "training.learning_rate=1e38")
    assert split_experiment(run).iterations == 0, "nothing is searched"
    folder, table = finished(run)
    assert table["diverged"].tolist() == [1, 1]
    assert table["rmse"].isna().all()
    assert not folder.table("search").exists()


def test_folds_partition_the_training_part(tiny: Planner) -> None:
    experiment = split_experiment(tiny())
    split = experiment.table.splits[1]
    folds = make_folds(experiment.fitting, experiment.table, [split], 3)
    held = folds.targets[folds.real].sort().values.numpy()
    np.testing.assert_array_equal(held, np.sort(experiment.table.targets[split.train]))
    assert folds.count == 3
    assert sum(folds.data.counts) == (folds.count - 1) * len(split.train)


@pytest.mark.parametrize("method", ["vadam", "pbp"])
def test_out_of_fold_predictions_do_not_use_the_row(tiny: Planner, method: str) -> None:
    experiment = split_experiment(tiny(f"method={method}"))
    table = experiment.table
    splits = table.splits[:2]
    values = [{name: 1.0 for name in experiment.method.hyper_names}] * 2
    first = held_out(experiment, table, splits, values)
    for split, arrays in zip(splits, first, strict=True):
        np.testing.assert_array_equal(np.sort(arrays["row"]), np.sort(split.train))
        np.testing.assert_array_equal(arrays["target"], table.targets[arrays["row"]])
        assert np.isfinite(arrays["mean"]).all()
    second = held_out(experiment, changed(table, first[0]["row"][0]), splits, values)
    same = first[0]["mean"] == second[0]["mean"]
    fold = len(splits[0].train) // experiment.search.folds
    assert same[:fold].all(), "its fold was trained without it"
    assert not same[fold + 1 :].any(), "the other folds were trained with it"


def test_a_search_maximises_its_objective(tiny: Planner) -> None:
    """For one network both objectives are equal; for several they differ."""

    def found(method: str) -> list[list[float]]:
        experiment = split_experiment(tiny(f"method={method}", "search.objective=joint"))
        assert experiment.search.objective == "joint"
        splits, fitting = experiment.table.splits[:1], experiment.fitting
        folds = make_folds(fitting, experiment.table, splits, 2)
        values = [{name: 3.0 for name in experiment.method.hyper_names}]
        return [
            cross_validate(fitting, splits, folds, values, 0, kind)[0]
            for kind in ("per_point", "joint")
        ]

    assert np.allclose(*found("map"), rtol=1e-9)
    assert not np.isclose(*found("bbb"), rtol=1e-3).any()


def test_the_recorded_objective_is_the_maximised_one(tiny: Planner) -> None:
    searches = [
        pd.read_csv(finished(tiny(f"search.objective={kind}", "splits=[0]"))[0].table("search"))
        for kind in ("per_point", "joint")
    ]
    assert searches[0]["hp.noise_precision"][0] == searches[1]["hp.noise_precision"][0]
    assert (searches[0]["fold_0"] != searches[1]["fold_0"]).all()


def test_predictions_of_a_diverged_fold_are_nan(tiny: Planner) -> None:
    experiment = split_experiment(tiny("method=bbb", "training.learning_rate=1e38"))
    values = [{"noise_precision": 10.0, "prior_precision": 1.0}]
    (arrays,) = held_out(experiment, experiment.table, experiment.table.splits[:1], values)
    assert np.isnan(arrays["mean"]).all()
    assert np.isfinite(arrays["target"]).all()


def test_fixed_values_replace_searched_ones(tiny: Planner) -> None:
    run = tiny("method=mc_dropout", "method.dropout=0.1", "search.iterations=2")
    space = [d.name for d in split_experiment(run).space]
    assert space == ["noise_precision", "prior_precision"]
    _, table = finished(run)
    assert (table["hp.dropout"] == 0.1).all()
    assert table["hp.noise_precision"].nunique() == 2


def test_final_fit_uses_final_epochs(tiny: Planner) -> None:
    experiment = split_experiment(tiny())
    values, split = [{"noise_precision": 10.0, "prior_precision": 1.0}], experiment.table.splits[:1]
    training = replace(experiment.training, final_epochs=200)
    scores = [
        final_fit(fitting, experiment.table, split, values, experiment.evaluation)[0].scores["rmse"]
        for fitting in (experiment.fitting, replace(experiment.fitting, training=training))
    ]
    assert scores[1] < scores[0]


@pytest.mark.parametrize(("rows", "count"), [(23, 2), (100, 3), (455, 5), (7, 7)])
@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1])
def test_folds_equal_those_of_scikit_learn(rows: int, count: int, seed: int) -> None:
    from sklearn.model_selection import KFold

    theirs = KFold(count, shuffle=True, random_state=seed).split(np.zeros(rows))
    for ours, (fit, check) in zip(
        shuffled_folds(np.arange(rows), count, seed), theirs, strict=True
    ):
        np.testing.assert_array_equal(np.flatnonzero(ours), check)
        np.testing.assert_array_equal(np.flatnonzero(~ours), fit)
