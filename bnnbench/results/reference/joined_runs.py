"""Runs together with the reference runs that they are compared with, for tables of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from bnnbench.experiment.split_files import KIND
from bnnbench.results.metrics import Metric
from bnnbench.results.reference.comparison import compare_with_reference
from bnnbench.results.run_tables import Runs
from bnnbench.results.significance import ROPE


def with_reference_runs(runs: Runs, with_reference: str, metrics: Sequence[Metric]) -> Runs:
    """Return runs and the reference runs with which they are tested.

    Args:
        runs: runs with scores on splits.
        with_reference: as for `parse_reference`.
        metrics: the metrics.

    Raises:
        UserError: as `compare_with_reference`.
    """
    comparisons = compare_with_reference(runs, with_reference, metrics, ROPE)
    tables, splits = [runs.scored], [runs.splits]
    for one in comparisons.tracks:
        tested = one.pairs.loc[one.pairs["counted"], "run_b"].unique()
        tables.append(one.reference.scored.loc[tested])
        splits.append(one.reference.splits[one.reference.splits["run"].isin(tested)])
    return replace(
        runs,
        tables={**runs.tables, KIND: pd.concat(tables)},
        splits=pd.concat(splits, ignore_index=True),
        left_out=(*runs.left_out, *comparisons.left_out),
        _cache={},
    )
