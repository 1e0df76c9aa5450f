"""Whether a search finds better values if its objective is bent before its model sees it.

    python tests/benchmarks/search_warps.py GRIDS yacht boston energy concrete
    python tests/benchmarks/search_warps.py fresh yacht boston energy concrete

The objective is the cross-validated log-likelihood of Vadam, and each search takes 5 random points
and 25 by expected improvement. The first command computes it on a dense grid of both precisions,
on split 0 of each set, keeps that in the folder GRIDS, and searches its linear interpolation from
many seeds with each warp: a line says how far the best point found lies below the best of the grid
(nats, mean ± standard error over seeds, and the worst), and which share of the 25 suggestions lies
on an edge of the box. The second searches the objective itself on five splits of each set, as a run
does, and says by how much the best it sees is better with a warp than without, paired by split.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RegularGridInterpolator

from bnnbench.cli.build import build
from bnnbench.cli.line import configs_of
from bnnbench.experiment.fitting import Fitting
from bnnbench.experiment.folds import Folds, make_folds
from bnnbench.experiment.protocol import cross_validate
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.random_streams import derive_seed
from bnnbench.search.base import Trial
from bnnbench.search.bayesian_optimisation import BayesianOptimisation
from bnnbench.settings import Dimension
from bnnbench.types import Split

Array = NDArray[np.float64]

POINTS = 13  # along each axis of a grid
SEEDS = 20  # searches of each grid
SPLITS = 5  # on which the objective itself is searched
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


def place_of(space: Sequence[Dimension], values: dict[str, float]) -> Array:
    """The place of values in the unit square."""
    places = [np.log(values[d.name] / d.low) / np.log(d.high / d.low) for d in space]
    return np.clip(np.array(places), 0, 1)


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
    space: Sequence[Dimension],
    objective: Callable[[dict[str, float], int], float],
    warp: Callable[[Array], Array],
    seeds: Sequence[int],
) -> tuple[float, float]:
    """The best that one search sees, and the share of its suggestions that lie on an edge."""
    history: list[Trial] = []
    edges = []
    for k in range(BO.iterations):
        bent = warp(np.array([trial.objective for trial in history])) if history else ()
        seen = [replace(trial, objective=float(o)) for trial, o in zip(history, bent, strict=True)]
        values = BO.suggest(space, seen, seeds[k])
        place = place_of(space, values)
        edges.append(bool(((place < EDGE) | (place > 1 - EDGE)).any()))
        found = objective(values, k)
        history.append(Trial(values, found, (found,), 0.0, 0.0))
    return max(t.objective for t in history), float(np.mean(edges[BO.initial_points :]))


def on_grids(folder: Path, dataset: str) -> None:
    """Many searches of the interpolation of a grid."""
    experiment = experiment_on(dataset)
    space, grid = experiment.space, grid_of(experiment, folder / f"{dataset}.npy")
    surface = RegularGridInterpolator((np.linspace(0, 1, POINTS),) * 2, grid)

    def objective(values: dict[str, float], k: int) -> float:
        return float(surface(place_of(space, values))[0])

    for name, warp in WARPS.items():
        seeds = [[1000 * seed + k for k in range(BO.iterations)] for seed in range(SEEDS)]
        found = [search(space, objective, warp, own) for own in seeds]
        below = grid.max() - np.array([best for best, _ in found])
        edge = np.mean([share for _, share in found])
        print(
            f"{dataset:10}{name:12}{below.mean():.4f} ± {below.std(ddof=1) / SEEDS**0.5:.4f}, "
            f"worst {below.max():.3f}, {edge:.0%} on an edge",
            flush=True,
        )


def validated(
    fitting: Fitting, split: Split, folds: Folds, values: dict[str, float], k: int
) -> float:
    """The objective at the k-th suggestion of a search, as a run has it."""
    return float(np.mean(cross_validate(fitting, [split], folds, [values], k)))


def fresh(dataset: str) -> None:
    """One search of the objective itself on each of some splits, with each warp."""
    experiment = experiment_on(dataset)
    fitting, best = experiment.fitting, dict[str, list[float]]()
    for split in experiment.table.splits[:SPLITS]:
        folds = make_folds(fitting, experiment.table, [split], experiment.search.folds)
        seeds = [derive_seed(0, split.index, "suggest", k) for k in range(BO.iterations)]

        objective = partial(validated, fitting, split, folds)
        for name, warp in WARPS.items():
            seen, _ = search(experiment.space, objective, warp, seeds)
            best.setdefault(name, []).append(seen)
    for name in list(WARPS)[1:]:
        more = np.array(best[name]) - np.array(best["none"])
        error = more.std(ddof=1) / len(more) ** 0.5
        print(f"{dataset:10}{name:12}{more.mean():+.4f} ± {error:.4f}", flush=True)


if __name__ == "__main__":
    what, *datasets = sys.argv[1:]
    for one in datasets:
        if what == "fresh":
            fresh(one)
        else:
            Path(what).mkdir(parents=True, exist_ok=True)
            on_grids(Path(what), one)
