"""Two conjugate pairs as an experiment with one unit per number of observations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.kinds.table_experiment import TableExperiment, Tables
from bnnbench.experiment.store.answer_tables import ANSWERS, Answer
from bnnbench.identity import no_identity
from bnnbench.suites.inference_toys.conjugate_pairs.model import (
    AS_PRINTED,
    CLOSED_FORM,
    MeanPair,
    Pair,
    PrecisionPair,
    simulate,
)

DENSITIES = "densities"
"""Prior, likelihood (scaled to integrate to 1) and posterior of each pair on a grid."""


N_CURVE_POINTS = 241

MAX_OBSERVATIONS = 10_000
"""Maximum number of observations."""

MAX_MAGNITUDE = 1e6
"""Maximum of means and standard deviations; its inverse is the minimum standard deviation."""

Mean = Annotated[float, Between(-MAX_MAGNITUDE, MAX_MAGNITUDE)]
Scale = Annotated[float, Between(1 / MAX_MAGNITUDE, MAX_MAGNITUDE)]
Positive = Between(0, MAX_MAGNITUDE)
Sizes = Annotated[tuple[int, ...], ListOf(Whole(1, MAX_OBSERVATIONS), order="distinct")]


@dataclass(frozen=True, kw_only=True)
class ConjugatePairs(TableExperiment):
    """Estimates a mean and a precision from increasing numbers of observations.

    See `configs/experiment` for the settings.
    """

    identity_name = "bnnbench.suites.inference_toys.conjugate_pairs.experiment.ConjugatePairs"
    mean: Mean
    scale: Scale
    prior_mean: Mean
    prior_scale: Scale
    prior_shape: Annotated[float, Positive]
    prior_rate: Annotated[float, Positive]
    data_seed: Annotated[int, Whole(0)]
    mean_range: Annotated[
        tuple[float, float], ListOf(Between(-MAX_MAGNITUDE, MAX_MAGNITUDE), 2, "increasing")
    ]
    precision_range: Annotated[tuple[float, float], ListOf(Positive, 2, "increasing")]
    sizes: Sizes = no_identity()
    kind: ClassVar[str] = "conjugate_pairs"
    name: ClassVar[str] = "conjugate pairs"
    unit_noun: ClassVar[str] = "data set"
    folder_settings: ClassVar[tuple[str, ...]] = ("data_seed",)
    one_process: ClassVar[bool] = True

    def cases(self) -> Mapping[str, int]:
        return {f"observations-{size}": size for size in self.sizes}

    def tables(self, case: int) -> Tables:
        """Compute the estimates for one number of observations."""
        x = simulate(case, self.mean, self.scale, self.data_seed)
        mean = MeanPair(x, self.scale, self.prior_mean, self.prior_scale)
        precision = PrecisionPair(x, self.mean, self.prior_shape, self.prior_rate)
        return {
            ANSWERS: [*answers(mean), *answers(precision)],
            DENSITIES: pd.concat(
                [densities(mean, self.mean_range), densities(precision, self.precision_range)]
            ),
        }


def setting(observations: int) -> str:
    """Return the `setting` of answers for this number of observations."""
    return f"{observations} observation{'s' if observations > 1 else ''}"


def answers(pair: Pair) -> Iterator[Answer]:
    """Yield the estimates; those as printed next to the closed form."""
    own, approximations = setting(len(pair.observations)), pair.approximations()
    for approximation, estimates in approximations.items():
        for name, value in estimates.items():
            exact = approximations[CLOSED_FORM][name] if approximation == AS_PRINTED else np.nan
            yield Answer(f"{pair.name}: {name}", approximation, value, own, exact=exact)


def densities(pair: Pair, limits: tuple[float, float]) -> pd.DataFrame:
    """Return prior, likelihood and posterior density on a grid within the limits."""
    values = np.linspace(*limits, N_CURVE_POINTS)
    columns = {name: own.pdf(values) for name, own in pair.distributions().items()}
    keys = {"pair": pair.name, "observations": len(pair.observations)}
    return pd.DataFrame({**keys, "value": values, **columns})
