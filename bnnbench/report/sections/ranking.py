"""Mean ranks of methods over data sets, and which differ significantly (Demsar 2006)."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report import blocks
from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    PlotOptions,
    add_title,
    new_figure,
    text_width,
    wrap_text,
)
from bnnbench.results.compare.ranking import RANKED_METRICS, Ranking, Rankings, rankings
from bnnbench.results.compare.significance import SIGNIFICANCE_LEVEL
from bnnbench.results.read.labels import common_settings
from bnnbench.results.read.run_tables import Runs

MAX_METHODS = 24
"""Methods in a diagram. With more it would be unreadable."""

MIN_DATASETS = 5
"""With fewer data sets the test has hardly any power."""

RANKING_STATEMENT = (
    "On each data set methods are ranked by their mean over splits; 1 is best, and ties share "
    "their mean rank. A method with diverged splits is ranked behind all others, and one with "
    "fewer splits than the others is not ranked. Friedman's test, with Iman and Davenport's F, "
    "tests whether mean ranks differ by more than chance. Two methods differ significantly if "
    "their mean ranks differ by at least Nemenyi's critical difference. Both tests use level "
    f"{SIGNIFICANCE_LEVEL:g} (Demsar 2006). Ranks do not show how far methods differ in their "
    "scores, and all data sets have equal weight."
)

CAPTION = (
    "Mean ranks (dots, best at the left). Grey bars join methods that do not differ significantly"
)

MAX_NAME_WIDTH = 2.7
"""Inches on each side available for names; longer names are wrapped."""

LINE_HEIGHT = 0.24
"""Inches from one line of names to the next."""


def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
    """A table, tests and a diagram per experiment with three methods on two data sets."""
    metrics = style.run_filter.metrics_among(RANKED_METRICS)
    by_experiment = rankings(runs, metrics) if metrics else []
    if not by_experiment:
        return
    yield blocks.Heading("Ranking over data sets")
    yield blocks.Paragraph(RANKING_STATEMENT)
    for number, one in enumerate(by_experiment, 1):
        if len(by_experiment) > 1:
            yield blocks.Heading(one.experiment, 3)
        yield from ranking_blocks(one, runs.scored, blocks.numbered_name("ranks", number))
    full = pd.concat([full_table(one) for one in by_experiment])
    yield blocks.DataFile("ranks", full, "Ranks on each data set:")


def ranking_blocks(
    one: Rankings, table: pd.DataFrame, name: str, highlighted: Collection[str] = ()
) -> Iterator[blocks.Block]:
    """Yield scope, mean ranks, tests and a diagram of one ranking.

    Args:
        one: the ranking.
        table: rows of `Runs.scored` with its runs.
        name: of the figure.
        highlighted: names that the figure shows in bold.
    """
    yield blocks.Paragraph(scope(one))
    ranks = {f"Rank by {r.metric.inline_title}": r.mean_ranks for r in one.by_metric}
    rows = pd.DataFrame(ranks, one.by_metric[0].mean_ranks.index).rename_axis("name")
    numbers = {title: f"{{{title}:.2f}}" for title in ranks}
    yield blocks.fill(blocks.columns({"Method": "{name}"}, numbers), rows.reset_index())
    yield blocks.ItemList(tuple(map(verdict, one.by_metric)))
    if len(rows) <= MAX_METHODS:
        title = common_settings(table.loc[list(one.runs)])
        draw = partial(ranks_figure, one.by_metric, title, highlighted)
        yield blocks.FigureBlock(name, CAPTION, draw)


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
        text += (
            f" Excluded for missing data sets or splits, or as stated: {'; '.join(group.excluded)}."
        )
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


def ranks_figure(
    rankings: Sequence[Ranking], title: str = "", highlighted: Collection[str] = ()
) -> Figure:
    """Draw a panel per metric: best rank at the left, bars join methods without difference.

    All rankings have the same methods. Highlighted names are bold.
    """
    methods = rankings[0].mean_ranks.index
    longest = max(text_width(_entry(str(name), 10.0)) for name in methods)
    side = min(MAX_NAME_WIDTH, longest) + 0.3
    lines = max(
        wrap_text(_entry(str(name), 10.0), MAX_NAME_WIDTH).count("\n") + 1 for name in methods
    )
    bars = max(len(ranking.groups()) for ranking in rankings)
    high = 1.1 + 0.14 * bars + LINE_HEIGHT * lines * ((len(methods) + 1) // 2)
    figure, panels = new_figure(
        2 * side + 4.6, len(rankings) * (high + 0.6) + 0.3, 1, len(rankings)
    )
    for axes, ranking in zip(panels, rankings, strict=True):
        _panel(axes, ranking, high, LINE_HEIGHT * lines, highlighted)
    add_title(figure, title)
    return figure


def _entry(name: str, rank: float) -> str:
    return f"{name} ({rank:.2f})"


def _panel(
    axes: Axes, ranking: Ranking, high: float, step: float, highlighted: Collection[str]
) -> None:
    """Draw the axis of ranks. `y` is measured downwards from it in inches."""
    means, groups = ranking.mean_ranks, ranking.groups()
    n, k = ranking.ranks.shape
    axes.set(xlim=(1, k), ylim=(high - 0.75, -0.25))
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.spines["top"].set(visible=True, position=("data", 0))
    axes.xaxis.tick_top()
    axes.set_xticks(range(1, k + 1))
    axes.set_yticks([])
    heading = f"mean rank by test {ranking.metric.inline_title} over {n} data sets"
    axes.set_title(f"{heading} (1 is best)", fontsize="medium", pad=8)
    under = 0.1 + 0.14 * len(groups)
    for place, (first, last) in enumerate(groups):
        ends, y = [means[first], means[last]], 0.12 + 0.14 * place
        axes.plot(ends, [y, y], color=GREY, linewidth=4, solid_capstyle="round")
    half = (k + 1) // 2
    for place, (name, rank) in enumerate(means.items()):
        left = place < half
        y = under + step * (0.6 + (place if left else k - 1 - place))
        edge = 1.0 if left else float(k)
        axes.plot([rank, rank, edge], [0, y, y], color="black", linewidth=0.8, clip_on=False)
        axes.plot([rank], [0], "o", color=BLUE, markersize=5, label=str(name), clip_on=False)
        style: PlotOptions = {"ha": "right", "textcoords": "offset points", "va": "center"}
        style |= {"xytext": (-5, 0)} if left else {"xytext": (5, 0), "ha": "left"}
        style["fontweight"] = "bold" if name in highlighted else "normal"
        text = wrap_text(_entry(str(name), float(rank)), MAX_NAME_WIDTH)
        axes.annotate(text, (edge, y), **style, parse_math=False, annotation_clip=False)
    _ruler(axes, ranking.critical_difference, high - 0.85)


def _ruler(axes: Axes, difference: float, y: float) -> None:
    """Draw the critical difference to scale below the axis of ranks."""
    low, high = axes.get_xlim()
    shown = min(difference, high - low)
    start = (low + high - shown) / 2
    axes.plot([start, start + shown], [y, y], "|-", color=BLUE, linewidth=1.5, clip_on=False)
    more = " (longer than the axis)" if shown < difference else ""
    text = f"critical difference {difference:.2f}{more} at level {SIGNIFICANCE_LEVEL:g}"
    style: PlotOptions = {"ha": "center", "va": "top", "fontsize": "small", "color": BLUE}
    axes.annotate(text, ((low + high) / 2, y), (0, -5), textcoords="offset points", **style)
