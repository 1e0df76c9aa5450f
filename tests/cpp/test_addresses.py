"""Only tensors of the expected type and shape get an address."""

from __future__ import annotations

import ctypes

import pytest
import torch
from support.user_errors import raises_user_error
from torch import Tensor

from bnnbench.cpp.library import Addresses

SINGLE, SHAPE = torch.float32, (2, 3)
EXACT = torch.arange(6, dtype=SINGLE).view(SHAPE)

READ: dict[str, tuple[Tensor, bool]] = {
    "exact": (EXACT, True),
    "transposed": (EXACT.T.contiguous().T, True),
    "integers": (EXACT.long(), True),
    "a narrower type": (EXACT.half(), True),
    "one row": (EXACT[:1], True),
    "one row without an axis": (EXACT[0], True),
    "a wider type": (EXACT.double(), False),
    "complex numbers": (EXACT.cfloat(), False),
    "fewer columns": (EXACT[:, :2], False),
    "one column": (EXACT[:, :1], False),
    "another axis": (EXACT[None], False),
    "another device": (EXACT.to("meta"), False),
}
"""Tensors, and whether torch would convert them to the expected type and shape."""


def at(address: int) -> list[float]:
    """Return the six numbers at an address."""
    return [*(ctypes.c_float * 6).from_address(address)]


@pytest.mark.parametrize("name", READ)
def test_what_native_code_reads_is_what_torch_uses(name: str) -> None:
    (tensor, fits), addresses = READ[name], Addresses()
    if fits:
        found = at(addresses.read("x", tensor, SINGLE, *SHAPE))
        assert found == tensor.float().expand(SHAPE).flatten().tolist()
        return
    with raises_user_error("method", "tensor", [" x "]):
        addresses.read("x", tensor, SINGLE, *SHAPE)


@pytest.mark.parametrize("name", READ)
def test_native_code_changes_exact_tensors_only(name: str) -> None:
    tensor, addresses = READ[name][0], Addresses()
    if name == "exact":
        assert addresses.write("x", tensor, SINGLE, *SHAPE) == tensor.data_ptr()
        return
    with raises_user_error("method", "tensor", [" x "]):
        addresses.write("x", tensor, SINGLE, *SHAPE)


def test_more_rows_than_there_are_get_no_address() -> None:
    addresses = Addresses()
    addresses.integers((3, 4), 4)
    with raises_user_error("method", "tensor", ["5", "4"]):
        addresses.integers((3, 5), 4)
