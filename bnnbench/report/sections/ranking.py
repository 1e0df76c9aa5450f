"""Mean ranks of methods over data sets, and which differ significantly (Demsar 2006)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import pandas as pd

from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    ItemList,
    Paragraph,
    Style,
    columns,
    fill,
    numbered_name,
)
from bnnbench.report.figures.critical_difference import ranks_figure
from bnnbench.results.labels import common_settings
from bnnbench.results.ranking import RANKED_METRICS, SIGNIFICANCE_LEVEL, Ranking, Rankings, rankings
from bnnbench.results.reader import Runs

MAX_METHODS = 24
"""Methods in a diagram. With more it would be unreadable."""

MIN_DATASETS = 5
"""With fewer data sets the test has hardly any power."""

RANKING_STATEMENT = (
    "On each data set methods are ranked by their mean over splits; 1 is best, and ties share "
    "their mean rank. Friedman's test, with Iman and Davenport's F, tests whether mean ranks "
    "differ by more than chance. Two methods differ significantly if their mean ranks differ by "
    f"at least Nemenyi's critical difference. Both tests use level {SIGNIFICANCE_LEVEL:g} (Demsar "
    "2006). Ranks do not show how far methods differ in their scores, and all data sets have "
    "equal weight."
)


CAPTION = (
    "Mean ranks (dots, best at the left). Grey bars join methods that do not differ significantly"
)


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """A table, tests and a diagram per experiment with three methods on two data sets."""
    metrics = style.run_filter.metrics_among(RANKED_METRICS)
    by_experiment = rankings(runs, metrics) if metrics else []
    if not by_experiment:
        return
    yield Heading("Ranking over data sets")
    yield Paragraph(RANKING_STATEMENT)
    for number, one in enumerate(by_experiment, 1):
        if len(by_experiment) > 1:
            yield Heading(one.experiment, 3)
        yield Paragraph(scope(one))
        ranks = {f"Rank by {r.metric.inline_title}": r.mean_ranks for r in one.by_metric}
        rows = pd.DataFrame(ranks, one.by_metric[0].mean_ranks.index).rename_axis("name")
        numbers = {title: f"{{{title}:.2f}}" for title in ranks}
        yield fill(columns({"Method": "{name}"}, numbers), rows.reset_index())
        yield ItemList(tuple(map(verdict, one.by_metric)))
        if len(rows) <= MAX_METHODS:
            title = common_settings(runs.scored.loc[list(one.runs)])
            draw = partial(ranks_figure, one.by_metric, title)
            yield FigureBlock(numbered_name("ranks", number), CAPTION, draw)
    full = pd.concat([full_table(one) for one in by_experiment])
    yield DataFile("ranks", full, "Ranks on each data set:")


def scope(group: Rankings) -> str:
    """Name the ranked data sets and the methods that are left out."""
    ranks = group.by_metric[0].ranks
    n, k = ranks.shape
    names = ", ".join(map(str, ranks.index))
    text = f"Ranking of {k} methods on the {n} data sets that they have in common: {names}."
    if n < MIN_DATASETS:
        text += (
            f" With {n} data sets the test has hardly any power: a difference that is not "
            "significant is no evidence of equality, and F is a rough approximation."
        )
    if group.excluded:
        text += f" Excluded for missing data sets: {'; '.join(group.excluded)}."
    return text


def verdict(ranking: Ranking) -> str:
    """The test results for one metric."""
    n, k = ranking.ranks.shape
    text = f"By {ranking.metric.inline_title}: Friedman's chi-squared is {ranking.chi2:.2f}"
    if math.isinf(ranking.f):
        text += f", its maximum: the {k} methods have the same ranks on all {n} data sets"
    else:
        differ = "differ" if ranking.p_value < SIGNIFICANCE_LEVEL else "do not differ"
        freedom = f"F({k - 1}, {(k - 1) * (n - 1)}) = {ranking.f:.2f}, p = {ranking.p_value:.2g}"
        text += f", {freedom}: mean ranks {differ} significantly"
    return f"{text}. The critical difference is {ranking.critical_difference:.2f}."


def full_table(group: Rankings) -> pd.DataFrame:
    """A row per method, data set and metric, with the rank and the mean rank."""
    pieces = [
        ranking.ranks.rename_axis(index="dataset", columns="method")
        .stack()
        .rename("rank")
        .reset_index()
        .assign(metric=ranking.metric.key)
        .assign(mean_rank=lambda rows, r=ranking: rows["method"].map(r.mean_ranks))
        for ranking in group.by_metric
    ]
    columns = ["experiment", "metric", "dataset", "method", "rank", "mean_rank"]
    return pd.concat(pieces).assign(experiment=group.experiment)[columns]
