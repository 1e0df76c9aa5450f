"""How methods rank over data sets, and which of them are told apart (Demsar 2006)."""

from __future__ import annotations

import math
from functools import partial

import pandas as pd

from bnnbench.report.figures.critical_difference import ranks_figure
from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Items,
    Paragraph,
    Section,
    Style,
    Table,
    numbered,
    numbers,
    words,
)
from bnnbench.results.labels import in_common
from bnnbench.results.ranking import LEVEL, RANKED, Ranking, Rankings, rankings
from bnnbench.results.reader import Runs

ORDER = 3

MOST_DRAWN = 24
"""Methods of a diagram; of more, nothing could be read."""

FEW = 5
"""Data sets below which the test has hardly any power."""

RANKING_STATEMENT = (
    "On every data set the methods rank by their mean over splits: 1 is best, equals share the "
    "mean of their ranks. Friedman's test asks whether mean ranks differ by more than chance, by "
    "Iman and Davenport's F; two methods are told apart if their mean ranks differ by Nemenyi's "
    f"critical difference at least, both at {LEVEL:g} (Demsar 2006). A rank says nothing of how "
    "much better a method is, and data sets count alike however large they are."
)


def section(runs: Runs, style: Style) -> Section | None:
    """A table, the tests and a diagram per experiment; None without three methods on two sets."""
    metrics = style.choice.among(RANKED)
    found = rankings(runs, metrics) if metrics else []
    if not found:
        return None
    blocks: list[Block] = [Heading("Ranking over data sets"), Paragraph(RANKING_STATEMENT)]
    for place, one in enumerate(found, 1):
        blocks += [Heading(one.experiment, 3)] if len(found) > 1 else []
        blocks += [Paragraph(scope(one)), table(one), Items(tuple(map(verdict, one.by)))]
        if len(one.by[0].mean_ranks) <= MOST_DRAWN:
            draw = partial(ranks_figure, one.by, in_common(runs.scored.loc[list(one.runs)]))
            caption = "Mean ranks; methods that a bar joins are not told apart"
            blocks.append(Drawing(numbered("ranks", place), caption, draw))
    full = pd.concat([full_table(one) for one in found])
    return Section((*blocks, Data("ranks", full, "Ranks on every data set:")))


def scope(found: Rankings) -> str:
    """Of what data sets the ranks are, and which methods have none."""
    ranks = found.by[0].ranks
    n, k = ranks.shape
    names = ", ".join(map(str, ranks.index))
    said = f"{k} methods rank on the {n} data sets that all of them have: {names}."
    if n < FEW:
        said += (
            f" With {n} data sets the test has hardly any power: that methods are not told apart "
            "says little, and F is a rough approximation."
        )
    if found.left_out:
        said += f" Left out, since they lack some of these: {'; '.join(found.left_out)}."
    return said


def table(found: Rankings) -> Table:
    """Mean ranks, the best by the first metric on top."""
    first, *_ = found.by
    heads = [f"Rank by {ranking.metric.word}" for ranking in found.by]
    rows = tuple(
        (str(name), *(f"{ranking.mean_ranks[name]:.2f}" for ranking in found.by))
        for name in first.mean_ranks.index
    )
    return Table((*words("Method"), *numbers(*heads)), rows)


def verdict(ranking: Ranking) -> str:
    """What the tests say by one metric."""
    n, k = ranking.ranks.shape
    by = f"By {ranking.metric.word}: Friedman's chi-squared is {ranking.chi2:.2f}"
    if math.isinf(ranking.f):
        said = f"{by}, its greatest value: all {n} data sets rank the {k} methods alike"
    else:
        differ = "differ" if ranking.p_value < LEVEL else "do not differ"
        freedom = f"F({k - 1}, {(k - 1) * (n - 1)}) = {ranking.f:.2f}, p = {ranking.p_value:.2g}"
        said = f"{by}, {freedom}: mean ranks {differ} by more than chance"
    return f"{said}. The critical difference is {ranking.critical_difference:.2f}."


def full_table(found: Rankings) -> pd.DataFrame:
    """A row per method, data set and metric, with the mean rank."""
    pieces = [
        ranking.ranks.rename_axis(index="dataset", columns="method")
        .stack()
        .rename("rank")
        .reset_index()
        .assign(metric=ranking.metric.key)
        .assign(mean_rank=lambda rows, r=ranking: rows["method"].map(r.mean_ranks))
        for ranking in found.by
    ]
    columns = ["experiment", "metric", "dataset", "method", "rank", "mean_rank"]
    return pd.concat(pieces).assign(experiment=found.experiment)[columns]
