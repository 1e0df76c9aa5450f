"""The page of the six losses of section 9.1 of the thesis."""

from __future__ import annotations

from matplotlib.figure import Figure

from bnnbench.experiment.store.record import read_record
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import BLUE, GREY, new_figure
from bnnbench.results.claims.claims import CheckResult, Claims
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, run_reader
from bnnbench.suites.lam_density_ratio.estimator_parametrisations import (
    EACH_DIVERGENCE,
    IN_PRE_ACTIVATION,
    LOSS_TABLE,
    MIN_EXCESS,
    EstimatorParametrisations,
)
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, ESTIMATORS, label

OUTPUT_NAMES = {
    "class_probability": "class probability D",
    "ratio": "density ratio r",
    "log_ratio": "log density ratio T",
}

read_functionals = run_reader({LOSS_TABLE: ("output", "loss")})

figures = Figures(read_functionals)

claims = Claims()


def _listed(run: SavedRun, quantity: str, approximations: tuple[str, ...]) -> str:
    """Return `smallest excess of a slope: 0.98 (GAN, D over r), 0.5 (GAN, D over T)`."""
    values = (f"{run.value(quantity, name):.3g} ({name})" for name in approximations)
    return f"{quantity}: {', '.join(values)}"


@claims(
    "The losses of D have the steepest gradients.",
    source="Fig. 9.1",
    rule="steeper than those of r and T at every point, at outputs for the same ratio",
)
def has_steepest_gradients(run: SavedRun) -> CheckResult:
    excess, first = MIN_EXCESS.format("slope"), IN_PRE_ACTIVATION.format("first")
    pairs = tuple(f"{name}, D over {other}" for name in DIVERGENCES.values() for other in "rT")
    parts = [_listed(run, excess, pairs), *(_listed(run, first, (n,)) for n in EACH_DIVERGENCE)]
    return all(run.value(excess, name) > 0 for name in pairs), "; ".join(parts)


@claims(
    "Therefore the three estimators converge at different rates.",
    source="9.1.2, 9.1.3",
    rule="second derivatives in the pre-activation, which the weights act on, differ by more than "
    "1e-10 at some point",
)
def converge_at_different_rates(run: SavedRun) -> CheckResult:
    second = IN_PRE_ACTIVATION.format("second")
    holds = all(run.value(second, name) > 1e-10 for name in EACH_DIVERGENCE)
    return holds, _listed(run, second, EACH_DIVERGENCE)


@figures(
    "Loss of each estimator (D, r or T) at one point as a function of its output, GAN (top) and "
    "reverse KL (bottom). Dots: minima; dotted vertical lines: bounds of the output"
)
def loss_functionals(run: SavedRun) -> Figure:
    """Draw Fig. 9.1: six panels on common axes, GAN above reverse KL."""
    metadata = read_record(run.folder).metadata
    q, p = metadata["q"], metadata["p"]
    lowest = min(0.0, 1.2 * run[LOSS_TABLE]["loss"].min())
    figure, panels = new_figure(9.5, 5.6, len(ESTIMATORS), len(DIVERGENCES))
    keys = [(divergence, name) for divergence in DIVERGENCES for name in ESTIMATORS]
    for axes, letter, (divergence, name) in zip(panels, "abcdef", keys, strict=True):
        rows = run.rows(LOSS_TABLE, divergence=divergence, estimator=name)
        least = rows.loc[rows["loss"].idxmin()]
        axes.plot(rows["output"], rows["loss"], color=BLUE, linewidth=1.8)
        axes.plot(least["output"], least["loss"], "o", color="black", markersize=4)
        for bound in {"class_probability": (0, 1), "ratio": (0,), "log_ratio": ()}[name]:
            axes.axvline(bound, color=GREY, linewidth=0.8, linestyle=":")
        limits = (lowest, lowest + 8 * max(q, p))
        axes.set(xlim=(-4.2, 4.2), ylim=limits, xlabel=OUTPUT_NAMES[name])
        axes.set_title(f"({letter}) {label(divergence, name)}", fontsize="medium")
    for axes in panels[:: len(ESTIMATORS)]:
        axes.set_ylabel("loss at the point [nats]")
    figure.suptitle(
        f"Loss at a point with q = {q:g} and p = {p:g}; dots: minimum; dotted: bounds of the "
        "output",
        fontsize="medium",
    )
    return figure


EXPERIMENT_PAGE = ExperimentPage(
    kind=EstimatorParametrisations.kind,
    title="Six loss functionals (section 9.1)",
    caption="The loss of an estimator at a point with densities q and p, as a function of its "
    "output there (example 9.1.1). Derivatives are compared at random points; differences are "
    "relative to q + p plus the derivative, an excess is relative to the larger of the two.",
    figures=figures,
    statements=claims,
    settings=SourceSettings(counts=("points",)),
    notes=lambda folder: [
        "With D = sigmoid(a), r = exp(a) and T = a of the same pre-activation a, the three losses "
        "of a divergence are the same function of a and have the same gradient in the weights. "
        "Section 9.1 compares how the units of the outputs stretch that function."
    ],
)
