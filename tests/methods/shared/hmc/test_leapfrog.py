"""Leapfrog integration: reversibility, order, and accuracy of the energy error in float32."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import pytest
import torch
from support.draws import drawn
from torch import Tensor

from bnnbench.likelihoods import Gaussian, Heteroscedastic, Likelihood
from bnnbench.losses import Beta
from bnnbench.methods.shared.hmc.leapfrog import (
    LeapfrogResult,
    energy_error,
    leapfrog,
)
from bnnbench.methods.shared.hmc.network import posterior_integrator, posterior_target
from bnnbench.nn import MLP
from bnnbench.types import TrainingSet

CHAINS, ROWS = 40, 30


def data(dtype: torch.dtype = torch.float64, rows: int = ROWS) -> TrainingSet:
    generator = torch.Generator().manual_seed(2)
    inputs = torch.randn(1, rows, 3, generator=generator, dtype=torch.float64)
    targets = inputs[..., 0].sin() + 0.3 * inputs[..., 1]
    return TrainingSet(inputs.to(dtype), targets.to(dtype), (rows,), (0,))


def problem(mlp: MLP, noise: float = 5.0) -> tuple[Tensor, Tensor, Tensor]:
    """Return positions and momenta `[C, 1, P]`, and factors."""
    position, momentum = drawn(2, CHAINS, 1, mlp.n_weights, seed=4)
    return position, momentum, torch.tensor([noise, 2.0]).double().view(2, 1, 1)


def same(value: float) -> Tensor:
    return torch.full((CHAINS, 1), value, dtype=torch.float64)


def moved(mlp: MLP, time: float, steps: int) -> tuple[LeapfrogResult, Tensor]:
    """Integrate with torch; return the results and their energy errors `[C]`."""
    position, momentum, factors = problem(mlp)
    target = posterior_target(mlp, Gaussian(), data(), {})
    ended = leapfrog(target, position, momentum, factors, same(time / steps), same(steps).long())
    return ended, energy_error(momentum, ended, factors)[:, 0]


@pytest.mark.parametrize("sizes", [(3, 1), (3, 5, 1), (3, 4, 4, 1)], ids=str)
def test_leapfrog_is_reversible(sizes: tuple[int, ...]) -> None:
    mlp = MLP(sizes)
    position, momentum, factors = problem(mlp)
    target = posterior_target(mlp, Gaussian(), data(), {})
    steps = torch.arange(1, CHAINS + 1)[:, None]  # a different number for each chain
    there = leapfrog(target, position, momentum, factors, same(0.02), steps)
    back = leapfrog(target, there.position, -there.momentum, factors, same(0.02), steps)
    assert (there.position - position).abs().amax(2).min() > 0.01
    torch.testing.assert_close(back.position, position, rtol=0, atol=1e-9)
    torch.testing.assert_close(back.momentum, -momentum, rtol=0, atol=1e-8)
    torch.testing.assert_close(back.after, there.before, rtol=1e-10, atol=0)


@pytest.mark.parametrize("sizes", [(3, 1), (3, 8, 1)], ids=["smooth", "with kinks"])
def test_the_energy_error_is_of_second_order_in_the_step_size(sizes: tuple[int, ...]) -> None:
    """The smooth energy is that of a linear model. Every kink adds an error of second order."""
    counts = (40, 80, 160)
    errors = [moved(MLP(sizes), 0.4, steps)[1].square().mean().sqrt() for steps in counts]
    orders = [math.log2(coarse / fine) for coarse, fine in pairwise(errors)]
    assert all(abs(order - 2) < (0.05 if len(sizes) == 2 else 0.4) for order in orders), orders


def test_chains_stop_after_their_own_number_of_steps() -> None:
    mlp = MLP((3, 5, 1))
    position, momentum, factors = problem(mlp)
    target = posterior_target(mlp, Gaussian(), data(), {})
    steps = torch.randint(1, 9, (CHAINS, 1), generator=torch.Generator().manual_seed(1))
    together = leapfrog(target, position, momentum, factors, same(0.03), steps)
    for c in (0, 7, 19):
        own = [one[c : c + 1] for one in (position, momentum)]
        size, count = same(0.03)[:1], steps[c : c + 1]
        alone = leapfrog(target, *own, factors, size, count)
        torch.testing.assert_close(alone.position[0], together.position[c])
        torch.testing.assert_close(alone.after[:, 0], together.after[:, c])


@pytest.mark.parametrize("native", [False, True])
def test_energy_errors_are_accurate_in_float32(native: bool) -> None:
    """With 2000 rows and a noise precision of 1000, energies are about 10^6 and errors about 1.

    They are compared with float64; a sum in float32 would be off by 0.1.
    """
    mlp, single, double = MLP((3, 8, 1)), data(torch.float32, 2000), data(rows=2000)
    position, momentum, factors = problem(mlp, noise=1000.0)
    position, momentum = (0.3 * one.float() for one in (position, momentum))
    rough = posterior_target(mlp, Gaussian(), single, {})
    flow = posterior_integrator(mlp, Gaussian(), single, {}) if native else partial(leapfrog, rough)
    target = posterior_target(mlp, Gaussian(), double, {})
    exact = partial(leapfrog, target)
    given = factors.expand(2, CHAINS, 1), same(4e-5), same(10).long(), None
    errors = [
        energy_error(start.double(), go(place, start, *given), given[0])
        for go, place, start in (
            (flow, position, momentum),
            (exact, position.double(), momentum.double()),
        )
    ]
    energies = (factors * target(position.double(), given[0])[0]).sum(0)
    assert energies.median() > 1e5 and errors[1].abs().max() > 0.05
    assert (errors[0] - errors[1]).abs().median() < 0.02


@pytest.mark.parametrize(
    ("likelihood", "hyper"),
    [
        (Gaussian(), {}),
        (Heteroscedastic(), {}),
        (Gaussian(loss=Beta(beta=1.3)), {"noise_precision": torch.full((1, 1), 3.0).double()}),
    ],
    ids=["gaussian", "heteroscedastic", "another loss"],
)
def test_gradients_match_finite_differences(
    likelihood: Likelihood, hyper: dict[str, Tensor]
) -> None:
    mlp = MLP((3, 4, likelihood.outputs))
    position, _, factors = problem(mlp)
    factors = factors.expand(2, CHAINS, 1)
    target = posterior_target(mlp, likelihood, data(), hyper)
    _, gradient = target(position, factors)
    direction = drawn(*position.shape, seed=8)
    up, down = (
        (factors * target(position + h * direction, factors)[0]).sum(0) for h in (1e-6, -1e-6)
    )
    expected = (up - down) / 2e-6
    torch.testing.assert_close((gradient * direction).sum(2), expected, rtol=1e-4, atol=1e-4)


def test_nan_energy_is_an_infinite_error() -> None:
    place = torch.zeros(1, 1, 2)
    parts = torch.zeros(1, 1, 1).double()
    ended = LeapfrogResult(place, place, parts, parts + torch.nan)
    assert energy_error(place, ended, torch.ones(1, 1, 1)).isposinf().all()
