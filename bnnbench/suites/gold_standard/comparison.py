"""Every run beside the reference chains of its own model, split by split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.results.labels import labels
from bnnbench.results.metrics import BY_KEY, Metric
from bnnbench.results.mixtures import KeptMixtures, Mixture, keeps_mixtures, read_mixtures
from bnnbench.results.pairing import keyed
from bnnbench.results.predictive_distances import (
    drawn_wasserstein,
    geometric_mean_ratio,
    mass_inside,
    quantiles,
    rank_correlation,
    wasserstein,
)
from bnnbench.results.reader import Runs

REFERENCE = "hmc"
"""The family of methods whose draws stand for the posterior."""

LEVEL = 0.9
"""Of the reference's central interval."""

NETWORK = ("depth", "width", "likelihood", "loss")
"""Columns of names that two runs of one model share."""

PRECISIONS = ("prior_precision", "noise_precision")
"""Hyper-parameters that are part of the model; others belong to the approximation."""

PRIOR, GAUSSIAN = "method.divergence.prior.class", "Gaussian"
"""The setting by which some methods take another prior, and that of all others."""

DISTANCES = (
    Metric("w1", "W1", "target"),
    Metric("w1_drawn", "W1 of 1,000 draws", "target"),
    Metric("w2", "W2", "target"),
    Metric("epistemic_misfit", "epistemic ratio", "target"),
    Metric("epistemic_correlation", "epistemic rank correlation", "target", "higher"),
    Metric("mass_misfit", "mass in 90 %", "target"),
)
"""By which methods rank; a misfit is the size of a logarithm or of a difference."""

LOG_LIKELIHOOD = BY_KEY["log_likelihood"]


@dataclass(frozen=True)
class Comparison:
    """The runs of one model on one data set beside its reference.

    Attributes:
        dataset: its name.
        reference: digest of the run that stands for the posterior.
        table: a row per run and split: `run`, `split` (its place among the reference's), `tested`
            (the share of the rows), the columns of `DISTANCES`, `epistemic_ratio`, `mass_inside`
            and `log_likelihood`. In standardised units, but for the log-likelihood. The reference's
            own rows compare the halves of its chains.
        names: of all runs in it, by digest.
        left_out: a sentence on each run that keeps mixtures of another model.
    """

    dataset: str
    reference: str
    table: pd.DataFrame
    names: Mapping[str, str]
    left_out: tuple[str, ...]

    @property
    def floor(self) -> pd.DataFrame:
        """The rows of the reference."""
        return self.table[self.table["run"] == self.reference]

    @property
    def methods(self) -> pd.DataFrame:
        """The rows of all others."""
        return self.table[self.table["run"] != self.reference]

    def means(self, metric: Metric) -> pd.Series:
        """Of the compared runs, by digest, over splits."""
        return self.methods.groupby("run", sort=False)[metric.key].mean()


def comparisons(runs: Runs) -> list[Comparison]:
    """One for each model that has a reference, in the order of the runs."""
    if runs.scored.empty:
        return []
    keeping = [run for run in runs.scored.index if keeps_mixtures(runs.folders[run])]
    table = runs.scored.loc[keeping].sort_values("splits", ascending=False, kind="stable")
    found: list[Comparison] = []
    for dataset, own in runs.scored.loc[keeping].groupby("dataset", sort=False):
        references = [run for run in table.index[table["family"] == REFERENCE] if run in own.index]
        taken: list[str] = []
        for reference in references:
            if not any(other_model(runs, other, reference) is None for other in taken):
                taken.append(reference)
                found.append(_compared(runs, str(dataset), reference, own))
    return found


def other_model(runs: Runs, reference: str, run: str) -> str | None:
    """In what the model of a run is not the reference's, in words; None where it is the same."""
    ours, theirs = (runs.scored.loc[one] for one in (reference, run))
    for name in NETWORK:
        if ours[name] != theirs[name]:
            return f"its {name} is {theirs[name]}, not {ours[name]}"
    prior = str(theirs["settings"].get(PRIOR, GAUSSIAN)).rpartition(".")[2]
    if prior != GAUSSIAN:
        return f"its prior is {prior}, not {GAUSSIAN}"
    first, second = (_splits(runs, one) for one in (reference, run))
    common = first.index.intersection(second.index)
    if not len(common):
        return "it shares no split with the reference"
    # A network that predicts its noise has no precision of it.
    precisions = PRECISIONS if ours["likelihood"] == "gaussian" else PRECISIONS[:1]
    for name in (f"hp.{precision}" for precision in precisions):
        given, own = (
            part.loc[common, name].to_numpy(float) if name in part else np.full(len(common), np.nan)
            for part in (first, second)
        )
        if np.isnan(given).all():
            return f"the reference draws its {_spoken(name)}"
        if np.isnan(own).all():
            return f"it cannot be given a {_spoken(name)}, or was not"
        if not np.allclose(own, given, rtol=1e-4):
            return f"its {_spoken(name)} is {np.median(own):.4g}, not {np.median(given):.4g}"
    return None


