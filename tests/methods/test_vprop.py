"""Vprop: a step by hand."""

from __future__ import annotations

import pytest
import torch
from support.linear_model import make_hyper, one_batch

from bnnbench.methods.vprop import Vprop
from bnnbench.nn import MLP
from bnnbench.settings import Training


@pytest.mark.parametrize("square_root", [True, False])
def test_vprop_step_is_rmsprop_with_the_prior_in_place_of_epsilon(square_root: bool) -> None:
    method, batch = Vprop(label="v", square_root=square_root), one_batch()
    loc, s = torch.tensor([[0.2, -0.1]]).double(), torch.full((1, 2), 0.3).double()
    training = Training(learning_rate=0.01, betas=(0.9, 0.8))
    still = (torch.zeros(1, 1, 2).double(),)  # no perturbation: the gradient at loc
    new = method.update(MLP((1, 1)), training, {"loc": loc, "s": s}, make_hyper(), batch, still)
    error = [0.2 * x - 0.1 - y for x, y in ((1.0, 2.0), (3.0, -1.0))]
    gradient = torch.tensor([[2 * (error[0] + 3 * error[1]), 2 * sum(error)]]).double()
    expected = 0.8 * s + 0.2 * gradient**2
    scale = (expected.sqrt() if square_root else expected) + 0.2
    torch.testing.assert_close(new["s"], expected)
    torch.testing.assert_close(new["loc"], loc - 0.01 * (gradient + 0.2 * loc) / scale)
