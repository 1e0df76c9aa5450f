"""Likelihoods and losses: against autograd and integrals, and what methods learn with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from conftest import compose
from scipy import integrate, stats
from torch import Tensor

from bnnbench import metrics
from bnnbench.cli.configs import options
from bnnbench.cli.make import make
from bnnbench.experiment.protocol import final_fit
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.heteroscedastic import Heteroscedastic
from bnnbench.losses.base import Loss
from bnnbench.losses.beta import Beta
from bnnbench.losses.gamma import Gamma
from bnnbench.losses.nll import NLL
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.nn import MLP, forward, squared_backward
from bnnbench.random_streams import Streams
from bnnbench.results.calibration import coverage
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction, TrainingSet, UserError

LOSSES: list[Loss] = [NLL(), Beta(beta=1.5), Beta(beta=3.0), Gamma(gamma=1.5), Gamma(gamma=3.0)]
S, R, B = 3, 2, 6
HYPER = {"noise_precision": torch.tensor([[0.7], [6.0]]).double()}


def name_of(loss: Loss) -> str:
    return loss.label + "".join(str(getattr(loss, n, "")) for n in ("beta", "gamma"))


def likelihoods() -> list[Likelihood]:
    found = []
    for name in sorted(options("likelihood")):
        config = compose(f"likelihood={name}")["likelihood"]
        cls = type(make("likelihood", config))
        found += [cls(label=name, loss=loss) for loss in LOSSES]
    return found


def case(likelihood: Likelihood) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs, also far outside the bound of a log standard deviation, targets and weights."""
    torch.manual_seed(0)
    outputs = torch.randn(S, R, B, likelihood.outputs).double()
    outputs[0] *= 5
    return outputs, torch.randn(R, B).double(), torch.rand(R, B).double()


def each(values: list[Any]) -> Any:
    ids = [
        f"{v.label}-{name_of(v.loss)}" if isinstance(v, Likelihood) else name_of(v) for v in values
    ]
    return pytest.mark.parametrize("of", values, ids=ids)


@each(likelihoods())
def test_gradient_is_that_of_the_weighted_loss(of: Likelihood) -> None:
    outputs, targets, weights = case(of)
    outputs.requires_grad_()
    value = of.value(outputs, targets, HYPER)
    assert value.shape == (S, R, B)
    expected = torch.autograd.grad((weights * value).sum(), outputs)[0]
    ours = of.gradient(outputs.detach(), targets, weights, HYPER)
    torch.testing.assert_close(ours, expected, rtol=1e-9, atol=1e-12)


def integral(function: Callable[[float], float], mean: float, scale: float) -> float:
    return integrate.quad(function, mean - 40 * scale, mean + 40 * scale, points=[mean], limit=200)[
        0
    ]


@pytest.mark.parametrize(("mean", "target", "scale"), [(0.3, 0.1, 0.4), (-1.0, 2.0, 1.7)])
@each(LOSSES)
def test_loss_is_its_definition(of: Loss, mean: float, target: float, scale: float) -> None:
    density = stats.norm(mean, scale).pdf
    p = density(target)
    if isinstance(of, Beta):
        b = of.beta
        whole = integral(lambda y: density(y) ** b, mean, scale)
        expected = whole / b - p ** (b - 1) / (b - 1)
    elif isinstance(of, Gamma):
        g = of.gamma
        whole = integral(lambda y: density(y) ** g, mean, scale)
        expected = -g / (g - 1) * p ** (g - 1) / whole ** ((g - 1) / g)
    else:
        expected = -math.log(p)
    error, precision = torch.tensor([mean - target, scale**-2], dtype=torch.float64)
    assert of.value(error, precision).item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("make_loss", [lambda b: Beta(beta=b), lambda g: Gamma(gamma=g)])
def test_towards_one_a_loss_is_the_negative_log_likelihood(make_loss: Callable) -> None:
    torch.manual_seed(1)
    error, precision = torch.randn(20).double(), torch.rand(20).double() * 5
    near = 1 + 1e-6
    loss = make_loss(near)
    constant = 1 - 1 / (near - 1) if isinstance(loss, Beta) else -near / (near - 1)
    expected = NLL().value(error, precision)
    torch.testing.assert_close(loss.value(error, precision) - constant, expected, rtol=0, atol=1e-4)


