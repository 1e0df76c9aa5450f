"""Settings by dotted name, and which of them tell runs apart."""

from __future__ import annotations

from pathlib import Path

from support.runs import make_run

from bnnbench.report.sections.results import full_table
from bnnbench.results.reader import read_runs
from bnnbench.results.settings import differing_columns, flatten, spoken, telling
from bnnbench.results.with_published import with_published

IDENTITY = {
    "class": "module.Experiment",
    "label": "uci",
    "dataset": {"class": "module.Data", "name": "boston", "features": ["a", "b"]},
    "method": {"class": "module.Vadam", "label": "vadam", "likelihood": {"label": "gaussian"}},
    "likelihood": {"label": "gaussian", "loss": {"class": "module.NLL", "label": "nll"}},
    "training": {"class": "module.Training", "epochs": 40},
    "seed": 0,
}


def test_a_component_goes_by_its_label() -> None:
    flat = flatten(IDENTITY)
    assert (flat["experiment"], flat["dataset"], flat["method"]) == ("uci", "boston", "vadam")
    assert flat["likelihood"] == "gaussian" and flat["likelihood.loss"] == "nll"
    assert flat["training.epochs"] == 40 and flat["dataset.features"] == ("a", "b")
    assert "label" not in flat and "method.label" not in flat


def test_common_settings_have_short_names() -> None:
    assert spoken("training.epochs", 5) == "epochs 5"
    assert spoken("training.learning_rate", 0.01) == "learning rate 0.01"
    assert spoken("method.initial_precision", None) == "method.initial_precision null"
    assert spoken("method.prior_precision", None) == "prior precision searched"
    assert spoken("network.width", (100, 200)) == "width 100/200"
    assert spoken("evaluation.trace", True) == "evaluation.trace true"


def test_each_difference_is_told_once() -> None:
    first = {"training.epochs": 5, "training.final_epochs": 5, "seed": 0}
    other = {"training.epochs": 9, "training.final_epochs": 9, "seed": 0}
    assert telling([first, other]) == ("training.epochs",)
    assert telling([first, other | {"seed": 1}]) == ("training.epochs", "seed")


def test_what_only_some_runs_have_counts_where_these_differ_in_it() -> None:
    none = {"search": "none"}
    runs = [none, *({"search": "bo", "search.folds": folds} for folds in (5, 5))]
    assert telling(runs[:2]) == ("search",)
    assert telling([none, runs[1], runs[2] | {"search.folds": 2}]) == ("search", "search.folds")


def test_a_class_and_the_data_count_where_nothing_else_differs() -> None:
    run = {"method": "own", "method.class": "a.Own", "table": "0", "seed": 0}
    assert telling([run, run | {"method.class": "b.Own"}]) == ("method.class",)
    assert telling([run, run | {"table": "1"}]) == ("table",)
    assert telling([run, run | {"table": "1", "seed": 1}]) == ("seed",)
    assert telling([run, run]) == ()


def test_results_have_a_column_for_every_setting_that_differs(tmp_path: Path) -> None:
    make_run(tmp_path, "a", settings={"dataset__features": ["x"]})
    make_run(tmp_path, "b", settings={"training__epochs": 5, "dataset__features": ["x"]})
    make_run(tmp_path, dataset="yacht", seed=3, settings={"dataset__features": ["y", "z"]})
    runs = read_runs(tmp_path)
    assert list(differing_columns(runs.scored)) == ["training.epochs"]
    full = full_table(with_published(runs))
    assert full["training.epochs"].tolist() == [40, 5, 40] and full["seed"].tolist() == [7, 7, 3]
    assert "settings" not in full
