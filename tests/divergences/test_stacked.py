"""Stacked divergences: each block has the values of its own divergence."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from bnnbench.divergences.base import Divergence
from bnnbench.divergences.jensen_shannon import JS
from bnnbench.divergences.kl import KL
from bnnbench.divergences.priors import Laplace
from bnnbench.divergences.renyi import Alpha, Renyi
from bnnbench.divergences.stacked import StackedDivergences

MEMBERS = (
    KL(label="kl"),
    Renyi(label="renyi", alpha=2, weight=0.3),
    JS(label="js"),
    Alpha(label="alpha", alpha=0.5),
)
SAMPLED = tuple(
    replace(member, estimator="monte_carlo", prior=Laplace(label="laplace"))
    for member in (MEMBERS[0], MEMBERS[1], MEMBERS[3])
)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("members", [MEMBERS, SAMPLED])
def test_each_block_has_the_divergence_of_its_member(
    members: tuple[Divergence, ...], shared: bool
) -> None:
    each, weights = 2, 7
    draw = torch.Generator().manual_seed(1)
    replicas = each * len(members)
    loc = torch.randn(replicas, weights, generator=draw, dtype=torch.float64)
    scale = 0.2 + 0.5 * torch.rand(replicas, weights, generator=draw, dtype=torch.float64)
    precision = 0.5 + torch.rand(replicas, 1, generator=draw, dtype=torch.float64)
    columns = 1 if shared else replicas
    epsilon = torch.randn(3, columns, weights, generator=draw, dtype=torch.float64)
    together = StackedDivergences(members, each)
    value = together.value(loc, scale, precision, epsilon)
    slopes = together.gradient(loc, scale, precision, epsilon)
    for k, member in enumerate(members):
        own = slice(k * each, (k + 1) * each)
        given = (loc[own], scale[own], precision[own], epsilon if shared else epsilon[:, own])
        torch.testing.assert_close(value[own], member.value(*given))
        for all_, alone in zip(slopes, member.gradient(*given), strict=True):
            torch.testing.assert_close(all_[own], alone)
    assert together.estimator == members[0].estimator
