"""Comparison on one-dimensional data: distance at each input, and an exact Gaussian process.

The process has the prior covariance of a ReLU network. Under a Gaussian prior over its weights, a
network with one hidden layer is a sum of independent units. As its width grows, it converges to a
Gaussian process (Neal, *Bayesian Learning for Neural Networks*, 1996) with the covariance of the
network's outputs, which is the same at any width. Cho & Saul, "Kernel Methods for Deep Learning",
NIPS 2009, give it in closed form. For a unit whose weights and bias have variance v, with
`x' = (x, 1)` and t the angle between two such vectors,

    E[relu(a) relu(b)] = v |x'_a| |x'_b| (sin t + (pi - t) cos t) / (2 pi)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report import blocks
from bnnbench.report.figures.plotting import is_leftmost, legend, panel_title, small_multiples
from bnnbench.report.sections.curves import draw_curve
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.curves import Curve, range_masks, read_curve
from bnnbench.results.score.predictions import Mixture, read_mixtures
from bnnbench.results.score.predictive_distances import quantiles, wasserstein
from bnnbench.suites.gold_standard.comparison import W1, Comparison, sorted_means


def covariance(a: np.ndarray, b: np.ndarray, width: int, prior_precision: float) -> np.ndarray:
    """Covariance of a network's outputs under its prior, `[A, B]`.

    Args:
        a: inputs, `[A, D]`.
        b: inputs, `[B, D]`.
        width: number of units in the hidden layer.
        prior_precision: prior precision of all weights and biases.
    """
    first, second = (np.column_stack([x, np.ones(len(x))]) for x in (a, b))
    norms = np.linalg.norm(first, axis=1)[:, None] * np.linalg.norm(second, axis=1)
    cosine = np.clip(first @ second.T / norms, -1, 1)
    angle = np.arccos(cosine)
    product = norms * (np.sin(angle) + (np.pi - angle) * cosine) / (2 * np.pi * prior_precision)
    result: np.ndarray = (width * product + 1) / prior_precision
    return result


def exact_posterior(
    inputs: np.ndarray,
    targets: np.ndarray,
    at: np.ndarray,
    width: int,
    prior_precision: float,
    noise_precision: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian process regression with `covariance`, in standardised units.

    Args:
        inputs: training inputs, `[N, D]`.
        targets: training targets, `[N]`.
        at: test inputs, `[M, D]`.
        width: as for `covariance`.
        prior_precision: as for `covariance`.
        noise_precision: noise precision of the targets.

    Returns:
        Mean and standard deviation of the function without noise, `[M]` each.
    """
    from scipy.linalg import cho_factor, cho_solve

    prior_covariance = covariance(inputs, inputs, width, prior_precision)
    factor = cho_factor(prior_covariance + np.eye(len(inputs)) / noise_precision, lower=True)
    cross = covariance(at, inputs, width, prior_precision)
    norms = (at**2).sum(1) + 1  # the angle is zero
    prior = (width * norms / (2 * prior_precision) + 1) / prior_precision
    explained = (cross * cho_solve(factor, cross.T).T).sum(1)
    return cross @ cho_solve(factor, targets), np.sqrt(np.clip(prior - explained, 0, None))


EXACT_GP = "exact GP"

STATEMENT = (
    "Synthetic data with one input show where the distributions differ: the bands of each method, "
    "with those of the chains drawn on top, and W1 to the chains at each point. For comparison we "
    "add exact regression with a Gaussian process that has the prior covariance of the network "
    "(Cho & Saul 2009), the limit of a network with one hidden layer as its width goes to "
    "infinity; it is not the posterior of this network. W1 inside: mean over grid points within "
    "the range of the training inputs. W1 outside: mean over points farther from it than a "
    "quarter of its width."
)

COLUMNS = blocks.columns(
    {"Method": "{name}"}, {"W1 inside": "{inside:.3g}", "W1 outside": "{outside:.3g}"}
)

MAX_COLUMNS = 4
"""Panels in a row."""


@dataclass(frozen=True)
class CurvePanel:
    """A panel with the predictions of one method.

    Attributes:
        name: the name of the method.
        curve: its predictions.
        distance: W1 to the reference at each grid point, standardised units.
    """

    name: str
    curve: Curve
    distance: np.ndarray

    def mean(self, region: str) -> float:
        """Mean distance `in` or `out` of the range of the training inputs."""
        mask = range_masks(self.curve)[region].to_numpy()
        return float(self.distance[mask].mean()) if mask.any() else math.nan


def one_dimensional_blocks(runs: Runs, comparisons: Sequence[Comparison]) -> Iterator[blocks.Block]:
    """Yield a table and a figure for each comparison on one-dimensional data."""
    shown = [(c.dataset, panels) for c in comparisons if (panels := list(curve_panels(runs, c)))]
    if shown:
        yield blocks.Heading("One-dimensional data", 3)
        yield blocks.Paragraph(STATEMENT)
    for number, (dataset, panels) in enumerate(shown, 1):
        # The reference is only in the figure, because its distance to itself is zero.
        rows = [
            {"name": panel.name, "inside": panel.mean("in"), "outside": panel.mean("out")}
            for panel in panels[1:]
        ]
        caption = (
            f"Predictions on {dataset}. Bands: mean ± 2 total (light) and ± 2 epistemic (dark) "
            "standard deviations; black lines: ± 2 total of the chains; dashed line: true function"
        )
        draw = partial(bands_figure, panels, dataset)
        name = blocks.numbered_name("gold_along", number)
        yield blocks.Heading(dataset, 4)
        yield blocks.fill(COLUMNS, rows)
        yield blocks.FigureBlock(blocks.numbered_name("gold_bands", number), caption, draw)
        yield blocks.DataFile(name, _table(panels), "Distances at each point:")


