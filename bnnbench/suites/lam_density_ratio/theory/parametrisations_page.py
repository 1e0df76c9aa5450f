"""How the six loss functionals are shown: Fig. 9.1, the answers, what section 9.1 says of them."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.record import read_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.exhibit import Exhibit
from bnnbench.report.figures.canvas import BLUE, GREY, PALETTE, Look, legend, sketch
from bnnbench.suites.lam_density_ratio.theory.names import (
    ALL_ESTIMATORS,
    DIVERGENCES,
    ESTIMATORS,
    FUNCTIONALS_TABLE,
    GREATEST_STEP,
    IN_PRE_ACTIVATION,
    LEAST_EXCESS,
    PARAMETRISATIONS,
    PRINTED,
    SATURATION_TABLE,
    SIDES,
)
from bnnbench.suites.lam_density_ratio.theory.rules import Within

DIVERGENCE_NAMES = {"gan": "GAN", "reverse_kl": "reverse KL"}

OUTPUTS = {
    "D": "class probability D",
    "r": "density ratio r",
    "T": "log density ratio T",
}

CAPTION = (
    "The loss of an estimator at one point, where the densities are q and p, as a function of its "
    "output there (example 9.1.1). Derivatives as printed in section 9.1.2 are held against "
    "automatic differentiation at random points, errors relative to q + p plus the derivative; an "
    "excess is relative to the larger of both."
)

EVERY = tuple(f"{divergence}, {name}" for divergence in DIVERGENCES for name in ESTIMATORS)

BEFORE = tuple(f"{divergence}, {ALL_ESTIMATORS}" for divergence in DIVERGENCES)

SECOND = IN_PRE_ACTIVATION.format("second")

STATEMENTS = (
    (
        "The first derivatives of the six losses are as printed.",
        "9.1.2",
        Within(PRINTED.format("first"), EVERY, "errors below 1e-10 at every point", high=1e-10),
    ),
    (
        "The second derivatives are as printed.",
        "9.1.2",
        Within(PRINTED.format("second"), EVERY, "errors below 1e-10 at every point", high=1e-10),
    ),
    (
        "C15: When q changes, the optimum of D moves less than that of r.",
        "lemma 9.1.2",
        Within(
            GREATEST_STEP,
            ("D / r",),
            "its step is the smaller one at every point; they are compared in the units of two "
            "different outputs",
            high=1.0,
        ),
    ),
    (
        "C16: Under GAN, the second derivative of D exceeds that of r.",
        "9.1.2",
        Within(
            LEAST_EXCESS.format("second derivative"),
            ("gan, D over r",),
            "it does at every point, at outputs that stand for the same ratio",
            low=0.0,
            aside=((SECOND, f"gan, {ALL_ESTIMATORS}"),),
        ),
    ),
    (
        "C16: That of r is greater under reverse KL than under GAN.",
        "9.1.2",
        Within(
            LEAST_EXCESS.format("second derivative"),
            ("r, reverse_kl over gan",),
            "it is at every point",
            low=0.0,
        ),
    ),
    (
        "The losses of D have the steepest gradients.",
        "Fig. 9.1",
        Within(
            LEAST_EXCESS.format("slope"),
            tuple(f"{divergence}, D over {name}" for divergence in DIVERGENCES for name in "rT"),
            "steeper than r's and T's at every point, at outputs that stand for the same ratio",
            low=0.0,
            aside=tuple((IN_PRE_ACTIVATION.format("first"), name) for name in BEFORE),
        ),
    ),
    (
        "So the three estimators converge at different rates.",
        "9.1.2, 9.1.3",
        Within(
            SECOND,
            BEFORE,
            "second derivatives in the pre-activation, which is what the weights move, differ by "
            "more than 1e-10 somewhere",
            low=1e-10,
        ),
    ),
)


def functionals_figure(folder: RunFolder) -> Figure:
    """Fig. 9.1: six panels on common axes, GAN above and reverse KL below."""
    table = pd.read_csv(folder.table(FUNCTIONALS_TABLE))
    names = read_record(folder).names
    figure, panels = sketch(9.5, 5.6, len(ESTIMATORS), len(DIVERGENCES))
    lowest = min(0.0, 1.2 * table["loss"].min())
    limits = (lowest, lowest + 8 * max(names["q"], names["p"]))
    places = [(divergence, name) for divergence in DIVERGENCES for name in ESTIMATORS]
    for axes, letter, (divergence, name) in zip(panels, "abcdef", places, strict=True):
        own = table[(table["divergence"] == divergence) & (table["estimator"] == name)]
        least = own.loc[own["loss"].idxmin()]
        axes.plot(own["output"], own["loss"], color=BLUE, linewidth=1.8)
        axes.plot(least["output"], least["loss"], "o", color="black", markersize=4)
        if name != "T":
            for bound in (0, 1) if name == "D" else (0,):
                axes.axvline(bound, color=GREY, linewidth=0.8, linestyle=":")
        axes.set(xlim=(-4.2, 4.2), ylim=limits, xlabel=OUTPUTS[name])
        axes.set_title(f"({letter}) {DIVERGENCE_NAMES[divergence]}, {name}", fontsize="medium")
    for axes in panels[:: len(ESTIMATORS)]:
        axes.set_ylabel("loss at the point [nats]")
    figure.suptitle(
        f"Loss at a point where q = {names['q']:g} and p = {names['p']:g}; dots: least loss; "
        "dotted: bounds of the output",
        fontsize="medium",
    )
    return figure


LOOKS: dict[str, Look] = {
    "exact": {"color": GREY, "linewidth": 4, "alpha": 0.5},
    "T": {"color": PALETTE[0], "linewidth": 1.6},
    "r": {"color": PALETTE[1], "linewidth": 1.6, "linestyle": (0, (6, 3))},
    "D": {"color": PALETTE[2], "linewidth": 1.6, "linestyle": (0, (2, 2))},
}
"""The exact slope lies below the three that the thesis's programs compute."""


