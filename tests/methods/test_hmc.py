"""HMC: posteriors in closed form or on a grid, simulation-based calibration, settings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from support.linear_model import LAMBDA, TAU, N, design, exact_posterior, linear_data, make_hyper
from support.quick import slow_except
from support.user_errors import raises_user_error
from torch import Tensor

from bnnbench.likelihoods import Gaussian
from bnnbench.losses import Beta
from bnnbench.methods.hmc import HMC
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.hmc.network import PrecisionPrior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

ROBUST = Gaussian(loss=Beta(beta=1.3))


def method(**settings: Any) -> HMC:
    known = {"noise_precision": None, "prior_precision": None, "max_leapfrogs": 100,
             "trajectory_quarter_periods": 1.0}  # fmt: skip
    return HMC(label="hmc", **{**known, **settings})


def fit(
    own: HMC,
    data: TrainingSet,
    epochs: int,
    network: Network | None = None,
    dtype: str = "float64",
    seeds: tuple[int, ...] = (1,),
) -> Posterior:
    kind = getattr(torch, dtype)
    hyper = {name: make_hyper()[name].to(kind).expand(data.replicas, 1) for name in own.hyper_names}
    given = TrainingSet(data.inputs.to(kind), data.targets.to(kind), data.counts, data.groups)
    streams = Streams([*seeds], data.groups, dtype=kind)
    training = Training(dtype=dtype, batch_size=N)
    return own.fit(FitTask(given, hyper, network or Network(depth=0), training, epochs, streams))


LINEAR: dict[str, tuple[dict[str, Any], str]] = {
    "torch": ({}, "float64"),
    "native": ({}, "float32"),
    "identity": ({"metric": "identity"}, "float32"),
    "chees": ({"trajectory": "chees"}, "float64"),
    "from map": ({"init_from": "map", "map_steps": 50}, "float32"),
}


@pytest.mark.parametrize("name", slow_except(LINEAR, "native"))
def test_it_finds_the_exact_posterior_of_a_linear_model(name: str) -> None:
    """Compares mean and covariance; float32 uses native code if available."""
    settings, dtype = LINEAR[name]
    mean, precision = exact_posterior()
    own = method(chains=60, warm_up=60, **settings)
    draws = fit(own, linear_data(), 140, dtype=dtype).state["chain"][0].double()
    deviations = precision.inverse().diagonal().sqrt()
    torch.testing.assert_close(draws.mean(0) / deviations, mean / deviations, atol=0.06, rtol=0)
    root = torch.linalg.cholesky(precision)
    whitened = root.T @ draws.T.cov() @ root
    torch.testing.assert_close(whitened, torch.eye(3).double(), atol=0.08, rtol=0)


def evidence(tau: Tensor, prior: Tensor) -> Tensor:
    """Return `log Normal(y; 0, I / tau + X X' / prior)` for the linear model."""
    values, vectors = torch.linalg.eigh(design() @ design().T)
    square = (vectors.T @ linear_data().targets[0]).square()
    variances = 1 / tau[..., None] + values.clamp(min=0) / prior[..., None]
    return -0.5 * (variances.log() + square / variances).sum(-1)


@pytest.mark.slow
def test_sampled_precisions_match_a_grid() -> None:
    gammas = {"noise_gamma": (2.0, 1.0), "prior_gamma": (2.0, 2.0)}
    own = method(
        noise_precision="sampled", prior_precision="sampled", chains=60, warm_up=60, **gammas
    )
    assert own.hyper_names == ()
    state = fit(own, linear_data(), 160).state
    grid = torch.linspace(-4, 4, 240).double().exp()
    tau, prior = torch.meshgrid(grid, grid, indexing="ij")
    weight = evidence(tau, prior)
    for value, (shape, rate) in zip((tau, prior), gammas.values(), strict=True):
        weight = weight + shape * value.log() - rate * value  # a grid of logarithms
    weight = weight.flatten().softmax(0).view_as(tau)
    for name, value in (("noise_precision", tau), ("prior_precision", prior)):
        log, drawn = value.log(), state[name][0].log()
        mean = (weight * log).sum()
        deviation = (weight * (log - mean).square()).sum().sqrt()
        assert abs(drawn.mean() - mean) < 0.08 * deviation, name
        assert drawn.std().item() == pytest.approx(deviation.item(), rel=0.08), name


@pytest.mark.slow
def test_a_network_with_one_unit_matches_a_grid() -> None:
    """The output weights are integrated in closed form, the unit's weight and bias on a grid.

    The data are weak, so that chains can change the sign of the unit's weight.
    """
    x = torch.linspace(-2, 2, 7).double()
    y = (0.5 * x).clamp(min=0) - 0.2
    places = torch.tensor([-1.5, 0.3, 1.0, 2.5]).double()
    grid = torch.linspace(-4, 4, 121).double()
    w, b = (part.flatten() for part in torch.meshgrid(grid, grid, indexing="ij"))
    rows, new = (
        torch.stack([h := (w[:, None] * at + b[:, None]).clamp(min=0), torch.ones_like(h)], 2)
        for at in (x, places)
    )
    precision = TAU * rows.mT @ rows + LAMBDA * torch.eye(2).double()
    pull = TAU * (rows * y[:, None]).sum(1)
    mean = torch.linalg.solve(precision, pull)
    log = 0.5 * (pull * mean).sum(1) - 0.5 * torch.logdet(precision)
    weight = (log - 0.5 * LAMBDA * (w**2 + b**2)).softmax(0)[:, None]
    center = (new * mean[:, None]).sum(2)
    spread = (new * torch.linalg.solve(precision[:, None], new[..., None])[..., 0]).sum(2)
    expected = (weight * center).sum(0)
    variance = (weight * (spread + center**2)).sum(0) - expected**2

    data = TrainingSet(x[None, :, None], y[None], (7,), (0,))
    own = method(chains=50, warm_up=60, max_leapfrogs=20)
    posterior = fit(own, data, 180, Network(width=1))
    streams = Streams([1], (0,), dtype=torch.float64)
    found = own.predict(posterior, places[None, :, None], 10**6, streams)
    deviation = variance.sqrt()
    apart = (found.mean()[0] - expected) / deviation
    assert apart.abs().max() < 0.12
    ratio = found.epistemic_variance()[0].sqrt() / deviation
    torch.testing.assert_close(ratio, torch.ones(4).double(), atol=0.12, rtol=0)


def ranks(simulations: int, network: Network, rows: int, epochs: int) -> Tensor:
    """Return the ranks of prior draws among 19 posterior draws, `[R, 3]`.

    The columns are noise precision, prior precision and the network's output at a new input.
    """
    gamma, generator = (4.0, 4.0), torch.Generator().manual_seed(11)
    own = method(
        noise_precision="sampled", prior_precision="sampled", noise_gamma=gamma, prior_gamma=gamma,
        chains=1, warm_up=epochs // 2,
    )  # fmt: skip
    law = torch.distributions.Gamma(*(torch.tensor(v).double() for v in gamma))
    with torch.random.fork_rng():
        torch.manual_seed(12)
        tau, prior = law.sample((2, simulations))
    x = torch.randn(simulations, rows + 1, 2, generator=generator, dtype=torch.float64)
    task = FitTask(
        TrainingSet(x, x[..., 0], (rows + 1,) * simulations, tuple(range(simulations))), {},
        network, Training(dtype="float64"), 1, Streams([0], (0,)),
    )  # fmt: skip
    weights = torch.randn(
        1, simulations, task.mlp.n_weights, generator=generator, dtype=torch.float64
    )
    from bnnbench.nn import forward

    outputs = forward(task.mlp, weights * prior.rsqrt()[:, None], x)[0][0, ..., 0]
    noise = torch.randn(simulations, rows + 1, generator=generator, dtype=torch.float64)
    y = outputs + noise * tau.rsqrt()[:, None]
    counts, groups = (rows,) * simulations, tuple(range(simulations))
    data = TrainingSet(x[:, :rows], y[:, :rows], counts, groups)
    posterior = fit(own, data, epochs, network, seeds=tuple(range(simulations)))
    some = torch.linspace(0, posterior.state["chain"].shape[1] - 1, 19).long()
    predicted = forward(task.mlp, posterior.state["chain"][:, some].transpose(0, 1), x[:, rows:])
    drawn = torch.stack([
        posterior.state["noise_precision"][:, some],
        posterior.state["prior_precision"][:, some],
        predicted[0][..., 0, 0].T,
    ], 2)  # fmt: skip
    truth = torch.stack([tau, prior, outputs[:, -1]], 1)
    return (drawn < truth[:, None]).sum(1)


def assert_uniform(found: Tensor) -> None:
    """Test each column with a chi-squared test on five bins of the 20 ranks."""
    for column in found.T:
        counts = np.bincount((column // 4).numpy(), minlength=5)
        assert stats.chisquare(counts).pvalue > 1e-3, counts


@pytest.mark.slow
def test_simulation_based_calibration_of_a_network() -> None:
    assert_uniform(ranks(500, Network(width=4), rows=12, epochs=800))


def test_gamma_samples_are_quantiles_of_uniform_numbers() -> None:
    uniform = torch.linspace(0, 0.99, 12).double().view(3, 4)
    parts = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0)).double()
    count = torch.tensor([5.0, 6.0, 7.0, 8.0])
    found = PrecisionPrior(1, 1.5, 0.2, count).sample(parts, uniform)
    shape = (1.5 + count.double() / 2).expand(3, 4)
    expected = stats.gamma.ppf(uniform + 2.0**-25, shape, scale=1 / (0.2 + parts[1]))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)


def test_kept_draws_and_predictions() -> None:
    """Warm-up takes at most half; each network has the noise precision of its draw."""
    own = method(noise_precision="sampled", chains=3, warm_up=50)
    posterior = fit(own, linear_data(), 9)
    assert posterior.state["chain"].shape == (1, 15, 3)  # 4 to warm up and 5 kept
    assert posterior.state["noise_precision"].shape == (1, 15)
    streams = Streams([1], (0,), dtype=torch.float64)
    found = own.predict(posterior, linear_data().inputs, 100, streams)
    assert found.loc.shape == (15, 1, N)
    torch.testing.assert_close(found.noise[:, 0, 0], 1 / posterior.state["noise_precision"][0])
    some = own.predict(posterior, linear_data().inputs, 5, streams)
    torch.testing.assert_close(some.loc, found.loc[1::3])
    assert own.sample_weights(posterior, 5, streams).shape == (5, 1, 3)
    diagnosis = own.diagnose(posterior, linear_data().inputs, [N])
    assert diagnosis.points["r_hat"].shape == (1, N) and diagnosis.summary["r_hat"].shape == (1,)
    assert {"acceptance", "divergences", "leapfrogs", "step_size"} <= posterior.diagnostics.keys()


@pytest.mark.parametrize(
    ("settings", "name", "code"),
    [
        ({"trajectory": "chees", "chains": 1}, "chains", None),
        ({"noise_precision": "sampled", "likelihood": ROBUST}, "noise_precision", "loss"),
    ],
)
def test_invalid_settings(settings: dict[str, Any], name: str, code: str | None) -> None:
    with raises_user_error(f"method.{name}", code):
        method(**settings)


class OwnGaussian(Gaussian):
    """A likelihood with another density."""

    def gradient(self, *given: Any) -> Any:
        return 2 * super().gradient(*given)


@pytest.mark.parametrize(
    ("likelihood", "reason"),
    [
        (OwnGaussian(), "OwnGaussian.gradient"),
        (Gaussian(loss=Beta(label="beta", beta=1.5)), "loss"),
    ],
)
def test_a_sampled_noise_needs_a_gaussian_density(likelihood: Gaussian, reason: str) -> None:
    """The error names the replacement."""
    with raises_user_error("method.noise_precision", "loss", [reason]):
        HMC(label="hmc", likelihood=likelihood)
    HMC(label="hmc", likelihood=likelihood, noise_precision=5.0)
