"""Two lower bounds of a divergence, by quadrature over families of ratios and from samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from bnnbench.checks import check_between, check_int
from bnnbench.experiment.base import Experiment
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES as DIVERGENCE_NAMES
from bnnbench.suites.lam_density_ratio.theory.bounds import (
    BOUNDS,
    DIVERGENCES,
    DensityPair,
    Mixture,
    gaussian,
    powers,
    shifts,
)
from bnnbench.suites.lam_density_ratio.theory.names import (
    AT_EXACT,
    DIVERGENCE_QUANTITY,
    ESTIMATES_TABLE,
    FAMILIES_TABLE,
    FRACTION_ABOVE,
    LOG_RATIO_MEAN,
    LOSS_AT_EQUALITY,
    MIN_GAP,
    OVER_SAMPLES,
    RATIO_MEAN_STD,
    SETTING,
)
from bnnbench.suites.lam_density_ratio.theory.names import BOUNDS as KIND
from bnnbench.suites.lam_density_ratio.theory.trained_ratio import (
    TRAINED,
    TrainingSettings,
    estimates,
)
from bnnbench.types import UserError

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

EXACT_UNIT, TRAINED_UNIT = "exact", "trained"


@dataclass(frozen=True, kw_only=True)
class DivergenceBounds(Experiment):
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

    kl_values: Sequence[float]
    repetitions: int
    width: int
    training_steps: int
    samples: int
    sample_sets: int
    seed: int
    kind: ClassVar[str] = KIND

    def check(self) -> None:
        """Raise `UserError` for settings that are out of range."""
        if not isinstance(self.kl_values, list | tuple) or not self.kl_values:
            raise UserError(
                "experiment.kl_values must be a list of numbers, such as [0.5,2], "
                f"not {self.kl_values!r}.",
                setting="experiment.kl_values",
                code="not_a_list",
            )
        for value in self.kl_values:
            check_between("experiment.kl_values", value, 0)
        for name in ("repetitions", "width", "training_steps", "samples", "sample_sets"):
            check_int(f"experiment.{name}", getattr(self, name))
        check_int("seed", self.seed, minimum=0)

    @property
    def title(self) -> str:
        return "lower bounds of divergences"

    def metadata(self) -> dict[str, Any]:
        return {"repetitions": self.repetitions, "samples": self.samples, "seed": self.seed}

    def path_parts(self) -> tuple[str, ...]:
        return (f"samples{self.samples}-seed{self.seed}",)

    def units(self) -> tuple[str, ...]:
        return EXACT_UNIT, TRAINED_UNIT

    def run(self, unit: str, store: UnitStore) -> None:
        """Save the curves or the estimates, and the answers derived from them."""
        if unit == EXACT_UNIT:
            curves = list(family_rows())
            answers = [*exact_answers(pd.DataFrame(curves)), *equality_answers()]
            tables = {FAMILIES_TABLE: curves}
        else:
            settings = TrainingSettings(
                self.width, self.training_steps, self.samples, self.sample_sets
            )
            rows = list(estimates(self.kl_values, settings, self.repetitions, self.seed))
            answers = list(sampled_answers(pd.DataFrame(rows), self.samples))
            tables = {ESTIMATES_TABLE: rows}
        store.save(unit, {ANSWERS: [answer.row() for answer in answers], **tables}, {})


def family_rows() -> Iterator[dict[str, Any]]:
    """Yield rows `pair`, `divergence`, `family`, `parameter`, `bound`, `exact`, `distance`.

    `exact` is the divergence by its definition; `distance` is that of the parameter from its value
    for the exact ratio.
    """
    for pair_name, pair in PAIRS.items():
        for divergence, bound in BOUNDS.items():
            exact = DIVERGENCES[divergence](pair)
            for family, (ratios, parameters, exact_parameter) in FAMILIES.items():
                values = bound(pair, ratios(pair, parameters))
                for parameter, value in zip(parameters.tolist(), values.tolist(), strict=True):
                    yield {
                        "pair": pair_name,
                        "divergence": divergence,
                        "family": family,
                        "parameter": parameter,
                        "bound": value,
                        "exact": exact,
                        "distance": abs(parameter - exact_parameter),
                    }


def exact_answers(curves: pd.DataFrame) -> Iterator[Answer]:
    """Yield the bound at the exact ratio and the smallest gap at all others, by pair and bound."""
    for (pair, divergence), rows in curves.groupby(["pair", "divergence"], sort=False):
        at_exact, others = rows[rows["distance"] == 0], rows[rows["distance"] > 0]
        exact = rows["exact"].iloc[0]
        quantity = DIVERGENCE_QUANTITY[str(divergence)]
        yield Answer(quantity, AT_EXACT, at_exact["bound"].iloc[0], str(pair), exact=exact)
        gap = float((others["exact"] - others["bound"]).min())
        yield Answer(MIN_GAP.format(quantity), "all other ratios", gap, str(pair))


def equality_answers() -> Iterator[Answer]:
    """Yield the losses at `q = p`; remarks 4.1.3 and 4.2.4 give log 4 and 1."""
    same = DensityPair(gaussian(0.0, 1.0), gaussian(0.0, 1.0))
    exact = powers(same, np.ones(1))
    # (4.2.2) omits the constant 1 of (4.2.1).
    losses = {
        "gan": -BOUNDS["gan"](same, exact),
        "kl_posterior_prior": 1 - BOUNDS["kl_posterior_prior"](same, exact),
    }
    remarks = {"gan": math.log(4), "kl_posterior_prior": 1.0}
    for key, loss in losses.items():
        value = remarks[key]
        name = DIVERGENCE_NAMES[key]
        yield Answer(LOSS_AT_EQUALITY, name, float(loss[0]), exact=value, published=value)


def sampled_answers(rows: pd.DataFrame, samples: int) -> Iterator[Answer]:
    """Yield medians of the estimates over networks and sample sets, with the exact values.

    Medians, because the mean of the ratio has heavy tails.
    """
    for kl, rows_of_kl in rows.groupby("kl"):
        setting = SETTING.format(kl)
        pair = DensityPair(gaussian(math.sqrt(2 * float(kl)), 1.0), gaussian(0.0, 1.0))
        for (divergence, ratio), group in rows_of_kl.groupby(["divergence", "ratio"], sort=False):
            key, exact = str(divergence), DIVERGENCES[str(divergence)](pair)
            quantity, name = DIVERGENCE_QUANTITY[key], OVER_SAMPLES[str(ratio)]
            yield Answer(quantity, name, group["bound"].median(), setting, exact=exact)
            if key == "kl_posterior_prior":
                above = float((group["bound"] > exact).mean())
                yield Answer(FRACTION_ABOVE.format(quantity), name, above, setting)
            if ratio == TRAINED:
                quantity = DIVERGENCE_QUANTITY["kl_posterior_prior"]
                name = LOG_RATIO_MEAN.format(DIVERGENCE_NAMES[key])
                value = group["log_ratio"].median()
                yield Answer(quantity, name, value, setting, exact=float(kl))
        spread = math.sqrt(math.expm1(2 * float(kl)) / samples)
        yield Answer(RATIO_MEAN_STD, "closed form", spread, setting)
