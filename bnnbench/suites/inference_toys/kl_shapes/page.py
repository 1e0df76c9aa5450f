"""The page of a run on KL shapes."""

from __future__ import annotations

from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.suites.inference_toys.kl_shapes.claims import claims
from bnnbench.suites.inference_toys.kl_shapes.figures import (
    directions_figure,
    factorised_figure,
    orders_figure,
    widths_figure,
)
from bnnbench.suites.inference_toys.kl_shapes.names import KIND
from bnnbench.suites.inference_toys.kl_shapes.saved_run import read_run

CAPTION = (
    "The best Gaussian q for a mixture p, by numerical minimisation. Exact: the moments of p, "
    "which forward KL matches, and closed forms for the correlated pair. If two optima are equally "
    "good, the table shows the one with the larger mean. Orders use the book's convention, "
    "alpha = 2 a - 1 for the order a of the GVI thesis."
)


EXPERIMENT_PAGE = ExperimentPage(
    kind=KIND,
    title="The Gaussian that minimises each divergence",
    caption=CAPTION,
    figures={
        "directions": directions_figure,
        "orders": orders_figure,
        "widths": widths_figure,
        "factorised": factorised_figure,
    },
    captions={
        "directions": "Mixture p (solid) and the Gaussian q that minimises forward KL (dashed) or "
        "reverse KL (dotted), one row per kind of mixture and one column per separation of the "
        "components. Thin dotted lines: other local optima of reverse KL",
        "orders": "Mixture p (filled) and the Gaussian q that minimises the alpha-divergence "
        "(orange line), one row per mixture and one column per order alpha",
        "widths": "Standard deviation of the best q against the order alpha, one line per "
        "separation d of the components. Open circles: the scale stops at the largest value with "
        "a finite divergence; dotted vertical lines: reverse KL (alpha = -1) and forward KL "
        "(alpha = 1)",
        "factorised": "Left: ellipses of 1 and 2 standard deviations of a correlated Gaussian p "
        "and its best factorised approximations q; grey dots: mean of q during coordinate ascent. "
        "Right: reverse KL above its minimum after each update of a factor",
    },
    statements=claims,
    read_evidence=read_run,
)
