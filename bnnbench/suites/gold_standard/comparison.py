"""Distances of every run to the reference chains of its model, split by split, and verdicts.

The chains are checked, and rankings by distance and by test score are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.compare.outcomes import SIGNIFICANT, compare_with, with_outcomes
from bnnbench.results.compare.pairing import MIN_COMMON_SPLITS, index_splits
from bnnbench.results.compare.significance import compare_scores
from bnnbench.results.metric_table import BY_KEY, Metric
from bnnbench.results.read.labels import labels
from bnnbench.results.read.run_files import read_objective
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.score.predictions import Mixture, StoredMixtures, has_mixtures, read_mixtures
from bnnbench.results.score.predictive_distances import (
    energy_distance,
    geometric_mean_ratio,
    mass_inside,
    quantiles,
    rank_correlation,
    sampled_wasserstein,
    wasserstein,
)
from bnnbench.results.score.run_notes import CONVERGENCE, ESS, R_HAT, unconverged_splits

REFERENCE = "hmc"
"""The family of methods whose samples represent the posterior."""

INTERVAL_LEVEL = 0.9
"""Level of the reference's central interval."""

MODEL_COLUMNS = ("depth", "width", "likelihood", "loss")
"""Columns in which two runs of the same model agree."""

PRECISIONS = ("prior_precision", "noise_precision")
"""Hyper-parameters of the model; others belong to the approximation."""

PRIOR_SETTING, GAUSSIAN = "method.divergence.prior", "gaussian"
"""The setting that selects the prior, and its value for methods without this setting."""

LOG_TARGET = "dataset.log_target"
"""The setting that stores mixtures of the logarithm of the target, which are not compared."""

