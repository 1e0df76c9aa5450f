"""Coverage by epistemic uncertainty."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from scipy.special import chdtrc

from bnnbench.report import blocks
from bnnbench.results.conditional_coverage import THIRDS
from bnnbench.results.conformal import ISOTONIC, RAW, WIDTHS
from bnnbench.results.reader import Runs
from bnnbench.results.split_scores import split_scores

STATEMENT = (
    "Coverage of 90 % intervals, Gaussian with the total variance, in the third of each test part "
    "with the smallest epistemic deviation, in the middle third, and in the third with the "
    "largest. Trend: the largest less the smallest; below 0, intervals are too narrow where the "
    "method is uncertain. p: no trend with the rank of the deviation (score test of a logistic "
    "regression within splits; splits share rows, which it ignores). Interval score (Gneiting & "
    "Raftery 2007): width plus 2 / 0.1 times the distance of targets outside, in units of the "
    "target; lower is better. It is also given after isotonic recalibration and for split "
    "conformal intervals from out-of-fold residuals, whose width is constant, or proportional to "
    "the total or the epistemic deviation. Mean ± standard error over splits."
)


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per run.

    Args:
        table: of `split_scores`.

    Returns:
        Index `run`; `dataset`, `label`; the means over splits of the raw interval, each with
        `<name>_stderr`, and its `p`; and `score.<interval>` of all intervals.
    """
    raw = table[table["interval"] == RAW].drop(
        columns=["interval", "split", "experiment", "family", "points", "calibration"]
    )
    groups = raw.groupby(["run", "dataset", "label"], sort=False)
    sums = groups[["u", "v"]].sum()
    p = chdtrc(1, sums["u"] ** 2 / sums["v"].where(sums["v"] > 0))
    scores = table.groupby(["run", "interval"])["score"]
    both = scores.mean().unstack().join(scores.sem().unstack().add_suffix("_stderr"))
    means = blocks.mean_and_stderr(groups).assign(p=p)
    return means.reset_index(["dataset", "label"]).join(both.add_prefix("score."))


COLUMNS = blocks.columns(
    {"Method": "{label}"},
    {
        **{name: blocks.with_stderr(name) for name in (*THIRDS, "trend")},
        "p": "{p:.2g}",
        "all": blocks.with_stderr("coverage"),
        "interval score": blocks.with_stderr(f"score.{RAW}"),
        **{
            f"… {title}": blocks.with_stderr(f"score.{name}")
            for name, title in {
                ISOTONIC: "isotonic",
                **{name: f"conformal, {name}" for name in WIDTHS},
            }.items()
        },
    },
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Coverage by thirds of the epistemic deviation, for runs in which it varies."""
    table = runs.cached(split_scores)["conditional_coverage"]
    if table.empty or (rows := summarise(table).dropna(subset="trend")).empty:
        return
    yield blocks.Heading("Coverage by epistemic uncertainty")
    yield blocks.Paragraph(STATEMENT)
    yield from blocks.fill_by("dataset", COLUMNS, rows)
    yield blocks.DataFile("conditional_coverage", table, "All intervals on every split:")
