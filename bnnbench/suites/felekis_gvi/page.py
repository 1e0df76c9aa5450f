"""Report sections on the GVI thesis: other methods, the toy's tables, and claims."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bnnbench.report.blocks import Block, Heading, Paragraph, Style
from bnnbench.report.claims_table import claims_blocks
from bnnbench.report.figures.points import points_blocks
from bnnbench.report.sections.scores import score_panels
from bnnbench.report.sections.significance import pairs_of
from bnnbench.results.claims.claims import Claim, Rule, check_claims
from bnnbench.results.metric_table import printed_in
from bnnbench.results.read.run_tables import Runs
from bnnbench.suites.felekis_gvi.checks import (
    NLL,
    best_order_is_between,
    gets_closer,
    has_rank,
    improves,
    is_best,
    is_better,
    is_not_worse,
    large_orders_are_better,
    most_are_better,
)
from bnnbench.suites.felekis_gvi.comparison import (
    COMPARISON,
    DIVERGENCES,
    OTHERS,
    OTHERS_RUN,
    VARIATIONAL,
    ThesisRuns,
    contenders,
    has_other_epochs,
    thesis_runs,
)
from bnnbench.suites.felekis_gvi.toy import (
    best_calibrated,
    coverage_rises,
    criteria_blocks,
    one_layer_is_best,
    sigma_blocks,
    small_intervals_fail,
    thesis_toy,
)

FIELD = (*VARIATIONAL, *OTHERS)
GRID, BOXES, RIVALRY, TOY = "5.0.1, Fig. 5.2", "5.0.1, Figs. 5.4, 5.5", "5.0.1, Fig. 5.6", "5.0.2"

RULES: dict[str, dict[str, Rule]] = {
    GRID: {
        "Performance improves for alpha > 1.": large_orders_are_better(),
        "Performance improves most for alpha from 1.75 to 3.": best_order_is_between(1.75, 3.0),
    },
    BOXES: {
        "1 layer: aAR, JS and F are as good as KL or better.": is_not_worse(
            ("alpha_renyi", "js_weight_2", "fisher"), "kl", 1
        ),
        "1 layer: RKL performs worst of all.": has_rank(
            ("kl_prior_posterior",), DIVERGENCES, 1, last=True
        ),
        "2 layers: the variance of aAR increases.": improves(("alpha_renyi",), 2, spread=True),
        "2 layers: F outperforms KL almost everywhere.": is_better("fisher", "kl", 2),
        "2 layers: TVL outperforms KL, especially in NLL.": is_better("tv_lower", "kl", 2, NLL),
        "2 layers: JS outperforms KL.": is_better("js_weight_2", "kl", 2),
        "2 layers: A improves on one layer.": improves(("alpha",), 2),
        "2 layers: JS outperforms all others.": has_rank(("js_weight_2",), DIVERGENCES, 2),
        "2 layers: TVL works better than TVU.": is_better("tv_lower", "tv_upper", 2),
        "2 layers: KL has the worst NLL most of the time.": has_rank(
            ("kl",), DIVERGENCES, 2, last=True, metrics=NLL
        ),
        "2 layers, concrete: almost all divergences work better than KL.": most_are_better(
            "kl", "concrete", 2
        ),
        "3 layers: the uncertainty is higher, mainly due to outliers among the runs.": improves(
            DIVERGENCES, 3, spread=True
        ),
        "3 layers: JS and F remain the top performers.": has_rank(
            ("js_weight_2", "fisher"), DIVERGENCES, 3, 2
        ),
        "3 layers: TVL and TVU improve both RMSE and NLL.": improves(("tv_lower", "tv_upper"), 3),
        "3 layers: TVL outperforms KL on 3 of 4 data sets.": is_better("tv_lower", "kl", 3),
        "3 layers: TVU outperforms KL on 3 of 4 data sets.": is_better("tv_upper", "kl", 3),
    },
    RIVALRY: {
        "1 layer: GVI outperforms MC dropout and deep ensembles.": is_best(
            VARIATIONAL, ("mc_dropout", "deep_ensemble"), 1
        ),
        "1 layer: GVI is as good as SGLD.": is_not_worse(VARIATIONAL, "sgld", 1),
        "1 layer: MC dropout performs worst.": has_rank(("mc_dropout",), FIELD, 1, last=True),
        "2 layers: the other methods come closer to the RMSE of GVI.": gets_closer(
            OTHERS, VARIATIONAL, 2
        ),
        "2 layers: deep ensembles and SGLD outperform all others in NLL.": has_rank(
            ("deep_ensemble", "sgld"), FIELD, 2, 2, metrics=NLL
        ),
        "3 layers: GVI remains the best performer, in some cases alongside SGLD.": is_best(
            VARIATIONAL, OTHERS, 3
        ),
        "3 layers: GVI improves its NLL.": improves(VARIATIONAL, 3, metrics=NLL),
        "3 layers: the variance of all methods increases.": improves(FIELD, 3, spread=True),
    },
    TOY: {
        "Confidence increases with the number of layers, except for RKL.": coverage_rises(
            tuple(name for name in DIVERGENCES if name != "kl_prior_posterior")
        ),
        "The confidence of RKL decreases with the number of layers.": coverage_rises(
            ("kl_prior_posterior",), falls=True
        ),
        "Small intervals, below 0.7 standard deviations, are too narrow.": small_intervals_fail(),
        "1 layer: TVL and aAR are the best calibrated.": best_calibrated(
            ("tv_lower", "alpha_renyi"), 1
        ),
        "2 layers: KL, AR and A are the best calibrated.": best_calibrated(
            ("kl", "renyi", "alpha"), 2
        ),
        "3 layers: TVL, A and JS are the best calibrated.": best_calibrated(
            ("tv_lower", "alpha", "js_weight_2"), 3
        ),
        "Information criteria always prefer one hidden layer.": one_layer_is_best(),
    },
}
"""The rule of each claim, by its section and its text."""

STATEMENTS = tuple((text, source, rule) for source in RULES for text, rule in RULES[source].items())


def claims(suite: ThesisRuns) -> list[Claim]:
    """Return the claims about experiments that were run, in the order of the text.

    Claims about the toy are also tested on the thesis's own tables; for the others the thesis has
    only figures.
    """
    was_run = {
        GRID: not suite.orders.empty,
        BOXES: not suite.medians.empty,
        RIVALRY: not suite.medians.empty,
        TOY: not (suite.sigma.empty and suite.criteria.empty),
    }
    return [
        claim
        for source in RULES
        if was_run[source]
        for claim in check_claims(
            [statement for statement in STATEMENTS if statement[1] == source],
            suite,
            thesis_toy() if source == TOY else None,
        )
    ]


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
    if scored.empty:
        return
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
    if runs.scored.empty:
        return
    blocks = (*sigma_blocks(runs), *criteria_blocks(runs))
    if blocks:
        yield Heading("The GVI thesis's toy (section 5.0.2)")
        yield from blocks


def claims_section(runs: Runs, style: Style) -> Iterator[Block]:
    """Yield the section on the thesis's claims, if any of its experiments was run."""
    if runs.scored.empty:
        return
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
