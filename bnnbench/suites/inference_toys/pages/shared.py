"""Sources, checks of claims and parts of figures that several pages share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.report.figures.plotting import PALETTE
from bnnbench.results.claims.claims import CheckResult, all_hold
from bnnbench.results.claims.saved_run import SavedRun

BOOK, LECTURE = "Cinelli et al. (2021)", "Alvarez's lecture"
"""Names of sources."""

Check = Callable[..., CheckResult]


def observed_sizes(run: SavedRun, table: str) -> list[int]:
    """Return the numbers of observations in a table of a run, increasing."""
    return sorted(run[table]["observations"].unique().tolist())


def exact_value(run: SavedRun, quantity: str) -> float:
    """Return the exact value of a quantity, which is the same for all approximations."""
    return float(run.rows(ANSWERS, quantity=quantity)["exact"].dropna().iloc[0])


def combine(results: Iterable[CheckResult]) -> CheckResult:
    """Combine the decisions, as `all_hold`, and the evidence of cases."""
    holds, evidence = zip(*results, strict=True)
    return all_hold(holds), "; ".join(evidence)


def for_every(cases: Callable[[Any], Iterable[tuple[Any, ...]]]) -> Callable[[Check], Check]:
    """Return a decorator that turns the check of one case into a check of all cases of a run.

    Args:
        cases: returns the positional arguments of the check in each case of a run.
    """

    def decorate(check: Check) -> Check:
        @wraps(check)
        def check_all(run: Any, **arguments: Any) -> CheckResult:
            return combine(check(*case, **arguments) for case in cases(run))

        return check_all

    return decorate


def plot_starts(axes: Axes, trace: pd.DataFrame, column: str) -> None:
    """Plot a column by iteration: a line per start, with a dot at the last iteration."""
    for start, rows in trace.groupby("start"):
        colour = PALETTE[int(str(start)) % len(PALETTE)]
        line = axes.plot(rows["iteration"], rows[column], color=colour, linewidth=1.2)
        line[0].set_label(f"start {start}")
        axes.plot(*rows[["iteration", column]].to_numpy()[-1], "o", color=colour, markersize=4)
    axes.set_xlabel("iteration")
