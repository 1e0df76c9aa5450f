"""The generated tables of `docs/results/published_scores.md`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
from causes import explanation
from page_blocks import tables_by, to_markdown, with_error
from published_scores import comparisons

from bnnbench.report.blocks import format_z, plus_minus, with_std
from bnnbench.results.metric_table import BY_KEY


def publications() -> str:
    """Return the number of scores with each verdict by publication."""
    rows = comparisons()
    rows = rows.assign(seeds=rows["runs"].notna(), close=rows["is_close"].eq(True))
    names = {"agrees": "agree", "better": "ours better", "worse": "ours worse", "all": "compared"}
    counts = pd.crosstab(rows["publication"], rows["verdict"], margins=True, margins_name="all")
    counts = counts[[*names]].rename(columns=names)
    sums = rows.groupby("publication")[["seeds", "close"]].sum()
    sums.loc["all"] = sums.sum()
    sums = sums.rename(
        columns={"seeds": "several seeds stored", "close": "of these within the run-to-run error"}
    )
    counts = counts.join(sums).rename_axis(index="publication", columns=None)
    return to_markdown(counts.reset_index())


def exceptions() -> str:
    """Return the published scores that are not reproduced, and what was tried."""
    rows = comparisons()
    rows = rows[rows["verdict"] != "agrees"].sort_values(["publication", "dataset"], kind="stable")
    return tables_by(
        "publication",
        [
            {
                **_identity(run),
                "ours": plus_minus(run["ours"], run["stderr"]),
                "published": with_error(run["published"], run["published_stderr"]),
                "z": format_z(run["z"]),
                "ours is": run["verdict"],
                "causes": explanation(run),
            }
            for run in rows.to_dict("records")
        ],
    )


def run_to_run() -> str:
    """Return the scores whose seeds are stored, in units of the run-to-run error."""
    rows = comparisons()
    rows = rows[rows["runs"].notna()]
    return tables_by(
        "publication",
        [
            {
                **_identity(run),
                "published": f"{run['published']:g}",
                "ours, mean and sd over seeds": with_std(run["runs_mean"], run["runs_std"]),
                "seeds, ours": f"{run['runs']:.0f}",
                "seeds, theirs": f"{run['published_runs']:.0f}",
                "run-to-run errors": format_z(run["run_to_run"]),
                "limit": f"{run['limit']:.1f}",
                "z": format_z(run["z"]),
            }
            for run in rows.to_dict("records")
        ],
    )


def _identity(run: dict[str, Any]) -> dict[str, str]:
    method = f"{run['method']} {run['order']}".strip()
    score = f"{method}, {run['dataset']}, {BY_KEY[run['metric']].inline_title}"
    return {"publication": run["publication"], "score": score}


BLOCKS: dict[str, Callable[[], str]] = {
    function.__name__: function for function in (publications, exceptions, run_to_run)
}
"""The blocks by the name of their marks."""
