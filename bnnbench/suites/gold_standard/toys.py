"""Along one input, where one sees what a distance is made of, and an exact process beside."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.report.figures.canvas import SMALL, folded, legend, sketch
from bnnbench.report.figures.curves import draw_curve
from bnnbench.report.numbers import number
from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Paragraph,
    Table,
    numbered,
    numbers,
    words,
)
from bnnbench.results.curves import Curve, places, read_curve
from bnnbench.results.mixtures import Mixture, read_mixtures
from bnnbench.results.predictive_distances import quantiles, wasserstein
from bnnbench.results.reader import Runs
from bnnbench.suites.gold_standard.comparison import Comparison
from bnnbench.suites.gold_standard.infinite_width import exact_posterior
from bnnbench.suites.gold_standard.verdicts import W1, order

EXACT = "exact GP"

STATEMENT = (
    "On made data of one input one sees it: each method's bands with those of the chains drawn "
    "over them, and W1 to the chains point by point. Beside them stands exact regression with the "
    "Gaussian process that has the covariance of this very network under its prior (Cho & Saul "
    "2009), which a network of one hidden layer becomes as it grows wider: not the posterior of "
    "this network, but what it would be near if its width were infinite. W1 inside is the mean "
    "over grid points in the range of the training inputs, outside over those at least a quarter "
    "of that range away."
)

COLUMNS = (*words("Method"), *numbers("W1 inside", "W1 outside"))

ACROSS = 4
"""Panels in a row."""


@dataclass(frozen=True)
class Along:
    """One panel.

    Attributes:
        name: of the method.
        curve: what it predicts.
        distance: W1 to the reference at each grid point, standardised units.
    """

    name: str
    curve: Curve
    distance: np.ndarray

    def mean(self, where: str) -> float:
        """Of the distance, `in` or `out` of the range of the training inputs."""
        there = places(self.curve)[where].to_numpy()
        return float(self.distance[there].mean()) if there.any() else math.nan


def toy_blocks(runs: Runs, every: Sequence[Comparison]) -> tuple[Block, ...]:
    """A table and a figure for each comparison on made data of one input."""
    blocks: list[Block] = []
    for found in every:
        panels = list(along(runs, found))
        if not panels:
            continue
        place = 1 + sum(isinstance(block, Drawing) for block in blocks)
        # The reference, to which its own distance is none, stands in the figure alone.
        rows = tuple(
            (panel.name, *(number(panel.mean(where), ".3g") for where in ("in", "out")))
            for panel in panels[1:]
        )
        caption = f"{found.dataset}: bands of each method, and of the chains over them"
        draw = partial(bands_figure, panels, found.dataset)
        blocks += [
            Heading(found.dataset, 4),
            Table(COLUMNS, rows),
            Drawing(numbered("gold_bands", place), caption, draw),
            Data(numbered("gold_along", place), _table(panels), "Point by point:"),
        ]
    if not blocks:
        return ()
    return (Heading("Along one input", 3), Paragraph(STATEMENT), *blocks)


def along(runs: Runs, found: Comparison) -> Iterator[Along]:
    """The reference, the exact process where it is known, and every run, the nearest first."""
    names = runs.scored.loc[found.reference].to_dict() | {"run": found.reference}
    curve = read_curve(runs.folders[found.reference], names)
    if curve is None or not len(curve.training):
        return
    theirs = _quantiles(runs, found.reference, curve)
    yield Along(found.names[found.reference], curve, np.zeros(len(curve.grid)))
    exact = exact_curve(runs, found.reference, curve)
    if exact is not None:
        curve_of_it, mixture = exact
        yield Along(EXACT, curve_of_it, wasserstein(quantiles(mixture), theirs))
    for run in map(str, order(found, W1).index):
        own = read_curve(runs.folders[run], runs.scored.loc[run].to_dict() | {"run": run})
        if own is not None:
            distance = wasserstein(_quantiles(runs, run, own), theirs)
            yield Along(found.names[run], own, distance)


def _quantiles(runs: Runs, run: str, curve: Curve) -> np.ndarray:
    """Of a run, in the order of its curve, `[M, K]`."""
    kept = read_mixtures(runs.folders[run])
    first = np.flatnonzero(kept.split == curve.grid["split"].iloc[0])
    order = first[pd.Index(kept.row[first]).get_indexer(pd.Index(curve.grid["row"]))]
    return quantiles(kept.mixture.rows(order))


def exact_curve(runs: Runs, reference: str, curve: Curve) -> tuple[Curve, Mixture] | None:
    """The Gaussian process's curve, and its predictions in standardised units.

    None for networks of which it is not the limit.

    Args:
        runs: all of them.
        reference: the digest of the run whose model it has.
        curve: of that run.
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
    found = exact_posterior(*scaled, ((at - x.mean()) / x.std())[:, None], width, prior, noise)
    grid = curve.grid.assign(
        mean=y.mean() + y.std() * found.mean,
        epistemic_variance=(y.std() * found.deviation) ** 2,
        noise_variance=y.var() / noise,
    )
    variances = np.square(found.deviation)[:, None], np.full((len(at), 1), 1 / noise)
    return Curve(curve.run, grid, curve.training), Mixture(found.mean[:, None], *variances)


def bands_figure(panels: Sequence[Along], dataset: str) -> Figure:
    """A panel each, the reference first, whose bands are drawn over the others.

    Args:
        panels: of `along`.
        dataset: its name.
    """
    columns = min(ACROSS, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, axes = sketch(2.9 * columns + 0.4, 2.2 * rows + 0.8, columns, rows)
    reference = panels[0]
    for own, panel in zip(axes, panels, strict=False):
        draw_curve(own, panel.curve)
        if panel is not reference:
            grid, total = reference.curve.grid, 2 * reference.curve.deviation
            for k, end in enumerate((grid["mean"] - total, grid["mean"] + total)):
                label = None if k else f"± 2 total of {reference.name}"
                own.plot(grid["input"], end, color="black", linewidth=0.8, label=label)
        near = "" if panel is reference else f": W1 {panel.distance.mean():.2g}"
        own.set_title(folded(panel.name + near, 2.6, SMALL), fontsize="small", parse_math=False)
    for own in axes[len(panels) :]:
        own.set_visible(False)
    legend(figure, axes[: len(panels)], columns=3, title=dataset)
    return figure


def _table(panels: Sequence[Along]) -> pd.DataFrame:
    pieces = [
        panel.curve.grid.assign(method=panel.name, w1=panel.distance).drop(columns="split")
        for panel in panels
    ]
    return pd.concat(pieces, ignore_index=True)
