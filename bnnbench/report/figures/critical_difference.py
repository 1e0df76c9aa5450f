"""Mean ranks on a line, and which of them are not told apart (Demsar 2006, Fig. 1)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import BLUE, GREY, Look, folded, headline, inches, sketch
from bnnbench.results.ranking import LEVEL, Ranking

NAMES = 4.2
"""Inches on each side that the longest names may take before they are folded."""

STEP = 0.24
"""Inches from a line of names to the next."""


def ranks_figure(rankings: Sequence[Ranking], title: str = "") -> Figure:
    """A panel per metric: the best rank at the left, methods not told apart joined by a bar.

    Args:
        rankings: of the same methods.
        title: what the figure is of.
    """
    methods = rankings[0].mean_ranks.index
    longest = max(inches(_said(str(name), 10.0)) for name in methods)
    side = min(NAMES, longest) + 0.3
    lines = max(folded(_said(str(name), 10.0), NAMES).count("\n") + 1 for name in methods)
    bars = max(len(ranking.groups()) for ranking in rankings)
    high = 1.1 + 0.14 * bars + STEP * lines * ((len(methods) + 1) // 2)
    figure, panels = sketch(2 * side + 4.6, len(rankings) * (high + 0.6) + 0.3, 1, len(rankings))
    for axes, ranking in zip(panels, rankings, strict=True):
        _panel(axes, ranking, high, STEP * lines)
    headline(figure, title)
    return figure


def _said(name: str, rank: float) -> str:
    return f"{name} ({rank:.2f})"


def _panel(axes: Axes, ranking: Ranking, high: float, step: float) -> None:
    """One line of ranks; `y` is in inches below it."""
    means, groups = ranking.mean_ranks, ranking.groups()
    n, k = ranking.ranks.shape
    axes.set(xlim=(1, k), ylim=(high - 0.75, -0.25))
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.spines["top"].set(visible=True, position=("data", 0))
    axes.xaxis.tick_top()
    axes.set_xticks(range(1, k + 1))
    axes.set_yticks([])
    head = f"mean rank by test {ranking.metric.word} over {n} data sets"
    axes.set_title(f"{head} (1 is best)", fontsize="medium", pad=8)
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
        text: Look = {"ha": "right", "textcoords": "offset points", "va": "center"}
        text |= {"xytext": (-5, 0)} if left else {"xytext": (5, 0), "ha": "left"}
        said = folded(_said(str(name), float(rank)), NAMES)
        axes.annotate(said, (edge, y), **text, parse_math=False, annotation_clip=False)
    _ruler(axes, ranking.critical_difference, high - 0.85)


def _ruler(axes: Axes, difference: float, y: float) -> None:
    """The critical difference, as long as it is on the line, in the middle below."""
    low, high = axes.get_xlim()
    shown = min(difference, high - low)
    start = (low + high - shown) / 2
    axes.plot([start, start + shown], [y, y], "|-", color=BLUE, linewidth=1.5, clip_on=False)
    more = " (longer than the line)" if shown < difference else ""
    said = f"critical difference {difference:.2f}{more} at {LEVEL:g}"
    look: Look = {"ha": "center", "va": "top", "fontsize": "small", "color": BLUE}
    axes.annotate(said, ((low + high) / 2, y), (0, -5), textcoords="offset points", **look)
