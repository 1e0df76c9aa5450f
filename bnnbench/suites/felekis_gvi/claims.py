"""Claims of the GVI thesis about its experiments, tested on our numbers."""

from __future__ import annotations

from bnnbench.results.claims.claims import Claim, Rule, check_claims
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
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, OTHERS, VARIATIONAL, ThesisRuns
from bnnbench.suites.felekis_gvi.toy import (
    best_calibrated,
    coverage_rises,
    one_layer_is_best,
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
