"""Jensen-Shannon divergences: special cases, bounds and extreme orders."""

from __future__ import annotations

import math

import pytest
import torch
from support.divergences import divergence

from bnnbench.divergences.jensen_shannon import CPU_CHUNK, JS, AlphaJS, alpha_js, js


@pytest.mark.parametrize("alpha", [0.001, 0.9999, 1 - 1e-9])
def test_slopes_of_alpha_js_near_its_ends_are_finite_in_float32(alpha: float) -> None:
    chosen = AlphaJS(label="alpha_js", alpha=alpha)
    loc = torch.tensor([[2.0, 0.1, 30.0, 0.0]])
    scale = torch.tensor([[0.05, 1e-4, 0.3, 5.0]])
    single = chosen.gradient(loc, scale, torch.tensor([[50.0]]))
    double = chosen.gradient(loc.double(), scale.double(), torch.tensor([[50.0]]).double())
    for a, b in zip(single, double, strict=True):
        torch.testing.assert_close(a, b.float(), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("alpha", [0.01, 0.5, 0.999])
def test_single_precision_agrees_with_double_and_keeps_nan(alpha: float) -> None:
    """Nearly equal and distant pairs, in more than one chunk."""
    streams = torch.Generator().manual_seed(0)
    loc, scale = (torch.randn(1, CPU_CHUNK + 3, generator=streams) for _ in range(2))
    loc, scale = loc * (2 * loc).exp(), (2 * scale).exp()
    loc[0, :500], scale[0, :500] = 0.2 * loc[0, :500].tanh(), 1 + 0.1 * scale[0, :500].tanh()
    loc[0, 7] = math.nan
    chosen, prior = AlphaJS(label="alpha_js", alpha=alpha), torch.ones(1, 1)
    single = (*chosen.gradient(loc, scale, prior), alpha_js(loc, scale, 0 * prior, prior, alpha))
    exact = (loc.double(), scale.double())
    slopes = chosen.gradient(*exact, prior.double())
    double = (*slopes, alpha_js(*exact, 0 * prior.double(), prior.double(), alpha))
    for mine, right in zip(single, double, strict=True):
        assert mine.isnan().nonzero().tolist() == [[0, 7]]
        torch.testing.assert_close(mine, right.float(), rtol=2e-3, atol=2e-6, equal_nan=True)


def test_derivatives_of_the_value_are_its_slopes() -> None:
    loc = torch.tensor([[0.3, -2.0, 0.01]], requires_grad=True)
    scale = torch.full((1, 3), 0.5)
    value = js(loc, scale, torch.zeros(1, 3), torch.ones(1, 3)).sum()
    found = JS(label="js").gradient(loc.detach(), scale, torch.ones(1, 1))[0]
    torch.testing.assert_close(torch.autograd.grad(value, loc)[0], found, rtol=1e-4, atol=1e-6)


def test_weight_2_is_the_divergence_of_the_thesis() -> None:
    """`KL(q || m) + KL(p || m)`: twice ours and at most log 4."""
    whole, half = divergence("js_weight_2"), divergence("js")
    loc, scale = torch.tensor([[0.3, 900.0]]), torch.tensor([[0.2, 1e-3]])
    twice = whole.value(loc, scale, torch.ones(1, 1))
    assert torch.equal(twice, 2 * half.value(loc, scale, torch.ones(1, 1)))
    assert (whole.name, whole.family, half.name) == ("js_weight_2", "js_weight_2", "js")
    far = whole.value(loc[:, 1:], scale[:, 1:], torch.ones(1, 1))
    assert float(far) == pytest.approx(math.log(4))
