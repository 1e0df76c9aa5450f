"""Whether Bayesian optimisation finds better values if its objective is warped.

    python tests/benchmarks/search_warps.py GRIDS yacht boston energy concrete
    python tests/benchmarks/search_warps.py direct yacht boston energy concrete

The objective is the cross-validated log-likelihood of Vadam. Each search evaluates 5 random points
and 25 points by expected improvement.

The first command computes the objective on a dense grid of both precisions, on split 0 of each data
set, and saves it in the folder GRIDS. It then searches the linear interpolation from many seeds
with each warp. It prints the gap between the best point found and the best one of the grid (nats,
mean ± standard error over seeds, and the largest), and the fraction of the 25 suggestions at an
edge of the search space.

The second command searches the objective itself on five splits of each data set, as a run does. It
prints the improvement of the best value due to the warp, paired by split.
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

from bnnbench.config.assemble import build
from bnnbench.config.compose import compose_configs
from bnnbench.experiment.fitting import FitSettings
from bnnbench.experiment.folds import Folds, make_folds
from bnnbench.experiment.protocol import cross_validate
from bnnbench.experiment.split_experiment import SplitExperiment
from bnnbench.random_streams import derive_seed
from bnnbench.search.base import Trial
from bnnbench.search.bayesian_optimisation import BayesianOptimisation
from bnnbench.settings import Dimension
from bnnbench.types import Split

Array = NDArray[np.float64]

GRID_POINTS = 13  # per axis
N_SEEDS = 20  # searches per grid and warp
N_SPLITS = 5  # of the direct search
EDGE_WIDTH = 0.01  # fraction of an axis

BO = BayesianOptimisation(label="bayesian_optimisation", iterations=30, initial_points=5)


def unchanged(objectives: Array) -> Array:
    return objectives


def clipped(objectives: Array) -> Array:
    """Clip values at one interquartile range below the median."""
    low, median, high = np.percentile(objectives, [25, 50, 75])
    return np.maximum(objectives, median - (high - low))


def yeo_johnson(objectives: Array) -> Array:
    """Apply the Yeo-Johnson transform of maximum likelihood under a Gaussian."""
    from sklearn.preprocessing import PowerTransformer

    if np.ptp(objectives) == 0:
        return objectives
    standardised = (objectives - objectives.mean()) / objectives.std()
    return PowerTransformer("yeo-johnson").fit_transform(standardised[:, None])[:, 0]


def logarithmic(objectives: Array) -> Array:
    """Return minus the logarithm of the gap to the best, offset by a tenth of the median gap."""
    gaps = objectives.max() - objectives
    return -np.log(gaps + 0.1 * np.median(gaps) + 1e-9)


WARPS: dict[str, Callable[[Array], Array]] = {
    "none": unchanged, "clipped": clipped, "power": yeo_johnson, "logarithmic": logarithmic,
}  # fmt: skip


def make_experiment(dataset: str) -> SplitExperiment:
    (config,) = compose_configs([f"dataset={dataset}", "method=vadam"])
    experiment = build(config).experiment
    assert isinstance(experiment, SplitExperiment)
    return experiment


def values_at_point(space: Sequence[Dimension], point: Array) -> dict[str, float]:
    """Return the values at a point of the unit square."""
    return {d.name: float(d.low * (d.high / d.low) ** u) for d, u in zip(space, point, strict=True)}


def unit_square_point(space: Sequence[Dimension], values: dict[str, float]) -> Array:
    """Return the point of the unit square that corresponds to values."""
    point = [np.log(values[d.name] / d.low) / np.log(d.high / d.low) for d in space]
    return np.clip(np.array(point), 0, 1)


def load_grid(experiment: SplitExperiment, file: Path) -> Array:
    """Return the objective `[GRID_POINTS, GRID_POINTS]`; compute and save it if necessary."""
    if not file.exists():
        split = experiment.table.splits[:1]
        folds = make_folds(experiment.fitting, experiment.table, split, experiment.search.folds)
        axis = np.linspace(0, 1, GRID_POINTS)
        points = [values_at_point(experiment.space, np.array([a, b])) for a in axis for b in axis]
        objectives = [
            cross_validate(experiment.fitting, split, folds, [values], k)
            for k, values in enumerate(points)
        ]
        np.save(file, np.mean(objectives, axis=(1, 2)).reshape(GRID_POINTS, GRID_POINTS))
    return np.load(file)


def search(
    space: Sequence[Dimension],
    objective: Callable[[dict[str, float], int], float],
    warp: Callable[[Array], Array],
    seeds: Sequence[int],
) -> tuple[float, float]:
    """Return the best objective of one search, and the fraction of suggestions at an edge."""
    history: list[Trial] = []
    at_edge = []
    for k in range(BO.iterations):
        warped = warp(np.array([trial.objective for trial in history])) if history else ()
        trials = [
            replace(trial, objective=float(value))
            for trial, value in zip(history, warped, strict=True)
        ]
        values = BO.suggest(space, trials, seeds[k])
        point = unit_square_point(space, values)
        at_edge.append(bool(((point < EDGE_WIDTH) | (point > 1 - EDGE_WIDTH)).any()))
        value = objective(values, k)
        history.append(Trial(values, value, (value,), 0.0, 0.0))
    return max(t.objective for t in history), float(np.mean(at_edge[BO.initial_points :]))


def search_grids(folder: Path, dataset: str) -> None:
    """Search the interpolation of a grid from many seeds, with each warp."""
    experiment = make_experiment(dataset)
    space, grid = experiment.space, load_grid(experiment, folder / f"{dataset}.npy")
    surface = RegularGridInterpolator((np.linspace(0, 1, GRID_POINTS),) * 2, grid)

    def objective(values: dict[str, float], k: int) -> float:
        return float(surface(unit_square_point(space, values))[0])

    for name, warp in WARPS.items():
        seeds = [[1000 * seed + k for k in range(BO.iterations)] for seed in range(N_SEEDS)]
        results = [search(space, objective, warp, own) for own in seeds]
        gap = grid.max() - np.array([best for best, _ in results])
        at_edge = np.mean([fraction for _, fraction in results])
        print(
            f"{dataset:10}{name:12}{gap.mean():.4f} ± {gap.std(ddof=1) / N_SEEDS**0.5:.4f}, "
            f"largest {gap.max():.3f}, {at_edge:.0%} at an edge",
            flush=True,
        )


def cross_validated_objective(
    fitting: FitSettings, split: Split, folds: Folds, values: dict[str, float], k: int
) -> float:
    """Return the objective at the k-th suggestion of a search, as in a run."""
    return float(np.mean(cross_validate(fitting, [split], folds, [values], k)))


def search_objectives(dataset: str) -> None:
    """Search the objective itself once per split, with each warp."""
    experiment = make_experiment(dataset)
    fitting, best = experiment.fitting, dict[str, list[float]]()
    for split in experiment.table.splits[:N_SPLITS]:
        folds = make_folds(fitting, experiment.table, [split], experiment.search.folds)
        seeds = [derive_seed(0, split.index, "suggest", k) for k in range(BO.iterations)]

        objective = partial(cross_validated_objective, fitting, split, folds)
        for name, warp in WARPS.items():
            value, _ = search(experiment.space, objective, warp, seeds)
            best.setdefault(name, []).append(value)
    for name in list(WARPS)[1:]:
        gain = np.array(best[name]) - np.array(best["none"])
        error = gain.std(ddof=1) / len(gain) ** 0.5
        print(f"{dataset:10}{name:12}{gain.mean():+.4f} ± {error:.4f}", flush=True)


if __name__ == "__main__":
    target, *datasets = sys.argv[1:]
    for dataset in datasets:
        if target == "direct":
            search_objectives(dataset)
        else:
            Path(target).mkdir(parents=True, exist_ok=True)
            search_grids(Path(target), dataset)