def saturation_figure(folder: RunFolder) -> Figure:
    """The slopes of the losses in the pre-activation, as single precision rounds them."""
    table = pd.read_csv(folder.table(SATURATION_TABLE))
    figure, panels = sketch(9.5, 5.8, len(SIDES), len(DIVERGENCES))
    places = [(divergence, side) for divergence in DIVERGENCES for side in SIDES]
    for axes, (divergence, side) in zip(panels, places, strict=True):
        panel = table[(table["divergence"] == divergence) & (table["side"] == side)]
        for name, look in LOOKS.items():
            own = panel[panel["estimator"] == name]
            axes.plot(own["pre_activation"], own["slope"], label=name, **look)
        if (divergence, side) == ("reverse_kl", "p"):
            axes.set_yscale("log")
        axes.set(xlabel="pre-activation a", ylabel="slope of the loss in a")
        axes.set_title(f"{DIVERGENCE_NAMES[divergence]}, draws of {side}", fontsize="medium")
    legend(figure, panels[0])
    figure.supxlabel(
        "as the thesis's programs compute it: single precision, 1e-18 inside logarithms; where a "
        "line ends it is infinite or no number",
        fontsize="small",
    )
    return figure


def notes(folder: RunFolder) -> list[str]:
    """What a reader must know of all of them."""
    return [
        "D = sigmoid(a), r = exp(a) and T = a of one pre-activation a: the three losses of a "
        "divergence are one function of a, with one gradient in the weights. What section 9.1 "
        "compares is how the outputs' units stretch that function."
    ]


EXHIBIT = Exhibit(
    PARAMETRISATIONS,
    "Six loss functionals (section 9.1)",
    CAPTION,
    {"loss_functionals": functionals_figure, "saturation": saturation_figure},
    STATEMENTS,
    notes=notes,
)
