"""Every likelihood with every loss, against autograd."""

from __future__ import annotations

import pytest
import torch
from support.config import compose_only
from support.losses import LOSSES, every_loss, loss_id
from torch import Tensor

from bnnbench.config.configs import options
from bnnbench.config.instantiate import instantiate
from bnnbench.likelihoods import Heteroscedastic, HeteroscedasticSoftplus, Likelihood
from bnnbench.losses import NLL, Loss
from bnnbench.nn import MLP, forward, squared_backward
from bnnbench.settings import Network

S, R, B = 3, 2, 6
HYPER = {"noise_precision": torch.tensor([[0.7], [6.0]]).double()}


def likelihoods() -> list[Likelihood]:
    found: list[Likelihood] = []
    for name in sorted(options("likelihood")):
        config = compose_only(f"likelihood={name}", "loss=nll")["likelihood"]
        cls = type(instantiate("likelihood", config))
        found += [cls(label=name, loss=loss) for loss in LOSSES]
    return found


every_pair = pytest.mark.parametrize(
    "of", likelihoods(), ids=lambda of: f"{of.label}-{loss_id(of.loss)}"
)


def case(likelihood: Likelihood) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs (some far beyond the bound of the log standard deviation), targets and weights."""
    torch.manual_seed(0)
    outputs = torch.randn(S, R, B, likelihood.outputs).double()
    outputs[0] *= 5
    return outputs, torch.randn(R, B).double(), torch.rand(R, B).double()


@every_pair
def test_gradient_is_that_of_the_weighted_loss(of: Likelihood) -> None:
    outputs, targets, weights = case(of)
    outputs.requires_grad_()
    value = of.value(outputs, targets, HYPER)
    assert value.shape == (S, R, B)
    expected = torch.autograd.grad((weights * value).sum(), outputs)[0]
    ours = of.gradient(outputs.detach(), targets, weights, HYPER)
    torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-12)


@every_pair
def test_curvature_roots_give_the_gauss_newton_diagonal(of: Likelihood) -> None:
    """Compare with Jacobians by autograd: `sum_b weights[b] sum_o c_o (d output_o / d w)^2`."""
    torch.manual_seed(2)
    mlp = MLP.of(2, Network(width=3), of.outputs)
    weights, inputs = torch.randn(1, 2, mlp.n_weights).double(), torch.randn(2, B, 2).double()
    rows = torch.rand(2, B).double()
    outputs, tape = forward(mlp, weights, inputs)
    roots = of.curvature_roots(outputs, rows, HYPER)
    ours = sum(squared_backward(tape, root) for root in roots)

    def gaussians(w: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the log scale that the loss sees."""
        prediction = of.prediction(forward(mlp, w, inputs)[0], HYPER)
        return prediction.loc, (0.5 * prediction.noise.log()).expand(prediction.loc.shape)

    precision = (-2 * gaussians(weights)[1]).exp()
    expected = torch.zeros_like(weights)
    jacobians = torch.autograd.functional.jacobian(gaussians, weights)
    for jacobian, curvature in zip(jacobians, of.loss.curvatures(precision), strict=True):
        # A network's outputs depend on its own weights only.
        squares = torch.stack([jacobian[0, r, :, 0, r].square() for r in range(2)])
        expected = expected + torch.einsum("rb,rbp->rp", rows * curvature[0], squares)
    torch.testing.assert_close(ours, expected)


@every_loss
@pytest.mark.parametrize(
    ("kind", "raw"),
    [
        *((Heteroscedastic, raw) for raw in (-1e4, -30.0, 30.0, 1e4)),
        *((HeteroscedasticSoftplus, raw) for raw in (-86.0, -14.0, 30.0, 1e4)),
    ],
)
def test_no_noise_overflows_float32_or_has_a_zero_gradient(
    kind: type[Heteroscedastic], raw: float, loss: Loss
) -> None:
    of = kind(loss=loss)
    outputs = torch.tensor([1e3, raw]).expand(1, 1, 1, 2)
    gradient = of.gradient(outputs, torch.zeros(1, 1), torch.ones(1, 1), {})
    roots = of.curvature_roots(outputs, torch.ones(1, 1), {})
    noise = of.prediction(outputs, {}).noise
    for tensor in (gradient.square(), *(root.square() for root in roots), noise, 1 / noise):
        assert tensor.isfinite().all()
    if isinstance(loss, NLL):  # the gradient of a robust loss vanishes for an error of 1000
        slope = gradient[..., 1].item()
        assert (slope < 0) if noise < 1e6 else (slope > 0), (
            "the noise must approach the size of the error"
        )
