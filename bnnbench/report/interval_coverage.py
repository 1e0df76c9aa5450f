"""How often k predicted deviations hold a target, on made data (GVI thesis, Figs. 5.10-5.12)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import norm

from bnnbench.report.plotting import GREY, PALETTE, Style, legend, sketch
from bnnbench.report.predictive_curves import Curve, columns_of, places
from bnnbench.report.section import Section
from bnnbench.results.tables import MISSING, markdown_table
from bnnbench.suites.felekis_gvi.printed import theirs

STEPS = np.linspace(0.1, 3, 30)
"""Half-widths of the intervals, in predicted total deviations."""

ONE_SIGMA = float(norm.cdf(1) - norm.cdf(-1))
LOW = 0.7  # deviations below which the thesis sees overconfidence
WELL_CALIBRATED = 0.1  # the thesis's bound on the difference at one deviation

COLUMNS = ("Method", "Depth", "Inside 1 sigma", "Difference", "Thesis", "Its difference")

SIGMA_STATEMENT = (
    "The share of noisy test targets within k total predictive deviations of the predictive mean, "
    "at test inputs inside the range of the training inputs; a Gaussian holds 0.683 within one. "
    "Above the dashed line a model is too cautious, below it too sure. The thesis counts predicted "
    "points inside an interval of the true distribution, calls a difference of at most 0.1 well "
    "calibrated, and reads its curves as here. As a table: [sigma.csv](sigma.csv)."
)


def gaussian(steps: np.ndarray) -> np.ndarray:
    """The share that a Gaussian holds within each number of its deviations."""
    return np.asarray(norm.cdf(steps) - norm.cdf(-steps))


def inside(curve: Curve, steps: np.ndarray = STEPS) -> np.ndarray:
    """The share of targets within each number of total deviations, in the training range."""
    grid = curve.grid[places(curve)["in"]]
    deviation = np.sqrt(grid["epistemic_variance"] + grid["noise_variance"])
    distance = ((grid["target"] - grid["mean"]).abs() / deviation).to_numpy()
    return np.asarray((distance <= steps[:, None]).mean(axis=1))


def sigma_table(curves: Sequence[Curve]) -> pd.DataFrame:
    """One row per run.

    Columns: the names of the run, the number of `points`, the shares `inside_1` to `inside_3`, the
    `difference` of the first from a Gaussian's, the mean `low_excess` over a Gaussian's below `LOW`
    deviations, and the thesis's two numbers, missing if none.
    """
    rows = []
    low = STEPS[STEPS < LOW - 1e-9]
    for curve in curves:
        names = ("experiment", "dataset", "method", "divergence", "depth", "label")
        shares = inside(curve, np.array([1.0, 2.0, 3.0]))
        printed = theirs("calibration", curve.run)
        rows.append({
            **{name: curve.run[name] for name in names},
            "points": int(places(curve)["in"].sum()),
            **{f"inside_{k}": share for k, share in enumerate(shares, 1)},
            "difference": abs(shares[0] - ONE_SIGMA),
            "low_excess": (inside(curve, low) - gaussian(low)).mean(),
            "inside_1_thesis": printed.get("predicted_probability", math.nan),
            "difference_thesis": printed.get("difference", math.nan),
        })  # fmt: skip
    return pd.DataFrame(rows)


def sigma_rows(table: pd.DataFrame) -> dict[str, list[tuple[str, ...]]]:
    """By data set, the printed cells of `sigma_table` under `COLUMNS`."""
    numbers = ["inside_1", "difference", "inside_1_thesis", "difference_thesis"]
    groups: dict[str, list[tuple[str, ...]]] = {}
    for row in table.to_dict("records"):
        cells = (f"{row[n]:.2f}" if math.isfinite(row[n]) else MISSING for n in numbers)
        names = (str(row["label"]), str(row["depth"]))
        groups.setdefault(str(row["dataset"]), []).append((*names, *cells))
    return groups


def sigma_figure(curves: Sequence[Curve]) -> Figure:
    """A panel per data set and depth, a line per run."""
    standing = columns_of(curves)
    columns, names = list(dict.fromkeys(standing)), list(dict.fromkeys(_labels(curves)))
    figure, panels = sketch(max(5.5, 3.6 * len(columns) + 0.4), 4.6, len(columns))
    for axes, column in zip(panels, columns, strict=True):
        axes.plot(
            STEPS, gaussian(STEPS), color="black", linewidth=1.2, linestyle="--", label="Gaussian"
        )
        for curve, place, label in zip(curves, standing, _labels(curves), strict=True):
            if place == column:
                k = names.index(label)
                style: Style = {"color": PALETTE[k % 8], "linestyle": ("-", "-.", ":")[k // 8 % 3]}
                axes.plot(STEPS, inside(curve), linewidth=1.2, label=label, **style)
        axes.axvline(1, color=GREY, linewidth=0.5)
        axes.set(xlim=(0, 3), ylim=(0, 1.02), xlabel="k, in predicted total deviations")
        axes.set_title(column, fontsize="medium")
    panels[0].set_ylabel("share of test targets inside")
    legend(
        figure,
        max(panels, key=lambda axes: len(axes.lines)),
        columns=int(figure.get_figwidth() // 2.2),
    )
    return figure


def _labels(curves: Sequence[Curve]) -> list[str]:
    return [str(curve.run["label"]) for curve in curves]


def sigma_section(curves: Sequence[Curve]) -> Section | None:
    """Calibration along the input.

    Args:
        curves: of `curves_below`.
    """
    curves = [curve for curve in curves if len(curve.training)]
    if not curves:
        return None
    table = sigma_table(curves)
    parts = ["## Inside k deviations", SIGMA_STATEMENT]
    for dataset, rows in sigma_rows(table).items():
        parts += [f"### {dataset}", markdown_table(COLUMNS, rows)]
    parts.append("![Share of targets within k deviations, a line per run](sigma.png)")
    return Section(parts, {"sigma": table}, {"sigma": sigma_figure(curves)})
