"""Advice to exclude columns: those that determine the target, and those that number the rows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bnnbench.data.own_table.columns.exact_relations import determining_columns
from bnnbench.data.own_table.columns.identifiers import numbers_rows
from bnnbench.data.own_table.columns.issues import Policy
from bnnbench.notes import join_words

MAX_TARGET_CORRELATION = 0.999
"""A column with a higher rank correlation is suspected of leaking the target."""


def exclusion_advice(
    inputs: Mapping[str, np.ndarray],
    sources: Mapping[str, str],
    target: str,
    targets: np.ndarray,
    rows: int,
    policy: Policy,
) -> list[str]:
    """Return one sentence that advises to exclude columns, if there are any.

    Args:
        inputs: `[N]` values of each feature, NaN where there is no value.
        sources: the file's column of each feature.
        target: the name of the target.
        targets: `[N]`.
        rows: the number of rows of the file.
        policy: the decisions made so far.
    """
    numbering = [name for name, values in inputs.items() if numbers_rows(name, values, rows)]
    measured = {name: values for name, values in inputs.items() if name not in numbering}
    reasons = [f"{name} numbers the rows, and new rows are outside its range" for name in numbering]
    leaks = _leaks(measured, sources, targets)
    for columns, agreement in leaks.items():
        how = "together determine" if len(columns) > 1 else "alone determines"
        reasons.append(f"{join_words(columns)} {how} {target} {agreement}")
    leaking = list(dict.fromkeys(name for columns in leaks for name in columns))
    names = [*numbering, *leaking]
    nothing_left = {sources[name] for name in inputs} <= {*names}
    if not names or (nothing_left and not leaks):
        return []
    advice = "use other inputs" if nothing_left else f"add {policy.without(*names)}"
    if leaks:
        advice += (
            f", but keep {join_words(leaking)} if known before {target}; otherwise the RMSE is now "
            f"too low, and rises without {'them' if len(leaking) > 1 else 'it'}"
        )
    return [f"{'; '.join(reasons)}: {advice}"]


def _leaks(
    inputs: Mapping[str, np.ndarray], sources: Mapping[str, str], targets: np.ndarray
) -> dict[tuple[str, ...], str]:
    """Return the columns that determine the target: one with the same order, or several exactly."""
    import pandas as pd

    leaks = {}
    for name, values in inputs.items():
        ranks = pd.DataFrame({"input": values, "target": targets}).dropna().rank()
        agreement = ranks["input"].corr(ranks["target"], min_periods=3)  # NaN of constants
        if abs(agreement) > MAX_TARGET_CORRELATION:
            leaks[(sources[name],)] = f"(rank correlation {agreement:.4f})"
    rest = [name for name in inputs if (sources[name],) not in leaks]
    matrix = np.column_stack([np.empty((len(targets), 0)), *(inputs[name] for name in rest)])
    found = determining_columns(matrix, targets, [sources[name] for name in rest])
    return leaks | ({found: "exactly"} if found else {})
