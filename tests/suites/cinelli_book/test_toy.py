"""The one-dimensional toy, from its configuration to its part of the report."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from support.config import compose
from support.tiny_runs import finished

from bnnbench.cli.build import build
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.report.section import Drawing, Style
from bnnbench.report.sections import curves
from bnnbench.results.curves import curve_table, curves_of
from bnnbench.results.reader import read_runs

SMALL = ("network.width=5", "evaluation.samples=4", "training.samples=2", "workers=1",
         "dataset.points=10", "dataset.grid_points=41")  # fmt: skip


def test_its_runs_end_in_curves(tmp_path: Path) -> None:
    rows: dict[str, pd.DataFrame] = {}
    for method in ("vadam", "pbp"):
        words = ("experiment=toy_1d", "dataset=sine_20", f"method={method}", *SMALL)
        quick = ("training.epochs=3", "training.final_epochs=2", f"outputs_dir={tmp_path}")
        _, rows[method] = finished(build(compose(*words, *quick)))
    # Known to the maker of the data, so not searched; PBP has no such thing and takes none.
    precisions = rows["vadam"][["hp.noise_precision", "hp.prior_precision"]]
    assert precisions.to_numpy().tolist() == [[8.4, 1.0]]
    runs = read_runs(tmp_path)
    table = curve_table(curves_of(runs))
    assert table[["dataset", "method"]].to_numpy().tolist() == [
        ["sine_20", "pbp"], ["sine_20", "vadam"],
    ]  # fmt: skip
    section = curves.section(runs, Style())
    assert section is not None
    assert [b.name for b in section.blocks if isinstance(b, Drawing)] == ["curves"]


def test_a_value_given_by_the_user_wins_over_the_known_one() -> None:
    words = ("experiment=toy_1d", "dataset=sine_20", "method=mc_dropout", "method.dropout=0.2")
    experiment = build(compose(*words)).experiment
    assert isinstance(experiment, SplitExperiment)
    fixed = experiment.method.fixed()
    assert (fixed["dropout"], fixed["noise_precision"]) == (0.2, 8.4)