@each(LOSSES)
def test_curvatures_are_expected_second_derivatives(of: Loss) -> None:
    """By integration over targets of the loss's Hessian in the mean and the log scale."""
    scale, errors = 0.6, torch.linspace(-7.2, 7.2, 961, dtype=torch.float64)
    at = [errors.clone(), torch.full_like(errors, math.log(scale))]
    for parameter in at:
        parameter.requires_grad_()
    value = of.value(at[0], (-2 * at[1]).exp()).sum()
    slopes = torch.autograd.grad(value, at, create_graph=True)
    density = stats.norm.pdf(errors, scale=scale)
    matrix = [
        [integrate.simpson(density * column.numpy(), x=errors) for column in row]
        for row in (torch.autograd.grad(s.sum(), at, retain_graph=True) for s in slopes)
    ]
    precision = torch.tensor(scale**-2, dtype=torch.float64)
    np.testing.assert_allclose(matrix, np.diag(of.curvatures(precision)), rtol=1e-8, atol=1e-9)


@each(likelihoods())
def test_curvature_roots_give_the_gauss_newton_diagonal(of: Likelihood) -> None:
    """Against Jacobians by autograd: `sum_b weights[b] sum_o c_o (d output_o / d w)^2`."""
    torch.manual_seed(2)
    mlp = MLP.of(2, Network(width=3), of.outputs)
    weights, inputs = torch.randn(1, 2, mlp.n_weights).double(), torch.randn(2, B, 2).double()
    rows = torch.rand(2, B).double()
    outputs, tape = forward(mlp, weights, inputs)
    roots = of.curvature_roots(outputs, rows, HYPER)
    ours = sum(squared_backward(tape, root) for root in roots)

    def gaussians(w: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the log scale that the loss sees."""
        prediction = of.prediction(forward(mlp, w, inputs)[0], HYPER)
        return prediction.loc, (0.5 * prediction.noise.log()).expand(prediction.loc.shape)

    precision = (-2 * gaussians(weights)[1]).exp()
    expected = torch.zeros_like(weights)
    jacobians = torch.autograd.functional.jacobian(gaussians, weights)
    for jacobian, curvature in zip(jacobians, of.loss.curvatures(precision), strict=True):
        # A network's outputs depend on its own weights only.
        squares = torch.stack([jacobian[0, r, :, 0, r].square() for r in range(2)])
        expected = expected + torch.einsum("rb,rbp->rp", rows * curvature[0], squares)
    torch.testing.assert_close(ours, expected)


@pytest.mark.parametrize("loss", LOSSES, ids=name_of)
@pytest.mark.parametrize("raw", [-1e4, -30.0, 30.0, 1e4])
def test_no_log_scale_overflows_float32_and_each_keeps_a_slope(raw: float, loss: Loss) -> None:
    of = Heteroscedastic(loss=loss)
    outputs = torch.tensor([1e3, raw]).expand(1, 1, 1, 2)
    gradient = of.gradient(outputs, torch.zeros(1, 1), torch.ones(1, 1), {})
    roots = of.curvature_roots(outputs, torch.ones(1, 1), {})
    noise = of.prediction(outputs, {}).noise
    for tensor in (gradient.square(), *(root.square() for root in roots), noise, 1 / noise):
        assert tensor.isfinite().all()
    if isinstance(loss, NLL):  # to a robust loss an error of 1000 says nothing
        slope = gradient[..., 1].item()
        assert (slope < 0) if noise < 1e6 else (slope > 0), "the noise must go to the error's size"


@each(LOSSES)
def test_only_the_negative_log_likelihood_listens_to_an_outlier(of: Loss) -> None:
    errors = torch.tensor([0.5, 50.0]).double()
    near, far = of.mean_slope(errors, torch.tensor(1.0).double(), torch.ones(2).double()).tolist()
    assert (far > 50 * near) if isinstance(of, NLL) else (0 <= far < 1e-6 * near)


# --- what methods make of them ---------------------------------------------------------------


def built(*overrides: str) -> Method:
    config = compose(*overrides)["method"]
    config.pop("protocol")
    return make("method", config)


def fit_and_predict(
    method: Method, inputs: Tensor, targets: Tensor, epochs: int, network: Network, **hyper: float
) -> Prediction:
    """Of the training inputs themselves, by one replica."""
    data = TrainingSet(inputs[None], targets[None], (len(targets),), (0,))
    columns = {name: torch.full((1, 1), hyper[name]).double() for name in method.hyper_names}
    training = Training(batch_size=50, samples=3, learning_rate=0.02, dtype="float64")
    streams = Streams([3], (0,), dtype=torch.float64)
    posterior = method.fit(FitTask(data, columns, network, training, epochs, streams))
    assert not posterior.diverged.any()
    return method.predict(posterior, data.inputs, 200, streams)


@pytest.mark.parametrize("method", ["bbb", "mc_dropout"])
def test_learnt_noise_follows_the_true_noise(method: str) -> None:
    """Its standard deviation grows eleven times from one end of the inputs to the other."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.linspace(-1.5, 1.5, 400).double()[:, None]
    scale = 0.2 * (0.8 * inputs[:, 0]).exp()
    targets = 0.5 * inputs[:, 0] + scale * torch.randn(400, generator=generator).double()
    prediction = fit_and_predict(
        built(f"method={method}", "likelihood=heteroscedastic"),
        inputs, targets, 150, Network(width=20), prior_precision=1.0, dropout=0.002,
    )  # fmt: skip
    learnt = prediction.noise_variance()[0].sqrt()
    ratios = torch.stack([part.mean() for part in (learnt / scale).chunk(4)])
    assert ratios.min() > 0.75 and ratios.max() < 1.35
    assert np.corrcoef(learnt.log(), scale.log())[0, 1] > 0.95


@pytest.mark.parametrize("likelihood", ["gaussian", "heteroscedastic"])
@pytest.mark.parametrize("loss", ["beta", "gamma"])
@pytest.mark.parametrize("method", ["vadam", "vprop", "bbb", "practical_vi", "mc_dropout"])
def test_robust_losses_ignore_gross_outliers(method: str, loss: str, likelihood: str) -> None:
    """A line through 200 points, one in ten of them shifted by 4 standard deviations."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(200, 1, generator=generator).double()
    line = 0.7 * inputs[:, 0]
    targets = line + 0.3 * torch.randn(200, generator=generator).double()
    targets[::10] += 4
    hyper = {"noise_precision": 10.0, "prior_precision": 1.0, "dropout": 0.001}
    off = {}
    for choice in ("nll", loss):
        chosen = built(f"method={method}", f"likelihood={likelihood}", f"loss={choice}")
        prediction = fit_and_predict(chosen, inputs, targets, 200, Network(depth=0), **hyper)
        off[choice] = (prediction.mean()[0] - line).square().mean().sqrt().item()
    assert off[loss] < 0.12 < 0.3 < off["nll"]


@pytest.mark.parametrize("likelihood", sorted(options("likelihood")))
@pytest.mark.parametrize("loss", sorted(options("loss")))
@pytest.mark.parametrize(
    "method", [*sorted(options("method")), "practical_vi method.curvature=gauss_newton"]
)
def test_contract(tiny_plan: Any, method: str, likelihood: str, loss: str) -> None:
    """Every method takes every pair, or says in one sentence that it does not."""
    overrides = [*f"method={method}".split(), f"likelihood={likelihood}", f"loss={loss}"]
    if method.startswith("pbp") and (likelihood, loss) != ("gaussian", "nll"):
        with pytest.raises(UserError, match=f"likelihood={likelihood} with loss={loss}.*pbp"):
            tiny_plan(*overrides)
        return
    plan = tiny_plan(*overrides)
    searched = [dimension.name for dimension in plan.space]
    assert ("noise_precision" in searched) == (
        likelihood == "gaussian" and not method.startswith("pbp")
    )
    assert searched == list(plan.method.hyper_names)
    assert (plan.likelihood, plan.loss) == (likelihood, loss)
    values = {d.name: math.sqrt(d.low * d.high) for d in plan.space}
    splits = plan.table.splits[:2]
    for outcome in final_fit(plan, splits, [values] * 2):
        assert not outcome.diverged and all(map(math.isfinite, outcome.scores.values()))
        noise = outcome.predictions["noise_variance"]
        assert noise.shape == outcome.predictions["mean"].shape and (noise > 0).all()
        assert (np.ptp(noise) > 0) == (likelihood == "heteroscedastic")


def test_plain_runs_keep_their_identity_and_others_have_their_own(tiny_plan: Any) -> None:
    plain = tiny_plan("method=bbb")
    assert "likelihood" not in plain.identity["method"]
    assert not {"likelihood", "loss"} & plain.identity.keys()
    others = [["likelihood=heteroscedastic"], ["loss=beta"], ["loss=beta", "loss.beta=1.2"],
              ["loss=gamma"]]  # fmt: skip
    folders = [tiny_plan("method=bbb", *more).folder.root.name for more in others]
    assert len({plain.folder.root.name, *folders}) == 5
    assert "-kl-heteroscedastic-nll-seed0-" in folders[0]


# --- scores with a noise of its own for every sample and point -------------------------------

RNG = np.random.default_rng(4)
LOC, NOISE = RNG.normal(size=(5, 1, 4)), RNG.uniform(0.05, 2, size=(5, 1, 4))
TARGETS = RNG.normal(size=4)


def mixture() -> tuple[Prediction, Tensor, Tensor]:
    loc, noise = torch.from_numpy(LOC), torch.from_numpy(NOISE)
    prediction = Prediction(loc, torch.zeros(1, 1, 1).double(), noise)
    return prediction, torch.from_numpy(TARGETS)[None], torch.ones(1, 4, dtype=torch.bool)


def test_aleatoric_and_epistemic_make_the_total() -> None:
    """The variance of the mixture, by its second moment, in any unit."""
    moved = mixture()[0].rescaled(torch.tensor([[7.0]]).double(), torch.tensor([[30.0]]).double())
    for prediction, shift, scale in ((mixture()[0], 0.0, 1.0), (moved, 7.0, 30.0)):
        loc, noise = shift + scale * LOC[:, 0], scale**2 * NOISE[:, 0]
        total = (loc**2 + noise).mean(0) - loc.mean(0) ** 2
        parts = prediction.epistemic_variance() + prediction.noise_variance()
        np.testing.assert_allclose(parts[0], total, rtol=1e-12)


def test_scores_use_each_components_own_noise() -> None:
    loc, scale = LOC[:, 0], NOISE[:, 0] ** 0.5
    density = stats.norm.pdf(TARGETS, loc, scale)
    total = loc.var(0) + (scale**2).mean(0)

    def squared_error(x: float, m: int) -> float:
        return (stats.norm.cdf(x, loc[:, m], scale[:, m]).mean() - (x >= TARGETS[m])) ** 2

    crps = [
        integrate.quad(squared_error, -20, TARGETS[m], args=(m,))[0]
        + integrate.quad(squared_error, TARGETS[m], 20, args=(m,))[0]
        for m in range(4)
    ]
    expected = {
        "rmse": np.sqrt(np.mean((TARGETS - loc.mean(0)) ** 2)),
        "log_likelihood": np.log(density.mean(0)).mean(),
        "log_likelihood_joint": np.log(density.prod(1).mean()) / 4,
        "log_likelihood_gaussian": stats.norm.logpdf(TARGETS, loc.mean(0), total**0.5).mean(),
        "crps": np.mean(crps),
    }
    ours = {name: metric(*mixture()).item() for name, metric in metrics.METRICS.items()}
    assert ours == pytest.approx(expected, rel=1e-6)


def test_calibration_uses_each_points_own_noise() -> None:
    """Intervals of the true, varying noise hold what they say; of its mean alone they do not."""
    rng = np.random.default_rng(5)
    variance = rng.choice([0.01, 4.0], size=20_000)
    points = pd.DataFrame({
        "target": rng.normal(0, variance**0.5),
        "mean": 0.0,
        "epistemic_variance": 0.0,
        "noise_variance": variance,
    })  # fmt: skip
    levels = np.array([0.5, 0.9])
    np.testing.assert_allclose(coverage(points, levels), levels, atol=0.015)
    same = points.assign(noise_variance=variance.mean())
    assert np.abs(coverage(same, levels) - levels).max() > 0.1
