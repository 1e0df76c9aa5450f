"""Page of the experiment on the lower bounds: its figures and the claims of section 4.2."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.experiment_page import ExperimentPage
from bnnbench.report.figures.plotting import BLUE, GREY, ORANGE, PALETTE, legend, new_figure
from bnnbench.results.answers import read_answers
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES
from bnnbench.suites.lam_density_ratio.theory.names import (
    BOUNDS,
    DIVERGENCE_QUANTITY,
    ESTIMATES_TABLE,
    FAMILIES_TABLE,
    FAMILY_FORMULAS,
    FRACTION_ABOVE,
    LOSS_AT_EQUALITY,
    OVER_SAMPLES,
    RATIO_MEAN_STD,
    SETTING,
)
from bnnbench.suites.lam_density_ratio.theory.rules import BoundIsTight, Equals

CAPTION = (
    "Nats. First by quadrature: both bounds at the exact ratio compared with the divergences, and "
    "their smallest gaps for the ratios r*^c and r* + delta. Then from samples: estimates for two "
    "unit Gaussians with a trained network and with the exact ratio, medians over networks and "
    "sample sets."
)

BOUND_NAMES = {"kl_posterior_prior": "bound of reverse KL", "gan": "bound of the GAN divergence"}

RATIOS = {"trained": (BLUE, "trained network", 0.94), "exact ratio": (ORANGE, "exact ratio", 1.06)}
"""Colour, name, and factor by which markers are moved off the true divergence."""


def families_figure(folder: RunFolder) -> Figure:
    """Draw both bounds over both families of ratios, with a colour per pair of densities."""
    table = pd.read_csv(folder.table(FAMILIES_TABLE))
    figure, panels = new_figure(9.5, 6.2, len(FAMILY_FORMULAS), len(BOUND_NAMES))
    keys = [(divergence, family) for divergence in BOUND_NAMES for family in FAMILY_FORMULAS]
    for axes, (divergence, family) in zip(panels, keys, strict=True):
        selected = table[(table["divergence"] == divergence) & (table["family"] == family)]
        for colour, (pair, rows) in zip(
            PALETTE, selected.groupby("pair", sort=False), strict=False
        ):
            exact = rows["exact"].iloc[0]
            axes.axhline(exact, color=colour, linewidth=1, linestyle=(0, (4, 3)))
            axes.plot(
                rows["parameter"], rows["bound"], color=colour, linewidth=1.8, label=str(pair)
            )
            at_exact = rows[rows["distance"] == 0]
            axes.plot(at_exact["parameter"], at_exact["bound"], "o", color=colour, markersize=6)
        variable = {"power": "c", "shift": "delta"}[family]
        axes.set(
            xlabel=f"{variable} of the ratio {FAMILY_FORMULAS[family]}",
            ylabel=f"{BOUND_NAMES[divergence]} [nats]",
        )
    legend(figure, panels[0], columns=3)
    figure.supxlabel(
        "dashed: the divergence; dots: the exact ratio, where bound and divergence are equal",
        fontsize="small",
    )
    return figure


def estimates_figure(folder: RunFolder) -> Figure:
    """Draw sample estimates of both bounds against the divergence, and the spread of `E_p[r*]`."""
    table, answers = pd.read_csv(folder.table(ESTIMATES_TABLE)), read_answers(folder)
    figure, panels = new_figure(12, 4.8, 3)
    for axes, divergence in zip(panels, BOUND_NAMES, strict=False):
        exact = _exact_values(answers, divergence)
        for ratio, (colour, name, offset) in RATIOS.items():
            selected = table[(table["divergence"] == divergence) & (table["ratio"] == ratio)]
            low, middle, high = (
                _error_quantile(selected, exact, level) for level in (0.1, 0.5, 0.9)
            )
            bars = [middle - low, high - middle]
            axes.errorbar(
                middle.index * offset, middle, bars, fmt="o", color=colour, capsize=3, label=name
            )
        axes.axhline(0, color=GREY, linewidth=1)
        _set_divergence_axis(axes, exact.index.to_numpy())
        axes.set_ylabel(f"error of the estimated {DIVERGENCE_QUANTITY[divergence]} [nats]")
        axes.set_title(BOUND_NAMES[divergence], fontsize="medium")
    spread = answers[answers["quantity"] == RATIO_MEAN_STD]
    kl = spread["setting"].str.removeprefix(SETTING.format(0)[:-1]).astype(float)
    panels[2].plot(kl, spread["value"], "o-", color=PALETTE[2])
    panels[2].set_yscale("log")
    _set_divergence_axis(panels[2], kl.to_numpy())
    panels[2].set_ylabel("standard deviation of the mean of r*")
    panels[2].set_title("sample mean of the exact ratio (expectation 1)", fontsize="medium")
    legend(figure, panels[0])
    figure.supxlabel(
        "dots: median over networks and sample sets; bars: 10 % to 90 %", fontsize="small"
    )
    return figure


def _error_quantile(rows: pd.DataFrame, exact: pd.Series, level: float) -> pd.Series:
    """Return a quantile of the estimates minus the exact values, by `KL(q || p)`."""
    quantiles = rows.groupby("kl")["bound"].quantile(level)
    return quantiles - exact.reindex(quantiles.index)


def _exact_values(answers: pd.DataFrame, divergence: str) -> pd.Series:
    """Return the exact values of a divergence by `KL(q || p)`."""
    rows = answers[
        (answers["quantity"] == DIVERGENCE_QUANTITY[divergence])
        & (answers["approximation"] == OVER_SAMPLES["exact ratio"])
    ]
    kl = rows["setting"].str.removeprefix(SETTING.format(0)[:-1]).astype(float)
    return pd.Series(rows["exact"].to_numpy(), kl.to_numpy())


def _set_divergence_axis(axes: Axes, values: np.ndarray) -> None:
    axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()
    axes.set_xlabel("KL(q || p) [nats]")


def notes(folder: RunFolder) -> list[str]:
    """Return a remark on the sample estimates of both bounds, with this run's numbers."""
    answers, exact = read_answers(folder), OVER_SAMPLES["exact ratio"]
    rows = answers[answers["approximation"] == exact]
    last = rows[rows["quantity"] == DIVERGENCE_QUANTITY["kl_posterior_prior"]].iloc[-1]
    fractions = rows[
        rows["quantity"] == FRACTION_ABOVE.format(DIVERGENCE_QUANTITY["kl_posterior_prior"])
    ]
    return [
        "Estimated from samples, the bound of reverse KL is not a bound: the mean of the ratio "
        "over p is dominated by points that samples rarely contain. At a true divergence of "
        f"{last['exact']:g} nats the exact ratio gives a median of {last['value']:.2f}, and more "
        f"than the true value in {fractions['value'].iloc[-1]:.0%} of the sample sets. The GAN "
        "bound remains a bound, but near its maximum, zero, it hardly distinguishes divergences."
    ]


