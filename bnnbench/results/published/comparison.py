"""Our runs compared with published values: means, z, and differences over common splits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.published.splits import paired_with_published
from bnnbench.results.published.values import (
    Values,
    counterpart,
    run_difference,
    run_z_score,
    user_values,
)
from bnnbench.results.reader import Runs

COLUMNS = ("published", "published_stderr", "published_std", "z", "source", "differs", "paired",
           "paired_stderr", "paired_splits")  # fmt: skip
"""Suffixes of the columns added for each metric."""


def with_published(runs: Runs, metrics: Sequence[Metric] = printed_in("published")) -> pd.DataFrame:
    """Add published values to the table of runs with scores.

    Returns:
        `Runs.scored` with the new columns `<metric>_published`, `<metric>_published_stderr`,
        `<metric>_published_std` (by its number of splits), `<metric>_z` (missing if major settings
        differ), `<metric>_source`, `<metric>_differs` (known differences of settings); and where
        single splits were published, `<metric>_paired` (mean of ours - theirs over splits with the
        same test rows), `<metric>_paired_stderr` and `<metric>_paired_splits` (their number).
        Missing where nothing comparable was published.
    """
    pairs = runs.cached(paired_with_published).to_dict("index")
    user_published = user_values(runs.user_published)
    rows = [
        {
            f"{metric.key}_{name}": cell
            for metric in metrics
            for name, cell in comparison_cells(
                run, metric.key, pairs.get(digest, {}), user_published
            ).items()
        }
        for digest, run in runs.scored.to_dict("index").items()
    ]
    return runs.scored.join(pd.DataFrame(rows, runs.scored.index))


def comparison_cells(
    run: Mapping[Any, Any], metric: str, pairs: Mapping[Any, Any], user_published: Values
) -> dict[str, Any]:
    """Return the cells of a run and a metric, by `COLUMNS`.

    `pairs` is the run's row of `paired_with_published`, empty if it has none.
    """
    cells: dict[str, Any] = {**dict.fromkeys(COLUMNS, math.nan), "paired_splits": 0}
    theirs = counterpart(run, metric, user_published)
    if theirs is None:
        return {**cells, "source": "", "differs": ""}
    cells |= {
        "published": theirs.mean,
        "published_stderr": theirs.stderr,
        "published_std": theirs.std,
        "z": run_z_score(run, metric, theirs),
        "source": theirs.source,
        "differs": run_difference(run, theirs).description,
    }
    if pairs.get("source") == theirs.source and f"{metric}_difference" in pairs:
        cells |= {
            "paired": pairs[f"{metric}_difference"],
            "paired_stderr": pairs[f"{metric}_stderr"],
            "paired_splits": pairs["splits"],
        }
    return cells
