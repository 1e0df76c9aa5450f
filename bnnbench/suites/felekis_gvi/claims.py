"""What the GVI thesis says about its experiments, each claim checked on our numbers."""

from __future__ import annotations

from bnnbench.results.claims import Check, Claim, checked
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, OTHERS, VARIATIONAL, ThesisRuns
from bnnbench.suites.felekis_gvi.comparison_rules import (
    NLL,
    Ahead,
    Deeper,
    MostAhead,
    NotBehind,
    Place,
)
from bnnbench.suites.felekis_gvi.order_rules import Above, BestOrder
from bnnbench.suites.felekis_gvi.printed import their_toy
from bnnbench.suites.felekis_gvi.rival_rules import Closer, Leads
from bnnbench.suites.felekis_gvi.toy_rules import BestCalibrated, Rises, Shallowest, TooSure

FIELD = (*VARIATIONAL, *OTHERS)
GRID, BOXES, RIVALRY, TOY = "5.0.1, Fig. 5.2", "5.0.1, Figs. 5.4, 5.5", "5.0.1, Fig. 5.6", "5.0.2"

STATEMENTS: tuple[tuple[str, str, Check[ThesisRuns]], ...] = (
    ("Performance improves for alpha > 1.", GRID, Above()),
    ("It does so especially from 1.75 to 3.", GRID, BestOrder(1.75, 3.0)),
    (
        "1 layer: aAR, JS and F are equally good with KL or better.",
        BOXES,
        NotBehind(("alpha_renyi", "js_w2", "fisher"), "kl", 1),
    ),
    ("1 layer: RKL performs worst of all.", BOXES, Place(("rkl",), DIVERGENCES, 1, last=True)),
    (
        "2 layers: aAR's variance increases.",
        BOXES,
        Deeper(("alpha_renyi",), 2, spread=True),
    ),
    ("2 layers: F outperforms KL almost everywhere.", BOXES, Ahead("fisher", "kl", 2)),
    ("2 layers: TVL outperforms KL, especially in NLL.", BOXES, Ahead("tv_lower", "kl", 2, NLL)),
    ("2 layers: JS outperforms KL.", BOXES, Ahead("js_w2", "kl", 2)),
    ("2 layers: A improves on one layer.", BOXES, Deeper(("alpha",), 2)),
    ("2 layers: JS outperforms all others.", BOXES, Place(("js_w2",), DIVERGENCES, 2)),
    ("2 layers: TVL works better than TVU.", BOXES, Ahead("tv_lower", "tv_upper", 2)),
    (
        "2 layers: KL has the worst NLL most of the times.",
        BOXES,
        Place(("kl",), DIVERGENCES, 2, last=True, metrics=NLL),
    ),
    (
        "2 layers, concrete: almost all divergences work better than KL.",
        BOXES,
        MostAhead("kl", "concrete", 2),
    ),
    (
        "3 layers: the uncertainty is higher, mainly by outliers among the runs.",
        BOXES,
        Deeper(DIVERGENCES, 3, spread=True),
    ),
    (
        "3 layers: JS and F remain the top performers.",
        BOXES,
        Place(("js_w2", "fisher"), DIVERGENCES, 3, 2),
    ),
    (
        "3 layers: TVL and TVU improve both RMSE and NLL.",
        BOXES,
        Deeper(("tv_lower", "tv_upper"), 3),
    ),
    ("3 layers: TVL outperforms KL on 3 of 4 data sets.", BOXES, Ahead("tv_lower", "kl", 3)),
    ("3 layers: TVU outperforms KL on 3 of 4 data sets.", BOXES, Ahead("tv_upper", "kl", 3)),
    (
        "1 layer: GVI outperforms MC dropout and deep ensembles.",
        RIVALRY,
        Leads(VARIATIONAL, ("mc_dropout", "deep_ensemble"), 1),
    ),
    ("1 layer: GVI is equally good with SGLD.", RIVALRY, NotBehind(VARIATIONAL, "sgld", 1)),
    ("1 layer: MC dropout performs worst.", RIVALRY, Place(("mc_dropout",), FIELD, 1, last=True)),
    (
        "2 layers: the other methods come closer to the RMSE of GVI.",
        RIVALRY,
        Closer(OTHERS, VARIATIONAL, 2),
    ),
    (
        "2 layers: deep ensembles and SGLD outperform all others in NLL.",
        RIVALRY,
        Place(("deep_ensemble", "sgld"), FIELD, 2, 2, metrics=NLL),
    ),
    (
        "3 layers: GVI remains the best performer, in some cases alongside SGLD.",
        RIVALRY,
        Leads(VARIATIONAL, OTHERS, 3),
    ),
    (
        "3 layers: GVI improves its NLL.",
        RIVALRY,
        Deeper(VARIATIONAL, 3, metrics=NLL),
    ),
    ("3 layers: the variance of all methods increases.", RIVALRY, Deeper(FIELD, 3, spread=True)),
    (
        "Confidence increases with the number of layers, but for RKL.",
        TOY,
        Rises(tuple(name for name in DIVERGENCES if name != "rkl")),
    ),
    ("That of RKL decreases.", TOY, Rises(("rkl",), falls=True)),
    ("Small intervals, below 0.7 deviations, are too narrow.", TOY, TooSure()),
    (
        "1 layer: TVL and aAR are the best calibrated.",
        TOY,
        BestCalibrated(("tv_lower", "alpha_renyi"), 1),
    ),
    ("2 layers: KL, AR and A are.", TOY, BestCalibrated(("kl", "renyi", "alpha"), 2)),
    ("3 layers: TVL, A and JS are.", TOY, BestCalibrated(("tv_lower", "alpha", "js_w2"), 3)),
    ("Criteria always prefer one hidden layer.", TOY, Shallowest()),
)


def claims(suite: ThesisRuns) -> list[Claim]:
    """Every claim about experiments of which some run is there, in the order of the text.

    Those on the toy are judged on the thesis's own tables as well; of the rest it prints figures
    alone.
    """
    there = {
        GRID: not suite.orders.empty,
        BOXES: not suite.medians.empty,
        RIVALRY: not suite.medians.empty,
        TOY: not (suite.sigma.empty and suite.criteria.empty),
    }
    tested = [one for one in STATEMENTS if there[one[1]]]
    drawn, tabled = ([one for one in tested if (one[1] == TOY) == toy] for toy in (False, True))
    return [*checked(drawn, suite), *checked(tabled, suite, their_toy())]
