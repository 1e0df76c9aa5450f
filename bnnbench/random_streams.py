"""Random numbers: one independent stream per group of replicas.

All replicas of a group (the folds of one split) use the same draws. Each network still sees
independent noise of the correct distribution; sharing only correlates the folds, needs a fifth of
the random numbers, and gives a replica trained alone the same numbers as in the stack.

On a CPU a counter-based generator is three times as fast as torch's; on a GPU torch generates the
numbers on the device. The two give different numbers. The counter-based one runs in native code or,
with the same numbers, in numpy and torch. Its algorithm is documented in `bnnbench/cpp/random.cpp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import copy

import numpy as np
import torch
from torch import Tensor

from bnnbench.cpp.library import library

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

    Attributes:
        groups: as given, `[R]`.
        size: G.
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
        self.groups = torch.tensor(groups, device=self.device)
        on_cpu = self.device.type == "cpu"
        self._source: CounterSource | GeneratorSource | RequestRecorder = (
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

    def _spread(self, numbers: Tensor) -> Tensor:
        """Expand the group axis to a replica axis; a single group broadcasts instead."""
        numbers = numbers.to(self.dtype)
        return numbers if self.size == 1 else numbers.index_select(1, self.groups)


class CounterSource:
    """Counter-based generator on the CPU, with a key per group and a common position."""

    def __init__(self, seeds: list[int]) -> None:
        self.keys, self._position = seeds, 0

    def draw(self, distribution: str, shape: tuple[int, ...]) -> Tensor:
        """Draw `[S, G, ...]` of a distribution for `shape = (S, ...)`, like the classes below."""
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


PARALLEL = 16  # counters processed in parallel
BLOCK = 4 * PARALLEL  # numbers per block
ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_INCREMENTS = (0x9E3779B9, 0xBB67AE85)
LOW_BITS = 0xFFFFFFFF  # of 64 bits

Words = np.ndarray  # of uint64 below 2^32


def draw(key: int, counter: int, count: int, normal: bool) -> Tensor:
    """Draw numbers from one stream, `[count]` of float32.

    Args:
        key: the stream, below 2^64.
        counter: the first counter, a multiple of `PARALLEL`.
        count: how many numbers.
        normal: whether to draw from the standard normal, else uniform on [0, 1).
    """
    code = library().code
    if code is None:
        return _draw_numpy(key, counter, count, normal)
    out = torch.empty(count, dtype=torch.float32, device="cpu")
    code.draw_numbers(key, counter, normal, count, out.data_ptr())
    return out


def counters_used(count: int) -> int:
    """Return how many counters a draw of `count` numbers uses."""
    return -(-count // BLOCK) * PARALLEL


def philox_words(key: int, counters: np.ndarray) -> Words:
    """Return four words for each counter, `[4, n]`, by Philox4x32-10."""
    zeros = np.zeros_like(counters)
    low, shift = np.uint64(LOW_BITS), np.uint64(32)
    x = (counters & low, counters >> shift, zeros, zeros)
    for turn in range(ROUNDS):
        halves = zip((key, key >> 32), KEY_INCREMENTS, strict=True)
        keys = [np.uint64((half + turn * added) & LOW_BITS) for half, added in halves]
        first, third = (x[2 * i] * np.uint64(factor) for i, factor in enumerate(MULTIPLIERS))
        x = (
            third >> shift ^ x[1] ^ keys[0],
            third & low,
            first >> shift ^ x[3] ^ keys[1],
            first & low,
        )
    return np.stack(x)


def _draw_numpy(key: int, counter: int, count: int, normal: bool) -> Tensor:
    counters = np.uint64(counter) + np.arange(counters_used(count), dtype=np.uint64)
    drawn = philox_words(key, counters).reshape(4, -1, PARALLEL).astype(np.int64)
    made = torch.from_numpy(drawn >> 8).double() / 2**24
    if normal:
        radius = (made[0::2] + 2**-24).log().mul(-2).sqrt()
        angle = torch.from_numpy(drawn[1::2]).float() * (2 * math.pi / 2**32)
        made = torch.stack((radius * angle.cos(), radius * angle.sin()), 1).flatten(0, 1)
    return made.transpose(0, 1).flatten()[:count].float()
