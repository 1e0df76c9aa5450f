"""Basic types: data, stacks of replicas, predictions and user errors.

The axes of all arrays are in this order: samples `S`, replicas `R`, batch `B` (or rows `N`, `M`),
features `D`. A *replica* is one network that is trained. A *group* is a set of replicas that share
one stream of random numbers, such as the cross-validation folds of a split.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bnnbench.notes import message_text

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

Hyper = Mapping[str, "Tensor"]
"""Hyper-parameters by name, each a column `[R, 1]`, in standardised units."""


class UserError(ValueError):
    """A mistake that the user can fix. Printed as one sentence, without a traceback; exit code 2.

    It is a `ValueError`, as scikit-learn expects of an estimator.

    Attributes:
        setting: what the error is about: a configuration key (`training.epochs`), a group
            (`method`), an option (`--target`), or a column; None if it is about none of these.
        code: a short name of the case, where one setting can be wrong in several ways.
    """

    def __init__(self, message: str, setting: str | None = None, code: str | None = None) -> None:
        super().__init__(message_text(message))
        self.setting = setting
        self.code = code


class DuplicateConfiguration(UserError):
    """A choice that changes the name of a run but no number. Sweeps skip such combinations."""


@dataclass(frozen=True)
class Split:
    """Row numbers of one train/test split, in the order of the published index files."""

    index: int
    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Table:
    """A data set in original units, float64.

    Attributes:
        name: used in paths and tables.
        inputs: `[N, D]`, NaN for missing values.
        targets: `[N]`.
        splits: the fixed train/test splits.
        features: `D` column names.
        target: name of the target, with its unit if known.
        truth: `[N]`, targets without noise, for synthetic data.
        groups: `[N]`, group numbers; rows of one group are never divided by a split or fold.
        encodings: conversion of columns of a file to `inputs`; each has a `column`, its `features`
            and `apply`.
        warnings: sentences for the user about the data.
        log_target: whether methods learn the logarithm of the target.
        file: the user's file with its folder, `north/flow.csv`; empty for other tables.
    """

    name: str
    inputs: np.ndarray
    targets: np.ndarray
    splits: tuple[Split, ...]
    features: tuple[str, ...]
    target: str
    truth: np.ndarray | None = None
    groups: np.ndarray | None = None
    encodings: tuple[Any, ...] = ()
    warnings: tuple[str, ...] = ()
    log_target: bool = False
    file: str = ""


@dataclass(frozen=True)
class TrainingSet:
    """R training sets, standardised and padded to equal length: all data that a method sees.

    Attributes:
        inputs: `[R, N, D]`; rows from `counts[r]` on are padding (zeros).
        targets: `[R, N]`.
        counts: number of real rows of each replica, on the host.
        groups: index of each replica's random stream.
    """

    inputs: Tensor
    targets: Tensor
    counts: tuple[int, ...]
    groups: tuple[int, ...]

    @property
    def replicas(self) -> int:
        return len(self.counts)

    @property
    def real(self) -> Tensor:
        """`[R, N]`, True for real rows and False for padding."""
        import torch

        device = self.inputs.device
        counts = torch.tensor(self.counts, device=device)[:, None]
        return torch.arange(self.inputs.shape[1], device=device) < counts

    def select(self, replicas: list[int]) -> TrainingSet:
        """Return the padded sets of some replicas."""
        return TrainingSet(
            self.inputs[replicas],
            self.targets[replicas],
            tuple(self.counts[r] for r in replicas),
            tuple(self.groups[r] for r in replicas),
        )


@dataclass(frozen=True)
class Prediction:
    """A Gaussian mixture for each test point.

    The predictive density of replica `r` at row `m` is the average over `S` of
    `Normal(loc[s, r, m], epistemic[s, r, m] + noise[s, r, m])`. A sampling method has
    `epistemic == 0`; a moment-matching one (PBP) has `S == 1`.

    Attributes:
        loc: `[S, R, M]`.
        epistemic: variance inside a component, broadcastable to `[S, R, M]`.
        noise: observation noise variance, broadcastable to `[S, R, M]`.
    """

    loc: Tensor
    epistemic: Tensor
    noise: Tensor

    @property
    def variance(self) -> Tensor:
        """Variance of each component, broadcastable to `[S, R, M]`."""
        return self.epistemic + self.noise

    def rescaled(self, shift: Tensor, scale: Tensor) -> Prediction:
        """Return the prediction in other units: `y -> shift + scale * y`, both `[R, 1]`."""
        return replace(
            self,
            loc=shift + scale * self.loc,
            epistemic=scale**2 * self.epistemic,
            noise=scale**2 * self.noise,
        )

    def mean(self) -> Tensor:
        """Return the predictive mean `[R, M]`."""
        return _mean_over_samples(self.loc)

    def epistemic_variance(self) -> Tensor:
        """Return the epistemic variance `[R, M]`: variance of `loc` plus mean of `epistemic`."""
        inner = _mean_over_samples(self.epistemic.expand(self.loc.shape))
        return _mean_over_samples((self.loc - self.mean()).square()) + inner

    def noise_variance(self) -> Tensor:
        """Return the mean noise variance `[R, M]`."""
        return _mean_over_samples(self.noise.expand(self.loc.shape))

    def fitted_moments(self) -> tuple[Tensor, Tensor]:
        """Return mean and variance `[R, M]` of what was fitted: the target or its logarithm."""
        return self.mean(), self.epistemic_variance() + self.noise_variance()


def _mean_over_samples(values: Tensor) -> Tensor:
    """Average over the first axis; on the CPU by numpy, with the same bits on every processor."""
    if values.device.type != "cpu":
        return values.mean(0)
    import numpy as np
    import torch

    return torch.from_numpy(np.add.reduce(values.numpy(), axis=0)) / len(values)
