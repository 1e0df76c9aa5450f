"""Native propagation of Gaussian moments against torch in float64."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import pytest
import torch
from torch import Tensor

from bnnbench.cpp.library import library
from bnnbench.methods.dvi import DVI
from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.moment_propagation import forward, layers_of, rectify
from bnnbench.native import networks
from bnnbench.native.networks import propagate_moments
from bnnbench.nn import MLP
from bnnbench.optim import adam_state
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

pytestmark = pytest.mark.skipif(library().code is None, reason=library().reason)

SIZES = [(1, 1), (13, 50, 1), (8, 50, 1), (5, 16, 1, 1), (3, 7, 9, 16, 1), (4, 200, 150, 1)]


@dataclass(frozen=True)
class Problem:
    """Three networks with Gaussian weights, and rows, in float32."""

    mlp: MLP
    loc: Tensor
    scale: Tensor
    inputs: Tensor
    targets: Tensor

    def moments(self) -> tuple[Tensor, Tensor]:
        return propagate_moments(self.mlp, self.loc, self.scale, self.inputs)

    def exact_moments(self) -> tuple[Tensor, Tensor]:
        loc, scale = self.loc.double(), self.scale.double()
        layers = layers_of(self.mlp, (loc, scale.square()))
        return forward(layers, self.inputs.double())[0]

    def fit(self, dtype: torch.dtype = torch.float32, **settings: object) -> Posterior:
        """Train with all rows from these moments."""
        replicas, rows = self.targets.shape
        groups = tuple(range(replicas))
        inputs, targets = self.inputs.to(dtype), self.targets.to(dtype)
        data = TrainingSet(inputs, targets, (rows,) * replicas, groups)
        ones = torch.ones(replicas, 1, dtype=dtype)
        widths = self.mlp.sizes[1:-1]
        task = FitTask(
            data,
            {"noise_precision": 5 * ones, "prior_precision": ones},
            Network(widths or 1, len(widths)),
            Training(**{"batch_size": rows, "betas": (0.0, 0.5), **settings}),
            1,
            Streams([*groups], groups, dtype=dtype),
        )
        return StartsFrom(label="dvi", problem=self).fit(task)


@dataclass(frozen=True, kw_only=True)
class StartsFrom(DVI):
    """DVI whose initial posterior is that of a problem."""

    problem: Problem = field(repr=False)

    def init(self, task: FitTask) -> State:
        like = task.data.inputs
        rho = self.problem.scale.double().expm1().log()
        return adam_state("loc", self.problem.loc.to(like)) | adam_state("rho", rho.to(like))


def problem(sizes: tuple[int, ...], rows: int, seed: int = 0, spread: float = 0.3) -> Problem:
    generator = torch.Generator().manual_seed(seed)
    mlp = MLP(sizes)
    return Problem(
        mlp,
        torch.randn(3, mlp.n_weights, generator=generator) * max(sizes) ** -0.5,
        torch.rand(3, mlp.n_weights, generator=generator) * spread + 0.01,
        torch.randn(3, rows, sizes[0], generator=generator),
        torch.randn(3, rows, generator=generator),
    )


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("rows", [1, 300])
def test_moments_equal_those_of_torch(sizes: tuple[int, ...], rows: int) -> None:
    """In one or more blocks of rows."""
    given = problem(sizes, rows, seed=rows)
    for found, exact in zip(given.moments(), given.exact_moments(), strict=True):
        assert (found - exact).abs().max() <= 1e-5 * exact.abs().max()


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize(("rows", "spread"), [(1, 0.3), (300, 0.3), (40, 1e-4), (40, 30.0)])
def test_gradients_equal_those_of_torch(sizes: tuple[int, ...], rows: int, spread: float) -> None:
    """With beta_1 = 0, Adam's first moments are the gradients."""
    given = problem(sizes, rows, seed=rows, spread=spread)
    found, exact = given.fit().state, given.fit(torch.float64).state
    for name in ("loc_first", "rho_first"):
        assert (found[name] - exact[name]).norm() <= 2e-5 * exact[name].norm()


ALPHAS = torch.cat([torch.linspace(-12, 12, 20_001), torch.tensor([-1e30, -50, -13, 40, 1e4])])


@pytest.mark.parametrize("deviation", [1e-4, 1.0, 30.0])
def test_rectified_moments_in_the_tails(deviation: float) -> None:
    """Each network has a unit with another bias; its output is the rectified bias.

    Below zero, sums cancel: terms relative to the mean grow with the square of the standardised
    bias, and those relative to the variance with its fourth power.
    """
    loc = torch.zeros(len(ALPHAS), 4)
    loc[:, 1], loc[:, 2] = ALPHAS * deviation, 1.0
    scale = torch.zeros_like(loc)
    scale[:, 1] = deviation
    inputs = torch.zeros(len(ALPHAS), 1, 1)
    mean, variance = (m[:, 0] for m in propagate_moments(MLP((1, 1, 1)), loc, scale, inputs))
    exact = rectify(loc[:, 1].double(), scale[:, 1].double().square())
    kept = 1 / (1 + ALPHAS.clamp(-13, 0).square())  # after cancellation
    assert ((mean - exact.mean).abs() <= 1e-6 / kept * exact.mean + 1e-30).all()
    assert ((variance - exact.variance).abs() <= 1e-6 / kept**2 * exact.variance + 1e-30).all()
    assert (mean >= 0).all() and (variance >= 0).all()


@pytest.mark.parametrize("sizes", [(2, 1), (2, 5, 1), (2, 5, 4, 1)], ids=str)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("entry", ["loc", "scale", "inputs"])
def test_nan_and_infinity_do_not_spread_to_other_networks(
    sizes: tuple[int, ...], value: float, entry: str
) -> None:
    clean = problem(sizes, 7)
    spoilt = getattr(clean, entry).clone()
    spoilt[1].view(-1)[0] = value
    found, healthy = torch.stack(replace(clean, **{entry: spoilt}).moments()), clean.moments()
    assert not found[:, 1].isfinite().all()
    assert torch.equal(found[:, ::2], torch.stack(healthy)[:, ::2])


@pytest.mark.parametrize("entry", ["inputs", "targets"])
def test_a_diverged_network_does_not_affect_the_others(
    entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clean = problem((2, 5, 4, 1), 7)
    values = getattr(clean, entry).clone()
    values[1] *= 1e30
    given = replace(clean, **{entry: values})
    found, healthy = given.fit(), clean.fit()
    monkeypatch.setattr(networks, "has_native_code", lambda like: False)
    assert found.diverged.tolist() == given.fit().diverged.tolist() == [False, True, False]
    for name, value in healthy.state.items():
        assert torch.equal(found.state[name][::2], value[::2])
