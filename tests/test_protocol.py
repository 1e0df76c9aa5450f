"""The protocol: no leakage, worker independence, lockstep, divergence, files of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bnnbench.experiment import trial_log
from bnnbench.experiment.plan import Plan, choose_splits
from bnnbench.experiment.protocol import final_fit, make_folds, out_of_fold
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_experiment import SplitsExperiment, run_open
from bnnbench.experiment.splits import run_group
from bnnbench.report.split_page import write_run_report
from bnnbench.search.base import Trial
from bnnbench.types import Table, UserError

Planner = Callable[..., Plan]
TIMES = ["search_seconds", "fit_seconds", "predict_seconds", "total_seconds"]
SCORES = ["rmse", "log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian", "crps"]


def run(plan: Plan) -> tuple[RunFolder, pd.DataFrame]:
    folder = SplitsExperiment(label="uci").run(plan, write_run_report)
    return folder, pd.read_csv(folder.splits)


@pytest.mark.parametrize("method", ["vadam", "bbb", "mc_dropout"])
def test_test_targets_change_nothing_but_the_scores(tiny_plan: Planner, method: str) -> None:
    plan = tiny_plan(f"method={method}", "splits=[0]")
    test_rows = plan.table.splits[0].test
    targets = plan.table.targets.copy()
    targets[test_rows] += 100.0
    folder, honest = run(plan)
    other = replace(plan, table=replace(plan.table, targets=targets))
    leaked, changed = run(other)
    assert leaked.root != folder.root, "edited data is another run"
    same = [c for c in honest.columns if c not in TIMES + SCORES]
    pd.testing.assert_frame_equal(honest[same], changed[same])
    assert (changed["rmse"] > honest["rmse"] + 50).all()
    searches = [
        pd.read_csv(f.search).drop(columns=["seconds", "suggest_seconds"]) for f in (folder, leaked)
    ]
    pd.testing.assert_frame_equal(*searches)
    with np.load(folder.predictions) as a, np.load(leaked.predictions) as b:
        for name in ("split", "row", "mean", "epistemic_variance", "noise_variance"):
            np.testing.assert_array_equal(a[name], b[name])
    with np.load(folder.out_of_fold) as a, np.load(leaked.out_of_fold) as b:
        for name in a.files:
            np.testing.assert_array_equal(a[name], b[name])


def test_results_do_not_depend_on_workers(tiny_plan: Planner, tmp_path: Path) -> None:
    one = replace(tiny_plan("splits=3"), workers=1, outputs=tmp_path / "one")
    two = replace(one, workers=2, outputs=tmp_path / "two")
    tables = [run(plan)[1].drop(columns=TIMES) for plan in (one, two)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)


def test_lockstep_equals_one_split_at_a_time(tiny_plan: Planner, tmp_path: Path) -> None:
    """All splits in one stack, as on a GPU, against whole splits one by one, in float64."""
    plan = replace(tiny_plan("splits=3", "training.dtype=float64"), outputs=tmp_path / "a")
    stacked = replace(plan, outputs=tmp_path / "b")
    for folder in (plan.folder, stacked.folder):
        folder.create()
    run_open([plan], plan.splits)
    run_group([stacked], stacked.splits)
    for k in plan.splits:
        rows = [json.loads(p.folder.scores(k).read_text()) for p in (plan, stacked)]
        for name in [*SCORES, "hp.noise_precision", "hp.prior_precision"]:
            assert rows[1][name] == pytest.approx(rows[0][name], rel=1e-6)


def test_output_contract(tiny_plan: Planner) -> None:
    plan = tiny_plan()
    folder, table = run(plan)
    assert folder.root.parts[-4:-1] == ("uci", "table", "vadam")
    columns = "experiment,dataset,method,divergence,depth,split,seed,rmse,log_likelihood,"
    columns += "log_likelihood_joint,log_likelihood_gaussian,crps,search_seconds,fit_seconds,"
    columns += "predict_seconds,total_seconds,diverged,hp.noise_precision,hp.prior_precision"
    assert set(columns.split(",")) <= set(table.columns)
    assert table["split"].tolist() == [0, 1] and not table["diverged"].any()
    search = pd.read_csv(folder.search)
    assert len(search) == 6 and {"objective", "fold_0", "fold_2", "seconds"} <= set(search.columns)
    np.testing.assert_allclose(
        search[["fold_0", "fold_1", "fold_2"]].mean(axis=1), search["objective"]
    )
    chosen = search.loc[search.groupby("split")["objective"].idxmax(), "hp.noise_precision"]
    np.testing.assert_array_equal(chosen, table["hp.noise_precision"])
    with np.load(folder.predictions) as points:
        assert {"split", "row", "target", "mean", "epistemic_variance", "noise_variance"} <= set(
            points.files
        )
        np.testing.assert_array_equal(points["target"], plan.table.targets[points["row"]])
        error = (points["target"] - points["mean"])[points["split"] == 1]
        assert np.sqrt(np.mean(error**2)) == pytest.approx(table["rmse"][1])
        scale = plan.table.targets[plan.table.splits[0].train].std()
        assert points["noise_variance"][0] == pytest.approx(
            scale**2 / table["hp.noise_precision"][0], rel=1e-5
        )
    for name in (folder.config, folder.environment, folder.summary, folder.done):
        assert name.stat().st_size > 0
    assert folder.figure("predictions", "png").exists()
    assert folder.figure("predictions", "pdf").exists()
    summary = pd.read_csv(folder.summary).set_index("metric")
    assert summary.loc["rmse", "mean"] == pytest.approx(table["rmse"].mean())
    assert json.loads(folder.environment.read_text())["device"] == "cpu"


def test_other_settings_are_another_folder_and_workers_are_not(tiny_plan: Planner) -> None:
    base = tiny_plan().folder.root
    for override in (
        "seed=1",
        "training.epochs=3",
        "splits=[0]",
        "method.noise_precision=3",
        "search.iterations=4",
        "method.label=mine",
        "dataset.split_seed=1",
        "evaluation.samples=6",
        "method=bbb",
        "likelihood=heteroscedastic",
        "loss=beta",
        "depth=2",
    ):
        assert tiny_plan(override).folder.root != base, override
    assert tiny_plan("workers=auto").folder.root == base
    assert (
        tiny_plan("training.learning_rate=1").folder
        == tiny_plan("training.learning_rate=1.0").folder
    )
    orders = ["divergence=alpha_2"], ["divergence=alpha", "divergence.alpha=2"]
    assert len({tiny_plan("method=bbb", *order).folder for order in orders}) == 1


def test_a_diverged_final_fit_is_reported(tiny_plan: Planner) -> None:
    overrides = ("method.noise_precision=10", "method.prior_precision=1")
    plan = tiny_plan(*overrides, "method=bbb", "training.learning_rate=1e38")
    assert plan.iterations == 0, "nothing is left to search"
    _, table = run(plan)
    assert table["diverged"].tolist() == [1, 1]
    assert table["rmse"].isna().all()


def test_folds_partition_the_training_part(tiny_plan: Planner) -> None:
    plan = tiny_plan()
    split = plan.table.splits[1]
    folds = make_folds(plan, [split])
    held_out = folds.targets[folds.real].sort().values.numpy()
    np.testing.assert_array_equal(held_out, np.sort(plan.table.targets[split.train]))
    assert sum(folds.data.counts) == (folds.count - 1) * len(split.train)


@pytest.mark.parametrize("method", ["vadam", "pbp"])
def test_out_of_fold_predictions_come_from_networks_that_have_not_seen_the_row(
    tiny_plan: Planner, method: str
) -> None:
    plan = tiny_plan(f"method={method}")
    splits = plan.table.splits[:2]
    values = [{name: 1.0 for name in plan.method.hyper_names}] * 2
    first = out_of_fold(plan, splits, values)
    for split, arrays in zip(splits, first, strict=True):
        np.testing.assert_array_equal(np.sort(arrays["row"]), np.sort(split.train))
        np.testing.assert_array_equal(arrays["target"], plan.table.targets[arrays["row"]])
        assert np.isfinite(arrays["mean"]).all()
    targets = plan.table.targets.copy()
    changed = first[0]["row"][0]
    targets[changed] += 100.0
    second = out_of_fold(replace(plan, table=replace(plan.table, targets=targets)), splits, values)
    same = first[0]["mean"] == second[0]["mean"]
    fold = len(splits[0].train) // plan.search.folds
    assert same[:fold].all(), "its own fold was trained without it"
    assert not same[fold + 1 :].any(), "the other folds were trained with it"


def test_a_diverged_fold_leaves_no_prediction_to_learn_from(tiny_plan: Planner) -> None:
    plan = tiny_plan("method=bbb", "training.learning_rate=1e38")
    values = [{"noise_precision": 10.0, "prior_precision": 1.0}]
    (arrays,) = out_of_fold(plan, plan.table.splits[:1], values)
    assert np.isnan(arrays["mean"]).all()
    assert np.isfinite(arrays["target"]).all()


def test_fixed_values_replace_searched_ones(tiny_plan: Planner) -> None:
    plan = tiny_plan("method=mc_dropout", "method.dropout=0.1", "search.iterations=2")
    assert [d.name for d in plan.space] == ["noise_precision", "prior_precision"]
    _, table = run(plan)
    assert (table["hp.dropout"] == 0.1).all()
    assert table["hp.noise_precision"].nunique() == 2


def test_final_fit_uses_final_epochs(tiny_plan: Planner) -> None:
    plan = tiny_plan()
    values = [{"noise_precision": 10.0, "prior_precision": 1.0}]
    longer = replace(plan, training=replace(plan.training, final_epochs=200))
    split = [plan.table.splits[0]]
    assert (
        final_fit(longer, split, values)[0].scores["rmse"]
        < final_fit(plan, split, values)[0].scores["rmse"]
    )


def test_journal_survives_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "trial_log.jsonl"
    trials = [
        Trial({"a": 0.1 + i}, -1.0 / (i + 3), (float("nan"), 0.2), 1.5, 0.5) for i in range(3)
    ]
    trial_log.rewrite(path, trials[:2])
    trial_log.append(path, trials[2])
    whole = path.read_text()
    assert str(trial_log.read(path)) == str(trials), "floats and NaN come back bit for bit"
    path.write_text(whole[:-20])
    assert str(trial_log.read(path)) == str(trials[:2])
    path.write_text(whole.replace('"objective"', '"obj', 1))
    assert trial_log.read(path) == []


def table_of(n_splits: int, tiny_plan: Planner) -> Table:
    table = tiny_plan().table
    return replace(table, splits=table.splits[:n_splits])


@pytest.mark.parametrize(
    ("wanted", "chosen"), [("all", (0, 1, 2)), (2, (0, 1)), ([2, 0, 2], (0, 2))]
)
def test_choice_of_splits(tiny_plan: Planner, wanted: Any, chosen: tuple[int, ...]) -> None:
    assert choose_splits(table_of(3, tiny_plan), wanted) == chosen


@pytest.mark.parametrize("wanted", [0, 4, [3], [], "some", [0.5], True, None])
def test_wrong_splits_are_refused(tiny_plan: Planner, wanted: Any) -> None:
    with pytest.raises(UserError, match="splits"):
        choose_splits(table_of(3, tiny_plan), wanted)
