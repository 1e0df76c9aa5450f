"""Coverage, calibration error and sharpness of predictions (book, section 4.2.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bnnbench.report.blocks import (
    DataFile,
    Heading,
    Paragraph,
    Section,
    Style,
    label_columns,
    number_columns,
    tables_by_group,
)
from bnnbench.report.formatting import plus_minus
from bnnbench.results.calibration import RECALIBRATION_NAMES, gather_calibration
from bnnbench.results.labels import marked_labels
from bnnbench.results.reader import Runs

COLUMNS = (
    *label_columns("Method"),
    *number_columns(
        "Calibration error",
        "… of a perfect model",
        *("… " + name for name in RECALIBRATION_NAMES.values()),
        "50 % coverage",
        "90 % coverage",
        "95 % coverage",
        "90 % width",
        "… " + RECALIBRATION_NAMES["isotonic"],
    ),
)

CALIBRATION_STATEMENT = (
    "Calibration error: the absolute difference between a credible level and the fraction of test "
    "targets inside its central interval, averaged over 19 levels. Lower is better, but it is "
    "never 0 because the fraction varies by chance on a finite test set; the next column gives "
    "the expected error of a perfect model for the same test set sizes. Coverage: the fraction of "
    "test targets inside the central 50, 90 or 95 % interval. Among calibrated predictions, "
    "narrower intervals (width, in units of the target) are better. Recalibration is fitted to "
    "out-of-fold predictions on the training set of each split and evaluated on its test set. The "
    "predictive density is approximated by a Gaussian with the total variance. Mean ± standard "
    "error over splits."
)

NAMED = ("experiment", "dataset", "method", "divergence", "likelihood", "loss", "depth", "variant",
         "splits", "diverged")  # fmt: skip


def section(runs: Runs, style: Style) -> Section | None:
    """A row per run with saved predictions; None if there are none."""
    table = gather_calibration(runs)
    if table.empty:
        return None
    scored = runs.scored.loc[table.index.unique("run")]
    names = marked_labels(scored)
    by_run: dict[str, dict[str, dict[str, float]]] = {}
    for (run, name), qualities in table.to_dict("index").items():
        by_run.setdefault(run, {})[name] = qualities
    rows = [(names[run], *cells(by_run[run])) for run in scored.index]
    full = table.reset_index().join(runs.scored[list(NAMED)], on="run")
    return Section((
        Heading("Calibration"),
        Paragraph(CALIBRATION_STATEMENT),
        *tables_by_group(COLUMNS, scored["dataset"], rows),
        DataFile("calibration", full),
    ))  # fmt: skip


def cells(run: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    """The cells of one run under `COLUMNS`, without its name.

    Args:
        run: its rows from `gather_calibration`, by recalibration.
    """

    def cell(quality: str, name: str = "none") -> str:
        if name not in run:
            return plus_minus(math.nan)
        return plus_minus(run[name][f"{quality}_mean"], run[name][f"{quality}_stderr"])

    return (
        cell("calibration_error"),
        f"{next(iter(run.values()))['calibration_floor']:.3f}",
        *(cell("calibration_error", name) for name in RECALIBRATION_NAMES),
        *(cell(f"coverage_{level}") for level in (50, 90, 95)),
        cell("width_90"),
        cell("width_90", "isotonic"),
    )
