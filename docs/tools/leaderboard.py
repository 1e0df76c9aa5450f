"""The blocks of the leaderboard: ranked reference results, compared by the one rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import pandas as pd
from stored_results import SCORES, reference_results

from bnnbench.cli.reference_runs import NOT_APPLICABLE, cells_of
from bnnbench.experiment.store.split_files import KIND
from bnnbench.notes import join_words
from bnnbench.report.blocks import MISSING, plus_minus
from bnnbench.results.compare.outcomes import not_significantly_worse
from bnnbench.results.compare.pairing import dataset_pairs
from bnnbench.results.compare.ranking import largest_block, rank_scores
from bnnbench.results.compare.significance import compare_pairs
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.split_means import comparable_losses
from bnnbench.results.reference.relative_costs import BASE, cost_cell, relative_costs
from bnnbench.results.reference.results import reference_runs

NOT_RUN = "not run"

NO_BREAK = "\N{NO-BREAK SPACE}"
"""Joins what a narrow column must keep on one line."""

NOT_WORSE = "≈"
"""Mark of scores that are not significantly worse than the best."""


@dataclass(frozen=True)
class Board:
    """The ranked methods by one metric.

    Attributes:
        ranks: mean rank by method, best first, over the data sets of `shared`.
        shared: data sets that all methods with a mean rank have.
        cells: texts; rows are methods, those without a mean rank last, columns data sets.
    """

    ranks: pd.Series
    shared: tuple[str, ...]
    cells: pd.DataFrame


@cache
def board(metric: str) -> Board:
    """Return the ranked methods of the first track by a metric, a key of `BY_KEY`."""
    results, by = reference_results(), BY_KEY[metric]
    runs = reference_runs(results)
    table = runs.scored[runs.scored["unranked"] == ""]
    runs = replace(runs, tables={KIND: table})
    losses = comparable_losses(table, by)
    wide = table.assign(loss=losses).pivot(index="dataset", columns="method", values="loss")
    block = largest_block(wide.notna())
    assert block is not None
    shared, methods = block
    ranks = rank_scores(by.sign * wide.loc[shared, methods], by).mean_ranks
    cells = cells_of(results).table.reindex([*ranks.index, *wide.columns.difference(methods)])
    cells = cells.where(cells == NOT_APPLICABLE, NOT_RUN)
    pairs = compare_pairs(dataset_pairs(runs, metrics=[by]), metrics=[by])
    for dataset, own in losses.groupby(table["dataset"]):
        equal = not_significantly_worse(own, pairs[pairs["dataset"] == dataset])
        for run in own.index:
            row = table.loc[run]
            text = plus_minus(row[f"{metric}_mean"], row[f"{metric}_stderr"])
            text = text.replace("± ", f"±{NO_BREAK}")
            marked = f"**{text}**" if run == own.idxmin() else f"{text}{NO_BREAK}{NOT_WORSE}"
            cells.loc[row["method"], dataset] = marked if run in equal else text
    return Board(ranks, tuple(shared), cells)


def tables(metric: str) -> str:
    """Return a table of the data sets that ranks are over, and one of the others."""
    found = board(metric)
    others = found.cells.drop(columns=list(found.shared))
    has_scores = ~others.isin([NOT_RUN, NOT_APPLICABLE]).all(axis=1)
    return (
        f"{method_table(found, found.cells[list(found.shared)])}\n\n"
        f"On the other data sets, without the {(~has_scores).sum()} methods that have no score on "
        f"any of them:\n\n{method_table(found, others[has_scores])}"
    )


def method_table(found: Board, cells: pd.DataFrame) -> str:
    """Return the rows of some methods in Markdown."""
    costs = relative_costs()
    shown = cells.assign(**{f"CPU / {BASE}": [cost_cell(costs.get(name)) for name in cells.index]})
    ranks = [f"{rank:.1f}" for rank in found.ranks.reindex(cells.index)]
    shown.insert(0, f"Mean rank ({len(found.shared)} data sets)", ranks)
    shown = shown.replace("nan", MISSING).set_axis([f"`{name}`" for name in cells.index])
    return shown.rename_axis("Method").to_markdown(disable_numparse=True)


def coverage() -> str:
    """Return how many cells have scores, and why the others have none."""
    cells, reasons = board(SCORES[0]).cells, cells_of(reference_results()).reasons
    rows, columns = cells.shape
    missing, refused = ((cells == text).sum().sum() for text in (NOT_RUN, NOT_APPLICABLE))
    why = join_words([f"`{name}` {reasons[name]}" for name in reasons if name in cells.index])
    return (
        f"Of the {cells.size} cells ({rows} methods, {columns} data sets), "
        f"{cells.size - missing - refused} have a score, {missing} are not run, and {refused} are "
        f"{NOT_APPLICABLE}: {why}."
    )


BLOCKS: dict[str, Callable[[], str]] = {
    "leaderboard_coverage": coverage,
    **{f"leaderboard_{metric}": partial(tables, metric) for metric in SCORES},
}
