"""Jensen-Shannon divergences: their special cases, bounds and slopes near the ends."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from support.divergences import columns, divergence, pairs

from bnnbench.divergences.jensen_shannon import AlphaJS, alpha_js, js
from bnnbench.divergences.kl import jeffreys


def test_special_cases_and_bounds() -> None:
    given = columns(pairs())
    close = partial(torch.testing.assert_close, rtol=1e-6, atol=1e-12)
    close(js(*given), alpha_js(*given, 0.5))
    close(alpha_js(*given, 1), 0.5 * jeffreys(*given))
    assert (js(*given) <= math.log(2) + 1e-12).all() and js(*columns(pairs())).max() > 0.69
    assert (alpha_js(*given, 0.9) <= -math.log(0.1) + 1e-12).all()


@pytest.mark.parametrize("alpha", [0.001, 0.9999, 1 - 1e-9])
def test_slopes_of_alpha_js_near_its_ends_are_finite_in_float32(alpha: float) -> None:
    chosen = AlphaJS(label="alpha_js", alpha=alpha)
    loc = torch.tensor([[2.0, 0.1, 30.0, 0.0]])
    scale = torch.tensor([[0.05, 1e-4, 0.3, 5.0]])
    single = chosen.gradient(loc, scale, torch.tensor([[50.0]]))
    double = chosen.gradient(loc.double(), scale.double(), torch.tensor([[50.0]]).double())
    for a, b in zip(single, double, strict=True):
        torch.testing.assert_close(a, b.float(), rtol=1e-3, atol=1e-5)


def test_the_theses_has_no_half() -> None:
    """`KL(q || m) + KL(p || m)`: twice ours, at most log 4."""
    whole, half = divergence("js_w2"), divergence("js")
    loc, scale = torch.tensor([[0.3, 900.0]]), torch.tensor([[0.2, 1e-3]])
    twice = whole.value(loc, scale, torch.ones(1, 1))
    assert torch.equal(twice, 2 * half.value(loc, scale, torch.ones(1, 1)))
    assert (whole.name, whole.family, half.name) == ("js_w2", "js_w2", "js")
    far = whole.value(loc[:, 1:], scale[:, 1:], torch.ones(1, 1))
    assert float(far) == pytest.approx(math.log(4))
