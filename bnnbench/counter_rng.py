"""Counter-based random numbers, in native code or the same numbers in numpy and torch.

The algorithm is documented in `random.cpp`.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from bnnbench.cpp.library import library

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
