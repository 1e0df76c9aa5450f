"""Effective sample sizes of series with known values."""

from __future__ import annotations

import torch

from bnnbench.methods.shared.sgmcmc import effective_sample_size


def test_effective_sample_size_of_autoregressions() -> None:
    """The efficiency of `x_t = rho x_(t-1) + noise` is `(1 - rho) / (1 + rho)`, at most 1."""
    length, rho = 8000, torch.tensor([-0.5, 0.0, 0.5, 0.9]).double()
    noise = torch.randn(length, 40, 4, generator=torch.Generator().manual_seed(0)).double()
    steps = [noise[0] / (1 - rho.square()).sqrt()]
    for shock in noise[1:]:
        steps.append(rho * steps[-1] + shock)
    sizes = effective_sample_size(torch.stack(steps))
    expected = ((1 - rho) / (1 + rho)).clamp(max=1) * length
    assert sizes.shape == (40, 4) and (sizes <= length).all()
    torch.testing.assert_close(sizes.mean(0), expected, rtol=0.05, atol=0)


def test_effective_sample_size_of_constant_and_drifting_series() -> None:
    still, alone, drifting = torch.ones(9, 2), torch.ones(1, 2), torch.arange(100.0)[:, None]
    assert effective_sample_size(still).isnan().all()
    assert effective_sample_size(alone).isnan().all()
    assert effective_sample_size(drifting).item() < 4
