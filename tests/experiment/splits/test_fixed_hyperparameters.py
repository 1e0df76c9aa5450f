"""Hyper-parameters in standardised or original units, fixed or searched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.config import compose
from support.tiny_runs import Planner, finished
from support.user_errors import raises_user_error

from bnnbench.config.assemble import assemble_experiment, build
from bnnbench.experiment.splits.fitting import fixed_original_units, fixed_values
from bnnbench.experiment.splits.folds import make_folds
from bnnbench.experiment.splits.protocol import cross_validate
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.split_files import SEARCH
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.prediction.final_model import load_or_fit

KEY = "+dataset.protocol.fixed_original_units"


def test_precisions_are_converted_with_the_variance_of_the_training_part(tiny: Planner) -> None:
    """In final fits and in folds, whose training parts have different variances."""
    run = tiny(f"{KEY}={{noise_std: 0.5, prior_precision: 0.25}}", "evaluation.out_of_fold=true")
    experiment = run.experiment
    assert isinstance(experiment, SplitExperiment)
    assert experiment.iterations == 0, "nothing is left to search"
    _, table = finished(run)
    for split, row in zip(experiment.table.splits, table.to_dict("records"), strict=False):
        variance = experiment.table.targets[split.train].var()
        assert row["hp.noise_precision"] == pytest.approx(4 * variance)
        assert row["hp.prior_precision"] == pytest.approx(0.25 * variance)
    assert table["hp.noise_precision"].nunique() == len(table)


def test_converted_values_equal_standardised_ones(tiny: Planner) -> None:
    units = finished(tiny(f"{KEY}={{noise_precision: 4, prior_precision: 0.25}}", "splits=[0]"))[1]
    values = [f"method.{n}={units[f'hp.{n}'][0]}" for n in ("noise_precision", "prior_precision")]
    fixed = finished(tiny(*values, "splits=[0]"))[1]
    assert np.allclose(units["rmse"], fixed["rmse"], rtol=1e-5)


def test_fixed_values_are_part_of_the_identity(tiny: Planner) -> None:
    plain, some, other = (
        tiny(*(f"{KEY}.noise_std={v}" for v in value)) for value in ([], [1], [2])
    )
    assert len({run.folder.root for run in (plain, some, other)}) == 3
    assert "fixed_original_units" not in plain.record.identity


SEARCHED = "+method.protocol.bounds_original_units"


def test_searched_precisions_are_converted_with_the_variance_of_each_training_part(
    tiny: Planner,
) -> None:
    """The columns of both tables are in the standardised units of the whole training part."""
    run = tiny(f"{SEARCHED}.noise_precision=[4,4.0001]", "method.prior_precision=1")
    experiment = run.experiment
    assert isinstance(experiment, SplitExperiment)
    assert [(d.name, d.original_units) for d in experiment.space] == [("noise_precision", True)]
    folder, table = finished(run)
    trials = pd.read_csv(folder.table(SEARCH))
    for split, row in zip(experiment.table.splits, table.to_dict("records"), strict=False):
        expected = pytest.approx(4 * experiment.table.targets[split.train].var(), rel=1e-4)
        assert row["hp.noise_precision"] == expected and row["hp.prior_precision"] == 1
        tried = trials[trials["split"] == split.index]["hp.noise_precision"]
        assert [*tried] == [expected] * len(tried)
    model = load_or_fit(folder).saved.model  # of the median of the splits, in standardised units
    assert model.values["noise_precision"] == pytest.approx(table["hp.noise_precision"].median())


def test_folds_convert_searched_precisions_with_their_own_variance(tiny: Planner) -> None:
    """The first evaluation equals one whose precision is fixed in original units."""
    searched = tiny(
        f"{SEARCHED}.noise_precision=[4,4.000001]", "method.prior_precision=1"
    ).experiment
    fixed = tiny(f"{KEY}.noise_precision=4", "method.prior_precision=1").experiment
    found = []
    for experiment, values in ((searched, {"noise_precision": 4.0}), (fixed, {})):
        assert isinstance(experiment, SplitExperiment)
        splits, fitting = experiment.table.splits[:1], experiment.fitting
        folds = make_folds(fitting, experiment.table, splits, 3)
        found.append(cross_validate(fitting, splits, folds, [values], 0))
    assert found[0] == found[1]


def test_bounds_in_original_units_are_part_of_the_identity(tiny: Planner) -> None:
    plain, some, other = (
        tiny(*(f"{SEARCHED}.noise_precision={v}" for v in value))
        for value in (["null"], ["[1,2]"], ["[1,3]"])
    )
    assert len({run.folder.root for run in (plain, some, other)}) == 3
    assert plain.folder.root == tiny().folder.root
    identity = some.record.identity
    assert identity["bounds"].keys() == {"prior_precision"}
    assert identity["bounds_original_units"] == {"noise_precision": [1, 2]}


METHOD = MCDropout(label="m", prior_precision=2.0)


def test_values_of_the_method_take_precedence() -> None:
    assert fixed_values(METHOD, {"prior_precision": 1.0, "dropout": None}) == {}
    assert fixed_values(METHOD, {"dropout": 0.1, "nothing": 1}) == {"dropout": 0.1}
    given = {"noise_std": 0.5, "prior_precision": 7}
    assert fixed_original_units(METHOD, given) == {"noise_precision": 4.0}
    assert fixed_original_units(METHOD, {**given, "noise_precision": 3}) == {"noise_precision": 3.0}
    assert fixed_original_units(METHOD, {"noise_precision": None}) == {}


@pytest.mark.parametrize(
    ("given", "key"), [({"dropout": 0.1}, ""), ({"noise_precision": 0}, ".noise_precision")]
)
def test_unknown_names_and_wrong_values_are_refused(given: dict[str, Any], key: str) -> None:
    with raises_user_error(f"protocol.fixed_original_units{key}"):
        fixed_original_units(METHOD, given)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dataset", "epochs", "dropout", "tau", "length_scale"),
    [("energy", 400, 0.05, 0.427114830213, 100), ("yacht", 400, 0.01, 0.541869562034, 10),
     ("naval", 400, 0.05, 42173.5152106, 1), ("protein", 200, 0.005, 0.0644419184588, 100)],
)  # fmt: skip
def test_the_first_dropout_experiment_has_its_authors_settings(
    dataset: str, epochs: int, dropout: float, tau: float, length_scale: float
) -> None:
    experiment = assemble_experiment(compose("experiment=gal_uci", f"dataset={dataset}"))
    assert isinstance(experiment, SplitExperiment) and isinstance(experiment.method, MCDropout)
    training = experiment.training
    assert (training.batch_size, training.learning_rate) == (32, 0.001)
    assert (training.betas, training.final_epochs) == ((0.9, 0.999), epochs)
    assert experiment.evaluation.samples == 10_000
    assert experiment.method.dropout == dropout and experiment.method.weight_init == "glorot"
    expected = {"noise_precision": tau, "prior_precision": 1 / (2 * length_scale**2)}
    assert experiment.fixed_original_units == pytest.approx(expected)
    assert experiment.network.widths == ((100,) if dataset == "protein" else (50,))


def test_the_preset_searches_unpublished_values() -> None:
    experiment = build(compose("method=mc_dropout_gal2016", "dataset=diabetes")).experiment
    assert isinstance(experiment, SplitExperiment)
    assert [d.name for d in experiment.space] == ["noise_precision", "prior_precision", "dropout"]


@pytest.mark.parametrize("fixed", ["abc", [1, 2], 3.0])
def test_values_are_given_by_name(fixed: Any) -> None:
    with raises_user_error("fixed", "not_a_mapping"):
        fixed_values(METHOD, fixed)
