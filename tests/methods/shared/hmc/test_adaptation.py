"""Adaptation of step sizes to the target acceptance, and trajectory lengths."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from torch import Tensor

from bnnbench.methods.shared.hmc.adaptation import (
    ChEES,
    DualAveraging,
    QuarterPeriods,
    TrajectoryLength,
    initial_step_size,
)
from bnnbench.methods.shared.hmc.leapfrog import Target, leapfrog
from bnnbench.methods.shared.hmc.sampler import Chains, ChainSchedule, sample
from bnnbench.random_streams import Streams


def gaussian(deviations: Tensor) -> Target:
    """Return a target with independent components and a single energy part."""

    def target(position: Tensor, factors: Tensor) -> tuple[Tensor, Tensor]:
        scaled = position / deviations**2
        return 0.5 * (scaled * position).sum(-1)[None], factors[0][..., None] * scaled

    return target


def run(deviations: Tensor, trajectory: TrajectoryLength, chains: int, **settings: float) -> Chains:
    schedule = ChainSchedule(**{"warm_up": 150, "draws": 60, **settings})  # type: ignore[arg-type]
    streams = Streams([5], (0,), dtype=torch.float64)
    start = streams.normal(chains, len(deviations)) * deviations
    factors = torch.ones(1, chains, 1).double()
    return sample(
        partial(leapfrog, gaussian(deviations)), start, factors, trajectory, schedule, streams
    )


def test_acceptance_meets_its_target() -> None:
    acceptance = 0.65
    found = run(
        torch.ones(30).double(), QuarterPeriods(0.5, part=0), 20, target_acceptance=acceptance
    )
    assert found.acceptance.mean() == pytest.approx(acceptance, abs=0.06)
    assert found.divergent.sum() == 0


def test_dual_averaging_by_hand() -> None:
    """Two updates with t0 = 10, gamma = 0.05, kappa = 0.75."""
    state = DualAveraging.from_step_size(torch.tensor([[0.2]]))
    first = state.updated(torch.tensor([[0.5]]).double(), 0.8)
    second = first.updated(torch.tensor([[1.0]]).double(), 0.8)
    mu, shortfall = math.log(2.0), 0.3 / 11
    one = mu - shortfall / 0.05
    assert first.log_size.item() == pytest.approx(one) == first.log_average.item()
    shortfall = (1 - 1 / 12) * shortfall + (0.8 - 1.0) / 12
    two = mu - math.sqrt(2) / 0.05 * shortfall
    assert second.log_size.item() == pytest.approx(two)
    weight = 2**-0.75
    assert second.log_average.item() == pytest.approx(weight * two + (1 - weight) * one)


@pytest.mark.parametrize("deviation", [1e-3, 1.0, 1e3])
def test_initial_step_size_has_the_scale_of_the_density(deviation: float) -> None:
    scale = torch.full((10,), deviation).double()
    streams = Streams([5], (0,), dtype=torch.float64)
    position, momentum = streams.normal(8, 10) * scale, streams.normal(8, 10)
    size = initial_step_size(
        partial(leapfrog, gaussian(scale)), position, momentum, torch.ones(1, 8, 1).double()
    )
    assert ((size > 0.3 * deviation) & (size < 5 * deviation)).all()


def test_quarter_periods_are_jittered() -> None:
    precision = torch.tensor([4.0, 0.25]).double().view(1, 2, 1)
    rule = QuarterPeriods(0.5, part=0)
    for uniform, factor in ((0.0, 0.5), (0.5, 1.0), (1.0, 1.5)):
        got = rule.lengths(precision, torch.full((2, 1), uniform).double())
        expected = factor * math.pi / 2 * torch.tensor([[0.5], [2.0]]).double()
        torch.testing.assert_close(got, expected)
    assert rule.after_warm_up() is rule


@pytest.mark.parametrize("first", [0.5, pytest.param(30.0, marks=pytest.mark.slow)])
def test_chees_finds_the_length_of_the_widest_direction(first: float) -> None:
    """The largest deviation is 10: much longer trajectories return, much shorter ones diffuse."""
    deviations = torch.tensor([1.0, 2.0, 10.0]).double()
    start = ChEES.from_length(torch.tensor([first]))
    found = run(deviations, start, 24, warm_up=200)
    mean_length = (found.leapfrogs * found.step_size).mean().item()  # half of the adapted length
    assert 5 < mean_length < 25
    spread = found.draws.flatten(0, 2).std(0) / deviations
    torch.testing.assert_close(spread, torch.ones(3).double(), atol=0.1, rtol=0)
