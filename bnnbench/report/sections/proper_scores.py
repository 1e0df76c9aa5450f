"""Interval, quantile and tail scores, PIT values and conformal intervals."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bnnbench.report import blocks
from bnnbench.results.metric_table import COMPUTED
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.conformal import (
    BAND,
    CONSTANT,
    CQR,
    CV_PLUS,
    LEVEL,
    RAW,
    in_coverage_band,
)
from bnnbench.results.score.later_scores import score_tables
from bnnbench.results.score.proper_scores import PIT_COLUMNS, QUANTILES, TAIL

INTERVALS = {RAW: "central", CONSTANT: "split", CQR: "CQR", CV_PLUS: "CV+"}
"""Printed names of intervals."""


def percent(fraction: float) -> str:
    """Return `90 %` for 0.9."""
    return f"{100 * fraction:.0f} %"


SCORES_STATEMENT = (
    f"Interval score of the central {percent(LEVEL)} interval; quantile loss, the mean over the "
    f"levels {QUANTILES[0]:g} to {QUANTILES[-1]:g}; tail-weighted CRPS, over values below the "
    f"{percent(TAIL)} and above the {percent(1 - TAIL)} quantile of the training targets, for runs "
    "with out-of-fold predictions. All are in units of the target; lower is better. PIT: the "
    "fraction of test targets whose predicted probability of a smaller value is below 0.1 or above "
    "0.9; 0.1 if calibrated. Predictive distributions that were not saved are taken as Gaussian. "
    "Mean ± standard error over splits."
)

INTERVALS_STATEMENT = (
    f"Prediction intervals at {percent(LEVEL)}. Central: of a Gaussian with the total variance. "
    "Split: the predictive mean ± one quantile of the out-of-fold residuals. CQR: the central "
    "interval, with both ends moved by one quantile of the out-of-fold distances to it. CV+: from "
    "predictions of the folds' networks (evaluation.save_fold_predictions=true). Width and "
    "interval score are in units of the target. In band: splits whose coverage is in the central "
    f"{percent(BAND)} of its distribution for exact split conformal intervals (Beta-binomial). "
    "Mean ± standard error over splits."
)

SCORE_COLUMNS = blocks.columns(
    {"Method": "{label}"},
    {
        **{metric.title: blocks.with_stderr(metric.key) for metric in COMPUTED},
        "PIT < 0.1": blocks.with_stderr(PIT_COLUMNS[0]),
        "PIT > 0.9": blocks.with_stderr(PIT_COLUMNS[-1]),
    },
)

INTERVAL_COLUMNS = blocks.columns(
    {"Method": "{label}", "Interval": "{name}"},
    {
        **{name.capitalize(): blocks.with_stderr(name) for name in ("coverage", "width")},
        "Interval score": blocks.with_stderr("score"),
        "In band": "{in_band}",
    },
)


def with_band(table: pd.DataFrame) -> pd.DataFrame:
    """Return the intervals with `in_band`, whether conformal coverage is in its band.

    Args:
        table: rows of `split_intervals`.
    """
    calibrated = table[table["interval"] != RAW]
    covered = (calibrated["coverage"] * calibrated["points"]).round()
    sizes = calibrated["points"].to_numpy(), calibrated["calibration"].to_numpy()
    inside = pd.Series(in_coverage_band(covered.to_numpy(), *sizes), calibrated.index)
    return table.assign(in_band=inside.astype(float))


def interval_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row per run and interval with its means over splits.

    Args:
        table: from `with_band`.
    """
    keys = ["dataset", "run", "label", "interval"]
    groups = table.groupby(keys, sort=False)
    found = blocks.mean_and_stderr(groups[["coverage", "width", "score"]])
    inside = groups["in_band"].agg(["sum", "count"]).astype(int)
    texts = inside["sum"].astype(str) + " of " + inside["count"].astype(str)
    found["in_band"] = texts.where(inside["count"] > 0, blocks.MISSING)
    return found.reset_index().assign(name=lambda rows: rows["interval"].map(INTERVALS))


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Scores and intervals of every run with predictions."""
    tables = runs.cached(score_tables)
    scores, intervals = tables["proper_scores"], tables["intervals"]
    if scores.empty:
        return
    columns = [*(metric.key for metric in COMPUTED), *PIT_COLUMNS]
    groups = scores.groupby(["dataset", "run", "label"], sort=False)
    rows = blocks.mean_and_stderr(groups[columns]).reset_index()
    yield from blocks.tables_by_dataset(
        "Scores of intervals, quantiles and tails", SCORES_STATEMENT, SCORE_COLUMNS, rows
    )
    yield blocks.DataFile("proper_scores", scores, "Scores and PIT histograms of every split:")
    intervals = with_band(intervals)
    if (intervals["interval"] == RAW).all():
        return
    yield from blocks.tables_by_dataset(
        "Conformal intervals", INTERVALS_STATEMENT, INTERVAL_COLUMNS, interval_rows(intervals)
    )
    named = ["run", "experiment", "dataset", "label", "split", "interval"]
    kept = ["coverage", "width", "score", "points", "calibration", "in_band"]
    yield blocks.DataFile("intervals", intervals[[*named, *kept]], "Intervals of every split:")
