"""Sizes of the networks, and training steps compared with autograd."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from support.sprinkler import objective, problem, reference_network, replicas
from torch import Tensor

from bnnbench.suites.lam_density_ratio.adversarial_vb.stack import ImageStack, Networks
from bnnbench.suites.lam_density_ratio.networks import Architecture, Parameters, initial_weights

SIZES = Networks(pixels=6, latents=3, width=0.02)
OBJECTIVES = [
    objective("kl_posterior_prior", "ratio"),
    objective("gan", "log_ratio"),
    objective("gan", "class_probability"),
]
BATCH = 7
IMAGES = torch.rand(20, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def make_stack() -> ImageStack:
    stack = ImageStack(SIZES, replicas(*OBJECTIVES), IMAGES, problem(samples=BATCH).schedule)
    stack.estimator_steps(5, 0.01)
    stack.generator_step(0.01)
    return stack


def drawn(stack: ImageStack) -> tuple[Tensor, Tensor, Tensor]:
    """Return images, noise and prior draws of the next step."""
    streams = stack._streams("training", stack._calls + 1)
    rows = (streams.uniform(1, BATCH)[0] * len(IMAGES)).long()
    noise, prior = (streams.normal(1, size, BATCH)[0] for size in (SIZES.noise, SIZES.latents))
    return IMAGES[rows].mT, noise, prior


def leaf(parameters: Parameters) -> tuple[Parameters, Tensor]:
    flat = parameters.flat.clone().requires_grad_()
    return Parameters(parameters.architecture, flat), flat


def relu_chain(layers: list[Tensor], x: Tensor) -> Tensor:
    for k, weight in enumerate(layers):
        x = weight[:, :-1].mT @ x + weight[:, -1].unsqueeze(-1)
        x = x.clamp_min(0) if k < len(layers) - 1 else x
    return x


def test_gradient_of_the_estimator_agrees_with_autograd() -> None:
    stack = make_stack()
    x, noise, prior = drawn(stack)
    estimator, flat = leaf(stack.estimator.parameters)
    z = reference_network(stack.encoder.parameters, noise, x)
    a_q, a_p = (reference_network(estimator, one, x)[:, 0] for one in (z, prior))
    terms = [one.terms(a_q[k], a_p[k]) for k, one in enumerate(OBJECTIVES)]
    expected = torch.stack([q[0].mean() + p[0].mean() for q, p in terms])
    expected.sum().backward()
    loss = stack.estimator_steps(1, 0.01)[0]
    torch.testing.assert_close(loss, expected.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(stack.estimator.gradient.flat, flat.grad, rtol=1e-9, atol=1e-12)


def test_gradients_of_encoder_and_decoder_agree_with_autograd() -> None:
    stack = make_stack()
    x, noise, _ = drawn(stack)
    (encoder, on_encoder), (decoder, on_decoder) = map(
        leaf, (stack.encoder.parameters, stack.decoder.parameters)
    )
    z = reference_network(encoder, noise, x)
    a = reference_network(stack.estimator.parameters, z, x)[:, 0]
    logits = relu_chain(decoder.main, z)
    pixels = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean(1)
    ratios = torch.stack([one.log_ratio(a[k])[0].mean() for k, one in enumerate(OBJECTIVES)])
    (pixels + ratios).sum().backward()
    nelbo = stack.generator_step(0.01)
    torch.testing.assert_close(nelbo, (pixels + ratios).detach(), rtol=1e-12, atol=1e-12)
    for network, flat in ((stack.encoder, on_encoder), (stack.decoder, on_decoder)):
        torch.testing.assert_close(network.gradient.flat, flat.grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("latents", "encoder", "decoder", "estimator"),
    [(2, 480_802, 2_538_784, 559_401), (10, 484_010, 2_542_784, 561_001)],
)
def test_sizes_are_those_of_the_thesis(
    latents: int, encoder: int, decoder: int, estimator: int
) -> None:
    def size(architecture: Architecture) -> int:
        return len(initial_weights(architecture, 0))

    sizes = Networks(784, latents)
    assert [size(one) for one in (sizes.encoder, sizes.decoder, sizes.estimator)] == [
        encoder, decoder, estimator,
    ]  # fmt: skip


@pytest.mark.slow
def test_the_log_ratio_of_a_shifted_gaussian_is_found() -> None:
    """An encoder that returns its noise plus a constant has the log ratio of two Gaussians."""
    sizes, shift = Networks(pixels=4, latents=1, noise=1, width=0.1), 1.0
    (one,) = replicas(objective("gan", "log_ratio"))
    stack = ImageStack(sizes, [one], torch.rand(50, 4), problem(samples=256).schedule)
    encoder = stack.encoder.parameters
    encoder.flat.zero_()
    for layers in (encoder.main, encoder.head):  # z = relu(noise) - relu(-noise) + shift
        for weight in layers:
            weight[0, 0, 0] = 1.0
    encoder.main[0][0, 0, 1] = -1.0
    encoder.head[0][0, 1, 1] = encoder.head[1][0, 1, 1] = 1.0
    encoder.head[2][0, 1, 0] = -1.0
    encoder.head[2][0, -1, 0] = shift
    stack.estimator_steps(400, 3e-3)
    losses = stack.estimator_steps(50, 3e-4)
    z = torch.linspace(-1, 2, 5)
    stack._critic.inputs[0, :, :5], stack._critic.observations[:] = z, 0.5
    estimate = stack._critic.forward()[0, 0, :5]
    torch.testing.assert_close(estimate, shift * z - shift**2 / 2, atol=0.3, rtol=0)
    # log 4 - 2 JS of two unit Gaussians one apart (by quadrature: 2 JS = 0.2214)
    assert losses.mean().item() == pytest.approx(1.3863 - 0.2214, abs=0.03)
