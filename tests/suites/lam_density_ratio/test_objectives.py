"""The losses: T, r and D give the same function, with the slopes of the published forms."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from support.sprinkler import objective
from torch import Tensor
from torch.distributions import Normal

from bnnbench.suites.lam_density_ratio.objectives import LOSSES, STUCK_LOSS, TINY, Objective

PUBLISHED_LOSSES: dict[tuple[str, str], Callable[[Tensor, Tensor], Tensor]] = {
    ("kl_posterior_prior", "log_ratio"): lambda t, u: -t.mean() + u.exp().mean(),
    ("kl_posterior_prior", "ratio"): lambda r, s: -(r + TINY).log().mean() + s.mean(),
    ("kl_posterior_prior", "relu_ratio"): lambda r, s: -(r + TINY).log().mean() + s.mean(),
    ("kl_posterior_prior", "class_probability"): lambda d, e: (
        -((d + TINY) / (1 - d + TINY)).log().mean() + (e / (1 - e)).mean()
    ),
    ("gan", "log_ratio"): lambda t, u: (
        ((t.exp() + 1).log() - t).mean() + (u.exp() + 1).log().mean()
    ),
    ("gan", "ratio"): lambda r, s: -((r + TINY) / (r + 1)).log().mean() + (s + 1).log().mean(),
    ("gan", "relu_ratio"): lambda r, s: -((r + TINY) / (r + 1)).log().mean() + (s + 1).log().mean(),
    ("gan", "class_probability"): lambda d, e: (
        -(d + TINY).log().mean() - (1 - e + TINY).log().mean()
    ),
}
"""Losses of section 7.2 in the estimator's output, as in the thesis's programs."""

OUTPUTS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "log_ratio": (lambda a: a, lambda t: t),
    "ratio": (torch.exp, lambda r: (r + TINY).log()),
    "class_probability": (torch.sigmoid, lambda d: ((d + TINY) / (1 - d + TINY)).log()),
    "relu_ratio": (torch.relu, lambda r: (r + TINY).log()),
}
"""Output of the estimator by its pre-activation, and log ratio by its output."""

each_loss = pytest.mark.parametrize(("divergence", "estimator"), PUBLISHED_LOSSES)


def pre_activations() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    a = 3 * torch.randn(2, 400, generator=generator, dtype=torch.float64)
    return a[0], a[1]


def loss(one: Objective, a_q: Tensor, a_p: Tensor) -> Tensor:
    (on_q, _), (on_p, _) = one.terms(a_q, a_p)
    return on_q.mean() + on_p.mean()


@each_loss
def test_losses_and_slopes_are_those_of_the_published_form(divergence: str, estimator: str) -> None:
    a_q, a_p = (a.requires_grad_() for a in pre_activations())
    output, log_ratio_of = OUTPUTS[estimator]
    expected = PUBLISHED_LOSSES[divergence, estimator](output(a_q), output(a_p))
    slopes = torch.autograd.grad(expected, (a_q, a_p))
    log_ratio = log_ratio_of(output(a_q))
    (log_slope,) = torch.autograd.grad(log_ratio.sum(), a_q)
    one = objective(divergence, estimator)
    with torch.no_grad():
        (_, slope_q), (_, slope_p) = one.terms(a_q, a_p)
        torch.testing.assert_close(loss(one, a_q, a_p), expected.detach(), rtol=1e-12, atol=0)
        value, slope = one.log_ratio(a_q)
    for ours, theirs in zip((slope_q, slope_p), slopes, strict=True):
        torch.testing.assert_close(ours / 400, theirs, rtol=1e-10, atol=1e-14)
    torch.testing.assert_close(value, log_ratio.detach(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(slope, log_slope, rtol=1e-10, atol=1e-12)


def test_published_numerics_saturate_and_the_stable_form_does_not() -> None:
    a = torch.tensor([20.0])
    log_ratio, slope = objective("gan", "class_probability").log_ratio(a)
    assert log_ratio.item() == pytest.approx(STUCK_LOSS, abs=1e-4) and slope.item() == 0
    log_ratio, slope = objective("gan", "class_probability", stable=True).log_ratio(a)
    assert (log_ratio.item(), slope.item()) == (20, 1)
    far = torch.tensor([100.0])
    assert not loss(objective("gan", "log_ratio"), far, far).isfinite()
    assert loss(objective("gan", "log_ratio", stable=True), far, far).item() == 100
    (_, _), (odds, _) = objective("kl_posterior_prior", "class_probability").terms(a, a)
    assert odds.isinf().all()  # as in the prior-contrastive program, which has no constant there
    guarded = objective("kl_posterior_prior", "class_probability", guarded=True)
    assert guarded.terms(a, a)[1][0].item() == pytest.approx(1e18, rel=1e-5)


def test_a_dead_relu_ratio_has_the_stuck_loss() -> None:
    dead = torch.full((5,), -1.0)
    assert pytest.approx(41.4465, abs=1e-4) == STUCK_LOSS
    for divergence in LOSSES:
        one = objective(divergence, "relu_ratio")
        assert loss(one, dead, dead).item() == pytest.approx(STUCK_LOSS, abs=1e-4)
        assert all((slope == 0).all() for _, slope in one.terms(dead, dead))


@pytest.mark.parametrize("divergence", LOSSES)
@pytest.mark.parametrize(("mean", "scale"), [(0.0, 1.0), (1.0, 1.0), (0.5, 0.6), (-2.0, 1.2)])
def test_the_loss_is_least_at_the_exact_ratio_where_it_is_the_divergence(
    divergence: str, mean: float, scale: float
) -> None:
    """Theorem 4.2.1 and section 4.2.4, by quadrature for q = Normal(mean, scale), p = Normal(0, 1).

    If q = p, the losses are 1 and log 4 (remarks 4.2.4 and 4.1.3).
    """
    u = torch.linspace(-20, 20, 8001, dtype=torch.float64)
    q, p = (Normal(*u.new_tensor(one)).log_prob(u) for one in ((mean, scale), (0.0, 1.0)))

    def quadrature(a: Tensor) -> float:
        (on_q, _), (on_p, _) = objective(divergence, stable=True).terms(a, a)
        return float(torch.trapezoid(q.exp() * on_q + p.exp() * on_p, u))

    if divergence == "gan":
        middle = torch.logaddexp(q, p) - math.log(2)
        js = torch.trapezoid(q.exp() * (q - middle) + p.exp() * (p - middle), u) / 2
        least = math.log(4) - 2 * float(js)
    else:
        least = 1 + math.log(scale) - (scale**2 + mean**2 - 1) / 2
    assert quadrature(q - p) == pytest.approx(least, abs=1e-9)
    for other in (1.1 * (q - p) + 0.01, (q - p).logaddexp(torch.tensor(-4.0)), 0 * q + 1):
        assert quadrature(other) > least
