"""Two lower bounds of a divergence: exact over families of ratios, and estimated from samples."""

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
from bnnbench.suites.lam_density_ratio.theory.bounds import (
    BOUNDS,
    DIVERGENCES,
    Mixture,
    Pair,
    gaussian,
    powers,
    shifts,
)
from bnnbench.suites.lam_density_ratio.theory.names import (
    ABOVE,
    AT_EXACT,
    ESTIMATES_TABLE,
    FAMILIES_TABLE,
    GAP_ELSEWHERE,
    LOG_RATIO_MEAN,
    LOSS_AT_EQUALITY,
    OVER_SAMPLES,
    SETTING,
    SPREAD,
    TRUTH,
)
from bnnbench.suites.lam_density_ratio.theory.names import BOUNDS as KIND
from bnnbench.suites.lam_density_ratio.theory.trained_ratio import TRAINED, Learner, estimates
from bnnbench.types import UserError

PAIRS: Mapping[str, Pair] = {
    "shifted Gaussians": Pair(gaussian(1.0, 1.0), gaussian(0.0, 1.0)),
    "narrower Gaussian": Pair(gaussian(0.5, 0.6), gaussian(0.0, 1.0)),
    "mixture": Pair(Mixture((-2.0, 1.5), (0.6, 0.5), (0.4, 0.6)), gaussian(0.0, 2.0)),
}
"""`q` against `p`: shifted, concentrated, and two arms against a wide Gaussian."""

FAMILIES = {
    "power": (powers, np.linspace(0, 2, 81), 1.0),
    "shift": (shifts, np.linspace(0, 1, 81), 0.0),
}
"""Ratios that depart from the exact one: by how much, and where they are exact."""

EXACT_UNIT, TRAINED_UNIT = "exact", "trained"


@dataclass(frozen=True, kw_only=True)
class DivergenceBounds(Experiment):
    """The bounds of reverse KL and of the GAN divergence beside what they bound.

    Attributes:
        divergences: `KL(q || p)` of the Gaussians that a network is trained on, nats.
        repetitions: of each training.
        width: of the network's two hidden layers.
        training_steps: of Adam.
        samples: of `q` and of `p` in each step and in each estimate.
        sets: of samples that each trained network makes its estimates from.
        seed: of everything random.
    """

    divergences: Sequence[float]
    repetitions: int
    width: int
    training_steps: int
    samples: int
    sets: int
    seed: int
    kind: ClassVar[str] = KIND

    def check(self) -> None:
        """Raises `UserError` unless something is trained, on Gaussians that differ."""
        if not isinstance(self.divergences, list | tuple) or not self.divergences:
            raise UserError("experiment.divergences must be a list of numbers, such as [0.5,2].")
        for value in self.divergences:
            check_between("experiment.divergences", value, 0)
        for name in ("repetitions", "width", "training_steps", "samples", "sets"):
            check_int(f"experiment.{name}", getattr(self, name))
        check_int("seed", self.seed, least=0)

    @property
    def title(self) -> str:
        return "lower bounds of divergences"

    def names(self) -> dict[str, Any]:
        return {"repetitions": self.repetitions, "samples": self.samples, "seed": self.seed}

    def place(self) -> tuple[str, ...]:
        return (f"samples{self.samples}-seed{self.seed}",)

    def units(self) -> tuple[str, ...]:
        return EXACT_UNIT, TRAINED_UNIT

    def run(self, unit: str, store: UnitStore) -> None:
        """Saves the curves or the estimates, and an answer per number to quote."""
        if unit == EXACT_UNIT:
            curves = list(family_rows())
            answers = [*exact_answers(pd.DataFrame(curves)), *equality_answers()]
            tables = {FAMILIES_TABLE: curves}
        else:
            learner = Learner(self.width, self.training_steps, self.samples, self.sets)
            rows = list(estimates(self.divergences, learner, self.repetitions, self.seed))
            answers = list(sampled_answers(pd.DataFrame(rows), self.samples))
            tables = {ESTIMATES_TABLE: rows}
        store.save(unit, {ANSWERS: [answer.row() for answer in answers], **tables}, {})


def family_rows() -> Iterator[dict[str, Any]]:
    """Rows `pair`, `divergence`, `family`, `amount`, `bound`, `truth`, `departs`.

    `truth` is what is bounded, by its definition; `departs` is by how much the ratio is not exact.
    """
    for pair_name, pair in PAIRS.items():
        for divergence, bound in BOUNDS.items():
            truth = DIVERGENCES[divergence](pair)
            for family, (member, amounts, exact) in FAMILIES.items():
                values = bound(pair, member(pair, amounts))
                for amount, value in zip(amounts.tolist(), values.tolist(), strict=True):
                    yield {
                        "pair": pair_name,
                        "divergence": divergence,
                        "family": family,
                        "amount": amount,
                        "bound": value,
                        "truth": truth,
                        "departs": abs(amount - exact),
                    }


def exact_answers(curves: pd.DataFrame) -> Iterator[Answer]:
    """Of every pair and divergence the bound at the exact ratio, and how far all others are."""
    for (pair, divergence), own in curves.groupby(["pair", "divergence"], sort=False):
        touching, others = own[own["departs"] == 0], own[own["departs"] > 0]
        truth = own["truth"].iloc[0]
        quantity = TRUTH[str(divergence)]
        yield Answer(quantity, AT_EXACT, touching["bound"].iloc[0], str(pair), exact=truth)
        gap = float((others["truth"] - others["bound"]).min())
        yield Answer(GAP_ELSEWHERE.format(quantity), "all other ratios", gap, str(pair))


def equality_answers() -> Iterator[Answer]:
    """The losses at `q = p`, where remarks 4.1.3 and 4.2.4 say log 4 and 1."""
    same = Pair(gaussian(0.0, 1.0), gaussian(0.0, 1.0))
    exact = powers(same, np.ones(1))
    # (4.2.2) leaves the one of (4.2.1) out.
    losses = {
        "gan": -BOUNDS["gan"](same, exact),
        "reverse_kl": 1 - BOUNDS["reverse_kl"](same, exact),
    }
    remarks = {"gan": math.log(4), "reverse_kl": 1.0}
    for name, loss in losses.items():
        yield Answer(
            LOSS_AT_EQUALITY, name, float(loss[0]), exact=remarks[name], published=remarks[name]
        )


def sampled_answers(rows: pd.DataFrame, samples: int) -> Iterator[Answer]:
    """What samples estimate, medians over networks and sets, beside the truth.

    Medians, since the mean of the ratio has tails that no mean over some sets is safe from.
    """
    for kl, own in rows.groupby("kl"):
        setting = SETTING.format(kl)
        pair = Pair(gaussian(math.sqrt(2 * float(kl)), 1.0), gaussian(0.0, 1.0))
        for (divergence, ratio), group in own.groupby(["divergence", "ratio"], sort=False):
            name, truth = str(divergence), DIVERGENCES[str(divergence)](pair)
            words = OVER_SAMPLES[str(ratio)]
            yield Answer(TRUTH[name], words, group["bound"].median(), setting, exact=truth)
            if name == "reverse_kl":
                above = float((group["bound"] > truth).mean())
                yield Answer(ABOVE.format(TRUTH[name]), words, above, setting)
            if ratio == TRAINED:
                words = LOG_RATIO_MEAN.format(name)
                value = group["log_ratio"].median()
                yield Answer(TRUTH["reverse_kl"], words, value, setting, exact=float(kl))
        spread = math.sqrt(math.expm1(2 * float(kl)) / samples)
        yield Answer(SPREAD, "closed form", spread, setting)