STATEMENTS = (
    (
        "E_q[1 + log r] - E_p[r] is at most KL(q || p), with equality at r = q / p.",
        "theorem 4.2.1, (4.2.1)",
        BoundIsTight("kl_posterior_prior"),
    ),
    (
        "The negative loss of class probability estimation is at most 2 JS - log 4, likewise.",
        "4.2.4",
        BoundIsTight("gan"),
    ),
    (
        "At q = p the minimum of the loss of D is log 4.",
        "remark 4.1.3",
        Equals(LOSS_AT_EQUALITY, DIVERGENCES["gan"]),
    ),
    (
        "At q = p the minimum of the loss of r is 1.",
        "remark 4.2.4",
        Equals(LOSS_AT_EQUALITY, DIVERGENCES["kl_posterior_prior"]),
    ),
)

EXPERIMENT_PAGE = ExperimentPage(
    kind=BOUNDS,
    title="Lower bounds of divergences (section 4.2)",
    caption=CAPTION,
    figures={"families": families_figure, "estimates": estimates_figure},
    captions={
        "families": "Bounds of reverse KL (top) and the GAN divergence (bottom) for two families "
        "of ratios, one colour per pair of densities. Dashed lines: the divergence; dots: the "
        "exact ratio, where bound and divergence are equal",
        "estimates": "First two panels: errors of the bounds estimated from samples, against the "
        "true divergence; dots and bars: median and 10 % to 90 % quantiles over networks and "
        "sample sets. Last panel: standard deviation of the sample mean of the exact ratio",
    },
    statements=STATEMENTS,
    notes=notes,
)
