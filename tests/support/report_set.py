"""A small fixed set of runs, and every table of its report.

If numbers change on purpose, run `python -m support.report_set` in `tests`. It rewrites
`tests/report/expected`; review the diff.
"""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import OUT_OF_FOLD
from bnnbench.report.blocks import DataFile, Style, TableBlock
from bnnbench.report.report_writer import SECTIONS, section_functions
from bnnbench.report.sections import ALL
from bnnbench.results.read.run_files import (
    CALIBRATION,
    read_out_of_fold,
    read_splits,
    read_test_points,
)
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.score.calibration import calibration_table
from support.runs import add_arrays, divergence_metadata, make_points, make_run
from support.synthetic_data import make_curve_run

EXPECTED = Path(__file__).parents[1] / "report" / "expected"
NUMBERS = EXPECTED / "printed_numbers.json"

Numbers = list[list[str]]
"""The printed numbers of each table, one string per row."""

JS = divergence_metadata("js", weight=2.0)
"""The GVI thesis's Jensen-Shannon divergence, without the factor 1/2."""

WAVE = np.array([0.0, 0.713, -0.437, 0.219])
"""Deviation of the scores of each split."""


def scores(level: float, phase: int = 0) -> dict[str, Any]:
    """Return deterministic scores of four splits around a level."""
    rmse = level + 0.5 * np.roll(WAVE, phase)
    return {
        "rmse": rmse,
        "log_likelihood": -0.4 * rmse - 0.1 * WAVE,
        "log_likelihood_joint": -0.4 * rmse,
        "log_likelihood_gaussian": -0.45 * rmse,
        "crps": rmse / 2,
        "total_seconds": 10 * level + WAVE,
    }


def make_runs(outputs: Path) -> None:
    """Make runs of several methods on UCI sets, two grids of divergences, and a toy."""
    book = {"bbb_x1": 3.3, "bbb_x2": 3.2, "vadam": 3.6, "pbp": 3.0, "mc_dropout_x1": 2.9,
            "mc_dropout_x10": 2.95}  # fmt: skip
    for dataset, shift in {"boston": 0.0, "yacht": -1.5}.items():
        for phase, (method, level) in enumerate(book.items()):
            kind = {"experiment": "book_uci", "dataset": dataset, "method": method}
            make_run(outputs, "v", 5, **kind, **scores(level + shift, phase))
    variational = {"likelihood": "heteroscedastic", "dataset": "yacht", "method": "bbb"}
    for depth in (1, 2):
        for level, kind in enumerate(
            (divergence_metadata("kl"), JS, divergence_metadata("alpha", 2))
        ):
            variant = f"{kind['divergence']}-{depth}"
            kind |= {"experiment": "gvi_uci", "depth": depth, **variational}
            make_run(outputs, variant, **kind, **scores(2 + 0.3 * level + 0.1 * depth, depth))
        kind = {**variational, "experiment": "gvi_uci", "method": "sgld", "depth": depth}
        make_run(outputs, f"sgld-{depth}", **kind, **scores(2.2, depth))
    for order, level in {0.5: 2.5, 2.0: 2.1, 3.0: 2.3}.items():
        kind = {"experiment": "gvi_alpha", **variational, **divergence_metadata("alpha", order)}
        make_run(outputs, f"alpha-{order}", **kind, **scores(level))
    lost = {"diverged": [0, 1, 0, 0], "at_bound": ""}
    folder = make_run(outputs, "v", experiment="uci", method="vprop", **scores(3.5), **lost)
    add_arrays(folder)
    held_out = make_points()
    add_arrays(folder, OUT_OF_FOLD, {**held_out, "mean": held_out["mean"] + 1})
    add_calibration(folder)
    toy = {"experiment": "gp_toy", "dataset": "gp_sample", "method": "bbb"}
    trained = {"train_log_likelihood": -1.5, "training_rows": 401, "parameters": 804}
    for depth, scale in {1: 0.6, 2: 1.4}.items():
        kind = {**toy, **trained, **divergence_metadata("tv_lower")}
        add_calibration(make_curve_run(outputs, scale, depth=depth, **kind))


def add_calibration(folder: RunFolder) -> None:
    """Write the calibration table of the run's page."""
    points = read_test_points(folder, read_splits(folder))
    assert points is not None
    table = calibration_table(points, read_out_of_fold(folder))
    table.to_csv(folder.table(CALIBRATION), index=False)


def read_report(outputs: Path) -> tuple[dict[str, pd.DataFrame], Numbers]:
    """Return every table of the report by name, and the printed numbers of generic sections."""
    runs, style, tables, numbers = read_runs(outputs), Style(sections=(ALL,)), {}, []
    for build in section_functions(runs, style):
        for block in build(runs, style):
            if isinstance(block, DataFile):
                tables[block.name] = block.table.apply(without_prose)
            elif isinstance(block, TableBlock) and build in SECTIONS.values():
                numbers.append(printed_numbers(block))
    return tables, numbers


def without_prose(column: pd.Series) -> pd.Series:
    """Reduce sentences to their numbers, so that expected tables do not depend on wording."""
    if column.name in ("a", "b", "label"):
        return column
    return column.map(lambda x: numbers_in(x) if isinstance(x, str) and " " in x else x)


def numbers_in(text: str) -> str:
    return " ".join(re.findall(r"(?<!\w)[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text))


def printed_numbers(table: TableBlock) -> list[str]:
    """Return the numbers in each row of a table, without any text."""
    columns = [k for k, column in enumerate(table.columns) if column.kind == "number"]
    return [numbers_in(" ".join(row[k] for k in columns)) for row in table.rows]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        make_runs(Path(folder))
        tables, numbers = read_report(Path(folder))
    EXPECTED.mkdir(exist_ok=True)
    for name, table in tables.items():
        table.to_csv(EXPECTED / f"{name}.csv", index=False, lineterminator="\n")
    NUMBERS.write_text(json.dumps(numbers, indent=1) + "\n")
