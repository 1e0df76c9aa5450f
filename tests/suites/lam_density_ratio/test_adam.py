"""Adam in TensorFlow's form, step by step by hand."""

from __future__ import annotations

import math

import torch

from bnnbench.suites.lam_density_ratio.adam import Adam


def test_two_steps_by_hand_and_a_frozen_replica() -> None:
    weights = torch.tensor([[1.0], [1.0]], dtype=torch.float64)
    adam, active = Adam(weights), torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    first = second = 0.0
    expected = 1.0
    for step, gradient in enumerate((2e-8, -1e-8), start=1):
        adam.step(torch.full_like(weights, gradient), 0.1, active)
        first = 0.9 * first + 0.1 * gradient
        second = 0.999 * second + 0.001 * gradient**2
        rate = 0.1 * math.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        expected -= rate * first / (math.sqrt(second) + 1e-8)
        torch.testing.assert_close(weights[0].item(), expected, rtol=1e-12, atol=0)
        assert weights[1].item() == 1
    # With an uncorrected second moment, small gradients move less than in Kingma's Algorithm 1.
    assert 1 - expected < 0.02
