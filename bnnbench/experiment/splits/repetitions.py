"""Experiments that fit a method again and again while its set of training rows grows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from bnnbench.experiment.splits.fitting import FitSettings, fit_task, predict
from bnnbench.experiment.splits.split_experiment import SplitExperiment
from bnnbench.experiment.store.unit_store import Rows, UnitStore
from bnnbench.methods.shared.contract import Posterior
from bnnbench.preprocessing import standardise
from bnnbench.random_streams import Streams, derive_seed
from bnnbench.types import Prediction, Split, Table, UserError


@dataclass(frozen=True, kw_only=True)
class RepeatedArms(SplitExperiment):
    """Compare arms, such as rules for the choice of rows, in several repetitions.

    A repetition is a unit, and a split of the data set. Its arms are replicas of one stack, with
    the same random numbers, so they are compared in pairs. Nothing is searched.

    Attributes:
        arms: `baseline` among them.
        baseline: class attribute, the arm with which the others are compared.
    """

    arms: tuple[str, ...]
    baseline: ClassVar[str]
    unit_noun: ClassVar[str] = "repetition"

    @abstractmethod
    def repetition(self, split: Split) -> Mapping[str, Rows]:
        """Return the tables of one repetition."""

    @property
    @abstractmethod
    def fits(self) -> float:
        """The cost of a repetition, in fits of one network to the largest training part."""

    def check(self) -> None:
        super().check()
        if self.baseline not in self.arms:
            raise UserError(
                f"experiment.arms must contain {self.baseline}, with which the others are "
                "compared.",
                "experiment.arms",
                f"no_{self.baseline}",
            )
        if self.space:
            raise UserError(
                f"experiment={self.label} searches nothing; give method.{self.space[0].name}=VALUE "
                "or search=none.",
                "search",
                "searched",
            )

    def groups(self, units: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Compute each repetition alone: rounding, which depends on the stack, can change rows."""
        return tuple((unit,) for unit in units)

    @property
    def lockstep(self) -> bool:
        return False

    def _seconds(self, iterations: int) -> float:
        return super()._seconds(iterations) * self.fits

    def run_group(self, units: Sequence[str], store: UnitStore, workers: int = 1) -> None:
        """Run all arms of one repetition."""
        for unit in units:
            store.save(unit, self.repetition(self.requested[unit]), {})


class Fits(NamedTuple):
    """Fits of R replicas to their own rows.

    Attributes:
        posterior: in standardised units.
        asked: standardised inputs of the rows that were asked for, `[R, M, D]`.
        prediction: of these rows, original units.
        target_scale: the standard deviations of the training targets, `[R, 1]`.
    """

    posterior: Posterior
    asked: Tensor
    prediction: Prediction
    target_scale: Tensor


@torch.no_grad()
def refit(
    fitting: FitSettings,
    table: Table,
    rows: Sequence[Sequence[int]],
    asked: Sequence[np.ndarray],
    *path: int | str,
) -> Fits:
    """Fit R replicas in one stack, each to its own rows, and predict others.

    Args:
        fitting: settings of the fits.
        table: the data set.
        rows: the training rows of each replica.
        asked: the rows to predict, for each replica.
        path: seeds the random numbers, which all replicas share.
    """
    device = torch.device(fitting.device)
    data, scaler = standardise(table, rows, [0] * len(rows), device, fitting.dtype)
    streams = Streams(
        [derive_seed(fitting.seed, *path)], data.groups, fitting.device, fitting.dtype
    )
    epochs = fitting.training.final_epochs
    posterior = fitting.method.fit(fit_task(fitting, data, scaler, [{}], epochs, streams))
    new = scaler.inputs([table.inputs[own] for own in asked])
    prediction = predict(fitting, posterior, scaler, new, streams)
    return Fits(posterior, new, prediction, scaler.target_units()[1])
