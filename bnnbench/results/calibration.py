"""Whether credible intervals hold what they promise (book, section 4.2.2), and how to mend them.

Everything is computed from predictions of test points and, out of fold, of training points, with
the predictive density taken as a Gaussian of the total variance (epistemic + noise), in original
units; nothing is trained again. A run's own page computes its table, a report over many runs reads
those.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from scipy.special import gammaln, ndtr, ndtri

from bnnbench.results.reader import Runs
from bnnbench.results.recalibration import RECALIBRATIONS, Recalibration, identity
from bnnbench.results.run_files import (
    kept_points,
    read_held_out,
    read_predictions,
)

LEVELS = np.linspace(0.05, 0.95, 19)
"""Credible levels over which the calibration error is averaged."""

STATED = (0.5, 0.9, 0.95)
"""Levels whose coverage and mean width are reported."""

RECALIBRATED = {"isotonic": "after isotonic regression", "platt": "after Platt-style scaling"}
"""Printed name of each of `RECALIBRATIONS`."""

QUALITIES = (
    "calibration_error",
    *(f"coverage_{100 * level:.0f}" for level in STATED),
    *(f"width_{100 * level:.0f}" for level in STATED),
)


def total_deviation(points: pd.DataFrame | Mapping[str, np.ndarray]) -> np.ndarray:
    """Predictive standard deviation of each point."""
    return np.asarray(np.sqrt(points["epistemic_variance"] + points["noise_variance"]))


def ranks(points: pd.DataFrame) -> np.ndarray:
    """The predictive distribution function at each target, uniform if all is well.

    Args:
        points: `target`, `mean`, `epistemic_variance` and `noise_variance` of each point.
    """
    error = (points["target"] - points["mean"]).to_numpy()
    return np.asarray(ndtr(error / total_deviation(points)))


def coverage(
    points: pd.DataFrame, levels: np.ndarray, recalibrated: Recalibration = identity
) -> np.ndarray:
    """The share of targets inside the central credible interval of each level.

    Args:
        points: as for `ranks`.
        levels: between 0 and 1.
        recalibrated: applied to the ranks.
    """
    distance = np.abs(2 * recalibrated(ranks(points)) - 1)
    return np.asarray((distance <= levels[:, None]).mean(axis=1))


def mean_widths(
    points: pd.DataFrame, levels: np.ndarray, recalibrated: Recalibration = identity
) -> np.ndarray:
    """Mean width of the central credible interval of each level, in the target's unit."""
    low, high = (recalibrated.inverse((1 + sign * levels) / 2) for sign in (-1, 1))
    return np.asarray((ndtri(high) - ndtri(low)) * total_deviation(points).mean())


def learn(points: pd.DataFrame, name: str) -> dict[int, Recalibration]:
    """A recalibration for each split, from the out-of-fold predictions of its training part.

    Args:
        points: as for `ranks`, and `split`.
        name: a key of `RECALIBRATIONS`.
    """
    return {
        int(str(split)): RECALIBRATIONS[name](ranks(group))
        for split, group in points.groupby("split")
    }


def mended_groups(
    points: pd.DataFrame, learned: dict[int, Recalibration]
) -> Iterator[tuple[pd.DataFrame, Recalibration]]:
    """The points of each split with its recalibration; splits that could learn none are left out.

    Args:
        points: as for `learn`.
        learned: what `learn` returns.
    """
    for split, group in points.groupby("split"):
        number = int(str(split))
        if number in learned:
            yield group, learned[number]


def calibration_table(points: pd.DataFrame, held_out: pd.DataFrame | None = None) -> pd.DataFrame:
    """Calibration and sharpness of each split, as predicted and recalibrated.

    Args:
        points: as for `ranks`, and `split`, of the test part.
        held_out: the same of the training part, out of fold; None leaves out what needs it.

    Returns:
        A row per recalibration and split: `recalibration` (`none` or a key of `RECALIBRATIONS`),
        `split`; `calibration_error`, the mean over `LEVELS` of the absolute difference between
        coverage and level (the expected calibration error of a regression);
        `coverage_<level>`; `width_<level>`, the mean width of that interval (sharpness, in the
        target's unit).
    """
    maps = {"none": {int(str(split)): identity for split in points["split"].unique()}}
    if held_out is not None:
        maps |= {name: learn(held_out, name) for name in RECALIBRATIONS}
    rows = []
    for name, learned in maps.items():
        for group, mended in mended_groups(points, learned):
            stated = coverage(group, np.array(STATED), mended)
            widths = mean_widths(group, np.array(STATED), mended)
            error = np.abs(coverage(group, LEVELS, mended) - LEVELS).mean()
            split = group["split"].iloc[0]
            rows.append([name, split, *(float(value) for value in (error, *stated, *widths))])
    return pd.DataFrame(rows, columns=["recalibration", "split", *QUALITIES])


def calibration_of(runs: Runs, run: str) -> pd.DataFrame | None:
    """What the run's page found, or the same anew where that is gone; None without predictions."""
    folder, found = runs.folders[run], runs.calibrations.get(run)
    if found is None and (points := read_predictions(folder)) is not None:
        kept = kept_points(points, runs.splits[runs.splits["run"] == run])
        found = calibration_table(kept, read_held_out(folder))
    return found


def calibration_floor(rows: np.ndarray | int) -> np.ndarray:
    """The calibration error that a perfect model has on so many test points on average.

    Of n points a share X / n lies inside an interval of level p, X being binomial, and the error is
    the mean over `LEVELS` of |X / n - p|. Its expectation is exact (De Moivre 1730): E|X - n p| =
    2 k (1 - p) P(X = k) with k the first whole number above n p.

    Args:
        rows: numbers of test points, `[N]` or one.

    Returns:
        `[N]`, or one number; about 0.33 / sqrt(n).
    """
    n = np.asarray(rows, dtype=float)[..., None]
    k = np.floor(n * LEVELS) + 1
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    chance = np.exp(ways + k * np.log(LEVELS) + (n - k) * np.log1p(-LEVELS))
    return np.asarray((2 * k * (1 - LEVELS) * chance / n).mean(axis=-1))


def gather_calibration(runs: Runs) -> pd.DataFrame:
    """Calibration of every run that predicted, over its splits that did not diverge.

    Returns:
        Rows in the order of `Runs.scored`, by `run` and `recalibration`; for each of `QUALITIES`
        its `<quality>_mean` and `<quality>_stderr`, and `calibration_floor`, the mean over the
        splits of what a perfect model has.
    """
    found = {run: calibration_of(runs, str(run)) for run in runs.scored.index}
    pieces = [table.assign(run=run) for run, table in found.items() if table is not None]
    if not pieces:
        return pd.DataFrame()
    groups = pd.concat(pieces).groupby(["run", "recalibration"], sort=False)[list(QUALITIES)]
    means, counts = groups.mean(), groups.size()
    errors = groups.std(ddof=1).div(counts.map(math.sqrt), axis=0)
    both = means.add_suffix("_mean").join(errors.add_suffix("_stderr"))
    kept = runs.splits[runs.splits["diverged"] == 0]
    floors = kept.assign(floor=calibration_floor(kept["test_rows"].to_numpy()))
    floor = floors.groupby("run")["floor"].mean().reindex(both.index.get_level_values("run"))
    names = [f"{quality}_{kind}" for quality in QUALITIES for kind in ("mean", "stderr")]
    return both[names].assign(calibration_floor=floor.to_numpy())