def _spoken(column: str) -> str:
    return column.removeprefix("hp.").replace("_", " ")


def _splits(runs: Runs, run: str) -> pd.DataFrame:
    """The splits of a run that did not diverge, by fingerprint."""
    own = keyed(runs.splits[runs.splits["run"] == run])
    return own[own["diverged"] == 0]


def _compared(runs: Runs, dataset: str, reference: str, own: pd.DataFrame) -> Comparison:
    kept = read_mixtures(runs.folders[reference])
    splits, whole = _splits(runs, reference), quantiles(kept.mixture)
    # Components come chain after chain, so that the halves are different chains.
    middle = kept.mixture.components // 2
    first, second = (
        KeptMixtures(kept.split, kept.row, kept.mixture.some(half))
        for half in (slice(0, middle), slice(middle, None))
    )
    rows = _rows(reference, first, second, quantiles(second.mixture), splits, splits)
    names, left_out = labels(own), []
    for run in own.index.drop(reference):
        other = other_model(runs, reference, str(run))
        if other:
            left_out.append(f"{names[run]}: {other}")
            continue
        rows += _rows(
            str(run), read_mixtures(runs.folders[run]), kept, whole, _splits(runs, run), splits
        )
    return Comparison(dataset, reference, pd.DataFrame(rows), names.to_dict(), tuple(left_out))


def _rows(
    run: str,
    ours: KeptMixtures,
    reference: KeptMixtures,
    theirs: np.ndarray,
    own: pd.DataFrame,
    splits: pd.DataFrame,
) -> list[dict[str, Any]]:
    """A row for each split that a run shares with the reference.

    Args:
        run: its digest.
        ours: its mixtures.
        reference: the reference's.
        theirs: its quantiles.
        own: the run's rows of `splits.csv`, of `_splits`.
        splits: the reference's.
    """
    found, all_quantiles = [], quantiles(ours.mixture)
    for place, key in enumerate(splits.index):
        if key not in own.index:
            continue
        here = np.flatnonzero(ours.split == own.loc[key, "split"])
        there = np.flatnonzero(reference.split == splits.loc[key, "split"])
        row = own.loc[key]
        found.append({
            "run": run,
            "split": place,
            "tested": row["test_rows"] / (row["training_rows"] + row["test_rows"]),
            **distances(
                ours.mixture.rows(here), reference.mixture.rows(there),
                all_quantiles[here], theirs[there], place,
            ),
            "log_likelihood": row["log_likelihood"],
        })  # fmt: skip
    return found


def distances(
    mixture: Mixture, reference: Mixture, p: np.ndarray, q: np.ndarray, seed: int
) -> dict[str, float]:
    """Of one split, averaged over its points.

    Args:
        mixture: of the approximation.
        reference: of the chains, at the same points.
        p: quantiles of the former.
        q: of the latter.
        seed: of the draws.
    """
    widths = [one.epistemic_deviation() for one in (mixture, reference)]
    ratio, inside = geometric_mean_ratio(*widths), mass_inside(p, q, LEVEL)
    drawn = drawn_wasserstein(mixture, reference, np.random.default_rng(seed))
    return {
        "w1": float(wasserstein(p, q).mean()),
        "w1_drawn": float(drawn.mean()),
        "w2": float(wasserstein(p, q, 2).mean()),
        "epistemic_ratio": ratio,
        "epistemic_misfit": abs(np.log(ratio)) if ratio > 0 else np.inf,
        "epistemic_correlation": rank_correlation(*widths),
        "mass_inside": float(inside.mean()),
        "mass_misfit": float(np.abs(inside - LEVEL).mean()),
    }
