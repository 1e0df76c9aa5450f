"""PBP: updates against autograd, exact results and the equations of the book."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from support.pbp import random_state
from torch import Tensor

from bnnbench.checking.small_fits import COUNTS, GROUPS, SEEDS, training_set
from bnnbench.methods.pbp import PBP, incorporate, pack, refine_prior, scaled_linear
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.moment_propagation import Weights, forward, layers_of
from bnnbench.nn import MLP
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet


def unpack(mlp: MLP, state: dict[str, Tensor]) -> Weights:
    return layers_of(mlp, (state["loc"], state["var"]))


def log_z(weights: tuple, inputs: Tensor, targets: Tensor, noise: Tensor) -> Tensor:
    (loc, variance), _, _ = forward(weights, inputs, scaled_linear)
    total = variance + noise
    return -0.5 * ((targets - loc) ** 2 / total + total.log() + math.log(2 * math.pi))


@pytest.mark.parametrize("sizes", [(2, 1), (2, 4, 1), (2, 3, 4, 3, 1)])
def test_update_of_one_point_against_autograd(sizes: tuple[int, ...]) -> None:
    mlp = MLP(sizes)
    state = random_state(mlp)
    loc, var = state["loc"].requires_grad_(), state["var"].requires_grad_()
    inputs, targets = torch.randn(2, 1, 2).double(), torch.tensor([[3.0], [-1.0]]).double()
    value = log_z(unpack(mlp, state), inputs, targets, state["noise_beta"] / 5)
    g, h = torch.autograd.grad(value.sum(), (loc, var))
    expected = var - var**2 * (g**2 - 2 * h)
    assert (expected > 0).all()
    noise = (state["noise_alpha"], state["noise_beta"])
    new = pack(incorporate(unpack(mlp, state), noise, inputs, targets, torch.ones(2, 1) > 0)[0])
    torch.testing.assert_close(new["loc"], loc + var * g, rtol=1e-11, atol=1e-12)
    torch.testing.assert_close(new["var"], expected, rtol=1e-11, atol=1e-12)


def linear_case(rows: int) -> tuple[MLP, dict[str, Tensor], Tensor, Tensor, float]:
    """Return a linear model with a practically known noise variance of 0.25."""
    mlp = MLP((3, 1))
    state = random_state(mlp, replicas=1)
    state["noise_alpha"] = torch.full((1, 1), 1e12).double()
    state["noise_beta"] = 0.25 * (state["noise_alpha"] - 1)
    return mlp, state, torch.randn(1, rows, 3).double(), torch.randn(1, rows).double(), 0.25


def test_linear_update_is_the_exact_marginal_posterior() -> None:
    mlp, state, inputs, targets, noise = linear_case(1)
    design = torch.cat([inputs[0, 0], torch.ones(1)]) / 2  # sqrt(fan_in + 1)
    loc, prior = state["loc"][0], torch.diag(state["var"][0])
    total = design @ prior @ design + noise
    z = torch.distributions.Normal(design @ loc, total.sqrt()).log_prob(targets[0, 0])
    value = log_z(unpack(mlp, state), inputs, targets, torch.tensor(noise))
    torch.testing.assert_close(value[0, 0], z)
    gain = prior @ design / total
    covariance = prior - torch.outer(gain, design @ prior)
    pair = (state["noise_alpha"], state["noise_beta"])
    new = pack(incorporate(unpack(mlp, state), pair, inputs, targets, torch.ones(1, 1) > 0)[0])
    torch.testing.assert_close(new["loc"][0], loc + gain * (targets[0, 0] - design @ loc))
    torch.testing.assert_close(new["var"][0], covariance.diagonal())


def test_refinement_follows_the_equations_of_the_book() -> None:
    """Compares with scalars in the general form, which also stores the mean of every factor."""
    mlp = MLP((2, 3, 1))
    state = random_state(mlp, replicas=1)
    shifts = [0.0] * 13
    for _ in range(2):
        a, b = state["prior_alpha"].item(), state["prior_beta"].item()
        rows = torch.stack([state[n][0] for n in ("loc", "var", "factor_precision",
                                                  "factor_alpha", "factor_beta")], 1)  # fmt: skip
        expected = []
        for j, (m, v, p, fa, fb) in enumerate(rows.tolist()):
            vc, ac, bc = 1 / (1 / v - p), a - fa, b - fb
            if not (0 < vc < 1e6 and bc > 0 and ac > 1):
                expected.append([m, v, p, fa, fb])
                continue
            mc = (m / v - shifts[j]) * vc
            s = [vc + bc / (ac - 1 + i) for i in range(3)]
            k = [math.exp(-0.5 * mc**2 / t) / math.sqrt(t) for t in s]
            g, h = -mc / s[0], 0.5 * (mc**2 / s[0] ** 2 - 1 / s[0])
            m, v = mc + vc * g, vc - vc**2 * (g**2 - 2 * h)
            a = 1 / (k[0] * k[2] / k[1] ** 2 * (ac + 1) / ac - 1)
            b = 1 / (k[2] / k[1] * (ac + 1) / bc - k[1] / k[0] * ac / bc)
            shifts[j] = m / v - mc / vc
            expected.append([m, v, 1 / v - 1 / vc, a - ac, b - bc])
        state = refine_prior(state)
        got = torch.stack([state[n][0] for n in ("loc", "var", "factor_precision",
                                                 "factor_alpha", "factor_beta")], 1)  # fmt: skip
        torch.testing.assert_close(
            got, torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-9
        )
        assert [state["prior_alpha"].item(), state["prior_beta"].item()] == pytest.approx([a, b])


def test_a_batch_adds_the_natural_parameters_of_its_points() -> None:
    mlp = MLP((2, 4, 1))
    state = random_state(mlp)
    noise = (state["noise_alpha"], state["noise_beta"])
    inputs, targets = torch.randn(2, 3, 2).double(), torch.randn(2, 3).double()
    real = torch.tensor([[True, True, True], [True, True, False]])
    weights = unpack(mlp, state)
    precision, shift = 1 / state["var"], state["loc"] / state["var"]
    gamma = torch.cat(noise, 1)
    total = [precision.clone(), shift.clone(), gamma.clone()]
    for n in range(3):
        one = slice(n, n + 1)
        new, matched = incorporate(weights, noise, inputs[:, one], targets[:, one], real[:, one])
        flat = pack(new)
        total[0] += 1 / flat["var"] - precision
        total[1] += flat["loc"] / flat["var"] - shift
        total[2] += torch.cat(matched, 1) - gamma
    new, matched = incorporate(weights, noise, inputs, targets, real)
    flat = pack(new)
    torch.testing.assert_close(1 / flat["var"], total[0])
    torch.testing.assert_close(flat["loc"] / flat["var"], total[1])
    torch.testing.assert_close(torch.cat(matched, 1), total[2])


def fit(method: PBP, data: TrainingSet, depth: int = 1, epochs: int = 3) -> Posterior:
    streams = Streams(SEEDS, GROUPS, dtype=data.inputs.dtype)
    return method.fit(FitTask(data, {}, Network(width=5, depth=depth), Training(), epochs, streams))


@pytest.mark.parametrize(("depth", "batch_size"), [(0, 1), (1, 7), (3, 1)])
def test_any_depth_in_float64_from_float32(depth: int, batch_size: int) -> None:
    data = training_set()
    data = replace(data, inputs=data.inputs.float(), targets=data.targets.float())
    method = PBP(label="pbp", batch_size=batch_size)
    posterior = fit(method, data, depth)
    streams = Streams(SEEDS, GROUPS)
    prediction = method.predict(posterior, data.inputs, 9, streams)
    assert prediction.loc.dtype == torch.float64 and prediction.loc.shape == (1, 3, max(COUNTS))
    assert not posterior.diverged.any() and (prediction.epistemic > 0).all()
    assert (prediction.noise > 0).all() and prediction.noise.shape == (3, 1)


def test_adf_does_not_refine_prior_factors() -> None:
    refined, once = (
        fit(PBP(label="pbp", prior_update=update), training_set()).state for update in ("ep", "adf")
    )
    assert (once["prior_alpha"] == 6).all() and (once["factor_alpha"] == 0).all()
    assert (refined["prior_alpha"] > 6).all()
    assert not torch.equal(refined["loc"], once["loc"])


def test_number_of_parameters() -> None:
    assert PBP(label="pbp").n_parameters(MLP((2, 4, 1))) == 2 * (3 * 4 + 5)
