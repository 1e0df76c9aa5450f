"""Tables of pairwise comparisons, with the power of each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bnnbench.notes import with_interval
from bnnbench.report import blocks
from bnnbench.results.compare.outcomes import NOT_TESTED
from bnnbench.results.compare.power import POWER, limit_ratio, with_power
from bnnbench.results.compare.significance import (
    ROUNDING,
    SIGNIFICANCE_LEVEL,
    describe_shared_splits,
)
from bnnbench.results.metric_table import Metric

MAX_LISTED = 4
"""Methods named in a sentence; more are counted."""

UNLIMITED = "∞"
"""Printed if no number of splits is enough."""


def difference_cell(pair: Mapping[Any, Any]) -> str:
    """Return the signed difference of a pair and its interval; 0 if it is rounding.

    A run that diverged on a split is worse, whatever the other differences; none is shown.
    """
    diverged = [pair.get(name, 0) for name in ("diverged_a", "diverged_b")]
    if any(n > 0 for n in diverged):
        return "both diverged" if all(diverged) else f"{sum(diverged):.0f} diverged"
    if not math.isfinite(pair["difference"]):
        return blocks.MISSING
    if max(abs(pair["low"]), abs(pair["high"])) < ROUNDING * abs(pair["mean_b"]):
        return "0"
    return with_interval(pair["difference"], pair["low"], pair["high"])


def p_value_text(p: float) -> str:
    """Return a p-value with three decimals, more if it would print as the level."""
    if p < 0.001:
        return "<0.001"
    text = blocks.format_number(p, ".3f")
    return f"{p:.5f}" if text == f"{SIGNIFICANCE_LEVEL:.3f}" else text


def needed_cell(pair: Mapping[Any, Any]) -> str:
    """Return how many splits would detect the observed difference of a pair."""
    return UNLIMITED if math.isinf(pair["needed"]) else blocks.format_number(pair["needed"], ".0f")


def percentages(pair: Mapping[Any, Any]) -> str:
    """Return the probabilities of better, equivalent and worse in per cent, or a dash."""
    found = [pair[name] for name in ("p_better", "p_equivalent", "p_worse")]
    if not all(map(math.isfinite, found)):
        return blocks.MISSING
    return "/".join(f"{100 * p:.0f}" for p in found)


PROBABILITY_COLUMNS: Mapping[str, blocks.Cell] = {"P in %": percentages}

OUTCOME_COLUMNS: Mapping[str, blocks.Cell] = {
    "Better": "{better}",
    "Equivalent": "{equivalent}",
    "Undecided": "{undecided}",
    "Worse": "{worse}",
}
"""Numbers of `outcomes.OUTCOMES`; better and worse are significant."""

PAIR_COLUMNS = blocks.columns(
    {"a": "{a}", "b": "{b}"},
    {
        "a - b": difference_cell,
        "Holm p": lambda pair: p_value_text(pair["p_holm"]),
        "Detects": lambda pair: blocks.two_digits(pair["detectable"]),
        "Needs": needed_cell,
    },
)

PAIR_STATEMENT = (
    "a - b: mean difference on the shared splits and its interval. Holm p: adjusted p-value."
)


def power_statement() -> str:
    """Explain the detectable difference and the number of splits needed."""
    return (
        "Detects: the smallest true difference for which a single two-sided test at level "
        f"{SIGNIFICANCE_LEVEL:g}, not adjusted, on these splits rejects equality with probability "
        f"{POWER:.0%}. "
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
    found = pairs["outcome"]
    won = pd.concat([
        pairs.loc[found == "better", ["a", "b"]],
        pairs.loc[found == "worse", ["b", "a"]].set_axis(["a", "b"], axis=1),
    ])  # fmt: skip
    beaten = won.groupby("a")["b"].agg(list)
    parts = [
        f"{name} is significantly better than {list_names(beaten[name])}"
        for name in beaten.map(len).sort_values(ascending=False, kind="stable").index[:MAX_LISTED]
    ]
    if len(beaten) > MAX_LISTED:
        parts.append(
            f"{len(beaten) - MAX_LISTED} more methods are significantly better than others"
        )
    parts += [
        f"{count} of {len(pairs)} pairs {kind}"
        for kind in ("equivalent", "undecided", NOT_TESTED)
        if (count := int((found == kind).sum()))
    ]
    where = f"{pairs['dataset'].iloc[0]}, {metric.inline_title}, {describe_shared_splits(pairs)}"
    return f"{where}: {'; '.join(parts)}."


def list_names(names: Sequence[str]) -> str:
    """Return the names, or their number and the first ones."""
    if len(names) <= MAX_LISTED:
        return ", ".join(names)
    return f"{len(names)} methods ({', '.join(names[:MAX_LISTED])}, ...)"
