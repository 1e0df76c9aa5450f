"""Coverage, calibration error and sharpness of predictions (book, section 4.2.2)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bnnbench.report import blocks
from bnnbench.results.read.labels import marked_labels
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.calibration import RECALIBRATION_NAMES, gather_calibration

COLUMNS = (
    *blocks.columns(
        {"Method": "{label}"},
        {
            "Calibration error": blocks.score("calibration_error"),
            "… of a perfect model": "{calibration_floor:.3f}",
            **{
                f"… {title}": blocks.score(f"{name}.calibration_error")
                for name, title in RECALIBRATION_NAMES.items()
            },
            **{f"{level} % coverage": blocks.score(f"coverage_{level}") for level in (50, 90, 95)},
            "90 % width": blocks.score("width_90"),
        },
    ),
    *blocks.columns(
        {}, {f"… {RECALIBRATION_NAMES['isotonic']}": blocks.score("isotonic.width_90")}
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


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """A row per run with saved predictions."""
    table = gather_calibration(runs)
    if table.empty:
        return
    cells: dict[str, dict[str, float]] = {}
    for (run, name), qualities in table.to_dict("index").items():
        prefix = "" if name == "none" else f"{name}."
        cells.setdefault(run, {}).update({f"{prefix}{key}": q for key, q in qualities.items()})
    scored = runs.scored.loc[list(cells)]
    names = scored[["dataset"]].assign(label=marked_labels(scored))
    rows = names.join(pd.DataFrame.from_dict(cells, "index"))
    yield from blocks.tables_by_dataset("Calibration", CALIBRATION_STATEMENT, COLUMNS, rows)
    yield blocks.DataFile(
        "calibration", table.reset_index().join(runs.scored[list(NAMED)], on="run")
    )
