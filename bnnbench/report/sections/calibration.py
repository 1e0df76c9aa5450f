"""Coverage, calibration error and sharpness of every run (book, section 4.2.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bnnbench.report.numbers import plus_minus
from bnnbench.report.section import (
    Data,
    Heading,
    Paragraph,
    Section,
    Style,
    by_group,
    numbers,
    words,
)
from bnnbench.results.calibration import RECALIBRATED, gather_calibration
from bnnbench.results.labels import marked_labels
from bnnbench.results.reader import Runs

ORDER = 7

COLUMNS = (
    *words("Method"),
    *numbers(
        "Calibration error",
        "… of a perfect model",
        *("… " + name for name in RECALIBRATED.values()),
        "50 % holds",
        "90 % holds",
        "95 % holds",
        "90 % width",
        "… " + RECALIBRATED["isotonic"],
    ),
)

CALIBRATION_STATEMENT = (
    "Calibration error: mean over 19 credible levels of the absolute difference between a level "
    "and the share of test targets inside its central interval. The less the better, but it is 0 "
    "for nobody: a share of few test points strays by chance, and on average a perfect model has "
    "the error that stands beside, by the sizes of the test parts. An honest interval of "
    "50, 90 or 95 % holds that share; among calibrated predictions the narrower (width, in the "
    "target's unit) is the better. Recalibration is learned on out-of-fold predictions of each "
    "split's training part and tested on its test part. The predictive density is taken as a "
    "Gaussian of the total variance; mean ± standard error over splits."
)

NAMED = ("experiment", "dataset", "method", "divergence", "likelihood", "loss", "depth", "variant",
         "splits", "diverged")  # fmt: skip


def section(runs: Runs, style: Style) -> Section | None:
    """A row per run that predicted; None where none did."""
    table = gather_calibration(runs)
    if table.empty:
        return None
    shown = runs.scored.loc[table.index.unique("run")]
    names = marked_labels(shown)
    by_run: dict[str, dict[str, dict[str, float]]] = {}
    for (run, name), found in table.to_dict("index").items():
        by_run.setdefault(run, {})[name] = found
    rows = [(names[run], *cells(by_run[run])) for run in shown.index]
    full = table.reset_index().join(runs.scored[list(NAMED)], on="run")
    return Section((
        Heading("Calibration"),
        Paragraph(CALIBRATION_STATEMENT),
        *by_group(COLUMNS, shown["dataset"], rows),
        Data("calibration", full, "At full precision:"),
    ))  # fmt: skip


def cells(run: Mapping[str, Mapping[str, float]]) -> tuple[str, ...]:
    """The printed cells of one run under `COLUMNS`, but for its name.

    Args:
        run: its rows of `gather_calibration`, by recalibration.
    """

    def cell(quality: str, name: str = "none") -> str:
        if name not in run:
            return plus_minus(math.nan)
        return plus_minus(run[name][f"{quality}_mean"], run[name][f"{quality}_stderr"])

    return (
        cell("calibration_error"),
        f"{next(iter(run.values()))['calibration_floor']:.3f}",
        *(cell("calibration_error", name) for name in RECALIBRATED),
        *(cell(f"coverage_{level}") for level in (50, 90, 95)),
        cell("width_90"),
        cell("width_90", "isotonic"),
    )
