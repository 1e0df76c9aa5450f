"""Our runs beside what was published: means, z, and differences over the same splits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.results.metrics import Metric, printed_in
from bnnbench.results.published import Values, brought, counterpart, difference_of, z_of
from bnnbench.results.published_splits import paired_with_published
from bnnbench.results.reader import Runs

COLUMNS = ("published", "published_stderr", "published_std", "z", "source", "differs", "paired",
           "paired_stderr", "paired_splits")  # fmt: skip
"""What is added of each metric."""

NOTHING = (math.nan, math.nan, math.nan, math.nan, "", "", math.nan, math.nan, 0)


def with_published(runs: Runs, metrics: Sequence[Metric] = printed_in("published")) -> pd.DataFrame:
    """The runs with scores and what was published beside them.

    Args:
        runs: with what the reader brought.
        metrics: of which scores; by default those that papers print.

    Returns:
        `Runs.scored` with the new columns `<metric>_published`, `<metric>_published_stderr`,
        `<metric>_published_std` (by its number of splits), `<metric>_z` (missing where more than
        slight settings differ), `<metric>_source`, `<metric>_differs`, those settings as far as
        they are known; and where single splits were published `<metric>_paired`, the mean of ours
        less theirs over the splits of the same test rows, `<metric>_paired_stderr` and
        `<metric>_paired_splits`, how many those are. Missing where nothing comparable was
        published.
    """
    pairs = runs.once(paired_with_published).to_dict("index")
    own = brought(runs.beside)
    columns: dict[str, list[Any]] = {}
    for name, run in zip(runs.scored.index, runs.scored.to_dict("records"), strict=True):
        for metric in (metric.key for metric in metrics):
            cells = beside(run, metric, pairs.get(name, {}), own)
            for column, cell in zip(COLUMNS, cells, strict=True):
                columns.setdefault(f"{metric}_{column}", []).append(cell)
    return runs.scored.assign(**columns)


def beside(
    run: Mapping[Any, Any], metric: str, pairs: Mapping[Any, Any], own: Values
) -> tuple[Any, ...]:
    """The cells of a run and a metric under `COLUMNS`.

    Args:
        run: a row of `Runs.scored`.
        metric: its key.
        pairs: the run's row of `paired_with_published`, empty if it has none.
        own: what the reader brought.
    """
    theirs = counterpart(run, metric, own)
    if theirs is None:
        return NOTHING
    same = pairs if pairs.get("source") == theirs.source else {}
    return (
        theirs.mean,
        theirs.stderr,
        theirs.std,
        z_of(run, metric, theirs),
        theirs.source,
        difference_of(run, theirs).words,
        same.get(f"{metric}_difference", math.nan),
        same.get(f"{metric}_stderr", math.nan),
        same.get("splits", 0) if f"{metric}_difference" in same else 0,
    )
