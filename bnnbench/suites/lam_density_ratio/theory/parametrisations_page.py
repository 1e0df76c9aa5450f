"""Page of the experiment on the six loss functionals: Fig. 9.1 and the claims of section 9.1."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder, read_record
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.report.figures.plotting import BLUE, GREY, PALETTE, PlotOptions, legend, new_figure
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS, SYMBOLS, label
from bnnbench.suites.lam_density_ratio.theory.names import (
    ALL_ESTIMATORS,
    D_OVER_R,
    DERIVATIVE_ERROR,
    FUNCTIONALS_TABLE,
    IN_PRE_ACTIVATION,
    KL_OVER_GAN,
    MAX_STEP_RATIO,
    MIN_EXCESS,
    PARAMETRISATIONS,
    SATURATION_TABLE,
    SIDES,
)
from bnnbench.suites.lam_density_ratio.theory.rules import Within

OUTPUT_NAMES = {
    "class_probability": "class probability D",
    "ratio": "density ratio r",
    "log_ratio": "log density ratio T",
}

CAPTION = (
    "The loss of an estimator at a point with densities q and p, as a function of its output there "
    "(example 9.1.1). The derivatives printed in section 9.1.2 are compared with automatic "
    "differentiation at random points; errors are relative to q + p plus the derivative, an excess "
    "is relative to the larger of the two."
)

EACH_FUNCTIONAL = tuple(
    label(divergence, name) for divergence in DIVERGENCES for name in ESTIMATORS
)

EACH_DIVERGENCE = tuple(f"{name}, {ALL_ESTIMATORS}" for name in DIVERGENCES.values())

FIRST, SECOND = (IN_PRE_ACTIVATION.format(order) for order in ("first", "second"))

STATEMENTS = (
    (
        "The first derivatives of the six losses are as printed.",
        "9.1.2",
        Within(
            DERIVATIVE_ERROR.format("first"),
            EACH_FUNCTIONAL,
            "errors below 1e-10 at every point",
            high=1e-10,
        ),
    ),
    (
        "The second derivatives are as printed.",
        "9.1.2",
        Within(
            DERIVATIVE_ERROR.format("second"),
            EACH_FUNCTIONAL,
            "errors below 1e-10 at every point",
            high=1e-10,
        ),
    ),
    (
        "C15: When q changes, the optimum of D moves less than that of r.",
        "lemma 9.1.2",
        Within(
            MAX_STEP_RATIO,
            ("D / r",),
            "the step of D is smaller at every point; the two steps have the units of two "
            "different outputs",
            high=1.0,
        ),
    ),
    (
        "C16: Under GAN, the second derivative of D exceeds that of r.",
        "9.1.2",
        Within(
            MIN_EXCESS.format("second derivative"),
            (D_OVER_R,),
            "it is larger at every point, at outputs that represent the same ratio",
            low=0.0,
            also_report=((SECOND, EACH_DIVERGENCE[0]),),
        ),
    ),
    (
        "C16: The second derivative of r is greater under reverse KL than under GAN.",
        "9.1.2",
        Within(
            MIN_EXCESS.format("second derivative"),
            (KL_OVER_GAN,),
            "it is greater at every point",
            low=0.0,
        ),
    ),
    (
        "The losses of D have the steepest gradients.",
        "Fig. 9.1",
        Within(
            MIN_EXCESS.format("slope"),
            tuple(f"{name}, D over {other}" for name in DIVERGENCES.values() for other in "rT"),
            "steeper than those of r and T at every point, at outputs for the same ratio",
            low=0.0,
            also_report=tuple(
                (IN_PRE_ACTIVATION.format("first"), name) for name in EACH_DIVERGENCE
            ),
        ),
    ),
    (
        "Therefore the three estimators converge at different rates.",
        "9.1.2, 9.1.3",
        Within(
            SECOND,
            EACH_DIVERGENCE,
            "second derivatives in the pre-activation, which the weights act on, differ by more "
            "than 1e-10 at some point",
            low=1e-10,
        ),
    ),
)


def functionals_figure(folder: RunFolder) -> Figure:
    """Draw Fig. 9.1: six panels on common axes, GAN above reverse KL."""
    table = pd.read_csv(folder.table(FUNCTIONALS_TABLE))
    names = read_record(folder).metadata
    figure, panels = new_figure(9.5, 5.6, len(ESTIMATORS), len(DIVERGENCES))
    lowest = min(0.0, 1.2 * table["loss"].min())
    limits = (lowest, lowest + 8 * max(names["q"], names["p"]))
    keys = [(divergence, name) for divergence in DIVERGENCES for name in ESTIMATORS]
    for axes, letter, (divergence, name) in zip(panels, "abcdef", keys, strict=True):
        rows = table[(table["divergence"] == divergence) & (table["estimator"] == name)]
        least = rows.loc[rows["loss"].idxmin()]
        axes.plot(rows["output"], rows["loss"], color=BLUE, linewidth=1.8)
        axes.plot(least["output"], least["loss"], "o", color="black", markersize=4)
        if name != "log_ratio":
            for bound in (0, 1) if name == "class_probability" else (0,):
                axes.axvline(bound, color=GREY, linewidth=0.8, linestyle=":")
        axes.set(xlim=(-4.2, 4.2), ylim=limits, xlabel=OUTPUT_NAMES[name])
        axes.set_title(f"({letter}) {label(divergence, name)}", fontsize="medium")
    for axes in panels[:: len(ESTIMATORS)]:
        axes.set_ylabel("loss at the point [nats]")
    figure.suptitle(
        f"Loss at a point with q = {names['q']:g} and p = {names['p']:g}; dots: minimum; "
        "dotted: bounds of the output",
        fontsize="medium",
    )
    return figure


LINE_STYLES: dict[str, PlotOptions] = {
    "exact": {"color": GREY, "linewidth": 4, "alpha": 0.5},
    "log_ratio": {"color": PALETTE[0], "linewidth": 1.6},
    "ratio": {"color": PALETTE[1], "linewidth": 1.6, "linestyle": (0, (6, 3))},
    "class_probability": {"color": PALETTE[2], "linewidth": 1.6, "linestyle": (0, (2, 2))},
}
"""The exact slope is drawn below those of the thesis's programs."""


