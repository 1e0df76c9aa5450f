"""The one-dimensional toy: its data, and what the report says about runs on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bnnbench.data.synthetic_1d import Sine
from bnnbench.report.overview import write_report
from bnnbench.report.predictive_curves import (
    Curve,
    curve_table,
    curves_below,
    curves_figure,
    curves_section,
)

Command = Callable[..., tuple[int, str, str]]


def test_the_data_are_what_the_book_says() -> None:
    table = Sine(name="toy", points=4000, data_seed=3).load()
    (split,) = table.splits
    x = table.inputs[split.train, 0]
    assert len(x) == 4000 and -1 <= x.min() < -0.99 and 0.99 < x.max() <= 1
    assert table.inputs[split.test, 0].tolist() == np.linspace(-2, 2, 401).tolist()
    assert table.truth is not None
    assert table.truth == pytest.approx(
        -(table.inputs[:, 0] + 1) * np.sin(3 * np.pi * table.inputs[:, 0])
    )
    noise = table.targets - table.truth
    for part in (split.train, split.test):
        assert noise[part].std() == pytest.approx(0.3, rel=0.1)
    again = Sine(name="toy", points=4000, data_seed=3).load()
    assert (again.targets == table.targets).all()
    other = Sine(name="toy", points=4000, data_seed=4).load()
    assert not (other.targets == table.targets).any()


def curve(label: str = "a", dataset: str = "toy") -> Curve:
    """Right inside the data, from 0 to 1; off by 2 outside, with twice the deviations."""
    x = np.linspace(-1, 2, 301)
    outside = (x < 0) | (x > 1)
    grid = pd.DataFrame(
        {
            "input": x,
            "target": 0.0,
            "truth": 0.0,
            "mean": np.where(outside, 2.0, 0.0),
            "epistemic_variance": np.where(outside, 0.36, 0.09),
            "noise_variance": np.where(outside, 0.64, 0.16),
        }
    )
    run = dict.fromkeys(("experiment", "method", "divergence", "depth", "variant"), "-")
    training = pd.DataFrame({"input": [0.0, 0.4, 1.0], "target": [0.1, 0.0, -0.1]})
    return Curve({**run, "label": label, "dataset": dataset}, grid, training)


def test_inside_and_well_outside_are_told_apart() -> None:
    (row,) = curve_table([curve()]).to_dict("records")
    assert [row["rmse_in"], row["rmse_out"]] == pytest.approx([0, 2])
    assert [row["epistemic_in"], row["epistemic_out"]] == pytest.approx([0.3, 0.6])
    assert [row["total_in"], row["total_out"]] == pytest.approx([0.5, 1.0])
    assert [row["coverage_95_in"], row["coverage_95_out"]] == [1, 0]


def test_panels_stand_by_method_and_data_set() -> None:
    figure = curves_figure([curve("a", "small"), curve("b", "small"), curve("b", "large")])
    shown = [axes.get_title() for axes in figure.axes if axes.get_visible()]
    assert shown == ["a · small", "b · small", "b · large"] and len(figure.axes) == 4


def test_the_toy_sweep_ends_in_a_figure_of_all_its_runs(command: Command, tmp_path: Path) -> None:
    small = ("network.width=5", "evaluation.samples=4", "training.epochs=3", "workers=2")
    sizes = ("dataset.points=10", "dataset.grid_points=41")
    choice = ("dataset=sine_20,sine_40", "method=vadam,pbp", "training.samples=2")
    code, _, error = command(
        "run",
        "experiment=toy_1d",
        *choice,
        *small,
        *sizes,
        "training.final_epochs=2",
        "outputs_dir=o",
    )
    assert code == 0, error
    outputs = Path("o").resolve()
    run = next(outputs.rglob("vadam/*/DONE")).parent
    assert (run / "figures" / "curve.png").stat().st_size > 10_000
    # Known to the maker of the data, so not searched; PBP has no such thing and takes none.
    splits = pd.read_csv(run / "splits.csv")
    assert splits[["hp.noise_precision", "hp.prior_precision"]].to_numpy().tolist() == [[8.4, 1.0]]
    report = write_report(outputs)
    table = pd.read_csv(report.table("curves"))
    assert table[["dataset", "method"]].to_numpy().tolist() == [
        ["sine_20", "pbp"],
        ["sine_20", "vadam"],
        ["sine_40", "pbp"],
        ["sine_40", "vadam"],
    ]
    assert "](curves.png)" in report.page.read_text()
    assert report.figure("curves", "png").stat().st_size > 10_000


def test_a_value_given_by_the_user_wins_over_the_known_one(tiny_plan: Callable[..., Any]) -> None:
    plan = tiny_plan(
        "method=mc_dropout",
        "+dataset.protocol.fixed={noise_precision: 8.4, dropout: 0.05}",
        "method.dropout=0.2",
    )
    assert plan.method.fixed() == {"noise_precision": 8.4, "dropout": 0.2}
    assert [dimension.name for dimension in plan.space] == ["prior_precision"]


def test_runs_on_real_tables_have_no_curves(tiny_plan: Callable[..., Any]) -> None:
    from bnnbench.experiment.split_experiment import SplitsExperiment

    plan = tiny_plan("method=pbp", "method.compile=never")
    SplitsExperiment(label="uci").run(plan, lambda folder: None)
    assert curves_section(curves_below(plan.outputs)) is None


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("dataset.points=4", "dataset.points must be a whole number of at least 5"),
        ("dataset.noise=-1", "dataset.noise must be a number of at least 0"),
        ("dataset.low=1", "dataset.low must be below dataset.high"),
        ("dataset.grid_low=x", "dataset.grid_low must be a finite number"),
        ("dataset.grid_points=1", "dataset.grid_points must be a whole number of at least 2"),
        ("dataset.data_seed=-1", "dataset.data_seed must be a whole number of at least 0"),
    ],
)
def test_mistakes_in_the_toy(command: Command, setting: str, sentence: str) -> None:
    code, _, error = command(
        "run", "experiment=toy_1d", "hydra.mode=RUN", "dataset=sine_20", setting
    )
    assert code == 2 and sentence in error and len(error.strip().splitlines()) == 1
