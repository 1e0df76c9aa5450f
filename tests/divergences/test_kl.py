"""KL divergences against `torch.distributions`."""

from __future__ import annotations

import torch

from bnnbench.divergences.base import Divergence
from bnnbench.divergences.kl import KL


def test_kl_against_torch_and_its_gradient_against_autograd() -> None:
    torch.manual_seed(0)
    loc, scale = torch.randn(2, 5).double(), torch.rand(2, 5).double() + 0.1
    prior = torch.tensor([[0.5], [3.0]]).double()
    kl = KL(label="kl")
    q = torch.distributions.Normal(loc, scale)
    p = torch.distributions.Normal(torch.zeros_like(loc), prior.rsqrt().expand_as(loc))
    expected = torch.distributions.kl_divergence(q, p).sum(1)
    torch.testing.assert_close(kl.value(loc, scale, prior), expected)
    closed, automatic = kl.gradient(loc, scale, prior), Divergence.partials(kl, loc, scale, prior)
    for ours, theirs in zip(closed, automatic, strict=True):
        torch.testing.assert_close(ours, theirs)
