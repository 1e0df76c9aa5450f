"""Priors over the weights: mass and variance of the densities."""

from __future__ import annotations

import pytest
import torch
from scipy.integrate import quad

from bnnbench.divergences.priors import GaussianPrior, LaplacePrior, Prior, ScaleMixture

PRIORS: list[Prior] = [GaussianPrior(), LaplacePrior(), ScaleMixture(fraction=0.3, ratio=0.2)]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: p.label)
def test_priors_are_densities(prior: Prior) -> None:
    precision = torch.tensor([[2.5]]).double()

    def density(x: float) -> float:
        return prior.log_density(torch.tensor([[x]]).double(), precision).exp().item()

    mass, second = (2 * quad(f, 0, 15, points=[0.1, 1], limit=200)[0]
                    for f in (density, lambda x: x * x * density(x)))  # fmt: skip
    assert mass == pytest.approx(1, rel=1e-6)
    variance = 1 / 2.5
    if isinstance(prior, ScaleMixture):
        variance *= prior.fraction + (1 - prior.fraction) * prior.ratio**2
    assert second == pytest.approx(variance, rel=1e-6)
