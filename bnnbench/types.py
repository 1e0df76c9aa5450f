"""The vocabulary every other module speaks: data, stacks of replicas, predictions, user errors.

Axis order everywhere: samples `S`, replicas `R`, batch `B` (or rows `N`, `M`), features `D`.
A *replica* is one network being trained; a *group* is a set of replicas that share one noise
stream (the cross-validation folds of one split).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

Hyper = Mapping[str, "Tensor"]
"""Hyper-parameters by name, each a column `[R, 1]`, in standardised units."""


class UserError(Exception):
    """Something the user can put right: one sentence, no traceback, exit code 2."""


class Redundant(UserError):
    """A choice that would name a run and change nothing: a sweep passes over such combinations."""


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
        name: the label used in paths and tables.
        inputs: `[N, D]`, NaN where there is no value.
        targets: `[N]`.
        splits: the fixed train/test splits.
        features: `D` column names.
        target: the target's name, with its unit where the source gives one.
        truth: `[N]`, the targets without noise, where the data are made and it is known.
        groups: `[N]`, numbers of groups of rows that no split or fold may tear apart, if any.
        encodings: how columns of a file became `inputs`, where they need not be those; each has a
            `column`, its `features` and `apply`.
        remarks: what its reader should tell the user, a sentence each.
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
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingSet:
    """All a method ever sees: R training sets, standardised, padded to one length.

    Attributes:
        inputs: `[R, N, D]`; rows from `counts[r]` on are padding (zeros).
        targets: `[R, N]`.
        counts: real rows of each replica, known on the host.
        groups: the noise stream of each replica.
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
        """Which rows are no padding, `[R, N]`."""
        import torch

        device = self.inputs.device
        counts = torch.tensor(self.counts, device=device)[:, None]
        return torch.arange(self.inputs.shape[1], device=device) < counts

    def select(self, replicas: list[int]) -> TrainingSet:
        """The same padded sets for some replicas only."""
        return TrainingSet(
            self.inputs[replicas],
            self.targets[replicas],
            tuple(self.counts[r] for r in replicas),
            tuple(self.groups[r] for r in replicas),
        )


@dataclass(frozen=True)
class Prediction:
    """A Gaussian mixture per test point, kept apart until it is scored.

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

    def rows(self, some: slice) -> Prediction:
        """The same of some rows."""
        parts = (self.loc, self.epistemic, self.noise)
        each = self.loc.shape[-1]
        return Prediction(*(p[..., some] if p.shape[-1] == each else p for p in parts))

    def rescaled(self, shift: Tensor, scale: Tensor) -> Prediction:
        """The same prediction in other units: `y -> shift + scale * y`, both `[R, 1]`."""
        return replace(
            self,
            loc=shift + scale * self.loc,
            epistemic=scale**2 * self.epistemic,
            noise=scale**2 * self.noise,
        )

    def mean(self) -> Tensor:
        """Predictive mean `[R, M]`."""
        return self.loc.mean(0)

    def epistemic_variance(self) -> Tensor:
        """What the weights are unsure of, `[R, M]`: spread of `loc` plus mean inner variance."""
        inner = self.epistemic.expand(self.loc.shape).mean(0)
        return self.loc.var(0, correction=0) + inner

    def noise_variance(self) -> Tensor:
        """Mean observation noise variance `[R, M]`."""
        return self.noise.expand(self.loc.shape).mean(0)
