"""Hyper-parameters that a data set or a preset knows, in standardised units or the target's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.config import compose
from support.tiny_runs import finished

from bnnbench.cli.build import build
from bnnbench.experiment.known_values import in_target_units, known_and_open
from bnnbench.experiment.run import Run
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.methods.mc_dropout import MCDropout
from bnnbench.types import UserError

Planner = Callable[..., Run]
KEY = "+dataset.protocol.fixed_in_target_units"


def test_precisions_are_converted_by_the_variance_of_the_part_trained_on(tiny: Planner) -> None:
    """In the final fits as in the folds, whose training parts have variances of their own."""
    run = tiny(
        f"{KEY}={{noise_deviation: 0.5, prior_precision: 0.25}}", "evaluation.out_of_fold=true"
    )
    experiment = run.experiment
    assert isinstance(experiment, SplitExperiment)
    assert experiment.iterations == 0, "nothing is left to search"
    _, table = finished(run)
    for split, row in zip(experiment.table.splits, table.to_dict("records"), strict=False):
        variance = experiment.table.targets[split.train].var()
        assert row["hp.noise_precision"] == pytest.approx(4 * variance)
        assert row["hp.prior_precision"] == pytest.approx(0.25 * variance)
    assert table["hp.noise_precision"].nunique() == len(table)


def test_they_are_worth_the_same_as_their_standardised_values(tiny: Planner) -> None:
    units = finished(tiny(f"{KEY}={{noise_precision: 4, prior_precision: 0.25}}", "splits=[0]"))[1]
    values = [f"method.{n}={units[f'hp.{n}'][0]}" for n in ("noise_precision", "prior_precision")]
    fixed = finished(tiny(*values, "splits=[0]"))[1]
    assert np.allclose(units["rmse"], fixed["rmse"], rtol=1e-5)


def test_they_are_part_of_a_runs_identity_where_there_are_any(tiny: Planner) -> None:
    plain, some, other = (
        tiny(*(f"{KEY}.noise_deviation={v}" for v in value)) for value in ([], [1], [2])
    )
    assert len({run.folder.root for run in (plain, some, other)}) == 3
    assert "in_target_units" not in plain.record.identity


METHOD = MCDropout(label="m", prior_precision=2.0)


def test_what_the_method_was_given_comes_first() -> None:
    assert known_and_open(METHOD, {"prior_precision": 1.0, "dropout": None}) == {}
    assert known_and_open(METHOD, {"dropout": 0.1, "nothing": 1}) == {"dropout": 0.1}
    given = {"noise_deviation": 0.5, "prior_precision": 7}
    assert in_target_units(METHOD, given) == {"noise_precision": 4.0}
    assert in_target_units(METHOD, {**given, "noise_precision": 3}) == {"noise_precision": 3.0}
    assert in_target_units(METHOD, {"noise_precision": None}) == {}


@pytest.mark.parametrize(
    ("given", "words"),
    [({"dropout": 0.1}, "noise_deviation, not dropout"), ({"noise_precision": 0}, "greater than")],
)
def test_what_has_no_such_units_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=f"fixed_in_target_units.*{words}"):
        in_target_units(METHOD, given)


@pytest.mark.parametrize(
    ("dataset", "epochs", "dropout", "tau", "length_scale"),
    [("energy", 400, 0.05, 0.427114830213, 100), ("yacht", 400, 0.01, 0.541869562034, 10),
     ("naval", 400, 0.05, 42173.5152106, 1), ("protein", 200, 0.005, 0.0644419184588, 100)],
)  # fmt: skip
def test_the_first_dropout_experiment_has_its_authors_settings(
    data: Any, dataset: str, epochs: int, dropout: float, tau: float, length_scale: float
) -> None:
    overrides = ("experiment=gal_uci", f"dataset={dataset}", f"data_dir={data}")
    experiment = build(compose(*overrides)).experiment
    assert isinstance(experiment, SplitExperiment) and isinstance(experiment.method, MCDropout)
    training = experiment.training
    assert (training.batch_size, training.learning_rate) == (32, 0.001)
    assert (training.betas, training.final_epochs) == ((0.9, 0.999), epochs)
    assert experiment.evaluation.samples == 10_000 and experiment.iterations == 0
    assert experiment.method.dropout == dropout and experiment.method.start == "glorot"
    expected = {"noise_precision": tau, "prior_precision": 1 / (2 * length_scale**2)}
    assert experiment.in_target_units == pytest.approx(expected)
    assert experiment.network.widths == ((100,) if dataset == "protein" else (50,))


def test_the_preset_searches_what_nobody_published() -> None:
    experiment = build(compose("method=mc_dropout_gal2016")).experiment
    assert isinstance(experiment, SplitExperiment)
    assert [d.name for d in experiment.space] == ["noise_precision", "prior_precision", "dropout"]
