"""The comparison with published results that `bnnbench compare --published` prints."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from bnnbench.report import blocks
from bnnbench.report.pair_tables import PAIR_COLUMNS, difference_cell
from bnnbench.report.sections.results import comparison_rows, paired_difference
from bnnbench.results.compare.power import with_power
from bnnbench.results.compare.published_scores import (
    UNKNOWN_SETTINGS,
    pairs_with_published,
    with_published,
)
from bnnbench.results.metric_table import BY_KEY, printed_in
from bnnbench.results.read.run_tables import Runs
from bnnbench.types import UserError

COLUMNS = blocks.columns(
    {"Method": "{label}"},
    {
        "Ours": blocks.with_stderr("mean", "stderr"),
        "Published": blocks.with_stderr("published"),
        "z": lambda row: blocks.format_z(row["z"]),
        "Ours - published": paired_difference,
    },
)

RIVAL_COLUMNS = (
    *blocks.columns({"Published": "{b}"}, {"Ours - published": difference_cell}),
    *PAIR_COLUMNS[3:],
)

STATEMENT = (
    "z: the difference of the means in combined standard errors; none if settings other than "
    "samples per step, test samples and the search objective differ, or are unknown. "
    "Ours - published: mean over splits with the same test rows ± its standard error, where scores "
    "of single splits were published."
)

UNKNOWN_STATEMENT = f"{UNKNOWN_SETTINGS} The settings of this method are unknown."


def published_blocks(runs: Runs, rope: float) -> Iterator[blocks.Block]:
    """Yield our means next to those of the same method, then tests against any method by split.

    Args:
        runs: ours.
        rope: as for `significance.rope_width`.

    Raises:
        UserError: if no published result is comparable with the runs.
    """
    rows = comparison_rows(with_published(runs), printed_in("published"))
    pairs = pairs_with_published(runs, rope)
    if rows.empty and pairs.empty:
        raise UserError(
            f"no published result is comparable with the runs below {runs.path}.", "--published"
        )
    for (metric, dataset), own in rows.groupby(["metric", "dataset"], sort=False):
        title = f"{metric}, published means of the same method"
        yield blocks.fill(COLUMNS, own, group=str(dataset), title=title, name=title)
    if len(rows):
        yield blocks.ItemList(tuple(_sources(rows)))
        yield blocks.Paragraph(STATEMENT)
    for metric, own in with_power(pairs).groupby("metric", sort=False):
        title = f"{BY_KEY[metric].title}, published scores of the same splits (ROPE {rope:g})"
        for (dataset, _), part in own.groupby(["dataset", "run_a"], sort=False):
            group = f"{dataset}, {part['a'].iloc[0]}"
            yield blocks.fill(RIVAL_COLUMNS, part, group=group, title=title, name=title)
    if pairs["b"].str.endswith(UNKNOWN_SETTINGS).any():
        yield blocks.Paragraph(UNKNOWN_STATEMENT)


def _sources(rows: pd.DataFrame) -> Iterator[str]:
    """Yield where the published means of a run are from, and how its settings differ."""
    keys = ["label", "source", "differs", "paired_splits"]
    for (label, source, differs, splits), own in rows.groupby(keys, sort=False):
        paired = f"; {splits} splits paired" if splits else ""
        differing = f"; settings that differ: {differs}" if differs else ""
        yield f"{label}, {', '.join(own['metric'].unique())}: {source}{paired}{differing}"
