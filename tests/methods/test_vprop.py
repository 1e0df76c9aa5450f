"""Vprop: the fixed point for a linear model, and a step by hand."""

from __future__ import annotations

import pytest
import torch
from support.fixed_point import fixed_point
from support.linear_model import N, exact_posterior, fit, make_hyper, one_batch
from support.user_errors import assert_user_error

from bnnbench.methods.vprop import Vprop
from bnnbench.nn import MLP
from bnnbench.settings import Training
from bnnbench.types import UserError


@pytest.mark.parametrize("batch_size", [N, 10])
@pytest.mark.parametrize(("square_root", "rate"), [(True, 0.006), (False, 0.018)])
def test_it_converges_to_the_fixed_point_of_vadam(
    square_root: bool, rate: float, batch_size: int
) -> None:
    mean, _ = exact_posterior()
    method = Vprop(label="v", square_root=square_root)
    settings = {"learning_rate": rate, "betas": (0.9, 0.99), "batch_size": batch_size}
    loc, scale = method.moments(fit(method, 1000 * batch_size // N, samples=400, **settings))
    torch.testing.assert_close(loc[0], mean, atol=0.01, rtol=0)
    torch.testing.assert_close(scale[0], fixed_point(mean, batch_size).sqrt(), atol=0, rtol=0.03)


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


def test_square_root_is_true_or_false() -> None:
    with pytest.raises(UserError) as error:
        Vprop(label="v", square_root="maybe")  # type: ignore[arg-type]
    assert_user_error(error, "method.square_root")
