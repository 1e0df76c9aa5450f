"""A fixed small set of runs, and every table of the report over them.

`python tests/support/report_set.py` writes what a report holds into `tests/report/expected`; that
is done after a change of numbers that was meant, and shows in the difference what it changed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1]))

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import OUT_OF_FOLD
from bnnbench.report.overview import sections_of
from bnnbench.report.renderers import markdown
from bnnbench.report.section import Data, Style
from bnnbench.results.calibration import calibration_table
from bnnbench.results.reader import read_runs
from bnnbench.results.run_files import (
    CALIBRATION,
    kept_points,
    read_held_out,
    read_predictions,
    read_splits,
)
from support.made_data import make_curve_run
from support.runs import add_arrays, make_points, make_run, of_order

EXPECTED = Path(__file__).parents[1] / "report" / "expected"

JS = of_order("js", weight=2.0)
"""The GVI thesis's, without the factor 1/2."""

WAVE = np.array([0.0, 0.713, -0.437, 0.219])
"""By split, by how much scores differ."""


def scores(level: float, phase: int = 0) -> dict[str, Any]:
    """Scores of four splits around a level, each of its own, without any random number."""
    rmse = level + 0.5 * np.roll(WAVE, phase)
    return {
        "rmse": rmse,
        "log_likelihood": -0.4 * rmse - 0.1 * WAVE,
        "log_likelihood_joint": -0.4 * rmse,
        "log_likelihood_gaussian": -0.45 * rmse,
        "crps": rmse / 2,
        "total_seconds": 10 * level + WAVE,
    }


def make_set(outputs: Path) -> None:
    """Two methods' configurations and more on UCI sets, two grids of divergences, and a toy."""
    book = {"bbb_x1": 3.3, "bbb_x2": 3.2, "vadam": 3.6, "pbp": 3.0, "mc_dropout_x1": 2.9,
            "mc_dropout_x10": 2.95}  # fmt: skip
    for dataset, shift in {"boston": 0.0, "yacht": -1.5}.items():
        for phase, (method, level) in enumerate(book.items()):
            kind = {"experiment": "book_uci", "dataset": dataset, "method": method}
            make_run(outputs, "v", 5, **kind, **scores(level + shift, phase))
    variational = {"likelihood": "heteroscedastic", "dataset": "yacht", "method": "bbb"}
    for depth in (1, 2):
        for level, kind in enumerate((of_order("kl"), JS, of_order("alpha", 2))):
            variant = f"{kind['divergence']}-{depth}"
            kind |= {"experiment": "gvi_uci", "depth": depth, **variational}
            make_run(outputs, variant, **kind, **scores(2 + 0.3 * level + 0.1 * depth, depth))
        kind = {**variational, "experiment": "gvi_uci", "method": "sgld", "depth": depth}
        make_run(outputs, f"sgld-{depth}", **kind, **scores(2.2, depth))
    for order, level in {0.5: 2.5, 2.0: 2.1, 3.0: 2.3}.items():
        kind = {"experiment": "gvi_alpha", **variational, **of_order("alpha", order)}
        make_run(outputs, f"alpha-{order}", **kind, **scores(level))
    lost = {"diverged": [0, 1, 0, 0], "at_bound": ""}
    folder = make_run(outputs, "v", experiment="uci", method="vprop", **scores(3.5), **lost)
    add_arrays(folder)
    held_out = make_points()
    add_arrays(folder, OUT_OF_FOLD, {**held_out, "mean": held_out["mean"] + 1})
    add_calibration(folder)
    toy = {"experiment": "gp_toy", "dataset": "gp", "method": "bbb"}
    trained = {"train_log_likelihood": -1.5, "training_rows": 401, "parameters": 804}
    for depth, scale in {1: 0.6, 2: 1.4}.items():
        kind = {**toy, **trained, **of_order("tv_lower")}
        add_calibration(make_curve_run(outputs, scale, depth=depth, **kind))


def add_calibration(folder: RunFolder) -> None:
    """What the run's own page would have found."""
    points = read_predictions(folder)
    assert points is not None
    kept = kept_points(points, read_splits(folder))
    table = calibration_table(kept, read_held_out(folder))
    table.to_csv(folder.table(CALIBRATION), index=False)


def tables_of(outputs: Path) -> tuple[dict[str, pd.DataFrame], str]:
    """Every table of the report over these runs by name, and its page; nothing is drawn."""
    sections = sections_of(read_runs(outputs), Style())
    blocks = [block for section in sections for block in section.blocks]
    return {b.name: b.table for b in blocks if isinstance(b, Data)}, markdown.page(sections)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        make_set(Path(place))
        tables, page = tables_of(Path(place))
    EXPECTED.mkdir(exist_ok=True)
    for name, table in tables.items():
        table.to_csv(EXPECTED / f"{name}.csv", index=False)
    (EXPECTED / "results.md").write_text(page)
