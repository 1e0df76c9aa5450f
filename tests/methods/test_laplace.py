"""Laplace: exact for linear models, and every curvature against its definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from scipy.optimize import minimize_scalar
from support.linear_model import (
    ADAM_TO_CONVERGENCE,
    TAU,
    design,
    exact_log_evidence,
    exact_posterior,
    fit,
    linear_data,
)
from support.quick import slow_except
from support.user_errors import raises_user_error
from torch import Tensor

from bnnbench.likelihoods import Gaussian, Heteroscedastic, Likelihood
from bnnbench.losses import Beta
from bnnbench.methods import laplace
from bnnbench.methods.laplace import Laplace
from bnnbench.methods.shared import gauss_newton as curvatures
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.evidence import optimal_prior_precision
from bnnbench.methods.shared.gauss_newton import CURVATURES
from bnnbench.nn import MLP, forward
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet

LIKELIHOODS: list[Likelihood] = [Gaussian(), Gaussian(loss=Beta(beta=1.5)), Heteroscedastic()]
COUNTS = (14, 11)
structures = pytest.mark.parametrize("curvature", sorted(CURVATURES))
exact_structures = pytest.mark.parametrize(
    "curvature", slow_except(["full", "kronecker"], "kronecker")
)
likelihoods = pytest.mark.parametrize(
    "likelihood", LIKELIHOODS, ids=lambda c: c.label + c.loss.label
)


def method(curvature: str, **settings: Any) -> Laplace:
    return Laplace(label="l", curvature=curvature, **settings)


def padded_data() -> TrainingSet:
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(2, 14, 3, generator=generator, dtype=torch.float64)
    targets = inputs[..., 0].sin() + 0.1 * torch.randn(2, 14, generator=generator).double()
    real = torch.arange(14) < torch.tensor(COUNTS)[:, None]
    return TrainingSet(inputs * real[..., None], targets * real, COUNTS, (0, 0))


def small(fitted: Laplace, data: TrainingSet, depth: int = 2) -> Posterior:
    """Fit two networks with different hyper-parameters."""
    hyper = {"noise_precision": [[3.0], [8.0]], "prior_precision": [[0.5], [1.5]]}
    columns = {name: torch.tensor(hyper[name]).double() for name in fitted.hyper_names}
    training = Training(batch_size=8, dtype="float64")
    streams = Streams([1], data.groups, dtype=torch.float64)
    return fitted.fit(FitTask(data, columns, Network(4, depth), training, 20, streams))


def gauss_newton(fitted: Laplace, posterior: Posterior, data: TrainingSet, r: int) -> Tensor:
    """Return `sum_n J' C J` of a replica; Jacobians of mean and log noise scale by autograd."""
    mlp, inputs = posterior.mlp, data.inputs[r : r + 1, : data.counts[r]]
    hyper = {name: value[r : r + 1] for name, value in posterior.hyper.items()}

    def gaussians(w: Tensor) -> tuple[Tensor, Tensor]:
        prediction = fitted.likelihood.prediction(forward(mlp, w[None, None], inputs)[0], hyper)
        scale = (0.5 * prediction.noise.log()).expand(prediction.loc.shape)
        return prediction.loc[0, 0], scale[0, 0]

    w = posterior.state["loc"][r]
    precision = (-2 * gaussians(w)[1]).exp()
    total = torch.zeros(len(w), len(w)).double()
    jacobians = torch.autograd.functional.jacobian(gaussians, w)
    for jacobian, c in zip(jacobians, fitted.likelihood.loss.curvatures(precision), strict=True):
        total += jacobian.T @ (c.expand(len(jacobian))[:, None] * jacobian)
    return total


# --- the linear model -------------------------------------------------------------------------


@structures
def test_linear_model_has_the_exact_posterior(curvature: str) -> None:
    """`diagonal` has the diagonal of the exact precision."""
    mean, precision = exact_posterior()
    fitted = method(curvature)
    posterior = fit(fitted, 600, **ADAM_TO_CONVERGENCE)
    expected = torch.diag(precision.diagonal()) if curvature == "diagonal" else precision
    covariance = torch.linalg.inv(expected)
    torch.testing.assert_close(fitted.covariance(posterior)[0], covariance)
    loc, scale = fitted.moments(posterior)
    torch.testing.assert_close(loc[0], mean, atol=1e-3, rtol=0)
    torch.testing.assert_close(scale[0], covariance.diagonal().sqrt())
    prediction = fitted.predict(posterior, linear_data().inputs, 1, Streams([0], (0,)))
    expected = (design() @ covariance * design()).sum(1)
    torch.testing.assert_close(prediction.epistemic[0, 0], expected)
    torch.testing.assert_close(prediction.loc[0, 0], design() @ loc[0])
    torch.testing.assert_close(prediction.noise, torch.full((1, 1), 1 / TAU).double())


def best_prior(objective: Callable[[float], float]) -> float:
    found = minimize_scalar(
        lambda log: -objective(math.exp(log)), bounds=(-6, 6), options={"xatol": 1e-10}
    )
    return math.exp(found.x)


@pytest.mark.slow
@exact_structures
def test_prior_precision_maximises_the_evidence(curvature: str) -> None:
    """Training with the optimum returns it; other values give the optimum for other weights."""
    optimum = best_prior(exact_log_evidence)
    assert 0.5 < optimum < 10
    for initial in (optimum, 20.0):
        fitted = method(
            curvature, prior_precision_by="marginal_likelihood", initial_prior_precision=initial
        )
        posterior = fit(fitted, 600, **ADAM_TO_CONVERGENCE)
        chosen = posterior.hyper["prior_precision"].item()
        precision = TAU * design().T @ design() + chosen * torch.eye(3).double()
        covariance = fitted.covariance(posterior)[0]
        torch.testing.assert_close(covariance, torch.linalg.inv(precision))

        w = posterior.state["loc"][0]

        def evidence(prior: float, w: Tensor = w) -> float:
            """Return the log evidence at fixed weights, up to a constant."""
            matrix = TAU * design().T @ design() + prior * torch.eye(3).double()
            return (3 * math.log(prior) - prior * w @ w - matrix.logdet()).item() / 2

        assert chosen == pytest.approx(best_prior(evidence), rel=1e-5)
        assert (chosen == pytest.approx(optimum, rel=1e-3)) == (initial == optimum)


def test_prior_precision_is_bounded() -> None:
    eigenvalues = torch.tensor([[0.0, 0.0], [5.0, 9.0]]).double()
    square = torch.tensor([[2.0], [0.0]]).double()
    expected = torch.tensor([[1e-6], [1e6]]).double()
    torch.testing.assert_close(optimal_prior_precision(eigenvalues, square), expected)


# --- networks -----------------------------------------------------------------------------------


@likelihoods
def test_full_and_diagonal_match_the_jacobians(likelihood: Likelihood) -> None:
    data = padded_data()
    full = method("full", likelihood=likelihood)
    posterior = small(full, data)
    covariance = full.covariance(posterior)
    diagonal = method("diagonal", likelihood=likelihood)
    variances = diagonal.covariance(small(diagonal, data)).diagonal(dim1=1, dim2=2)
    for r, prior in enumerate((0.5, 1.5)):
        h = gauss_newton(full, posterior, data, r)
        assert h.diagonal().max() > 1
        expected = torch.linalg.inv(h + prior * torch.eye(len(h)).double())
        torch.testing.assert_close(covariance[r], expected)
        torch.testing.assert_close(variances[r], 1 / (h.diagonal() + prior))


@likelihoods
def test_kronecker_is_exact_by_layer_for_identical_rows(likelihood: Likelihood) -> None:
    """Then the mean of products equals the product of means."""
    data = padded_data()
    inputs, targets = (t[:, :1].expand_as(t).clone() for t in (data.inputs, data.targets))
    real = torch.arange(14) < torch.tensor(COUNTS)[:, None]
    identical = replace(data, inputs=inputs * real[..., None], targets=targets * real)
    fitted = method("kronecker", likelihood=likelihood)
    posterior = small(fitted, identical)
    covariance = fitted.covariance(posterior)
    sizes = posterior.mlp.sizes
    ends = torch.tensor([(i + 1) * o for i, o in pairwise(sizes)]).cumsum(0)
    layer = torch.bucketize(torch.arange(posterior.mlp.n_weights), ends, right=True)
    same_layer = layer[:, None] == layer
    for r, prior in enumerate((0.5, 1.5)):
        h = gauss_newton(fitted, posterior, identical, r) * same_layer
        expected = torch.linalg.inv(h + prior * torch.eye(len(h)).double())
        torch.testing.assert_close(covariance[r], expected)


@pytest.mark.parametrize(
    ("curvature", "last_layer"), [("diagonal", False), ("kronecker", False), ("full", True)]
)
def test_predictive_variance_and_samples_match_the_covariance(
    curvature: str, last_layer: bool
) -> None:
    """The variance is `g' covariance g`, with gradients g by autograd."""
    data = padded_data()
    fitted = method(curvature, last_layer=last_layer, likelihood=Heteroscedastic())
    posterior = small(fitted, data)
    covariance, inputs = fitted.covariance(posterior), data.inputs[:, :5]
    prediction = fitted.predict(posterior, inputs, 1, Streams([0], (0,)))

    def mean(w: Tensor) -> Tensor:
        return forward(posterior.mlp, w[None], inputs)[0][0, :, :, 0]

    jacobian = torch.autograd.functional.jacobian(mean, posterior.state["loc"])
    for r in range(2):
        g = jacobian[r, :, r]
        torch.testing.assert_close(prediction.epistemic[0, r], (g @ covariance[r] * g).sum(1))
    draws = fitted.sample_weights(posterior, 20_000, Streams([3], (0, 0), dtype=torch.float64))
    offsets = draws - posterior.state["loc"]
    assert ((offsets == 0).all(0) == (covariance.diagonal(dim1=1, dim2=2) == 0)).all()
    uncertain = (offsets[0, 0] != 0).nonzero()[:, 0]
    for r in range(2):
        root = torch.linalg.cholesky(covariance[r][uncertain][:, uncertain])
        white = torch.linalg.solve_triangular(root, offsets[:, r, uncertain].T, upper=False)
        # The standard error of an entry is 0.007 (0.01 on the diagonal).
        assert (white @ white.T / 20_000 - torch.eye(len(uncertain))).abs().max() < 0.05


def test_last_layer_is_bayesian_linear_regression_on_the_features() -> None:
    data, fitted = padded_data(), method("full", last_layer=True)
    posterior = small(fitted, data)
    chosen = method("full", last_layer=True, prior_precision_by="marginal_likelihood")
    own = small(chosen, data)
    for model, at in ((fitted, posterior), (chosen, own)):
        _, tape = forward(at.mlp, at.state["loc"][None], data.inputs)
        for r, count in enumerate(COUNTS):
            features = torch.cat([tape.layer_inputs[-1][r], torch.ones(14, 1).double()], 1)
            noise, prior = (at.hyper[f"{n}_precision"][r] for n in ("noise", "prior"))
            h = noise * features[:count].T @ features[:count]
            covariance = torch.linalg.inv(h + prior * torch.eye(5).double())
            torch.testing.assert_close(model.covariance(at)[r, -5:, -5:], covariance)
            if model is chosen:
                w = at.state["loc"][r, -5:]
                determined = 5 - prior * covariance.trace()
                torch.testing.assert_close(prior * w @ w, determined[0])


# --- implementation -----------------------------------------------------------------------------


@structures
def test_chunks_of_rows_and_matrices_give_the_same_result(
    curvature: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = padded_data()
    settings = {"prior_precision_by": "marginal_likelihood", "likelihood": Heteroscedastic()}
    fitted = method(curvature, **settings)
    whole = small(fitted, data)
    streams = Streams([0], (0,))
    predicted = fitted.predict(whole, data.inputs, 1, streams).epistemic
    monkeypatch.setattr(laplace, "MAX_ACTIVATIONS", 3 * whole.state["loc"].numel())
    monkeypatch.setattr(curvatures, "MAX_MATRIX_ELEMENTS", 1)
    chunked = small(fitted, data)
    for name, value in whole.state.items():
        torch.testing.assert_close(chunked.state[name], value)
    torch.testing.assert_close(
        fitted.predict(chunked, data.inputs, 1, streams).epistemic, predicted
    )


@pytest.mark.parametrize(
    ("curvature", "by"), [("full", "search"), ("kronecker", "marginal_likelihood")]
)
def test_a_replica_whose_curvature_overflows_has_diverged(curvature: str, by: str) -> None:
    data = padded_data()
    fitted = method(curvature, prior_precision_by=by)
    healthy = small(fitted, data)
    inputs = data.inputs.clone()
    inputs[1] *= 1e200
    sick = small(fitted, replace(data, inputs=inputs))
    assert sick.diverged.tolist() == [False, True]
    assert all(value.isfinite().all() for value in sick.state.values())
    for name, value in healthy.state.items():
        assert torch.equal(sick.state[name][0], value[0])


def test_too_large_full_matrices_are_refused_before_training() -> None:
    fitted, network = method("full"), Network(width=400)
    assert MLP.of(3, network).n_weights == 2001
    fitted.check_network(3, Network(width=399))
    method("full", last_layer=True).check_network(3, network)
    method("kronecker").check_network(3, network)
    task = FitTask(padded_data(), {}, network, Training(), 1, Streams([1], (0, 0)))
    with raises_user_error("method.curvature", mentions=["2000", "2001"]):
        fitted.fit(task)
