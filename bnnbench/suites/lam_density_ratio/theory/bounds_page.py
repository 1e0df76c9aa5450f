"""How the lower bounds are shown: over families of ratios, from samples, and what 4.2 says."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.exhibit import Exhibit
from bnnbench.report.figures.canvas import BLUE, GREY, ORANGE, PALETTE, legend, sketch
from bnnbench.results.answers import read_answers
from bnnbench.suites.lam_density_ratio.theory.names import (
    ABOVE,
    BOUNDS,
    ESTIMATES_TABLE,
    FAMILIES_TABLE,
    FAMILY_WORDS,
    LOSS_AT_EQUALITY,
    OVER_SAMPLES,
    SETTING,
    SPREAD,
    TRUTH,
)
from bnnbench.suites.lam_density_ratio.theory.rules import Equals, Touches

CAPTION = (
    "Nats. First by quadrature: both bounds at the exact ratio beside what they bound, and how far "
    "below it they are at least for ratios r*^c and r* + delta. Then from samples: what a trained "
    "network and the exact ratio make of two unit Gaussians, medians over networks and sets of "
    "samples."
)

LINES = {"reverse_kl": "bound of reverse KL", "gan": "bound of the GAN divergence"}

RATIOS = {"trained": (BLUE, "trained network", 0.94), "exact ratio": (ORANGE, "exact ratio", 1.06)}
"""Colour, name and place beside the true divergence."""


def families_figure(folder: RunFolder) -> Figure:
    """Both bounds over both families of ratios; a colour per pair of densities."""
    table = pd.read_csv(folder.table(FAMILIES_TABLE))
    figure, panels = sketch(9.5, 6.2, len(FAMILY_WORDS), len(LINES))
    places = [(divergence, family) for divergence in LINES for family in FAMILY_WORDS]
    for axes, (divergence, family) in zip(panels, places, strict=True):
        own = table[(table["divergence"] == divergence) & (table["family"] == family)]
        for colour, (pair, rows) in zip(PALETTE, own.groupby("pair", sort=False), strict=False):
            truth = rows["truth"].iloc[0]
            axes.axhline(truth, color=colour, linewidth=1, linestyle=(0, (4, 3)))
            axes.plot(rows["amount"], rows["bound"], color=colour, linewidth=1.8, label=str(pair))
            touching = rows[rows["departs"] == 0]
            axes.plot(touching["amount"], touching["bound"], "o", color=colour, markersize=6)
        variable = {"power": "c", "shift": "delta"}[family]
        axes.set(
            xlabel=f"{variable} of the ratio {FAMILY_WORDS[family]}",
            ylabel=f"{LINES[divergence]} [nats]",
        )
    legend(figure, panels[0], columns=3)
    figure.supxlabel(
        "dashed: the divergence itself; dots: the exact ratio, where bound and divergence meet",
        fontsize="small",
    )
    return figure


def estimates_figure(folder: RunFolder) -> Figure:
    """What samples make of both bounds as the divergence grows, and what makes one of them fail."""
    table, answers = pd.read_csv(folder.table(ESTIMATES_TABLE)), read_answers(folder)
    figure, panels = sketch(12, 4.8, 3)
    for axes, divergence in zip(panels, LINES, strict=False):
        truth = _truths(answers, divergence)
        for ratio, (colour, name, beside) in RATIOS.items():
            own = table[(table["divergence"] == divergence) & (table["ratio"] == ratio)]
            low, middle, high = (_off(own, truth, share) for share in (0.1, 0.5, 0.9))
            reach = [middle - low, high - middle]
            axes.errorbar(
                middle.index * beside, middle, reach, fmt="o", color=colour, capsize=3, label=name
            )
        axes.axhline(0, color=GREY, linewidth=1)
        _against_divergence(axes, truth.index.to_numpy())
        axes.set_ylabel(f"estimated less true {TRUTH[divergence]} [nats]")
        axes.set_title(LINES[divergence], fontsize="medium")
    spread = answers[answers["quantity"] == SPREAD]
    kl = spread["setting"].str.removeprefix(SETTING.format(0)[:-1]).astype(float)
    panels[2].plot(kl, spread["value"], "o-", color=PALETTE[2])
    panels[2].set_yscale("log")
    _against_divergence(panels[2], kl.to_numpy())
    panels[2].set_ylabel("standard deviation of the mean of r*")
    panels[2].set_title("the mean of the exact ratio, itself 1", fontsize="medium")
    legend(figure, panels[0])
    figure.supxlabel(
        "dots: median over networks and sets of samples; bars: 10 % to 90 %", fontsize="small"
    )
    return figure


def _off(rows: pd.DataFrame, truth: pd.Series, share: float) -> pd.Series:
    """By how much a quantile of the estimates exceeds the truth."""
    quantiles = rows.groupby("kl")["bound"].quantile(share)
    return quantiles - truth.reindex(quantiles.index)


def _truths(answers: pd.DataFrame, divergence: str) -> pd.Series:
    """What is estimated, by `KL(q || p)`."""
    own = answers[
        (answers["quantity"] == TRUTH[divergence])
        & (answers["approximation"] == OVER_SAMPLES["exact ratio"])
    ]
    kl = own["setting"].str.removeprefix(SETTING.format(0)[:-1]).astype(float)
    return pd.Series(own["exact"].to_numpy(), kl.to_numpy())


def _against_divergence(axes: Axes, values: np.ndarray) -> None:
    axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()
    axes.set_xlabel("KL(q || p) [nats]")


def notes(folder: RunFolder) -> list[str]:
    """What happens to the bound of reverse KL over samples, in this run's numbers."""
    answers, exact = read_answers(folder), OVER_SAMPLES["exact ratio"]
    own = answers[answers["approximation"] == exact]
    last = own[own["quantity"] == TRUTH["reverse_kl"]].iloc[-1]
    shares = own[own["quantity"] == ABOVE.format(TRUTH["reverse_kl"])]
    return [
        "Over samples the bound of reverse KL is none: the mean of the ratio over p rests on "
        f"points that hardly any sample holds. At a true {last['exact']:g} nats the exact ratio "
        f"itself gives {last['value']:.2f} in the median and more than the truth in "
        f"{shares['value'].iloc[-1]:.0%} of the sets. The GAN bound stays one, but near its upper "
        "end, zero, it has hardly anything left to tell divergences apart."
    ]


STATEMENTS = (
    (
        "E_q[1 + log r] - E_p[r] is at most KL(q || p), with equality at r = q / p.",
        "theorem 4.2.1, (4.2.1)",
        Touches("reverse_kl"),
    ),
    (
        "The loss of class probability estimation bounds 2 JS - log 4 likewise.",
        "4.2.4",
        Touches("gan"),
    ),
    ("At q = p the least loss of D is log 4.", "remark 4.1.3", Equals(LOSS_AT_EQUALITY, "gan")),
    ("At q = p the least loss of r is 1.", "remark 4.2.4", Equals(LOSS_AT_EQUALITY, "reverse_kl")),
)

EXHIBIT = Exhibit(
    BOUNDS,
    "Lower bounds of divergences (section 4.2)",
    CAPTION,
    {"families": families_figure, "estimates": estimates_figure},
    STATEMENTS,
    notes=notes,
)
