"""Distribution of scores over splits, by method and depth (GVI thesis, Figs. 5.4-5.6 and 7.1)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bnnbench.report.blocks import Block, FigureBlock, Heading, Paragraph, Style
from bnnbench.report.figures.spread import DRAW_FUNCTIONS, spread_figure
from bnnbench.results.labels import common_settings
from bnnbench.results.losses_by_split import losses_by_split
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs

MAX_BOXES = 300
"""Boxes in one figure. With more it would be unreadable."""

SPREAD_STATEMENT = (
    "One row of panels per depth, one column per data set. Lower is better. Values above a panel "
    "are marked at its top: the number of splits in box plots, an arrow with the value for means."
)

CAPTIONS = {
    "boxes": "Box: median and quartiles over splits; whiskers: last split within 1.5 interquartile "
    "ranges; dots: splits beyond",
    "means": "Dots and error bars: mean ± standard error over splits",
}
"""By kind of figure."""

TOO_MANY = (
    f"More than {MAX_BOXES} runs do not fit into one figure. Report the runs of one experiment or "
    "data set to see it."
)


def section(runs: Runs, style: Style) -> Iterator[Block]:
    """Box plots and means, if runs on one data set differ in divergence or depth."""
    losses = runs.cached(losses_by_split)
    if losses.empty:
        return
    shown = runs.scored.loc[losses["run"].unique()]
    choices = shown.groupby(["dataset", "method"])[["divergence", "depth"]].nunique()
    if not (choices > 1).any(axis=None):
        return
    yield Heading("Distribution over splits")
    if len(shown) > MAX_BOXES:
        yield Paragraph(TOO_MANY)
        return
    yield Paragraph(SPREAD_STATEMENT)
    title = common_settings(shown)
    for kind in DRAW_FUNCTIONS:
        for metric in style.run_filter.metrics_among(printed_in("figures")):
            caption = f"Distribution over splits of the {metric.loss_axis}. {CAPTIONS[kind]}"
            draw = partial(spread_figure, losses, metric, kind, title)
            yield FigureBlock(f"{kind}_{metric.key}", caption, draw)
