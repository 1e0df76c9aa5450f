"""What a chain keeps, and of whom."""

from __future__ import annotations

import math

import pytest
import torch

from bnnbench.methods.shared.chain import Chain


def weights(step: int) -> torch.Tensor:
    """Of two replicas with one weight, after some steps."""
    return torch.tensor([[1.0], [10.0]]) * step


def test_it_copies_after_the_steps_it_is_told_and_keeps_what_was_before_a_divergence() -> None:
    chain = Chain(range(2, 8, 2), weights(0))
    for step in (1, 2, 3, 4):
        chain.after(step, weights(step))
    chain.settle(torch.tensor([True, True]), weights(0))
    chain.after(6, weights(6))
    chain.settle(torch.tensor([True, False]), weights(4))
    assert chain.copies.tolist() == [[[2.0], [4.0], [6.0]], [[20.0], [40.0], [40.0]]]


@pytest.mark.parametrize("kept", [range(3, 20, 5), range(1, 5), range(7, 8), range(0)])
def test_steps_until_the_next_copy(kept: range) -> None:
    chain = Chain(kept, weights(0))
    for taken in range(22):
        expected = min((step - taken for step in kept if step > taken), default=math.inf)
        assert chain.until_next(taken) == expected
