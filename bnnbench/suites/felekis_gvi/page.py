"""Report sections on the GVI thesis: other methods, the toy's tables, and claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bnnbench.report.blocks import Block, Heading, Paragraph, Style
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.points import points_blocks
from bnnbench.report.sections.scores import score_panels
from bnnbench.report.sections.significance import pairs_of
from bnnbench.results.metric_table import printed_in
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.felekis_gvi.claims import claims
from bnnbench.suites.felekis_gvi.comparison import (
    COMPARISON,
    OTHERS_RUN,
    VARIATIONAL,
    contenders,
    has_other_epochs,
    thesis_runs,
)
from bnnbench.suites.felekis_gvi.toy import criteria_blocks, sigma_blocks

RIVALS = "Fig. 5.6 of the GVI thesis: four divergences and other methods, by data set and depth."

CLAIMS_STATEMENT = (
    "Claims of chapter 5 of the GVI thesis, each tested by the rule in the last column on the data "
    "sets with all runs it mentions. The thesis does not state the order alpha of its comparison; "
    "ours is 2. TVL and TVU are matched by name, although the thesis swaps their formulas. Its "
    "closed forms are D(prior || q) where ours are D(q || prior), with KL at alpha = 1. Its "
    "Jensen-Shannon has no factor 1/2, so claims about JS are tested on js_weight_2, our js with "
    "weight 2; js is included as well. The toy is one data set with one network of each kind, so "
    "its results have no error bars. Claims that the thesis bases on the look of its bands are not "
    "tested."
)


def rivals_section(runs: Runs, style: Style) -> Iterator[Block]:
    """Yield the section on Fig. 5.6: divergences and other methods, if both were run."""
    scored = runs.scored
    scored = scored[(scored["experiment"] == COMPARISON) & (scored["splits"] > 1)]
    scored = scored[contenders(scored).isin((*VARIATIONAL, *OTHERS_RUN))]
    if not set(scored["method"]) > {"bbb"}:
        return
    yield Heading("Generalised variational inference and other methods")
    yield Paragraph(RIVALS)
    for metric in printed_in("figures"):
        panels = [
            replace(panel, title=f"{panel.title} · depth {depth}")
            for depth, own in scored.groupby("depth")
            for panel in score_panels(own, pairs_of(runs, (metric,)), metric, "stderr")
        ]
        caption = (
            f"Test {metric.inline_title}, best first ({metric.better} is better): mean ± standard "
            "error over splits. Filled: the best, and runs that are not significantly worse "
            "(correlated t-test, Holm)"
        )
        falling = metric.better == "lower"
        yield from points_blocks(f"rivals_{metric.key}", caption, panels, metric.axis, falling)


def toy_section(runs: Runs, style: Style) -> Iterator[Block]:
    """Yield the section that compares the toy with the thesis's tables, if it was run."""
    blocks = (*sigma_blocks(runs), *criteria_blocks(runs))
    if blocks:
        yield Heading("The GVI thesis's toy (section 5.0.2)")
        yield from blocks


def claims_section(runs: Runs, style: Style) -> Iterator[Block]:
    """Yield the section on the thesis's claims, if any of its experiments was run."""
    suite, others = thesis_runs(runs), int(has_other_epochs(runs.scored).sum())
    left_out = f"{others} runs were excluded because their epochs differ from the thesis's."
    if suite.empty and not others:
        return
    yield Heading("Claims of the GVI thesis (chapter 5)")
    if suite.empty:
        yield Paragraph(left_out)
        return
    yield Paragraph(CLAIMS_STATEMENT + f" {left_out}" * bool(others))
    yield from claims_blocks(claims(suite), "gvi_claims")


SECTIONS = (rivals_section, toy_section, claims_section)
