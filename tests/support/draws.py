"""Random numbers for tests."""

from __future__ import annotations

import torch
from torch import Tensor


def drawn(*shape: int, seed: int = 0) -> Tensor:
    """Draw standard normal numbers, float64."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