DISTANCES = (
    Metric("w1", "W1", "target"),
    Metric("w1_sampled", "W1, draws", "target"),
    Metric("w2", "W2", "target"),
    Metric("w1_function", "Function", "target"),
    Metric("energy_distance", "Energy", "target"),
    Metric("epistemic_misfit", "Ratio", "target"),
    Metric("epistemic_correlation", "Correlation", "target", "higher"),
    Metric("mass_misfit", "Mass", "target"),
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
            `mass_inside`, `log_likelihood` and the final `objective`, if saved. Standardised units,
            except for the log-likelihood.
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
    own = runs.scored["settings"]
    stored = [run for run in own.index if has_mixtures(runs.folders[run])]
    usable = [run for run in stored if not own[run].get(LOG_TARGET)]
    comparisons: list[Comparison] = []
    for dataset, group in runs.scored.loc[usable].groupby("dataset", sort=False):
        candidates = group[group["family"] == REFERENCE]
        references: list[str] = []
        for run in candidates.sort_values("splits", ascending=False, kind="stable").index:
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
    prior = theirs["settings"].get(PRIOR_SETTING, GAUSSIAN)
    if prior != GAUSSIAN:
        return f"its prior is {prior}, not {GAUSSIAN}"
    reference_splits, run_splits = (_splits(runs, digest) for digest in (reference, run))
    common = reference_splits.index.intersection(run_splits.index)
    if not len(common):
        return "it has no split in common with the reference"
    # Networks that predict the noise have no noise precision.
    precisions = PRECISIONS if ours["likelihood"] == "gaussian" else PRECISIONS[:1]
    for precision in precisions:
        column, name = f"hp.{precision}", precision.replace("_", " ")
        reference_values, run_values = (
            part.reindex(columns=[column]).loc[common, column].to_numpy(float)
            for part in (reference_splits, run_splits)
        )
        if np.isnan(reference_values).all():
            gamma = f"method.{precision.partition('_')[0]}_gamma"
            priors = [side["settings"].get(gamma) for side in (ours, theirs)]
            if np.isnan(run_values).all() and priors[0] == priors[1] is not None:
                continue  # learned under the prior under which the reference samples it
            return f"the reference samples its {name}"
        if np.isnan(run_values).all():
            return f"its {name} is not fixed"
        if not np.allclose(run_values, reference_values, rtol=1e-4):
            value, reference_value = np.median(run_values), np.median(reference_values)
            return f"its {name} is {value:.4g}, not {reference_value:.4g}"
    return None


def _splits(runs: Runs, run: str) -> pd.DataFrame:
    """The splits of a run that did not diverge, indexed by fingerprint."""
    indexed = index_splits(runs.splits[runs.splits["run"] == run])
    return indexed[indexed["diverged"] == 0]


@dataclass(frozen=True)
class _Predictions:
    """The predictive mixtures of a run, its splits that did not diverge, and final objectives."""

    stored: StoredMixtures
    splits: pd.DataFrame
    objectives: Mapping[int, float] = field(default_factory=dict)

    @cached_property
    def quantiles(self) -> np.ndarray:
        """Quantiles of every point, `[M, K]`."""
        return quantiles(self.stored.mixture)

    def at(self, key: Any) -> tuple[Mixture, np.ndarray]:
        """The mixtures and the quantiles of one split."""
        points = np.flatnonzero(self.stored.split == self.splits.loc[key, "split"])
        return self.stored.mixture.select_points(points), self.quantiles[points]

    def components(self, index: slice) -> _Predictions:
        """Predictions from some of the components."""
        mixture = self.stored.mixture.select_components(index)
        return replace(self, stored=replace(self.stored, mixture=mixture))


def _compare(runs: Runs, dataset: str, reference: str, group: pd.DataFrame) -> Comparison:
    def predictions(run: str) -> _Predictions:
        folder = runs.folders[run]
        return _Predictions(read_mixtures(folder), _splits(runs, run), final_objectives(folder))

    chains = predictions(reference)
    # Components are ordered by chain, so the halves contain different chains.
    middle = chains.stored.mixture.components // 2
    first, second = (chains.components(half) for half in (slice(middle), slice(middle, None)))
    rows = list(_distance_rows(reference, first, second))
    names, excluded = labels(group), []
    for run in map(str, group.index.drop(reference)):
        difference = model_difference(runs, reference, run)
        if difference:
            excluded.append(f"{names[run]}: {difference}")
        else:
            rows += _distance_rows(run, predictions(run), chains)
    return Comparison(dataset, reference, pd.DataFrame(rows), names.to_dict(), tuple(excluded))


def _distance_rows(
    run: str, own: _Predictions, reference: _Predictions
) -> Iterator[dict[str, Any]]:
    """Yield a row for each split that a run has in common with the reference."""
    for index, key in enumerate(reference.splits.index):
        if key in own.splits.index:
            row = own.splits.loc[key]
            (mixture, p), (chains, q) = own.at(key), reference.at(key)
            yield {
                "run": run,
                "split": index,
                "test_fraction": row["test_rows"] / (row["training_rows"] + row["test_rows"]),
                **distances(mixture, chains, p, q, seed=index),
                "log_likelihood": row["log_likelihood"],
                "objective": own.objectives.get(row["split"], np.nan),
            }


def final_objectives(folder: RunFolder) -> dict[int, float]:
    """Return the mean objective over the last tenth of the epochs of each split, if saved."""
    table = read_objective(folder)
    if table is None:
        return {}
    last = table[table["epoch"] > 0.9 * table["epoch"].max()]
    means: dict[int, float] = last.groupby("split")["objective"].mean().to_dict()
    return means


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
    function, sampled_function = mixture.without_noise(), reference.without_noise()
    sampled = sampled_wasserstein(mixture, reference, np.random.default_rng(seed))
    return {
        "w1": float(wasserstein(p, q).mean()),
        "w1_sampled": float(sampled.mean()),
        "w2": float(wasserstein(p, q, 2).mean()),
        "w1_function": float(wasserstein(quantiles(function), quantiles(sampled_function)).mean()),
        "energy_distance": energy_distance(function, sampled_function),
        "epistemic_ratio": ratio,
        "epistemic_misfit": abs(np.log(ratio)) if ratio > 0 else np.inf,
        "epistemic_correlation": rank_correlation(*deviations),
        "mass_inside": float(inside.mean()),
        "mass_misfit": float(np.abs(inside - INTERVAL_LEVEL).mean()),
    }


W1 = DISTANCES[0]

MIN_DISTANCE_RATIO = 5
"""Required ratio of the closest approximation's distance to that between halves of the chains."""


def sorted_means(comparison: Comparison, metric: Metric) -> pd.Series:
    """Means over splits by run, best first, without NaN."""
    means = comparison.means(metric).dropna()
    return means.iloc[np.argsort(metric.sign * means.to_numpy(), kind="stable")]


def ranks(comparison: Comparison, metric: Metric) -> pd.Series:
    """Ranks of the runs; 1 is best, and ties share their mean rank."""
    return (metric.sign * comparison.means(metric)).rank()


def compare_runs(comparison: Comparison, metric: Metric) -> pd.DataFrame:
    """Compare every pair of runs by the correlated t-test.

    Returns:
        Pairs as of `outcomes.with_outcomes`. Those with too few common splits are omitted.
    """
    finite = comparison.methods.replace([np.inf, -np.inf], np.nan)
    wide = finite.pivot(index="run", columns="split", values=metric.key)
    fractions = finite.pivot(index="run", columns="split", values="test_fraction")
    runs = [str(run) for run in comparison.methods["run"].unique()]
    pairs = [
        (a, b)
        for a, b in combinations(runs, 2)
        if (wide.loc[a] + wide.loc[b]).count() >= MIN_COMMON_SPLITS
    ]
    table = pd.DataFrame(pairs, columns=["run_a", "run_b"])
    if table.empty:
        return table.assign(outcome=[])
    a, b = (wide.loc[table[side]].to_numpy() for side in ("run_a", "run_b"))
    cells = compare_scores(a, b, fractions.loc[table["run_a"]].to_numpy(), metric)
    pairs = table.assign(dataset="", metric=metric.key, diverged_a=0, diverged_b=0, **cells)
    return with_outcomes(pairs)


def check_convergence(reference: pd.DataFrame) -> tuple[bool, str]:
    """Whether the reference chains have converged on every split, and a sentence."""
    if R_HAT not in reference or reference[R_HAT].isna().any():
        return False, "The reference has no stored R-hat, so its convergence is unknown."
    failed = len(unconverged_splits(reference))
    least = reference.reindex(columns=ESS).min(axis=None)
    worst = f"worst split: R-hat {reference[R_HAT].max():.3f}, ESS {least:.0f}"
    if not failed:
        return True, (
            f"The chains have converged: each of {len(reference)} splits has an {CONVERGENCE} "
            f"({worst})."
        )
    return False, (
        f"The chains have not converged on {failed} of {len(reference)} splits; convergence "
        f"requires {CONVERGENCE} ({worst})."
    )


def check_chain_length(comparison: Comparison) -> tuple[bool, str]:
    """Whether the chains are long enough to resolve the closest approximation, and a sentence."""
    halves = float(comparison.chain_halves[W1.key].mean())
    closest = sorted_means(comparison, W1)
    text = f"W1 between the two halves of the chains is {halves:.3g}"
    if closest.empty:
        return False, f"{text}; there is no approximation to compare with."
    ratio = closest.iloc[0] / halves
    text += (
        f". The closest approximation, {comparison.names[str(closest.index[0])]}, has "
        f"{closest.iloc[0]:.3g}, {ratio:.1f} times as much"
    )
    if ratio < MIN_DISTANCE_RATIO:
        return (
            False,
            f"{text}; the chains are too short (at least {MIN_DISTANCE_RATIO} is required).",
        )
    return True, f"{text}."


def describe_nearest(comparison: Comparison) -> str:
    """Name the run closest to the reference, and those not significantly farther."""
    best, tests = sorted_means(comparison, W1), compare_runs(comparison, W1)
    if best.empty:
        return ""
    first = str(best.index[0])
    text = f"Closest by W1: {comparison.names[first]}"
    if tests.empty:
        return f"{text} (not tested: fewer than {MIN_COMMON_SPLITS} common splits)."
    others = compare_with(first, tests)
    farther = {*others.index[others["outcome"] == "worse"]}
    ties = [comparison.names[str(run)] for run in best.index[1:] if str(run) not in farther]
    result = (
        f"not significantly closer than {', '.join(ties)}"
        if ties
        else "significantly closer than all others"
    )
    return f"{text}, {result} (correlated t-test, Holm)."


def check_agreement(comparison: Comparison) -> tuple[bool, str]:
    """Whether the rankings by W1 and by log-likelihood agree, and a sentence.

    They disagree if one run is significantly closer to the posterior than another and significantly
    worse by log-likelihood, or, with too few splits for tests, if the best runs differ.
    """
    by_distance, by_score = (
        list(map(str, sorted_means(comparison, metric).index)) for metric in (W1, LOG_LIKELIHOOD)
    )
    if len(by_distance) < 2 or {*by_distance} != {*by_score}:
        return True, ""
    closest, best = by_distance[0], by_score[0]
    if closest == best:
        text = f"{comparison.names[best]} is best by both W1 and log-likelihood"
    else:
        count = len(by_score)
        text = (
            f"{comparison.names[closest]} is closest by W1 and ranks {by_score.index(closest) + 1} "
            f"of {count} by log-likelihood; {comparison.names[best]} has the best log-likelihood "
            f"and ranks {by_distance.index(best) + 1} of {count} by W1"
        )
    ranks = (np.arange(len(by_distance)), np.array([by_score.index(run) for run in by_distance]))
    text += f". Spearman's correlation of the rankings is {rank_correlation(*ranks):.2f}"
    tests = compare_runs(comparison, W1).merge(
        compare_runs(comparison, LOG_LIKELIHOOD), on=["run_a", "run_b"]
    )
    if tests.empty:
        return (
            closest == best,
            f"{text} (not tested: fewer than {MIN_COMMON_SPLITS} common splits).",
        )
    decided = tests[tests[["outcome_x", "outcome_y"]].isin(SIGNIFICANT).all(axis=1)]
    opposite = int((decided["outcome_x"] != decided["outcome_y"]).sum())
    return not opposite, (
        f"{text}. By both, {len(decided)} of {len(tests)} pairs of methods differ significantly, "
        f"{opposite} "
        "of them in opposite directions."
    )
