"""Scores of the Rényi bound compared with its authors' on the same splits."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.blocks import format_z
from bnnbench.results.compare.published_scores import z_score
from bnnbench.results.published.values import published_means
from bnnbench.results.read.run_tables import Runs

EXPERIMENT, SOURCE = "vr_uci", "Li & Turner"

METHODS = ("renyi_vi_2016", "renyi_vi_vrbound")
"""Presets with the settings of the paper and with those of the released program."""

STATEMENT = (
    "Li & Turner (2016) print means and standard errors over the splits used here, for nine data "
    "sets and five orders of the Rényi divergence: order 1 is the evidence lower bound, 0 uses "
    "importance weights, and the infinite orders use only the sample of largest or smallest "
    "weight. renyi_vi_2016 has the settings of their paper and renyi_vi_vrbound those of their "
    "released program, both without a search. z is the difference in combined standard errors. "
    "Split difficulty contributes to both errors, so z is closer to zero than for independent "
    "splits; the authors' scores of single splits are not available. A standard error printed as "
    "0.00 is treated as unknown."
)

METRICS = {"log_likelihood": "Log-likelihood", "rmse": "RMSE"}

NAMES = {
    -math.inf: "VR bound alpha=-inf",
    0.0: "VR bound alpha=0",
    0.5: "VR bound alpha=0.5",
    1.0: "VR bound alpha=1, mean-field VI (VI-G)",
    math.inf: "VR bound alpha=+inf",
}
"""Names of the orders in `published/values.csv`."""


COLUMNS = blocks.columns(
    {"Data set": "{dataset}", "Method": "{method}"},
    {
        "alpha": lambda row: f"{row['alpha']:g}",
        "Splits": "{splits}",
        "published": blocks.with_stderr("published"),
        "ours": blocks.with_stderr("ours"),
        "z": lambda row: row["differs"] or format_z(row["z"]),
    },
)


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """Yield the section on their tables, if there are runs of this suite."""
    if runs.scored.empty or EXPERIMENT not in set(runs.scored["experiment"]):
        return
    table = runs.cached(compare_with_published)
    if table.empty:
        return
    yield blocks.Heading("The Rényi bound of five orders (Li & Turner 2016)")
    yield blocks.Paragraph(STATEMENT)
    for metric, name in METRICS.items():
        yield blocks.Heading(name, 3)
        yield blocks.fill(COLUMNS, table[table["metric"] == metric])
    yield blocks.DataFile("renyi_orders", table)


def compare_with_published(runs: Runs) -> pd.DataFrame:
    """Compare every run of the presets with the published value of its data set and order.

    Returns:
        Columns `dataset`, `method`, `alpha`, `metric`, `splits`, `ours`, `ours_stderr`,
        `published`, `published_stderr`, `z` (missing if settings differ) and `differs` (the
        differences).
    """
    table = published_means()
    theirs = table[table["source"] == SOURCE].set_index(["dataset", "method", "metric"])
    rows = []
    for run in runs.scored[runs.scored["method"].isin(METHODS)].to_dict("records"):
        alpha = float(run["settings"].get("method.alpha", math.nan))
        for metric in METRICS:
            key = run["dataset"], NAMES.get(alpha), metric
            if key in theirs.index:
                ours = run[f"{metric}_mean"], run[f"{metric}_stderr"]
                published, differs = theirs.loc[key, ["mean", "stderr"]], run["settings_differ"]
                rows.append({
                    "dataset": run["dataset"], "method": run["method"], "alpha": alpha,
                    "metric": metric,
                    "splits": run["splits"], "ours": ours[0], "ours_stderr": ours[1],
                    "published": published["mean"], "published_stderr": published["stderr"],
                    "z": math.nan if differs else z_score(*ours, *published),
                    "differs": differs,
                })  # fmt: skip
    order = ["metric", "dataset", "method", "alpha"]
    return pd.DataFrame(rows).sort_values(order, ignore_index=True) if rows else pd.DataFrame()


SECTIONS = (section,)
