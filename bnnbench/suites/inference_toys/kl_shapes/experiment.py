"""Gaussians fitted to mixtures by alpha-divergences, and factorised ones to a correlated pair.

Book, sections 3.2.1.3, 3.2.2.1 and 3.2.3.3, Figs. 3.5, 3.7, 3.9 and 3.12. The book draws these
figures and prints no numbers; the mixtures here are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated, ClassVar

from bnnbench.constraints import Between, ListOf, Whole
from bnnbench.experiment.table_experiment import TableExperiment, Tables
from bnnbench.suites.inference_toys.kl_shapes import tables
from bnnbench.suites.inference_toys.kl_shapes.fitting import Mixture

PAIR = "correlated-pair"
"""Name of the unit with the correlated pair; all others are mixtures."""


@dataclass(frozen=True, kw_only=True)
class KLShapes(TableExperiment):
    """Fits a Gaussian q to each mixture p by each divergence, with all local optima.

    The mixtures are `weight N(-separation, 1) + (1 - weight) N(separation, scale^2)`, in all
    combinations. The experiment is deterministic.

    See `configs/experiment` for the settings.
    """

    separations: Annotated[tuple[float, ...], ListOf(Between(0, 8, low_included=True))]
    weights: Annotated[tuple[float, ...], ListOf(Between(0, 1))]
    scales: Annotated[tuple[float, ...], ListOf(Between(0.25, 10, low_included=True))]
    orders: Annotated[tuple[float, ...], ListOf(Between(-10, 10))]
    correlation: Annotated[float, Between(0, 1)]
    sweeps: Annotated[int, Whole(2)]
    kind: ClassVar[str] = "kl_shapes"
    name: ClassVar[str] = "KL shapes"
    unit_noun: ClassVar[str] = "shape"
    folder_settings: ClassVar[tuple[str, ...]] = ("correlation",)

    def cases(self) -> Mapping[str, Mixture | None]:
        """Return the mixtures, and None for the correlated pair."""
        settings = product(self.weights, self.scales, self.separations)
        mixtures = [Mixture(separation, weight, scale) for weight, scale, separation in settings]
        return {**{f"mixture-{k}": p for k, p in enumerate(mixtures)}, PAIR: None}

    def tables(self, case: Mixture | None) -> Tables:
        if case is None:
            return tables.pair_tables(self.correlation, self.sweeps)
        orders = sorted({*self.orders, *tables.ORDER_NAMES})
        return tables.mixture_tables(case, orders, self._in_answers(case))

    def _in_answers(self, p: Mixture) -> bool:
        """Return whether a mixture is in the answers: the first kind, others if well separated."""
        first = (p.weight, p.scale) == (self.weights[0], self.scales[0])
        gaussian = p.separation == 0 and p.scale == 1
        return not gaussian and (first or p.separation == max(self.separations))
