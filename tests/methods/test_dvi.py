"""DVI: gradients against autograd, the optimum for a linear model, and the learned prior."""

from __future__ import annotations

import math

import pytest
import torch
from support.linear_model import (
    LAMBDA,
    TAU,
    exact_posterior,
    fit,
    linear_task,
    make_hyper,
    one_batch,
)
from torch import Tensor

from bnnbench.methods.dvi import DVI
from bnnbench.nn import MLP
from bnnbench.settings import Training


def test_it_finds_the_mean_field_optimum() -> None:
    """Nothing is sampled, so the result is accurate to many digits."""
    mean, precision = exact_posterior()
    settings = {"learning_rate": 0.05, "betas": (0.9, 0.999)}
    method = DVI(label="d")
    loc, scale = method.moments(fit(method, 800, **settings))
    torch.testing.assert_close(loc[0], mean, atol=1e-5, rtol=0)
    torch.testing.assert_close(scale[0] ** -2, precision.diagonal(), atol=0, rtol=1e-4)


def objective(loc: Tensor, rho: Tensor, learned: bool) -> Tensor:
    """Return the negative ELBO of a line for `one_batch`, per row.

    A learned prior variance is set to its optimum under the hyperprior.
    """
    scale = torch.log1p(rho.exp())
    x = torch.tensor([[1.0, 1.0], [3.0, 1.0]], dtype=torch.float64)
    y = torch.tensor([2.0, -1.0], dtype=torch.float64)
    expected = (x @ loc - y).square() + x.square() @ scale.square()
    loss = 0.5 * TAU * expected.mean()
    squares = loc.square().sum() + scale.square().sum()
    variance = torch.tensor(1 / LAMBDA, dtype=torch.float64)
    if learned:
        variance = ((squares + 20) / (2 + 4)).detach()
    divergence = 0.5 * squares / variance - scale.log().sum()
    return loss + divergence / 10


@pytest.mark.parametrize("learned", [False, True])
def test_gradients_match_autograd(learned: bool) -> None:
    """With beta_1 = 0, Adam's first moments are the gradients."""
    method = DVI(label="d", prior_precision="learned" if learned else None)
    loc = torch.tensor([[0.3, -0.2]], dtype=torch.float64)
    rho = torch.tensor([[-1.0, 0.5]], dtype=torch.float64)
    zeros = torch.zeros_like(loc)
    names = ("loc_first", "loc_second", "rho_first", "rho_second")
    state = {"loc": loc, "rho": rho, **dict.fromkeys(names, zeros)}
    training = Training(betas=(0.0, 0.5))
    new = method.update(MLP((1, 1)), training, state, make_hyper(), one_batch(), ())
    leaves = [one[0].clone().requires_grad_() for one in (loc, rho)]
    by_loc, by_rho = torch.autograd.grad(objective(*leaves, learned), leaves)
    torch.testing.assert_close(new["loc_first"][0], by_loc)
    torch.testing.assert_close(new["rho_first"][0], by_rho)
    assert (torch.sign(loc - new["loc"])[0] == torch.sign(by_loc)).all()


def test_the_learned_prior_variance_is_optimal() -> None:
    """The derivative of ELBO plus log hyperprior is zero for each layer."""
    method = DVI(label="d", prior_precision="learned")
    mlp = MLP((2, 3, 1))
    loc, scale = torch.linspace(-2, 2, 13)[None].double(), torch.full((1, 13), 0.5).double()
    precision = method._prior(mlp, loc, scale, {})[0]
    for part in (slice(0, 9), slice(9, 13)):
        (layer_precision,) = set(precision[part].tolist())
        squares = (loc[0, part].square() + scale[0, part].square()).sum().item()
        variance, count = 1 / layer_precision, part.stop - part.start
        # -KL and log InverseGamma(variance; 1, 10), differentiated.
        derivative = -count / (2 * variance) + squares / (2 * variance**2)
        derivative += -2 / variance + 10 / variance**2
        assert derivative == pytest.approx(0, abs=1e-12)
    assert method.hyper_names == ("noise_precision",)
    assert math.isfinite(method.complexity(method.fit(linear_task(method, 1)), None).item())  # type: ignore[arg-type]
