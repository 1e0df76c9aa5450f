"""Runs are selected by their settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.runs import make_folder, make_run, metadata_of
from support.user_errors import raises_user_error

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.read.run_filter import Condition, RunFilter, filter_runs
from bnnbench.results.read.run_tables import Runs, read_runs

PRIOR = {"class": "Gaussian", "label": "gaussian"}

SETTINGS = {
    "method__class": "bnnbench.methods.bbb.BBB",
    "method__dropout": None,
    "method__alpha": "-inf",  # as in a record
    "method__divergence__class": "bnnbench.divergences.kl.KL",
    "method__divergence__label": "kl",
    "method__divergence__weight": 0.5,
    "method__divergence__prior": PRIOR,
    "training__learning_rate": 1e-3,
    "training__betas": [0.9, 0.99],
    "dataset__drop": ["a", "b"],
    "network__width": [50],
    "training__mixed": True,
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Two runs with scores, `one` and `two`, one without a search, and one of another kind."""
    path = tmp_path_factory.mktemp("outputs")
    make_run(path, "one", settings=SETTINGS, seed=0)
    other = {"search__iterations": 10, "training__mixed": False, "training__learning_rate": 0.1}
    make_run(path, "two", method="map", dataset="yacht", depth=2, settings=other, seed=1)
    make_run(path, "none", method="vadam", settings={"search": {"folds": None}})
    make_folder(path, metadata_of(experiment="toy", method="line"), "toy", "toy", {"rows": 7})
    return read_runs(path)


def selected(runs: Runs, *texts: str) -> list[str]:
    where = tuple(map(Condition.parse, texts))
    found = filter_runs(runs, RunFilter(where=where))
    assert set(found.folders) == {run for table in found.tables.values() for run in table.index}
    return sorted(run for table in found.tables.values() for run in table["variant"])


SELECTED = {
    "search.iterations=10": ["two"],
    "search=none": ["none"],
    "search=bayesian_optimisation": ["one", "two"],
    "method=bbb_x1": ["one"],
    "method.dropout=null": ["none", "one", "two"],
    "method.alpha=-inf": ["one"],
    "method.alpha=-.inf": ["one"],
    "dataset=yacht": ["two"],
    "depth=2": ["two"],
    "seed=0": ["one"],
    "divergence=kl": ["none", "one", "toy", "two"],
    "divergence.weight=0.50": ["one"],
    "prior=gaussian": ["one"],
    "divergence.prior=gaussian": ["one"],
    "training.learning_rate=1e-3": ["one"],
    "training.learning_rate=0.001": ["one"],
    " training.learning_rate = .1 ": ["two"],
    "training.betas=[0.9, 0.99]": ["one"],
    "dataset.drop=[a,b]": ["one"],
    "network.width=50": ["none", "one", "two"],
    "training.mixed=true": ["one"],
    "training.mixed=1": [],
    "bounds.noise_precision=[1,148.4132]": [],
    "experiment=toy": ["toy"],
    "rows=7": ["toy"],
}


@pytest.mark.parametrize("text", SELECTED)
def test_runs_with_a_value_are_selected(runs: Runs, text: str) -> None:
    if SELECTED[text]:
        assert selected(runs, text) == SELECTED[text]
    else:
        with raises_user_error("--where", "no_run" if "mixed" in text else "unknown_name"):
            selected(runs, text)


def test_all_conditions_must_hold(runs: Runs) -> None:
    assert selected(runs, "search=bayesian_optimisation", "seed=1") == ["two"]
    with raises_user_error("--where", "no_run") as error:
        selected(runs, "dataset=yacht", "seed=0")
    assert "found: 1" in str(error.value)


@pytest.mark.parametrize("text", ["", "seed", "=0", "seed=", " = "])
def test_conditions_need_a_setting_and_a_value(text: str) -> None:
    with raises_user_error("--where", "syntax"):
        Condition.parse(text)


@pytest.mark.parametrize(
    ("name", "hint"), [("trainig.epochs", "training.epochs"), ("colour", "--cfg job")]
)
def test_unknown_settings_are_refused(runs: Runs, name: str, hint: str) -> None:
    with raises_user_error("--where", "unknown_name") as error:
        selected(runs, f"{name}=5")
    assert hint in str(error.value)


def make_trial(folder: RunFolder) -> None:
    """Record that a run is under `protocol=trial`."""
    text = folder.record.read_text()
    folder.record.write_text(text.replace('"metadata": {', '"metadata": {"protocol": "trial",'))


def test_trial_runs_are_left_out_on_request(tmp_path: Path) -> None:
    make_trial(make_run(tmp_path, "trial", method="pbp"))
    every = read_runs(tmp_path)
    assert len(filter_runs(every, RunFilter()).scored) == 1
    with raises_user_error("--trials", "only_trials"):
        filter_runs(every, RunFilter(trials=False))
    make_run(tmp_path)
    kept = filter_runs(read_runs(tmp_path), RunFilter(trials=False))
    assert kept.scored["method"].tolist() == ["bbb_x1"] and len(kept.notes) == 1
    where = (Condition.parse("protocol=trial"),)
    named = filter_runs(read_runs(tmp_path), RunFilter(where=where, trials=False))
    assert named.scored["method"].tolist() == ["pbp"]
