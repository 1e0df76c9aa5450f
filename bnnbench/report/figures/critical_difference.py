"""Critical difference diagrams (Demsar 2006, Fig. 1)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.plotting import (
    BLUE,
    GREY,
    PlotOptions,
    add_title,
    new_figure,
    text_width,
    wrap_text,
)
from bnnbench.results.ranking import SIGNIFICANCE_LEVEL, Ranking

MAX_NAME_WIDTH = 4.2
"""Inches on each side available for names; longer names are wrapped."""

LINE_HEIGHT = 0.24
"""Inches from one line of names to the next."""


def ranks_figure(rankings: Sequence[Ranking], title: str = "") -> Figure:
    """Draw a panel per metric: best rank at the left, bars join methods without difference.

    Args:
        rankings: rankings of the same methods.
        title: title of the figure.
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
        _panel(axes, ranking, high, LINE_HEIGHT * lines)
    add_title(figure, title)
    return figure


def _entry(name: str, rank: float) -> str:
    return f"{name} ({rank:.2f})"


def _panel(axes: Axes, ranking: Ranking, high: float, step: float) -> None:
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
    text = f"critical difference {difference:.2f}{more} at {SIGNIFICANCE_LEVEL:g}"
    style: PlotOptions = {"ha": "center", "va": "top", "fontsize": "small", "color": BLUE}
    axes.annotate(text, ((low + high) / 2, y), (0, -5), textcoords="offset points", **style)
