"""Random numbers: one independent stream per group of replicas.

All replicas of a group (the folds of one split) see the same draws. Each network alone still
sees independent noise of the right law; sharing only correlates the folds, costs a fifth of the
random numbers, and makes one replica trained alone see exactly what it saw in the stack.

On a CPU they are counted (`bnnbench/cpp/random.cpp`), which is three times as fast as torch's; on a
GPU torch's generators make them where they are used. The two differ as two seeds do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import copy
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from bnnbench.cpp.numbers import Drawn, draw, draw_many, used

Request = tuple[str, tuple[int, ...]]
"""A law, `normal` or `uniform`, and a shape `(S, ...)`."""

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
    """G streams of random numbers, drawn from in step.

    Args:
        seeds: one per group.
        groups: the group of each replica.
        device: where the numbers are made and used.
        dtype: of the numbers. They are float32's, of 24 bits, whatever it is.
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
        self._groups = torch.tensor(groups, device=self.device)
        on_cpu = self.device.type == "cpu"
        self._source: Source = Counted(seeds) if on_cpu else Generated(seeds, self.device)

    def normal(self, *shape: int) -> Tensor:
        """Standard normal `[S, R or 1, ...]` for `shape = (S, ...)`."""
        return self._spread(self._source.drawn("normal", shape))

    def uniform(self, *shape: int) -> Tensor:
        """Uniform on [0, 1), `[S, R or 1, ...]` for `shape = (S, ...)`."""
        return self._spread(self._source.drawn("uniform", shape))

    def needs(self, drawing: Callable[[Streams], object]) -> list[Request]:
        """What a function of streams draws; nothing is drawn."""
        noting, noted = copy(self), Noted()
        noting.size, noting._source = 1, noted
        drawing(noting)
        return noted.requests

    def ahead(self, requests: Sequence[Request]) -> Drawn:
        """The numbers of many draws at once, for native code: those that single draws would give.

        The addresses of the K requests are `[K, G]`.
        """
        assert isinstance(self._source, Counted)
        return self._source.ahead(requests)

    @property
    def groups(self) -> Tensor:
        """`[R]`, the group of each replica."""
        return self._groups

    def _spread(self, drawn: Tensor) -> Tensor:
        """From a group axis to a replica axis; one group alone broadcasts for free."""
        drawn = drawn.to(self.dtype)
        return drawn if self.size == 1 else drawn.index_select(1, self._groups)


class Source(Protocol):
    """What makes the numbers of G groups."""

    def drawn(self, law: str, shape: tuple[int, ...]) -> Tensor:
        """`[S, G, ...]` of a law, `normal` or `uniform`, for `shape = (S, ...)`."""


class Counted:
    """Numbers of a CPU: each group has a key, and all are at the same place."""

    def __init__(self, seeds: list[int]) -> None:
        self._keys, self._place = seeds, 0

    def drawn(self, law: str, shape: tuple[int, ...]) -> Tensor:
        count, normal = math.prod(shape), law == "normal"
        groups = [draw(key, self._place, count, normal).view(shape) for key in self._keys]
        self._place += used(count)
        return torch.stack(groups, 1) if len(groups) > 1 else groups[0].unsqueeze(1)

    def ahead(self, requests: Sequence[Request]) -> Drawn:
        counts = [math.prod(shape) for _, shape in requests]
        made = draw_many(self._keys, self._place, counts, [law == "normal" for law, _ in requests])
        self._place += sum(map(used, counts))
        return made


class Noted:
    """No numbers: what is asked for is noted."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def drawn(self, law: str, shape: tuple[int, ...]) -> Tensor:
        self.requests.append((law, shape))
        return torch.empty(shape[0], 1, *shape[1:])


class Generated:
    """Numbers of a GPU, of several steps at a time."""

    def __init__(
        self, seeds: list[int], device: torch.device | str, at_once: int = CUDA_CHUNK
    ) -> None:
        self._device, self._at_once = device, at_once
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._made: dict[tuple[str, tuple[int, ...]], list[Tensor]] = {}

    def drawn(self, law: str, shape: tuple[int, ...]) -> Tensor:
        made = self._made.setdefault((law, shape), [])
        if not made:
            groups = [self._fill(law, generator, shape) for generator in self._generators]
            made.extend(torch.stack(groups, 2).unbind(0))
            made.reverse()
        return made.pop()

    def _fill(self, law: str, generator: torch.Generator, shape: tuple[int, ...]) -> Tensor:
        out = torch.empty((self._at_once, *shape), device=self._device)
        return getattr(out, f"{law}_")(generator=generator)
