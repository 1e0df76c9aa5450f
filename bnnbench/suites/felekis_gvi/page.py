"""The GVI thesis in a report: its rivals' figure, its toy's printed tables, and its claims."""

from __future__ import annotations

from functools import partial

from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.spread import spread_figure
from bnnbench.report.section import Drawing, Heading, Paragraph, Section, Style
from bnnbench.results.losses_by_split import losses_by_split
from bnnbench.results.metrics import printed_in
from bnnbench.results.reader import Runs
from bnnbench.suites.felekis_gvi.claims import claims
from bnnbench.suites.felekis_gvi.comparison import (
    COMPARISON,
    RUN_BESIDE,
    VARIATIONAL,
    contenders,
    departing,
    thesis_runs,
)
from bnnbench.suites.felekis_gvi.toy import criteria_blocks, sigma_blocks

RIVALS = (
    "Fig. 5.6 of the GVI thesis: four divergences and other methods, mean ± standard error over "
    "splits, a row of panels per depth. Lower is better."
)

CLAIMS_STATEMENT = (
    "What chapter 5 of the GVI thesis says, checked by the rule in the last column on the data "
    "sets that have every run it names. Its order alpha is not stated for the comparison: ours is "
    "2. TVL and TVU go by their names, though the thesis prints the formula of each under the "
    "other's. Its closed forms read D(prior || q) where ours are D(q || prior), with KL at alpha = "
    "1. Its Jensen-Shannon has no factor 1/2: what it says of JS is judged by js_w2, ours of "
    "weight 2, beside which js stands as well. The toy is one draw of the data and one network of "
    "each kind, so what is said of it carries no error; what the thesis judges by eye of its bands "
    "is left to the figures."
)


def rivals_section(runs: Runs, style: Style) -> Section | None:
    """Fig. 5.6: other methods beside some divergences; None without both."""
    losses = runs.once(losses_by_split)
    if losses.empty:
        return None
    own = runs.scored.loc[losses["run"].unique()]
    own = own[own["experiment"] == COMPARISON]
    own = own[contenders(own).isin((*VARIATIONAL, *RUN_BESIDE))]
    if not set(own["method"]) > {"bbb"}:
        return None
    shown = losses[losses["run"].isin(own.index)]
    drawings = (
        Drawing(
            f"rivals_{metric.key}",
            f"Means of the {metric.loss_axis} by depth and data set",
            partial(spread_figure, shown, metric, "means"),
        )
        for metric in printed_in("figures")
    )
    heading = Heading("Generalised variational inference and other methods")
    return Section((heading, Paragraph(RIVALS), *drawings))


def toy_section(runs: Runs, style: Style) -> Section | None:
    """What the thesis prints of its toy beside ours; None without runs that it prints."""
    if runs.scored.empty:
        return None
    blocks = (*sigma_blocks(runs), *criteria_blocks(runs))
    return Section((Heading("The GVI thesis's toy (section 5.0.2)"), *blocks)) if blocks else None


def claims_section(runs: Runs, style: Style) -> Section | None:
    """The verdicts; None without any run of the thesis's experiments."""
    if runs.scored.empty:
        return None
    suite, others = thesis_runs(runs), int(departing(runs.scored).sum())
    heading = Heading("What the GVI thesis says (chapter 5)")
    left_out = f"Left out, since their epochs are not the thesis's: {others} runs."
    if suite.empty:
        return Section((heading, Paragraph(left_out))) if others else None
    return Section((
        heading,
        Paragraph(CLAIMS_STATEMENT + f" {left_out}" * bool(others)),
        *claims_blocks(claims(suite), "gvi_claims"),
    ))  # fmt: skip


SECTIONS = (rivals_section, toy_section, claims_section)
