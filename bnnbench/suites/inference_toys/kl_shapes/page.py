"""What a run of the KL shapes shows."""

from __future__ import annotations

from bnnbench.report.exhibit import Exhibit
from bnnbench.suites.inference_toys.kl_shapes.figures import (
    directions_figure,
    factorised_figure,
    orders_figure,
    widths_figure,
)
from bnnbench.suites.inference_toys.kl_shapes.findings import read_findings
from bnnbench.suites.inference_toys.kl_shapes.rules import (
    CoversAll,
    FactorVariance,
    ForcesZeros,
    HasAnOptimumPerPart,
    MatchesMoments,
    OnlyHellingerIsSymmetric,
    ReachesItsLimits,
    SeeksAPart,
    WidensWithOrder,
)
from bnnbench.suites.inference_toys.kl_shapes.tables import KIND
from bnnbench.suites.inference_toys.sources import BOOK

CAPTION = (
    "the best Gaussian q for a mixture p, by minimisation of an integral; exact: the "
    "moments of p, which forward KL matches, and closed forms for the correlated pair. Of equally "
    "good optima the one further to the right stands here. Orders are in the book's convention, "
    "alpha = 2 a - 1 for the order a of the GVI thesis with the same order of arguments"
)

STATEMENTS = (
    (
        "Forward KL strives for the global average: it matches the moments of p",
        f"{BOOK}, 3.2.2.1, Fig. 3.9, eq. 3.40",
        MatchesMoments(),
    ),
    (
        "As the modes get farther apart, reverse KL seeks the most probable mode, read as the part "
        "with the most mass",
        f"{BOOK}, Fig. 3.9",
        SeeksAPart("mass"),
    ),
    (
        "The same, read as the mode of the highest density",
        f"{BOOK}, Fig. 3.9",
        SeeksAPart("height"),
    ),
    (
        "Reverse KL has a local optimum for each mode, of which a start finds one",
        f"{BOOK}, Fig. 3.9 shows the best one",
        HasAnOptimumPerPart(),
    ),
    ("alpha <= -1 is zero forcing", f"{BOOK}, 3.2.3.3", ForcesZeros()),
    ("alpha >= 1 is zero avoiding: q stretches to cover all p", f"{BOOK}, 3.2.3.3", CoversAll()),
    (
        "The family goes to reverse KL at alpha = -1 and to forward KL at 1",
        f"{BOOK}, 3.2.3.3",
        ReachesItsLimits(),
    ),
    (
        "Of two equal parts, q is the wider the larger alpha",
        f"{BOOK}, Fig. 3.12",
        WidensWithOrder(True),
    ),
    (
        "Of any two parts, q is the wider the larger alpha",
        f"{BOOK}, Fig. 3.12",
        WidensWithOrder(False),
    ),
    (
        "alpha = 0, Hellinger's, is the sole symmetric member",
        f"{BOOK}, 3.2.4.2",
        OnlyHellingerIsSymmetric(),
    ),
    ("Mean field under-estimates the variance", f"{BOOK}, 3.2.1.6", FactorVariance(captured=False)),
    (
        "Mean field captures any marginal density",
        f"{BOOK}, 3.2.1.3, of the optimum and not of the family",
        FactorVariance(captured=True),
    ),
)

EXHIBIT = Exhibit(
    kind=KIND,
    title="Which Gaussian a divergence picks",
    caption=CAPTION,
    figures={
        "directions": directions_figure,
        "orders": orders_figure,
        "widths": widths_figure,
        "factorised": factorised_figure,
    },
    statements=STATEMENTS,
    given=read_findings,
)
