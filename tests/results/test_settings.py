"""Settings by dotted name, and those that distinguish runs."""

from __future__ import annotations

from pathlib import Path

from support.blocks import blocks, data_files
from support.runs import make_run

from bnnbench.report.sections.results import section
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.settings import (
    describe_setting,
    differing_columns,
    distinguishing_settings,
    flatten,
)

IDENTITY = {
    "class": "module.Experiment",
    "label": "uci",
    "dataset": {"class": "module.Data", "name": "boston", "features": ["a", "b"]},
    "method": {"class": "module.Vadam", "label": "vadam", "likelihood": {"label": "gaussian"}},
    "likelihood": {"label": "gaussian", "loss": {"class": "module.NLL", "label": "nll"}},
    "training": {"class": "module.Training", "epochs": 40},
    "seed": 0,
}


def test_the_value_of_a_component_is_its_label() -> None:
    flat = flatten(IDENTITY)
    assert (flat["experiment"], flat["dataset"], flat["method"]) == ("uci", "boston", "vadam")
    assert flat["likelihood"] == "gaussian" and flat["likelihood.loss"] == "nll"
    assert flat["training.epochs"] == 40 and flat["dataset.features"] == ("a", "b")
    assert "label" not in flat and "method.label" not in flat


def test_common_settings_have_short_names() -> None:
    assert describe_setting("training.epochs", 5) == "epochs 5"
    assert describe_setting("training.learning_rate", 0.01) == "learning rate 0.01"
    assert describe_setting("method.initial_precision", None) == "method.initial_precision null"
    assert describe_setting("method.prior_precision", None) == "prior precision searched"
    assert describe_setting("network.width", (100, 200)) == "width 100/200"
    assert describe_setting("evaluation.save_objective", True) == "evaluation.save_objective true"


def test_settings_that_differ_together_are_listed_once() -> None:
    first = {"training.epochs": 5, "training.final_epochs": 5, "seed": 0}
    other = {"training.epochs": 9, "training.final_epochs": 9, "seed": 0}
    assert distinguishing_settings([first, other]) == ("training.epochs",)
    assert distinguishing_settings([first, other | {"seed": 1}]) == ("training.epochs", "seed")


def test_settings_that_only_some_runs_have_count_if_those_runs_differ() -> None:
    none = {"search": "none"}
    searched = {"search": "bayesian_optimisation", "search.folds": 5}
    assert distinguishing_settings([none, searched]) == ("search",)
    assert distinguishing_settings([none, searched, searched | {"search.folds": 2}]) == (
        "search",
        "search.folds",
    )


def test_classes_and_data_count_only_if_nothing_else_differs() -> None:
    run = {"method": "own", "method.class": "a.Own", "table": "0", "seed": 0}
    assert distinguishing_settings([run, run | {"method.class": "b.Own"}]) == ("method.class",)
    assert distinguishing_settings([run, run | {"table": "1"}]) == ("table",)
    assert distinguishing_settings([run, run | {"table": "1", "seed": 1}]) == ("seed",)
    assert distinguishing_settings([run, run]) == ()


def test_results_have_a_column_for_every_setting_that_differs(tmp_path: Path) -> None:
    make_run(tmp_path, "a", settings={"dataset__features": ["x"]})
    make_run(tmp_path, "b", settings={"training__epochs": 5, "dataset__features": ["x"]})
    make_run(tmp_path, dataset="yacht", seed=3, settings={"dataset__features": ["y", "z"]})
    runs = read_runs(tmp_path)
    assert list(differing_columns(runs.scored)) == ["training.epochs"]
    full = data_files(blocks(section, runs))["results"]
    assert full["training.epochs"].tolist() == [40, 5, 40] and full["seed"].tolist() == [7, 7, 3]
    assert "settings" not in full