def curve_panels(runs: Runs, comparison: Comparison) -> Iterator[CurvePanel]:
    """Yield the reference, the exact process if it is known, and all runs, the closest first."""
    names = runs.scored.loc[comparison.reference].to_dict() | {"run": comparison.reference}
    curve = read_curve(runs.folders[comparison.reference], names)
    if curve is None or not len(curve.training):
        return
    reference_quantiles = _quantiles(runs, comparison.reference, curve)
    yield CurvePanel(comparison.names[comparison.reference], curve, np.zeros(len(curve.grid)))
    exact = exact_curve(runs, comparison.reference, curve)
    if exact is not None:
        gp_curve, mixture = exact
        yield CurvePanel(EXACT_GP, gp_curve, wasserstein(quantiles(mixture), reference_quantiles))
    for run in map(str, sorted_means(comparison, W1).index):
        run_curve = read_curve(runs.folders[run], runs.scored.loc[run].to_dict() | {"run": run})
        if run_curve is not None:
            distance = wasserstein(_quantiles(runs, run, run_curve), reference_quantiles)
            yield CurvePanel(comparison.names[run], run_curve, distance)


def _quantiles(runs: Runs, run: str, curve: Curve) -> np.ndarray:
    """Predictive quantiles of a run in the order of its curve, `[M, K]`."""
    stored = read_mixtures(runs.folders[run])
    first = np.flatnonzero(stored.split == curve.grid["split"].iloc[0])
    order = first[pd.Index(stored.row[first]).get_indexer(pd.Index(curve.grid["row"]))]
    return quantiles(stored.mixture.select_points(order))


def exact_curve(runs: Runs, reference: str, curve: Curve) -> tuple[Curve, Mixture] | None:
    """The curve of the Gaussian process and its predictions in standardised units.

    None for networks that do not converge to this process.
    """
    names = runs.scored.loc[reference]
    rows = runs.splits[runs.splits["run"] == reference]
    model = rows[rows["split"] == curve.grid["split"].iloc[0]].iloc[0]
    noise = float(model.get("hp.noise_precision", np.nan))
    prior = float(model.get("hp.prior_precision", np.nan))
    if names["depth"] != 1 or not (np.isfinite(noise) and np.isfinite(prior)):
        return None
    x, y = (curve.training[name].to_numpy() for name in ("input", "target"))
    at = curve.grid["input"].to_numpy()
    width = int(names["width"][0])
    scaled = ((x - x.mean()) / x.std())[:, None], (y - y.mean()) / y.std()
    scaled_at = ((at - x.mean()) / x.std())[:, None]
    mean, deviation = exact_posterior(*scaled, scaled_at, width, prior, noise)
    grid = curve.grid.assign(
        mean=y.mean() + y.std() * mean,
        epistemic_variance=(y.std() * deviation) ** 2,
        noise_variance=y.var() / noise,
    )
    variances = np.square(deviation)[:, None], np.full((len(at), 1), 1 / noise)
    return Curve(curve.run, grid, curve.training), Mixture(mean[:, None], *variances)


def bands_figure(panels: Sequence[CurvePanel], dataset: str) -> Figure:
    """Draw the panels. The band of the reference, which comes first, is outlined in all others."""
    figure, axes = small_multiples(len(panels), MAX_COLUMNS, (2.55, 1.9), (0.3, 0.8))
    reference = panels[0]
    for panel_axes, panel in zip(axes, panels, strict=True):
        draw_curve(panel_axes, panel.curve)
        if panel is not reference:
            grid, total = reference.curve.grid, 2 * reference.curve.deviation
            for k, end in enumerate((grid["mean"] - total, grid["mean"] + total)):
                label = None if k else f"± 2 total std of {reference.name}"
                panel_axes.plot(grid["input"], end, color="black", linewidth=0.8, label=label)
        near = "" if panel is reference else f": W1 {panel.distance.mean():.2g}"
        panel_title(panel_axes, panel.name + near, 2.0)
        panel_axes.label_outer()
    columns = -(-len(axes) // sum(map(is_leftmost, axes)))
    for lowest in axes[-columns:]:
        lowest.tick_params(labelbottom=True)
    figure.supxlabel("x", fontsize="small")
    figure.supylabel("y", fontsize="small")
    legend(figure, axes, columns=3, title=dataset)
    return figure


def _table(panels: Sequence[CurvePanel]) -> pd.DataFrame:
    pieces = [
        panel.curve.grid.assign(method=panel.name, w1=panel.distance).drop(columns="split")
        for panel in panels
    ]
    return pd.concat(pieces, ignore_index=True)
