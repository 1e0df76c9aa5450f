"""Distances of every run to the reference chains of its model, split by split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.metrics import BY_KEY, Metric
from bnnbench.results.mixtures import Mixture, StoredMixtures, has_mixtures, read_mixtures
from bnnbench.results.pairing import index_splits
from bnnbench.results.predictive_distances import (
    geometric_mean_ratio,
    mass_inside,
    quantiles,
    rank_correlation,
    sampled_wasserstein,
    wasserstein,
)
from bnnbench.results.reader import Runs

REFERENCE = "hmc"
"""The family of methods whose samples represent the posterior."""

INTERVAL_LEVEL = 0.9
"""Level of the reference's central interval."""

MODEL_COLUMNS = ("depth", "width", "likelihood", "loss")
"""Columns in which two runs of the same model agree."""

PRECISIONS = ("prior_precision", "noise_precision")
"""Hyper-parameters of the model; others belong to the approximation."""

PRIOR_SETTING, GAUSSIAN = "method.divergence.prior.class", "Gaussian"
"""The setting that selects the prior, and its value for methods without this setting."""

DISTANCES = (
    Metric("w1", "W1", "target"),
    Metric("w1_sampled", "W1 of 1,000 draws", "target"),
    Metric("w2", "W2", "target"),
    Metric("epistemic_misfit", "epistemic ratio", "target"),
    Metric("epistemic_correlation", "epistemic rank correlation", "target", "higher"),
    Metric("mass_misfit", "mass in 90 %", "target"),
)
"""Criteria for ranking. A misfit is the absolute value of a log ratio or of a difference."""

LOG_LIKELIHOOD = BY_KEY["log_likelihood"]


@dataclass(frozen=True)
class Comparison:
    """The runs of one model on one data set, compared with its reference.

    Attributes:
        dataset: the name of the data set.
        reference: the digest of the reference run.
        table: a row per run and split: `run`, `split` (its index among the reference's),
            `test_fraction` of the rows, the columns of `DISTANCES`, `epistemic_ratio`,
            `mass_inside` and `log_likelihood`. Standardised units, except for the log-likelihood.
            The reference's own rows compare the two halves of its chains.
        names: names of the runs by digest.
        excluded: the reason for each excluded run.
    """

    dataset: str
    reference: str
    table: pd.DataFrame
    names: Mapping[str, str]
    excluded: tuple[str, ...]

    @property
    def chain_halves(self) -> pd.DataFrame:
        """The rows of the reference, which compare the halves of its chains."""
        return self.table[self.table["run"] == self.reference]

    @property
    def methods(self) -> pd.DataFrame:
        """The rows of all other runs."""
        return self.table[self.table["run"] != self.reference]

    def means(self, metric: Metric) -> pd.Series:
        """Means over splits of the compared runs, by digest."""
        return self.methods.groupby("run", sort=False)[metric.key].mean()


def build_comparisons(runs: Runs) -> list[Comparison]:
    """Build a comparison for each model with a reference, in the order of the runs."""
    if runs.scored.empty:
        return []
    usable = [run for run in runs.scored.index if has_mixtures(runs.folders[run])]
    table = runs.scored.loc[usable].sort_values("splits", ascending=False, kind="stable")
    comparisons: list[Comparison] = []
    for dataset, group in runs.scored.loc[usable].groupby("dataset", sort=False):
        candidates = [
            run for run in table.index[table["family"] == REFERENCE] if run in group.index
        ]
        references: list[str] = []
        for run in candidates:
            if not any(model_difference(runs, other, run) is None for other in references):
                references.append(run)
                comparisons.append(_compare(runs, str(dataset), run, group))
    return comparisons


def model_difference(runs: Runs, reference: str, run: str) -> str | None:
    """Describe how the model of a run differs from the reference's; None if it is the same."""
    ours, theirs = (runs.scored.loc[digest] for digest in (reference, run))
    for name in MODEL_COLUMNS:
        if ours[name] != theirs[name]:
            return f"its {name} is {theirs[name]}, not {ours[name]}"
    prior = str(theirs["settings"].get(PRIOR_SETTING, GAUSSIAN)).rpartition(".")[2]
    if prior != GAUSSIAN:
        return f"its prior is {prior}, not {GAUSSIAN}"
    reference_splits, run_splits = (_splits(runs, digest) for digest in (reference, run))
    common = reference_splits.index.intersection(run_splits.index)
    if not len(common):
        return "it has no split in common with the reference"
    # Networks that predict the noise have no noise precision.
    precisions = PRECISIONS if ours["likelihood"] == "gaussian" else PRECISIONS[:1]
    for name in (f"hp.{precision}" for precision in precisions):
        reference_values, run_values = (
            part.loc[common, name].to_numpy(float) if name in part else np.full(len(common), np.nan)
            for part in (reference_splits, run_splits)
        )
        if np.isnan(reference_values).all():
            return f"the reference samples its {_readable_name(name)}"
        if np.isnan(run_values).all():
            return f"its {_readable_name(name)} is not fixed"
        if not np.allclose(run_values, reference_values, rtol=1e-4):
            value, reference_value = np.median(run_values), np.median(reference_values)
            return f"its {_readable_name(name)} is {value:.4g}, not {reference_value:.4g}"
    return None


