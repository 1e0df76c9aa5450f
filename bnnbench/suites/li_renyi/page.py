"""The scores of Rényi's bound beside those that its authors print for the same splits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from bnnbench.report.numbers import plus_minus, z_value
from bnnbench.report.section import (
    Block,
    Data,
    Heading,
    Paragraph,
    Section,
    Style,
    Table,
    numbers,
    words,
)
from bnnbench.results.published import published_modern, z_score
from bnnbench.results.reader import Runs

EXPERIMENT, METHOD, SOURCE = "vr_uci", "renyi_vi_2016", "Li & Turner"

STATEMENT = (
    "Li & Turner (2016) print means and standard errors over the splits that are used here, for "
    "nine sets and five orders of Rényi's divergence: 1 is the evidence lower bound, 0 weighs "
    "samples by their importance, and the infinite ones take the greatest or the least alone. "
    "renyi_vi_2016 has their settings, and searches nothing. z is the difference in combined "
    "standard errors. Those hold how much splits differ, which is the same for both, so that z is "
    "nearer to zero than for splits of one's own; their scores of single splits are not on record. "
    "An error that is printed as 0.00 is not known."
)

METRICS = {"log_likelihood": "Log-likelihood", "rmse": "RMSE"}

NAMES = {
    -math.inf: "VR bound alpha=-inf",
    0.0: "VR bound alpha=0",
    0.5: "VR bound alpha=0.5",
    1.0: "VR bound alpha=1, mean-field VI (VI-G)",
    math.inf: "VR bound alpha=+inf",
}
"""The orders by the names that their rows have among the published values."""


def section(runs: Runs, style: Style) -> Section | None:
    """The part of the report on their tables; None without runs of this suite."""
    if runs.scored.empty or EXPERIMENT not in set(runs.scored["experiment"]):
        return None
    beside = runs.once(beside_published)
    if beside.empty:
        return None
    blocks: tuple[Block, ...] = (
        Heading("Rényi's bound of five orders (Li & Turner 2016)"),
        Paragraph(STATEMENT),
        *(
            block
            for metric, name in METRICS.items()
            for block in (Heading(name, 3), _table(beside[beside["metric"] == metric]))
        ),
        Data("renyi_orders", beside),
    )
    return Section(blocks)


def beside_published(runs: Runs) -> pd.DataFrame:
    """Every run of the method with the value that was printed for its data set and order.

    Returns:
        Columns `dataset`, `alpha`, `metric`, `splits`, `ours`, `ours_stderr`, `published`,
        `published_stderr`, `z` (missing where settings differ) and `differs`, in which.
    """
    table = published_modern()
    theirs = table[table["source"] == SOURCE].set_index(["dataset", "method", "metric"])
    found = []
    for run in runs.scored.to_dict("records"):
        name = NAMES.get(float(run["settings"].get("method.alpha", math.nan)))
        if run["method"] != METHOD or name is None:
            continue
        for metric in METRICS:
            key = run["dataset"], name, metric
            if key in theirs.index:
                found.append(_row(run, metric, theirs.loc[key]))
    order = ["metric", "dataset", "alpha"]
    return pd.DataFrame(found).sort_values(order, ignore_index=True) if found else pd.DataFrame()


def _row(run: Mapping[Any, Any], metric: str, theirs: pd.Series) -> dict[str, Any]:
    ours = run[f"{metric}_mean"], run[f"{metric}_stderr"]
    published, differs = (theirs["mean"], theirs["stderr"]), run["settings_differ"]
    return {
        "dataset": run["dataset"],
        "alpha": float(run["settings"]["method.alpha"]),
        "metric": metric,
        "splits": run["splits"],
        "ours": ours[0],
        "ours_stderr": ours[1],
        "published": published[0],
        "published_stderr": published[1],
        "z": math.nan if differs else z_score(*ours, *published),
        "differs": differs,
    }


def _table(rows: pd.DataFrame) -> Table:
    heads = (*words("Data set"), *numbers("alpha", "Splits", "published", "ours", "z"))
    cells = tuple(
        (
            row["dataset"],
            f"{row['alpha']:g}",
            f"{row['splits']}",
            plus_minus(row["published"], row["published_stderr"]),
            plus_minus(row["ours"], row["ours_stderr"]),
            row["differs"] or z_value(row["z"]),
        )
        for row in rows.to_dict("records")
    )
    return Table(heads, cells)


SECTIONS = (section,)