def saturation_figure(folder: RunFolder) -> Figure:
    """Draw the slopes of the losses in the pre-activation, rounded to single precision."""
    table = pd.read_csv(folder.table(SATURATION_TABLE))
    figure, panels = new_figure(9.5, 5.8, len(SIDES), len(DIVERGENCES))
    keys = [(divergence, side) for divergence in DIVERGENCES for side in SIDES]
    for axes, (divergence, side) in zip(panels, keys, strict=True):
        panel = table[(table["divergence"] == divergence) & (table["side"] == side)]
        for name, style in LINE_STYLES.items():
            rows = panel[panel["estimator"] == name]
            axes.plot(rows["pre_activation"], rows["slope"], label=SYMBOLS.get(name, name), **style)
        if (divergence, side) == ("kl_posterior_prior", "p"):
            axes.set_yscale("log")
        axes.set(xlabel="pre-activation a", ylabel="slope of the loss in a")
        axes.set_title(f"{DIVERGENCES[divergence]}, draws of {side}", fontsize="medium")
    legend(figure, panels[0])
    figure.supxlabel(
        "as in the thesis's programs: single precision, 1e-18 inside logarithms; a line ends where "
        "the slope is not finite",
        fontsize="small",
    )
    return figure


def notes(folder: RunFolder) -> list[str]:
    """Return a note on what section 9.1 compares."""
    return [
        "With D = sigmoid(a), r = exp(a) and T = a of the same pre-activation a, the three losses "
        "of a divergence are the same function of a and have the same gradient in the weights. "
        "Section 9.1 compares how the units of the outputs stretch that function."
    ]


EXPERIMENT_PAGE = ExperimentPage(
    kind=PARAMETRISATIONS,
    title="Six loss functionals (section 9.1)",
    caption=CAPTION,
    figures={"loss_functionals": functionals_figure, "saturation": saturation_figure},
    captions={
        "loss_functionals": "Loss of each estimator (D, r or T) at one point as a function of its "
        "output, GAN (top) and reverse KL (bottom). Dots: minima; dotted vertical lines: bounds "
        "of the output",
        "saturation": "Slope of the loss with respect to the pre-activation: exact (thick grey "
        "line) and in single precision, as in the thesis's programs, one line per estimator. A "
        "line ends where the slope is not finite",
    },
    statements=STATEMENTS,
    notes=notes,
)
