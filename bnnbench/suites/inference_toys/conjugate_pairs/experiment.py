"""Two conjugate pairs as an experiment with one unit per number of observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import pandas as pd

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.identity import no_identity
from bnnbench.suites.inference_toys.conjugate_pairs.model import MeanPair, PrecisionPair, simulate
from bnnbench.suites.inference_toys.conjugate_pairs.tables import (
    TRANSFORMS,
    pair_tables,
    transforms,
)

MAX_OBSERVATIONS = 10_000
"""Limits the memory of the likelihood on a grid."""

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
        parts = pair_tables(mean, self.mean_range), pair_tables(precision, self.precision_range)
        tables = {name: pd.concat([part[name] for part in parts]) for name in parts[0]}
        return {**tables, TRANSFORMS: transforms(precision)}
