"""Whether a search finds better values if its objective is bent before its model sees it.

    python tests/benchmarks/search_warps.py GRIDS yacht boston energy concrete

The cross-validated log-likelihood of Vadam on split 0 of each set is computed on a dense grid of
both precisions and kept in the folder GRIDS. Its linear interpolation is then searched from many
seeds, 5 random points and 25 by expected improvement, with each warp. A line per warp and set: how
far the best point found lies below the best of the grid (nats, mean ± standard error over seeds,
and the worst), and which share of the 25 suggestions lies on an edge of the box.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator

from bnnbench.cli.build import build
from bnnbench.cli.compose import configs_of
from bnnbench.experiment.protocol import cross_validate, make_folds
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.search.base import Trial
from bnnbench.search.bayesian_optimisation import BayesianOptimisation
from bnnbench.settings import Dimension

Array = NDArray[np.float64]

POINTS = 13  # along each axis of a grid
SEEDS = 20
EDGE = 0.01  # of an axis

BO = BayesianOptimisation(label="bo", iterations=30, initial_points=5)


def as_it_is(objectives: Array) -> Array:
    return objectives


def clipped(objectives: Array) -> Array:
    """What lies more than an interquartile range below the median counts as lying just there."""
    low, median, high = np.percentile(objectives, [25, 50, 75])
    return np.maximum(objectives, median - (high - low))


def power(objectives: Array) -> Array:
    """By Yeo and Johnson's transform of greatest likelihood under a Gaussian."""
    from sklearn.preprocessing import PowerTransformer

    if np.ptp(objectives) == 0:
        return objectives
    standardised = (objectives - objectives.mean()) / objectives.std()
    return PowerTransformer("yeo-johnson").fit_transform(standardised[:, None])[:, 0]


def logarithmic(objectives: Array) -> Array:
    """Minus the logarithm of how far each lies below the best; finer than the median by ten."""
    below = objectives.max() - objectives
    return -np.log(below + 0.1 * np.median(below) + 1e-9)


WARPS: dict[str, Callable[[Array], Array]] = {
    "none": as_it_is, "clipped": clipped, "power": power, "logarithmic": logarithmic,
}  # fmt: skip


def experiment_on(dataset: str) -> SplitExperiment:
    (config,) = configs_of([f"dataset={dataset}", "method=vadam"])
    experiment = build(config).experiment
    assert isinstance(experiment, SplitExperiment)
    return experiment


def values_at(space: Sequence[Dimension], place: Array) -> dict[str, float]:
    """The values at a place of the unit square."""
    return {d.name: float(d.low * (d.high / d.low) ** u) for d, u in zip(space, place, strict=True)}


def grid_of(experiment: SplitExperiment, file: Path) -> Array:
    """The objective at `POINTS` by `POINTS` places, from a file or computed into it."""
    if not file.exists():
        split = experiment.table.splits[:1]
        folds = make_folds(experiment.fitting, experiment.table, split, experiment.search.folds)
        axis = np.linspace(0, 1, POINTS)
        places = np.array([(a, b) for a in axis for b in axis])
        found = [
            cross_validate(experiment.fitting, split, folds, [values_at(experiment.space, u)], k)
            for k, u in enumerate(places)
        ]
        np.save(file, np.mean(found, axis=(1, 2)).reshape(POINTS, POINTS))
    return np.load(file)


def search(
    space: Sequence[Dimension], surface: RegularGridInterpolator, warp: Callable, seed: int
) -> tuple[float, float]:
    """The best that one search finds, and the share of its suggestions that lie on an edge."""
    history: list[Trial] = []
    edges = []
    for k in range(BO.iterations):
        bent = warp(np.array([trial.objective for trial in history])) if history else ()
        seen = [replace(trial, objective=float(o)) for trial, o in zip(history, bent, strict=True)]
        values = BO.suggest(space, seen, 1000 * seed + k)
        place = np.array([np.log(values[d.name] / d.low) / np.log(d.high / d.low) for d in space])
        place = np.clip(place, 0, 1)
        edges.append(bool(((place < EDGE) | (place > 1 - EDGE)).any()))
        objective = float(surface(place)[0])
        history.append(Trial(values, objective, (objective,), 0.0, 0.0))
    return max(t.objective for t in history), float(np.mean(edges[BO.initial_points :]))


def main(folder: Path, datasets: Sequence[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    axes = (np.linspace(0, 1, POINTS),) * 2
    for dataset in datasets:
        experiment = experiment_on(dataset)
        grid = grid_of(experiment, folder / f"{dataset}.npy")
        surface = RegularGridInterpolator(axes, grid)
        for name, warp in WARPS.items():
            found = [search(experiment.space, surface, warp, seed) for seed in range(SEEDS)]
            below = grid.max() - np.array([best for best, _ in found])
            error = below.std(ddof=1) / len(below) ** 0.5
            edge = np.mean([share for _, share in found])
            print(
                f"{dataset:10}{name:12}{below.mean():.4f} ± {error:.4f}, worst {below.max():.3f}, "
                f"{edge:.0%} on an edge",
                flush=True,
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