def _readable_name(column: str) -> str:
    return column.removeprefix("hp.").replace("_", " ")


def _splits(runs: Runs, run: str) -> pd.DataFrame:
    """The splits of a run that did not diverge, indexed by fingerprint."""
    indexed = index_splits(runs.splits[runs.splits["run"] == run])
    return indexed[indexed["diverged"] == 0]


def _compare(runs: Runs, dataset: str, reference: str, group: pd.DataFrame) -> Comparison:
    stored = read_mixtures(runs.folders[reference])
    splits, reference_quantiles = _splits(runs, reference), quantiles(stored.mixture)
    # Components are ordered by chain, so the halves contain different chains.
    middle = stored.mixture.components // 2
    first, second = (
        StoredMixtures(stored.split, stored.row, stored.mixture.select_components(half))
        for half in (slice(0, middle), slice(middle, None))
    )
    rows = _distance_rows(reference, first, second, quantiles(second.mixture), splits, splits)
    names, excluded = labels(group), []
    for run in group.index.drop(reference):
        difference = model_difference(runs, reference, str(run))
        if difference:
            excluded.append(f"{names[run]}: {difference}")
            continue
        rows += _distance_rows(
            str(run),
            read_mixtures(runs.folders[run]),
            stored,
            reference_quantiles,
            _splits(runs, run),
            splits,
        )
    return Comparison(dataset, reference, pd.DataFrame(rows), names.to_dict(), tuple(excluded))


def _distance_rows(
    run: str,
    mixtures: StoredMixtures,
    reference: StoredMixtures,
    reference_quantiles: np.ndarray,
    run_splits: pd.DataFrame,
    splits: pd.DataFrame,
) -> list[dict[str, Any]]:
    """Compute a row for each split that a run has in common with the reference."""
    rows, all_quantiles = [], quantiles(mixtures.mixture)
    for index, key in enumerate(splits.index):
        if key not in run_splits.index:
            continue
        own_points = np.flatnonzero(mixtures.split == run_splits.loc[key, "split"])
        reference_points = np.flatnonzero(reference.split == splits.loc[key, "split"])
        row = run_splits.loc[key]
        rows.append({
            "run": run,
            "split": index,
            "test_fraction": row["test_rows"] / (row["training_rows"] + row["test_rows"]),
            **distances(
                mixtures.mixture.select_points(own_points),
                reference.mixture.select_points(reference_points),
                all_quantiles[own_points], reference_quantiles[reference_points], index,
            ),
            "log_likelihood": row["log_likelihood"],
        })  # fmt: skip
    return rows


def distances(
    mixture: Mixture, reference: Mixture, p: np.ndarray, q: np.ndarray, seed: int
) -> dict[str, float]:
    """Compute the distances on one split, averaged over its points.

    Args:
        mixture: predictions of the approximation.
        reference: predictions of the chains at the same points.
        p: quantiles of `mixture`.
        q: quantiles of `reference`.
        seed: seed of the random draws.
    """
    deviations = [predictions.epistemic_deviation() for predictions in (mixture, reference)]
    ratio, inside = geometric_mean_ratio(*deviations), mass_inside(p, q, INTERVAL_LEVEL)
    sampled = sampled_wasserstein(mixture, reference, np.random.default_rng(seed))
    return {
        "w1": float(wasserstein(p, q).mean()),
        "w1_sampled": float(sampled.mean()),
        "w2": float(wasserstein(p, q, 2).mean()),
        "epistemic_ratio": ratio,
        "epistemic_misfit": abs(np.log(ratio)) if ratio > 0 else np.inf,
        "epistemic_correlation": rank_correlation(*deviations),
        "mass_inside": float(inside.mean()),
        "mass_misfit": float(np.abs(inside - INTERVAL_LEVEL).mean()),
    }
