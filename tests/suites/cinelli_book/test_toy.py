"""The one-dimensional toy, from its configuration to its report section."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.blocks import blocks, figures
from support.config import compose
from support.tiny_runs import finished

from bnnbench.config.assemble import build
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.report.sections import curves
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.score.curves import curve_table, read_curves

SMALL = ("network.width=5", "evaluation.samples=4", "training.samples=2", "workers=1",
         "dataset.points=10", "dataset.grid_points=41")  # fmt: skip


def build_toy(*overrides: str) -> SplitExperiment:
    words = ("experiment=toy_1d", "dataset=sine_20", "method=vadam", *overrides)
    experiment = build(compose(*words)).experiment
    assert isinstance(experiment, SplitExperiment)
    return experiment


@pytest.mark.slow
def test_runs_produce_curves(tmp_path: Path) -> None:
    rows: dict[str, pd.DataFrame] = {}
    for method in ("vadam", "pbp"):
        words = ("experiment=toy_1d", "dataset=sine_20", f"method={method}", *SMALL)
        quick = ("training.epochs=3", "training.final_epochs=2", f"outputs_dir={tmp_path}")
        _, rows[method] = finished(build(compose(*words, *quick)))
    # The data source fixes the precisions, so they are not searched. PBP has no such settings.
    precisions = rows["vadam"][["hp.noise_precision", "hp.prior_precision"]]
    targets = build_toy("dataset.points=10").table.targets[:10]
    assert precisions.to_numpy().tolist() == [[pytest.approx(targets.var() / 0.3**2), 1.0]]
    runs = read_runs(tmp_path)
    table = curve_table(read_curves(runs))
    assert table[["dataset", "method"]].to_numpy().tolist() == [
        ["sine_20", "pbp"], ["sine_20", "vadam"],
    ]  # fmt: skip
    section = blocks(curves.section, runs)
    assert list(figures(section)) == ["curves"]
