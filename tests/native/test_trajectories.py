"""Leapfrog trajectories by native code against torch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.cpp.library import library
from bnnbench.likelihoods import Gaussian, Heteroscedastic, HeteroscedasticSoftplus, Likelihood
from bnnbench.methods.shared.hmc.leapfrog import leapfrog
from bnnbench.methods.shared.hmc.metric import EuclideanMetric
from bnnbench.methods.shared.hmc.network import posterior_target
from bnnbench.native.trajectories import leapfrog_trajectories
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)

LIKELIHOODS: tuple[Likelihood, ...] = (Gaussian(), Heteroscedastic(), HeteroscedasticSoftplus())


def some_metric(mlp: MLP, generator: torch.Generator) -> EuclideanMetric:
    """A metric for two sets, about half the identity, so that no trajectory diverges."""
    roots = []
    for fan_in in mlp.sizes[:-1]:
        some = 0.05 * torch.randn(2, fan_in + 1, fan_in + 1, generator=generator)
        roots.append(0.5 * torch.eye(fan_in + 1) + some + some.mT)
    return EuclideanMetric(tuple(roots))


@settings(max_examples=12)  # ReLUs at zero may switch in float32
@given(
    hidden=st.lists(st.integers(1, 19), max_size=2),
    inputs=st.integers(1, 9),
    likelihood=st.sampled_from(LIKELIHOODS),
    rows=st.integers(1, 60),
    chains=st.integers(1, 3),
    shaped=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_trajectories_equal_those_of_torch(
    hidden: list[int],
    inputs: int,
    likelihood: Likelihood,
    rows: int,
    chains: int,
    shaped: bool,
    seed: int,
) -> None:
    """Two training sets, the second shorter; each chain has its own settings and factors."""
    generator = torch.Generator().manual_seed(seed)
    mlp, counts = MLP((inputs, *hidden, likelihood.outputs)), (rows, max(1, rows - 3))
    real = torch.arange(rows) < torch.tensor(counts)[:, None]
    x = torch.randn(2, rows, inputs, generator=generator) * real[..., None]
    y = torch.randn(2, rows, generator=generator) * real
    data = TrainingSet(x, y, counts, (0, 1))
    position, momentum = 0.5 * torch.randn(2, chains, 2, mlp.n_weights, generator=generator)
    factors = 0.5 + torch.rand(2, chains, 2, generator=generator, dtype=torch.float64)
    if likelihood.outputs == 2:
        factors[0] = 1
    size = 0.002 * (1 + torch.rand(chains, 2, generator=generator, dtype=torch.float64))
    steps = torch.randint(1, 5, (chains, 2), generator=generator)
    metric = some_metric(mlp, generator) if shaped else None
    roots = metric.flat() if metric else None
    found = leapfrog_trajectories(
        mlp, likelihood, data, position, momentum, factors, size, steps, roots
    )
    double = TrainingSet(x.double(), y.double(), counts, (0, 1))
    target = posterior_target(mlp, likelihood, double, {})
    double_metric = (
        EuclideanMetric(tuple(root.double() for root in metric.roots)) if metric else None
    )
    expected = leapfrog(
        target, position.double(), momentum.double(), factors, size, steps, double_metric
    )
    for got, exact in zip(found, expected, strict=True):
        scale = max(1.0, exact.abs().max().item())
        torch.testing.assert_close(got.double(), exact, rtol=1e-5, atol=2e-5 * scale)


def test_arguments_are_not_modified_and_nan_is_propagated() -> None:
    mlp = MLP((2, 3, 1))
    data = TrainingSet(torch.ones(2, 4, 2), torch.ones(2, 4), (4, 4), (0, 1))
    data.targets[1, 2] = torch.nan
    position, momentum = torch.ones(2, 2, 2, mlp.n_weights)
    factors = torch.ones(2, 2, 2).double()
    size, steps = torch.full((2, 2), 0.01).double(), torch.full((2, 2), 3)
    end, _, before, after = leapfrog_trajectories(
        mlp, Gaussian(), data, position, momentum, factors, size, steps
    )
    assert (position == 1).all() and (momentum == 1).all()
    assert end[:, 0].isfinite().all() and not end[:, 1].isfinite().any()
    for parts in (before, after):
        assert parts[0, :, 0].isfinite().all() and parts[0, :, 1].isnan().all()
