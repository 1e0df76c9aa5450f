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


@dataclass(frozen=True)
class Scaler:
    """Means and standard deviations of R training parts, and nothing of any other part.

    Attributes:
        input_loc: `[R, D]`, original units; `input_scale` likewise, 1 where a column is constant.
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
        def scale(a: np.ndarray) -> np.ndarray:
            deviation = a.std(0)
            # A constant column can leave rounding noise; dividing by that would invent a feature.
            tiny = 1e-12 * np.maximum(1.0, np.abs(a).max(0))
            return np.where(deviation > tiny, deviation, 1.0)

        return cls(
            np.stack([x.mean(0) for x in inputs]),
            np.stack([scale(x) for x in inputs]),
            np.stack([y.mean(0) for y in targets]),
            np.stack([scale(y) for y in targets]),
            device,
            dtype,
        )

    def inputs(self, arrays: Arrays) -> Tensor:
        """Standardised inputs `[R, M, D]`, zero on padding."""
        scaled = [
            (x - loc) / scale
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
