"""How scores spread over splits, by name and depth (GVI thesis, Figs. 5.4-5.6 and 7.1)."""

from __future__ import annotations

from functools import partial

from bnnbench.report.figures.spread import DRAWN, spread_figure
from bnnbench.report.section import Block, Drawing, Heading, Paragraph, Section, Style
from bnnbench.results.labels import in_common
from bnnbench.results.losses_by_split import losses_by_split
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs

ORDER = 6

MOST_PLACES = 300
"""Boxes of one figure; of more, nothing could be read."""

SPREAD_STATEMENT = (
    "A row of panels per depth, a column per data set. Boxes: median, quartiles, and whiskers to "
    "the last split within 1.5 interquartile ranges; splits beyond are dots, and those beyond the "
    "panel are counted at its top. Means: mean ± standard error over splits, which a few lost "
    "splits can carry off the panel (then an arrow points to them). Lower is better in all."
)

TOO_MANY = (
    f"More than {MOST_PLACES} runs are too many for one figure: report fewer, those of one "
    "experiment or data set, to see them."
)


def section(runs: Runs, style: Style) -> Section | None:
    """Box plots and means, where runs on one data set differ in divergence or depth."""
    losses = runs.once(losses_by_split)
    if losses.empty:
        return None
    shown = runs.scored.loc[losses["run"].unique()]
    choices = shown.groupby(["dataset", "method"])[["divergence", "depth"]].nunique()
    if not (choices > 1).any(axis=None):
        return None
    heading = Heading("Spread over splits")
    if len(shown) > MOST_PLACES:
        return Section((heading, Paragraph(TOO_MANY)))
    blocks: list[Block] = [heading, Paragraph(SPREAD_STATEMENT)]
    title = in_common(shown)
    for kind in DRAWN:
        for metric in style.choice.among(printed_in("figures")):
            caption = f"{kind.capitalize()} of the {metric.loss_axis} by name, depth and data set"
            draw = partial(spread_figure, losses, metric, kind, title)
            blocks.append(Drawing(f"{kind}_{metric.key}", caption, draw))
    return Section(tuple(blocks))
