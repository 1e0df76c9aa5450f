"""Stacking and standardisation of arrays in original units for methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bnnbench import portable_math
from bnnbench.log_normal import LogPrediction
from bnnbench.types import Prediction, Table, TrainingSet

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Arrays = Sequence[np.ndarray]

ROUNDING = 1e-12
"""A column whose deviation is a smaller fraction of its largest number is constant, since
rounding has this size. The fraction does not depend on the unit."""


def deviation(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column, 0 if it is constant up to rounding.

    Args:
        values: `[N]` or `[N, D]`, NaN for missing values.
    """
    present = np.ma.masked_invalid(values) if np.isnan(values).any() else values
    largest = np.ma.filled(np.ma.abs(present).max(0), 0.0)
    # Powers of two change no bits, but the squares of very small numbers would be zero.
    unit = np.exp2(np.frexp(largest)[1].clip(-1000, 1000))
    found = np.ma.filled((present / unit).std(0), 0.0) * unit
    return np.where(found > ROUNDING * largest, found, 0.0)


def pad(arrays: Arrays) -> np.ndarray:
    """Stack `[M_r, ...]` arrays as `[R, max M, ...]`, padded with zeros."""
    rows = max(len(a) for a in arrays)
    out = np.zeros((len(arrays), rows, *arrays[0].shape[1:]))
    for padded, a in zip(out, arrays, strict=True):
        padded[: len(a)] = a
    return out


def real_rows(arrays: Arrays) -> np.ndarray:
    """Return the mask `[R, max M]` of the rows that `pad` did not add."""
    counts = np.array([len(a) for a in arrays])
    return np.arange(counts.max()) < counts[:, None]


def _input_moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column, ignoring NaN; infinite for a constant column."""
    scale = deviation(values)
    if np.isnan(values).any():
        values = np.ma.masked_invalid(values)
    return np.ma.filled(values.mean(0), 0.0), np.where(scale > 0, scale, np.inf)


def _target_moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation; the size of the mean, or 1, if the targets are constant."""
    loc = values.mean()
    return loc, np.asarray(deviation(values) or np.abs(loc) or 1.0)


@dataclass(frozen=True)
class Scaler:
    """Means and standard deviations of R training parts.

    Attributes:
        input_loc: `[R, D]`, means without missing values, original units.
        input_scale: `[R, D]`, standard deviations; infinite for constant columns, which thus become
            zero, whatever a new row holds.
        target_loc: `[R]`, original units, or that of the logarithm.
        target_scale: `[R]`, in the same unit, positive and finite.
        device: of the returned tensors.
        dtype: of the returned tensors.
        log: whether the logarithm of the target is standardised.
    """

    input_loc: np.ndarray
    input_scale: np.ndarray
    target_loc: np.ndarray
    target_scale: np.ndarray
    device: torch.device
    dtype: torch.dtype
    log: bool = False

    @classmethod
    def of(
        cls, inputs: Arrays, targets: Arrays, device: torch.device, dtype: torch.dtype
    ) -> Scaler:
        of_inputs = zip(*map(_input_moments, inputs), strict=True)
        of_targets = zip(*map(_target_moments, targets), strict=True)
        input_loc, input_scale = map(np.stack, of_inputs)
        target_loc, target_scale = map(np.stack, of_targets)
        return cls(input_loc, input_scale, target_loc, target_scale, device, dtype)

    def inputs(self, arrays: Arrays) -> Tensor:
        """Return standardised inputs `[R, M, D]`, zero for padding and missing values.

        A missing value thus becomes the mean of the training part, as with scikit-learn's
        `StandardScaler` before a `SimpleImputer`.
        """
        scaled = [
            np.nan_to_num((x - loc) / scale, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
            for x, loc, scale in zip(arrays, self.input_loc, self.input_scale, strict=True)
        ]
        return self._tensor(pad(scaled))

    def targets(self, arrays: Arrays) -> Tensor:
        """Return standardised targets `[R, M]`, zero for padding; with `log`, given logarithms."""
        scaled = [
            (y - loc) / scale
            for y, loc, scale in zip(arrays, self.target_loc, self.target_scale, strict=True)
        ]
        return self._tensor(pad(scaled))

    def target_units(self) -> tuple[Tensor, Tensor]:
        """Return `(shift, scale)`, `[R, 1]` each, from standardised to `target_loc`'s, float64."""
        import torch

        return tuple(  # type: ignore[return-value]
            torch.from_numpy(a[:, None]).to(self.device)
            for a in (self.target_loc, self.target_scale)
        )

    def original_units(self, standardised: Prediction) -> Prediction:
        """Return a prediction of standardised targets in original units."""
        kind = LogPrediction if self.log else Prediction
        parts = (standardised.loc, standardised.epistemic, standardised.noise)
        return kind(*parts).rescaled(*self.target_units())

    def _tensor(self, array: np.ndarray) -> Tensor:
        import torch

        # Always copied: the alignment of NumPy's memory varies, which changes the last bits.
        return torch.from_numpy(array).to(self.device, self.dtype, copy=True)


def standardise(
    table: Table,
    rows: Sequence[np.ndarray | Sequence[int]],
    groups: Sequence[int],
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[TrainingSet, Scaler]:
    """Stack R training parts, each standardised with its own statistics.

    Args:
        table: the data set.
        rows: the rows of each part, R arrays `[N_r]`.
        groups: index of each part's random stream.
        device: of the result.
        dtype: of the result.
    """
    inputs, targets = ([values[own] for own in rows] for values in (table.inputs, table.targets))
    if table.log_target:
        targets = [portable_math.log(y) for y in targets]
    scaler = replace(Scaler.of(inputs, targets, device, dtype), log=table.log_target)
    counts = tuple(len(y) for y in targets)
    stacked = TrainingSet(scaler.inputs(inputs), scaler.targets(targets), counts, tuple(groups))
    return stacked, scaler
