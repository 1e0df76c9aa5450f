"""From arrays in original units to the stacked, standardised tensors a method sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bnnbench.types import TrainingSet

Arrays = Sequence[np.ndarray]


def pad(arrays: Arrays) -> np.ndarray:
    """Stacks `[M_r, ...]` arrays as `[R, max M, ...]`, zeros after the real rows."""
    rows = max(len(a) for a in arrays)
    out = np.zeros((len(arrays), rows, *arrays[0].shape[1:]))
    for padded, a in zip(out, arrays, strict=True):
        padded[: len(a)] = a
    return out


def real_rows(arrays: Arrays) -> np.ndarray:
    """`[R, max M]`, True where `pad` put a real row."""
    counts = np.array([len(a) for a in arrays])
    return np.arange(counts.max()) < counts[:, None]


def _moments(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each column, without gaps; 1 for one that is constant."""
    if np.isnan(values).any():
        values = np.ma.masked_invalid(values)
        loc, deviation = (np.ma.filled(m, 0.0) for m in (values.mean(0), values.std(0)))
        largest = np.ma.filled(np.ma.abs(values).max(0), 0.0)
    else:
        loc, deviation, largest = values.mean(0), values.std(0), np.abs(values).max(0)
    # A constant column can leave rounding noise; dividing by that would invent a feature.
    tiny = 1e-12 * np.maximum(1.0, largest)
    return loc, np.where(deviation > tiny, deviation, 1.0)


def _filled(values: np.ndarray) -> np.ndarray:
    return np.nan_to_num(values, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)


@dataclass(frozen=True)
class Scaler:
    """Means and standard deviations of R training parts, and nothing of any other part.

    Attributes:
        input_loc: `[R, D]`, original units, of the values that are there; `input_scale` likewise, 1
            where a column is constant.
        target_loc: `[R]`, original units; `target_scale` likewise.
        device: of the tensors made.
        dtype: of the tensors made.
    """

    input_loc: np.ndarray
    input_scale: np.ndarray
    target_loc: np.ndarray
    target_scale: np.ndarray
    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(
        cls, inputs: Arrays, targets: Arrays, device: torch.device, dtype: torch.dtype
    ) -> Scaler:
        of_inputs, of_targets = [_moments(x) for x in inputs], [_moments(y) for y in targets]
        return cls(
            np.stack([loc for loc, _ in of_inputs]),
            np.stack([scale for _, scale in of_inputs]),
            np.stack([loc for loc, _ in of_targets]),
            np.stack([scale for _, scale in of_targets]),
            device,
            dtype,
        )

    def inputs(self, arrays: Arrays) -> Tensor:
        """Standardised inputs `[R, M, D]`, zero on padding and where there is no value.

        So a gap becomes the mean of the training part, as with scikit-learn's `StandardScaler`
        before a `SimpleImputer`.
        """
        scaled = [
            _filled((x - loc) / scale)
            for x, loc, scale in zip(arrays, self.input_loc, self.input_scale, strict=True)
        ]
        return self._tensor(pad(scaled))

    def targets(self, arrays: Arrays) -> Tensor:
        """Standardised targets `[R, M]`, zero on padding."""
        scaled = [
            (y - loc) / scale
            for y, loc, scale in zip(arrays, self.target_loc, self.target_scale, strict=True)
        ]
        return self._tensor(pad(scaled))

    def target_units(self) -> tuple[Tensor, Tensor]:
        """`(shift, scale)`, `[R, 1]` each in float64, from standardised to original units."""
        return tuple(  # type: ignore[return-value]
            torch.from_numpy(a[:, None]).to(self.device)
            for a in (self.target_loc, self.target_scale)
        )

    def _tensor(self, array: np.ndarray) -> Tensor:
        # Copied always: NumPy's memory is aligned by chance, and with it the last bits of products.
        return torch.from_numpy(array).to(self.device, self.dtype, copy=True)


def standardise(
    inputs: Arrays,
    targets: Arrays,
    groups: Sequence[int],
    device: torch.device,
    dtype: torch.dtype,
) -> tuple[TrainingSet, Scaler]:
    """Stacks R training parts, each standardised with its own statistics.

    Args:
        inputs: R arrays `[N_r, D]`, original units.
        targets: R arrays `[N_r]`, original units.
        groups: the noise stream of each part.
        device: of the result.
        dtype: of the result.
    """
    scaler = Scaler.of(inputs, targets, device, dtype)
    counts = tuple(len(y) for y in targets)
    stacked = TrainingSet(scaler.inputs(inputs), scaler.targets(targets), counts, tuple(groups))
    return stacked, scaler
