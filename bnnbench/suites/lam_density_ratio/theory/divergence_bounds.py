"""Two lower bounds of a divergence, by quadrature over families of ratios and from samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.lam_density_ratio import names as thesis_names
from bnnbench.suites.lam_density_ratio.theory import names
from bnnbench.suites.lam_density_ratio.theory.bounds import (
    BOUNDS,
    DIVERGENCES,
    DensityPair,
    Mixture,
    gaussian,
    powers,
    shifts,
)
from bnnbench.suites.lam_density_ratio.theory.trained_ratio import estimates

PAIRS: Mapping[str, DensityPair] = {
    "shifted Gaussians": DensityPair(gaussian(1.0, 1.0), gaussian(0.0, 1.0)),
    "narrower Gaussian": DensityPair(gaussian(0.5, 0.6), gaussian(0.0, 1.0)),
    "mixture": DensityPair(Mixture((-2.0, 1.5), (0.6, 0.5), (0.4, 0.6)), gaussian(0.0, 2.0)),
}
"""Pairs of densities `q` and `p`."""

FAMILIES = {
    "power": (powers, np.linspace(0, 2, 81), 1.0),
    "shift": (shifts, np.linspace(0, 1, 81), 0.0),
}
"""Families of ratios: constructor, values of the parameter, and the value of the exact ratio."""

AT_EXACT = "bound at the exact ratio"
"""Name of the approximation."""

EXACT, TRAINED = "exact", "trained"
"""The units: bounds by quadrature, and estimates from samples."""


@dataclass(frozen=True, kw_only=True)
class DivergenceBounds(TableExperiment):
    """The bounds of reverse KL and of the GAN divergence, compared with the divergences.

    Attributes:
        kl_values: `KL(q || p)` of the Gaussians on which networks are trained, nats.
        repetitions: number of networks per value and bound.
        width: width of the two hidden layers.
        training_steps: number of Adam steps.
        samples: samples of `q` and of `p` per step and per estimate.
        sample_sets: number of sample sets from which each trained network makes estimates.
        seed: seed of all random numbers.
    """

    kl_values: Annotated[tuple[float, ...], ListOf(Between(0))]
    repetitions: Annotated[int, Whole()]
    width: Annotated[int, Whole()]
    training_steps: Annotated[int, Whole()]
    samples: Annotated[int, Whole()]
    sample_sets: Annotated[int, Whole()]
    seed: Annotated[int, Whole(0)]
    kind: ClassVar[str] = "divergence_bounds"
    name: ClassVar[str] = "lower bounds of divergences"
    folder_settings: ClassVar[tuple[str, ...]] = ("samples", "seed")
    columns: ClassVar[tuple[str, ...]] = ("repetitions", "samples", "seed")

    def cases(self) -> Mapping[str, str]:
        return {unit: unit for unit in (EXACT, TRAINED)}

    def tables(self, case: str) -> Tables:
        """Return the curves or the estimates, and the answers derived from them."""
        if case == EXACT:
            curves = family_curves()
            return {names.FAMILIES: curves, ANSWERS: [*exact_answers(curves), *equality_answers()]}
        rows = estimates(
            self.kl_values,
            repetitions=self.repetitions,
            width=self.width,
            steps=self.training_steps,
            samples=self.samples,
            sample_sets=self.sample_sets,
            seed=self.seed,
        )
        return {names.ESTIMATES: rows, ANSWERS: sampled_answers(rows, self.samples)}


def family_curves() -> pd.DataFrame:
    """Return columns `pair`, `divergence`, `family`, `parameter`, `bound`, `exact`, `distance`.

    `exact` is the divergence by its definition; `distance` is that of the parameter from its value
    for the exact ratio.
    """
    curves = [
        pd.DataFrame({
            "pair": name,
            "divergence": divergence,
            "family": family,
            "parameter": parameters,
            "bound": bound(pair, ratios(pair, parameters)),
            "exact": DIVERGENCES[divergence](pair),
            "distance": np.abs(parameters - exact_parameter),
        })
        for name, pair in PAIRS.items()
        for divergence, bound in BOUNDS.items()
        for family, (ratios, parameters, exact_parameter) in FAMILIES.items()
    ]  # fmt: skip
    return pd.concat(curves, ignore_index=True)


def exact_answers(curves: pd.DataFrame) -> Iterator[Answer]:
    """Yield the bound at the exact ratio and the smallest gap at all others, by pair and bound."""
    for (pair, divergence), rows in curves.groupby(["pair", "divergence"], sort=False):
        at_exact, others = rows[rows["distance"] == 0], rows[rows["distance"] > 0]
        exact = float(rows["exact"].iloc[0])
        quantity = names.DIVERGENCE_QUANTITY[str(divergence)]
        bound = float(at_exact["bound"].iloc[0])
        yield Answer(quantity, AT_EXACT, bound, str(pair), exact=exact)
        gap = float((others["exact"] - others["bound"]).min())
        yield Answer(
            f"smallest gap of {quantity} away from the exact ratio",
            "all other ratios",
            gap,
            str(pair),
        )


def equality_answers() -> Iterator[Answer]:
    """Yield the losses at `q = p`; remarks 4.1.3 and 4.2.4 give log 4 and 1."""
    same = DensityPair(gaussian(0.0, 1.0), gaussian(0.0, 1.0))
    exact = powers(same, np.ones(1))
    # (4.2.2) omits the constant 1 of (4.2.1).
    losses = {
        "gan": (-BOUNDS["gan"](same, exact), math.log(4)),
        "kl_posterior_prior": (1 - BOUNDS["kl_posterior_prior"](same, exact), 1.0),
    }
    for key, (loss, remark) in losses.items():
        name = thesis_names.DIVERGENCES[key]
        yield Answer(
            "loss of the exact ratio if q = p", name, float(loss[0]), exact=remark, published=remark
        )


def sampled_answers(rows: pd.DataFrame, samples: int) -> Iterator[Answer]:
    """Yield medians of the estimates over networks and sample sets, with the exact values.

    Medians, because the mean of the ratio has heavy tails.
    """
    for kl, rows_of_kl in rows.groupby("kl"):
        setting = f"{names.KL_PREFIX}{kl:g}"
        pair = DensityPair(gaussian(math.sqrt(2 * float(kl)), 1.0), gaussian(0.0, 1.0))
        for (divergence, ratio), group in rows_of_kl.groupby(["divergence", "ratio"], sort=False):
            key, exact = str(divergence), DIVERGENCES[str(divergence)](pair)
            quantity, name = names.DIVERGENCE_QUANTITY[key], names.OVER_SAMPLES[str(ratio)]
            yield Answer(quantity, name, float(group["bound"].median()), setting, exact=exact)
            if key == "kl_posterior_prior":
                above = float((group["bound"] > exact).mean())
                yield Answer(names.FRACTION_ABOVE.format(quantity), name, above, setting)
            if ratio == names.TRAINED:
                quantity = names.DIVERGENCE_QUANTITY["kl_posterior_prior"]
                name = f"mean log ratio, trained by {thesis_names.DIVERGENCES[key]}"
                value = float(group["log_ratio"].median())
                yield Answer(quantity, name, value, setting, exact=float(kl))
        spread = math.sqrt(math.expm1(2 * float(kl)) / samples)
        yield Answer(names.RATIO_MEAN_STD, "closed form", spread, setting)
