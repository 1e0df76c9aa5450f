"""Practical VI: initialisation. Its optima are tested in test_linear_model.py."""

from __future__ import annotations

import torch
from support.linear_model import linear_task

from bnnbench.methods.practical_vi import PracticalVI


def test_initial_precision() -> None:
    method = PracticalVI(label="p")
    variance = method.init(linear_task(method, 1))["log_variance"].exp()
    torch.testing.assert_close(variance, torch.full_like(variance, 0.1))
