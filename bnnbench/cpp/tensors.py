"""Which tensors native code takes."""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.cpp.library import library


def available(like: Tensor, dtype: torch.dtype = torch.float32) -> bool:
    """Whether there is native code for such tensors, of this type and on the CPU."""
    if like.dtype != dtype or like.device.type != "cpu":
        return False
    # What torch compiles holds all of a step, or it would be cut in two.
    return not torch.compiler.is_compiling() and library().code is not None
