"""Random numbers: one independent stream per group of replicas.

All replicas of a group (the folds of one split) use the same draws. Each network still sees
independent noise of the correct distribution; sharing only correlates the folds, needs a fifth of
the random numbers, and gives a replica trained alone the same numbers as in the stack.

On a CPU a counter-based generator (`bnnbench/cpp/random.cpp`) is three times as fast as torch's;
on a GPU torch generates the numbers on the device. The two give different numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from bnnbench.counter_rng import counters_used, draw

Request = tuple[str, tuple[int, ...]]
"""A distribution, `normal` or `uniform`, and a shape `(S, ...)`."""

CUDA_CHUNK = 32  # steps of noise per launch: on a GPU one launch per stream and step would dominate


def derive_seed(*path: int | str) -> int:
    """Derive a 63-bit seed from a path such as `(seed, split, "search", iteration)`.

    Streams of different paths are independent (numpy `SeedSequence`), so any evaluation can be
    repeated without the earlier ones.
    """
    entropy = [p if isinstance(p, int) else int.from_bytes(p.encode(), "big") for p in path]
    state = np.random.SeedSequence(entropy).generate_state(2, np.uint32)
    return (int(state[0]) << 31) ^ int(state[1])


class Streams:
    """G parallel streams of random numbers.

    Args:
        seeds: one per group.
        groups: the group of each replica.
        device: where the numbers are generated and used.
        dtype: of the numbers; they always have the 24 bits of float32.
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
        self._source: GroupGenerator = (
            CounterSource(seeds) if on_cpu else GeneratorSource(seeds, self.device)
        )

    def normal(self, *shape: int) -> Tensor:
        """Draw standard normal numbers `[S, R or 1, ...]` for `shape = (S, ...)`."""
        return self._spread(self._source.draw("normal", shape))

    def uniform(self, *shape: int) -> Tensor:
        """Draw uniform numbers on [0, 1), `[S, R or 1, ...]` for `shape = (S, ...)`."""
        return self._spread(self._source.draw("uniform", shape))

    def record_requests(self, drawing: Callable[[Streams], object]) -> list[Request]:
        """Return the requests of a function of streams, without generating numbers."""
        copied, recorder = copy(self), RequestRecorder()
        copied.size, copied._source = 1, recorder
        drawing(copied)
        return recorder.requests

    def reserve(self, counters: int) -> int:
        """Reserve counters for native code, which draws numbers where it uses them.

        Returns:
            The first of them.
        """
        assert isinstance(self._source, CounterSource)
        return self._source.reserve(counters)

    @property
    def keys(self) -> list[int]:
        """The keys of the groups' streams, which native code needs."""
        assert isinstance(self._source, CounterSource)
        return self._source.keys

    @property
    def groups(self) -> Tensor:
        """`[R]`, the group of each replica."""
        return self._groups

    def _spread(self, numbers: Tensor) -> Tensor:
        """Expand the group axis to a replica axis; a single group broadcasts instead."""
        numbers = numbers.to(self.dtype)
        return numbers if self.size == 1 else numbers.index_select(1, self._groups)


class GroupGenerator(Protocol):
    """A generator of the numbers of G groups."""

    def draw(self, distribution: str, shape: tuple[int, ...]) -> Tensor:
        """Draw `[S, G, ...]` of a distribution for `shape = (S, ...)`."""


class CounterSource:
    """Counter-based generator on the CPU, with a key per group and a common position."""

    def __init__(self, seeds: list[int]) -> None:
        self.keys, self._position = seeds, 0

    def draw(self, distribution: str, shape: tuple[int, ...]) -> Tensor:
        count, normal = math.prod(shape), distribution == "normal"
        groups = [draw(key, self._position, count, normal).view(shape) for key in self.keys]
        self._position += counters_used(count)
        return torch.stack(groups, 1) if len(groups) > 1 else groups[0].unsqueeze(1)

    def reserve(self, counters: int) -> int:
        self._position += counters
        return self._position - counters


class RequestRecorder:
    """Records requests instead of generating numbers."""

    def __init__(self) -> None:
        self.requests: list[Request] = []

    def draw(self, distribution: str, shape: tuple[int, ...]) -> Tensor:
        self.requests.append((distribution, shape))
        return torch.empty(shape[0], 1, *shape[1:], dtype=torch.float32, device="cpu")


class GeneratorSource:
    """Generators of torch on a GPU, which draw several steps at a time."""

    def __init__(
        self, seeds: list[int], device: torch.device | str, chunk: int = CUDA_CHUNK
    ) -> None:
        self._device, self._chunk = device, chunk
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self._made: dict[tuple[str, tuple[int, ...]], list[Tensor]] = {}

    def draw(self, distribution: str, shape: tuple[int, ...]) -> Tensor:
        made = self._made.setdefault((distribution, shape), [])
        if not made:
            groups = [self._fill(distribution, generator, shape) for generator in self._generators]
            made.extend(torch.stack(groups, 2).unbind(0))
            made.reverse()
        return made.pop()

    def _fill(
        self, distribution: str, generator: torch.Generator, shape: tuple[int, ...]
    ) -> Tensor:
        out = torch.empty((self._chunk, *shape), device=self._device, dtype=torch.float32)
        fill = out.normal_ if distribution == "normal" else out.uniform_
        return fill(generator=generator)
