"""Random numbers by counting: by native code, or the same by numpy and torch where there is none.

`random.cpp` says what is counted and how words become numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from bnnbench.cpp.library import library

SIDE = 16  # counters side by side
GROUP = 4 * SIDE  # numbers that they make
ROUNDS = 10
FACTORS = (0xD2511F53, 0xCD9E8D57)
ADDED = (0x9E3779B9, 0xBB67AE85)
LOWER = 0xFFFFFFFF  # half of 64 bits

Words = np.ndarray  # of uint64 below 2^32


class Drawn(NamedTuple):
    """Numbers of many draws.

    Attributes:
        numbers: all of them, float32, with gaps.
        addresses: `[K, G]` int64, where in the memory of `numbers` those of each draw begin, for
            each stream.
    """

    numbers: Tensor
    addresses: Tensor


def draw(key: int, place: int, count: int, normal: bool) -> Tensor:
    """Numbers of one stream, `[count]` of float32.

    Args:
        key: the stream, below 2^64.
        place: the first counter, a multiple of `SIDE`.
        count: how many.
        normal: standard normal if set, else uniform on [0, 1).
    """
    code = library().code
    if code is None:
        return _made(key, place, count, normal)
    out = torch.empty(count)
    code.draw_numbers(key, place, normal, count, out.data_ptr())
    return out


def draw_many(
    keys: Sequence[int], place: int, counts: Sequence[int], normal: Sequence[bool]
) -> Drawn:
    """The numbers of K draws, one after the other, of G streams, by one call of native code.

    Args:
        keys: of the streams, which all are at the same place.
        place: the first counter.
        counts: of each draw.
        normal: as for `draw`, of each.
    """
    code = library().code
    assert code is not None
    groups = len(keys)
    sizes = np.repeat(np.array(counts, np.int64), groups)
    rooms = -(-sizes // GROUP) * GROUP
    first = np.cumsum(rooms) - rooms
    made = torch.empty(int(rooms.sum()))
    taken = rooms[::groups] // GROUP * SIDE
    arrays = {
        "keys": np.tile(np.array(keys, np.uint64), len(counts)),
        "places": np.repeat((place + np.cumsum(taken) - taken).astype(np.uint64), groups),
        "normal": np.repeat(np.array(normal, np.int64), groups),
        "counts": sizes,
        "outs": made.data_ptr() + made.element_size() * first,
    }
    code.draw_many(len(sizes), *(array.ctypes.data for array in arrays.values()))
    return Drawn(made, torch.from_numpy(arrays["outs"]).view(len(counts), groups))


def used(count: int) -> int:
    """Counters that a draw of so many numbers takes."""
    return -(-count // GROUP) * SIDE


def words(key: int, counters: np.ndarray) -> Words:
    """Four words for each counter, `[4, n]`: Philox4x32-10."""
    zeros = np.zeros_like(counters)
    low, shift = np.uint64(LOWER), np.uint64(32)
    x = (counters & low, counters >> shift, zeros, zeros)
    for turn in range(ROUNDS):
        halves = zip((key, key >> 32), ADDED, strict=True)
        keys = [np.uint64((half + turn * added) & LOWER) for half, added in halves]
        first, third = (x[2 * i] * np.uint64(factor) for i, factor in enumerate(FACTORS))
        x = (
            third >> shift ^ x[1] ^ keys[0],
            third & low,
            first >> shift ^ x[3] ^ keys[1],
            first & low,
        )
    return np.stack(x)


def _made(key: int, place: int, count: int, normal: bool) -> Tensor:
    counters = np.uint64(place) + np.arange(used(count), dtype=np.uint64)
    drawn = words(key, counters).reshape(4, -1, SIDE).astype(np.int64)
    made = torch.from_numpy(drawn >> 8).double() / 2**24
    if normal:
        radius = (made[0::2] + 2**-24).log().mul(-2).sqrt()
        angle = torch.from_numpy(drawn[1::2]) * (2 * math.pi / 2**32)
        made = torch.stack((radius * angle.cos(), radius * angle.sin()), 1).flatten(0, 1)
    return made.transpose(0, 1).flatten()[:count].float()
