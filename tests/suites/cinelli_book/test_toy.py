"""The one-dimensional toy, from its configuration to its part of the report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from support.config import compose
from support.tiny_runs import finished

from bnnbench.cli.build import build
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.preprocessing import standardise
from bnnbench.report.section import Drawing, Style
from bnnbench.report.sections import curves
from bnnbench.results.curves import curve_table, curves_of
from bnnbench.results.reader import read_runs

SMALL = ("network.width=5", "evaluation.samples=4", "training.samples=2", "workers=1",
         "dataset.points=10", "dataset.grid_points=41")  # fmt: skip


def experiment_of(*overrides: str) -> SplitExperiment:
    words = ("experiment=toy_1d", "dataset=sine_20", "method=vadam", *overrides)
    experiment = build(compose(*words)).experiment
    assert isinstance(experiment, SplitExperiment)
    return experiment


def test_its_runs_end_in_curves(tmp_path: Path) -> None:
    rows: dict[str, pd.DataFrame] = {}
    for method in ("vadam", "pbp"):
        words = ("experiment=toy_1d", "dataset=sine_20", f"method={method}", *SMALL)
        quick = ("training.epochs=3", "training.final_epochs=2", f"outputs_dir={tmp_path}")
        _, rows[method] = finished(build(compose(*words, *quick)))
    # Known to the maker of the data, so not searched; PBP has no such thing and takes none.
    precisions = rows["vadam"][["hp.noise_precision", "hp.prior_precision"]]
    targets = experiment_of("dataset.points=10").table.targets[:10]
    assert precisions.to_numpy().tolist() == [[pytest.approx(targets.var() / 0.3**2), 1.0]]
    runs = read_runs(tmp_path)
    table = curve_table(curves_of(runs))
    assert table[["dataset", "method"]].to_numpy().tolist() == [
        ["sine_20", "pbp"], ["sine_20", "vadam"],
    ]  # fmt: skip
    section = curves.section(runs, Style())
    assert section is not None
    assert [b.name for b in section.blocks if isinstance(b, Drawing)] == ["curves"]


def test_a_value_given_by_the_user_wins_over_the_known_one() -> None:
    experiment = experiment_of("method=mc_dropout", "method.dropout=0.2")
    assert experiment.method.fixed() == {"dropout": 0.2, "prior_precision": 1.0}
    assert experiment.in_target_units.keys() == {"noise_precision"}
    given = experiment_of("method=mc_dropout", "method.noise_precision=5")
    assert given.method.fixed()["noise_precision"] == 5 and not given.in_target_units


@pytest.mark.parametrize(("points", "precision"), [(20, 13.5), (40, 9.9), (400, 8.3)])
def test_the_known_noise_is_that_of_the_part_trained_on(points: int, precision: float) -> None:
    """Few points spread the more: in their standardised units the same noise is another."""
    experiment = experiment_of(f"dataset=sine_{points}")
    table, fitting = experiment.table, experiment.fitting
    train = table.splits[0].train
    _, scaler = standardise(
        [table.inputs[train]], [table.targets[train]], [0], torch.device("cpu"), torch.float32
    )
    (converted,) = fitting.converted(scaler)
    assert converted["noise_precision"] == pytest.approx(precision, abs=0.05)
    noise = table.targets - table.truth  # type: ignore[operator]
    assert noise.std() == pytest.approx(0.3, rel=0.05)


def test_less_noise_is_a_higher_precision() -> None:
    quiet, loud = (experiment_of(f"dataset.noise={noise}") for noise in (0.1, 0.2))
    assert quiet.in_target_units["noise_precision"] == pytest.approx(100)
    assert loud.in_target_units["noise_precision"] == pytest.approx(25)
