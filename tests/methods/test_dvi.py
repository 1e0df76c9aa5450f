"""DVI: gradients against autograd, the learned prior, and moments of sampled networks."""

from __future__ import annotations

import math

import pytest
import torch
from support.draws import drawn
from support.linear_model import LAMBDA, TAU, linear_task, make_hyper, one_batch
from torch import Tensor

from bnnbench.methods.dvi import DVI, backpropagate
from bnnbench.methods.shared import moment_propagation
from bnnbench.methods.shared.moment_propagation import layers_of
from bnnbench.nn import MLP, forward
from bnnbench.settings import Training


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


def weights_of(mlp: MLP) -> tuple[Tensor, Tensor]:
    """Return means and variances of two stacked networks, `[2, P]` each."""
    shape = (2, mlp.n_weights)
    return 0.7 * drawn(*shape), 0.3 * torch.special.ndtr(drawn(*shape, seed=3))


def inputs_of(mlp: MLP) -> Tensor:
    return drawn(2, 5, mlp.sizes[0], seed=1)


@pytest.mark.parametrize(
    ("sizes", "tolerance"), [((3, 1), 0.01), ((3, 4, 1), 0.01), ((3, 10, 10, 1), 0.06)]
)
def test_moments_match_sampled_networks(sizes: tuple[int, ...], tolerance: float) -> None:
    """Exact for up to one hidden layer; deeper networks have correlated units."""
    mlp = MLP(sizes)
    loc, variance = weights_of(mlp)
    layers = layers_of(mlp, (loc, variance))
    mean, spread = moment_propagation.forward(layers, inputs_of(mlp))[0]
    generator = torch.Generator().manual_seed(2)
    noise = torch.randn(40_000, 2, mlp.n_weights, generator=generator)
    drawn = torch.addcmul(loc.float(), variance.float().sqrt(), noise)
    outputs = forward(mlp, drawn, inputs_of(mlp).float())[0].squeeze(3).double()
    deviation = spread.sqrt()
    assert ((outputs.mean(0) - mean) / deviation).abs().max() < 2 * tolerance + 0.01
    assert (outputs.std(0) / deviation - 1).abs().max() < 2 * tolerance + 0.01


@pytest.mark.parametrize("sizes", [(3, 1), (3, 4, 1), (3, 4, 5, 1)])
def test_derivatives_of_output_moments_match_autograd(sizes: tuple[int, ...]) -> None:
    mlp = MLP(sizes)
    leaves = [one.requires_grad_() for one in weights_of(mlp)]
    (mean, variance), tape, rectified = moment_propagation.forward(
        layers_of(mlp, (leaves[0], leaves[1])), inputs_of(mlp)
    )
    by_mean = torch.linspace(-1, 1, 10, dtype=torch.float64).view(2, 5)
    by_variance = by_mean.cos()
    total = (by_mean * mean + by_variance * variance).sum()
    expected = torch.autograd.grad(total, leaves)
    with torch.no_grad():
        layers = layers_of(mlp, (leaves[0], leaves[1]))
        found = backpropagate(layers, tape, rectified, (by_mean[..., None], by_variance[..., None]))
    torch.testing.assert_close(found, tuple(expected))
