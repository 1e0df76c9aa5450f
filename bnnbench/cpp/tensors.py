"""Which tensors native code supports."""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.cpp.library import library


def has_native_code(like: Tensor, dtype: torch.dtype = torch.float32) -> bool:
    """Whether native code is in use and supports tensors like `like` (on the CPU, of `dtype`)."""
    if like.dtype != dtype or like.device.type != "cpu":
        return False
    # Native code would break the graph of a step that torch compiles.
    return not torch.compiler.is_compiling() and library().code is not None
