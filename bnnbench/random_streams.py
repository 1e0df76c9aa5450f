"""Random numbers: one independent stream per group of replicas.

All replicas of a group (the folds of one split) see the same draws. Each network alone still
sees independent noise of the right law; sharing only correlates the folds, costs a fifth of the
random numbers, and makes one replica trained alone see exactly what it saw in the stack.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

CUDA_CHUNK = 32  # steps of noise per launch: on a GPU one launch per stream and step would dominate


def derive_seed(*path: int | str) -> int:
    """A 63-bit seed from a path such as `(seed, split, "search", iteration)`.

    Streams of different paths are independent (numpy `SeedSequence`), so any evaluation can be
    repeated without running those before it.
    """
    words = [p if isinstance(p, int) else int.from_bytes(p.encode(), "big") for p in path]
    state = np.random.SeedSequence(words).generate_state(2, np.uint32)
    return (int(state[0]) << 31) ^ int(state[1])


class Streams:
    """G generators, drawn from in step.

    Args:
        seeds: one per group.
        groups: the group of each replica.
        device: where the numbers are made and used.
        dtype: of the numbers.
    """

    def __init__(
        self,
        seeds: list[int],
        groups: tuple[int, ...],
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.device, self.dtype = torch.device(device), dtype
        self.size = len(seeds)
        self._generators = [torch.Generator(self.device).manual_seed(s) for s in seeds]
        self._groups = torch.tensor(groups, device=self.device)
        self._chunk = CUDA_CHUNK if self.device.type == "cuda" else 1
        self._buffers: dict[tuple, list[Tensor]] = {}

    def normal(self, *shape: int) -> Tensor:
        """Standard normal `[S, R or 1, ...]` for `shape = (S, ...)`."""
        return self._spread(self._draw("normal_", shape))

    def uniform(self, *shape: int) -> Tensor:
        """Uniform on [0, 1), `[S, R or 1, ...]` for `shape = (S, ...)`."""
        return self._spread(self._draw("uniform_", shape))

    def _draw(self, law: str, shape: tuple[int, ...]) -> Tensor:
        if self._chunk == 1:
            drawn = [self._fill(law, generator, shape) for generator in self._generators]
            return torch.stack(drawn, 1) if self.size > 1 else drawn[0].unsqueeze(1)
        buffer = self._buffers.setdefault((law, shape), [])
        if not buffer:
            drawn = [self._fill(law, g, (self._chunk, *shape)) for g in self._generators]
            buffer.extend(torch.stack(drawn, 2).unbind(0))
            buffer.reverse()
        return buffer.pop()

    def _fill(self, law: str, generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
        out = torch.empty(shape, device=self.device, dtype=self.dtype)
        return getattr(out, law)(generator=generator)

    def _spread(self, drawn: Tensor) -> Tensor:
        """From a group axis to a replica axis; one group alone broadcasts for free."""
        return drawn if self.size == 1 else drawn.index_select(1, self._groups)
