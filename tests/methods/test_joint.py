"""Joint predictions: covariances against definitions, and draws that are functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.linear_model import BayesianRidge
from support.linear_model import ADAM_TO_CONVERGENCE, exact_posterior, fit
from support.methods import METHODS, Case, build_method
from support.quick import slow_except
from support.tables import standardised
from torch import Tensor

from bnnbench.methods.gp import GP
from bnnbench.methods.laplace import Laplace
from bnnbench.methods.last_layer import LastLayer
from bnnbench.methods.linear import Linear
from bnnbench.methods.shared.contract import (
    COVARIANCE,
    DRAWS,
    MARGINALS,
    FitTask,
    Method,
    Posterior,
)
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction, TrainingSet

RNG = np.random.default_rng(0)
INPUTS = [RNG.normal(size=(n, 3)) for n in (30, 24)]
TARGETS = [np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * RNG.normal(size=len(x)) for x in INPUTS]
NEW = torch.from_numpy(RNG.normal(size=(2, 6, 3)))

NOT_DRAWS = {
    "gp": COVARIANCE, "linear": COVARIANCE, "cavi": COVARIANCE, "laplace": COVARIANCE,
    "pbp": MARGINALS, "dvi": MARGINALS, "boosting": MARGINALS, "sklearn": MARGINALS,
    "tagi": MARGINALS, "tagi_2024": MARGINALS, "tagi_v_2024": MARGINALS,
    "tagi_v_gains_2024": MARGINALS, "laplace_evidence": COVARIANCE, "last_layer": COVARIANCE,
}  # fmt: skip


def fitted(method: Method, depth: int = 0) -> tuple[Posterior, TrainingSet, Streams]:
    """Fit two replicas of different size, in float64."""
    data, _ = standardised(INPUTS, TARGETS, (0, 1))
    streams = Streams([1, 2], (0, 1), "cpu", torch.float64)
    values = {"noise_precision": 5.0, "prior_precision": 0.5, "dropout": 0.1}
    hyper = {name: torch.full((2, 1), values[name]).double() for name in method.hyper_names}
    training = Training(batch_size=10, samples=2, dtype="float64", epochs=20)
    task = FitTask(data, hyper, Network(width=4, depth=depth), training, 20, streams)
    return method.fit(task), data, streams


def predictions(method: Method, posterior: Posterior, streams: Streams, new: Tensor) -> Prediction:
    return method.predict(posterior, new, 8, streams)


@pytest.mark.parametrize(
    ("method", "depth"),
    [
        (Linear(label="linear"), 0),
        (GP(label="gp", kernel_rows=20), 0),
        (LastLayer(label="last_layer"), 1),
        *(
            (Laplace(label="laplace", curvature=curvature, last_layer=last_layer), 1)
            for curvature, last_layer in (("diagonal", False), ("kronecker", True), ("full", False))
        ),
    ],
    ids=str,
)
def test_the_diagonal_is_the_epistemic_variance(method: Method, depth: int) -> None:
    posterior, _, streams = fitted(method, depth)
    covariance = method.joint_covariance(posterior, NEW)
    assert method.joint == COVARIANCE and covariance.shape == (2, 6, 6)
    variance = predictions(method, posterior, streams, NEW).epistemic_variance()
    assert torch.allclose(covariance.diagonal(dim1=1, dim2=2), variance.double(), rtol=1e-8)
    assert (torch.linalg.eigvalsh(covariance) > -1e-10).all()
    assert torch.equal(covariance, covariance.mT)


def test_a_last_layer_in_float32_has_a_covariance_in_float64() -> None:
    method = LastLayer(label="last_layer")
    posterior, _, _ = fitted(method, depth=1)
    rounded = replace(posterior, state={n: v.float() for n, v in posterior.state.items()})
    covariance = method.joint_covariance(rounded, NEW)
    torch.testing.assert_close(
        covariance, method.joint_covariance(posterior, NEW), rtol=1e-4, atol=1e-6
    )


def test_covariance_of_the_linear_model_is_that_of_the_conjugate_posterior() -> None:
    method = Linear(label="linear")
    posterior, data, _ = fitted(method)
    covariance = method.joint_covariance(posterior, NEW)
    for r, count in enumerate(data.counts):
        x = data.inputs[r, :count].numpy()
        ridge = BayesianRidge().fit(x, data.targets[r, :count].numpy())
        centred = x - x.mean(0)
        precision = ridge.alpha_ * centred.T @ centred + ridge.lambda_ * np.eye(3)
        new = NEW[r].numpy() - x.mean(0)
        exact = new @ np.linalg.inv(precision) @ new.T
        np.testing.assert_allclose(covariance[r], exact, rtol=1e-10)


def test_covariance_of_a_gaussian_process_equals_scikit_learn() -> None:
    method = GP(label="gp", kernel_rows=20)
    posterior, data, _ = fitted(method)
    covariance = method.joint_covariance(posterior, NEW)
    for r, count in enumerate(data.counts):
        signal, noise, *scales = posterior.state["kernel"][r].tolist()
        kernel = ConstantKernel(signal) * Matern(scales, nu=2.5) + WhiteKernel(noise)
        process = GaussianProcessRegressor(kernel, alpha=1e-10, optimizer=None)
        process.fit(data.inputs[r, :count].numpy(), data.targets[r, :count].numpy())
        _, exact = process.predict(NEW[r].numpy(), return_cov=True)
        np.testing.assert_allclose(covariance[r], exact - noise * np.eye(6), atol=1e-8)


def test_laplace_is_exact_for_a_linear_model() -> None:
    method = Laplace(label="laplace", curvature="kronecker")
    posterior = fit(method, 600, **ADAM_TO_CONVERGENCE)
    new = NEW[:1, :, :2]
    rows = torch.cat([new[0], torch.ones(6, 1).double()], 1)
    exact = rows @ torch.linalg.inv(exact_posterior()[1]) @ rows.T
    assert torch.allclose(method.joint_covariance(posterior, new)[0], exact, rtol=1e-6)


@pytest.mark.parametrize("name", slow_except(METHODS, "bbb", "gp", "hmc", "linear", "swag"))
def test_draws_are_functions(name: str) -> None:
    """Without hidden layers, every network is linear, so its outputs at a midpoint are means."""
    method = build_method(Case(name))
    assert method.joint == NOT_DRAWS.get(name, DRAWS)
    if name in NOT_DRAWS:
        return
    posterior, _, streams = fitted(method)
    ends = NEW[:, :2]
    rows = torch.cat([ends, ends.mean(1, keepdim=True)], 1)
    loc = predictions(method, posterior, streams, rows).loc
    assert torch.allclose(loc[..., 2], loc[..., :2].mean(-1), rtol=1e-6, atol=1e-6)
