"""Tables of pairwise comparisons, with the power of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.report import blocks
from bnnbench.results.metrics import Metric
from bnnbench.results.power import POWER, limit_ratio, with_power
from bnnbench.results.significance import (
    DECISION_PROBABILITY,
    SIGNIFICANCE_LEVEL,
    describe_shared_splits,
    verdicts,
)

MAX_LISTED = 4
"""Methods named in a sentence; more are counted."""

UNLIMITED = "∞"
"""Printed if no number of splits is enough."""


ROUNDING = 1e-6
"""Fraction of a score below which a difference is rounding, as of other processors."""


def difference_cell(pair: Mapping[Any, Any]) -> str:
    """Return the signed difference of a pair and half its interval; 0 if it is rounding."""
    scale = ROUNDING * abs(pair.get("mean_b", 0.0))
    if abs(pair["difference"]) < scale and pair["interval"] < scale:
        return "0"
    sign = "+" if pair["difference"] >= 0 else ""
    return f"{sign}{blocks.plus_minus(pair['difference'], pair['interval'])}"


def needed_cell(pair: Mapping[Any, Any]) -> str:
    """Return how many splits would detect the observed difference of a pair."""
    return UNLIMITED if math.isinf(pair["needed"]) else blocks.format_number(pair["needed"], ".0f")


PROBABILITY_COLUMNS: Mapping[str, blocks.Cell] = {
    "Better": "{p_better:.2f}",
    "Equal": "{p_equivalent:.2f}",
    "Worse": "{p_worse:.2f}",
}

PAIR_COLUMNS = blocks.columns(
    {"a": "{a}", "b": "{b}"},
    {
        "a - b": difference_cell,
        "P(a)": "{p_better:.2f}",
        "P(=)": "{p_equivalent:.2f}",
        "P(b)": "{p_worse:.2f}",
        "Detects": lambda pair: blocks.format_std(pair["detectable"]),
        "Needs": needed_cell,
    },
)

PAIR_STATEMENT = (
    f"a - b: mean difference on the shared splits and its {1 - SIGNIFICANCE_LEVEL:.0%} interval. "
    "P(a), P(=), P(b): probabilities by the Bayesian correlated t-test that a is better, that both "
    "are practically equivalent, and that b is better; a verdict needs more than "
    f"{DECISION_PROBABILITY:g}."
)


def power_statement() -> str:
    """Explain the detectable difference and the number of splits needed."""
    return (
        "Detects: the smallest true difference for which a two-sided test at level "
        f"{SIGNIFICANCE_LEVEL:g} on these splits rejects equality with probability {POWER:.0%}. "
        "Needs: how many splits of the same rows would detect the observed difference, if it and "
        "its standard deviation s over splits were the true ones. More splits reduce the standard "
        "error only to s sqrt(rho / (1 - rho)), where rho is the fraction of test rows, since all "
        f"splits share their rows; a difference below {limit_ratio():.2f} times this limit needs "
        f"more data ({UNLIMITED})."
    )


def pair_tables(pairs: pd.DataFrame, title: str) -> list[blocks.TableBlock]:
    """Return the named pairs by one metric, as parts of one table by data set."""
    return [
        blocks.fill(PAIR_COLUMNS, own, group=str(dataset), title=title, name=title)
        for dataset, own in with_power(pairs).groupby("dataset", sort=False)
    ]


def describe_verdicts(pairs: pd.DataFrame, metric: Metric) -> str:
    """Say which method is better than which on one data set by one metric."""
    found = verdicts(pairs)
    won = pd.concat([
        pairs.loc[found == "a", ["a", "b"]],
        pairs.loc[found == "b", ["b", "a"]].set_axis(["a", "b"], axis=1),
    ])  # fmt: skip
    beaten = won.groupby("a")["b"].agg(list)
    parts = [
        f"{name} is better than {list_names(beaten[name])}"
        for name in beaten.map(len).sort_values(ascending=False, kind="stable").index[:MAX_LISTED]
    ]
    if len(beaten) > MAX_LISTED:
        parts.append(f"{len(beaten) - MAX_LISTED} more methods are better than others")
    parts += [
        f"{count} of {len(pairs)} pairs {kind}"
        for kind in ("equivalent", "undecided")
        if (count := int((found == kind).sum()))
    ]
    where = f"{pairs['dataset'].iloc[0]}, {metric.inline_title}, {describe_shared_splits(pairs)}"
    return f"{where}: {'; '.join(parts)}."


def list_names(names: Sequence[str]) -> str:
    """Return the names, or their number and the first ones."""
    if len(names) <= MAX_LISTED:
        return ", ".join(names)
    return f"{len(names)} methods ({', '.join(names[:MAX_LISTED])}, ...)"
