"""CAVI: the mean-field optimum of a linear model, convergence, and the ELBO."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
from support.linear_model import (
    LAMBDA,
    TAU,
    N,
    design,
    exact_log_evidence,
    exact_posterior,
    linear_data,
    linear_task,
    make_hyper,
)
from support.user_errors import raises_user_error
from torch.distributions import MultivariateNormal, kl_divergence

from bnnbench.methods.cavi import CAVI
from bnnbench.methods.shared.contract import Posterior
from bnnbench.random_streams import Streams
from bnnbench.settings import Network

METHOD = CAVI(label="cavi")


@cache
def fitted(epochs: int, seed: int = 1) -> Posterior:
    """Fit the linear model and record the objective."""
    task = linear_task(METHOD, epochs)
    streams = Streams([seed], (0,), dtype=torch.float64)
    return METHOD.fit(replace(task, streams=streams, trace_streams=Streams([0], (0,))))


def learned(posterior: Posterior) -> MultivariateNormal:
    loc = METHOD.moments(posterior)[0][0]
    return MultivariateNormal(loc, METHOD.covariance(posterior)[0])


def exact() -> MultivariateNormal:
    mean, precision = exact_posterior()
    return MultivariateNormal(mean, precision_matrix=precision)


def test_it_finds_the_mean_field_optimum() -> None:
    """Exact means, and deviations from the diagonal of the exact precision (Bishop, 10.1.2)."""
    mean, precision = exact_posterior()
    loc, scale = METHOD.moments(fitted(60))
    torch.testing.assert_close(loc[0], mean)
    torch.testing.assert_close(scale[0], precision.diagonal().rsqrt())
    assert (scale[0] < exact().stddev).all()


def test_one_sweep_by_hand() -> None:
    """Each weight solves its normal equation, given the current values of the others."""
    x, y = design(), linear_data().targets[0]
    loc = fitted(0).state["loc"][0].clone()
    for i in range(3):
        residual = y - x @ loc + x[:, i] * loc[i]
        loc[i] = TAU * x[:, i] @ residual / (TAU * x[:, i] @ x[:, i] + LAMBDA)
    torch.testing.assert_close(fitted(1).state["loc"][0], loc)


def test_the_objective_is_the_elbo_and_improves() -> None:
    """ELBO = log evidence - KL(q || posterior), eq. 3.6."""
    for epochs in (1, 2, 5):
        posterior = fitted(epochs)
        bound = -N * (posterior.trace["loss"] + posterior.trace["complexity"])[:, 0]
        gap = kl_divergence(learned(posterior), exact())
        torch.testing.assert_close(bound[-1], exact_log_evidence() - gap)
        assert (bound.diff() > 0).all()


def test_the_batch_size_has_no_effect() -> None:
    small = METHOD.fit(linear_task(METHOD, 3, batch_size=7))
    whole = METHOD.fit(linear_task(METHOD, 3))
    assert all(torch.equal(value, whole.state[name]) for name, value in small.state.items())


def test_predictives_are_exact() -> None:
    posterior = fitted(60)
    inputs = linear_data().inputs[:, :5]
    prediction = METHOD.predict(posterior, inputs, 1, Streams([0], (0,)))
    x = design()[:5]
    torch.testing.assert_close(prediction.loc[0, 0], x @ learned(posterior).mean)
    spread = (x @ METHOD.covariance(posterior)[0] * x).sum(1)
    torch.testing.assert_close(prediction.epistemic_variance()[0], spread)
    torch.testing.assert_close(prediction.noise_variance()[0], torch.full((5,), 1 / TAU).double())


def test_float32_data_are_fitted_in_float64() -> None:
    task = linear_task(METHOD, 4)
    data = replace(task.data, inputs=task.data.inputs.float(), targets=task.data.targets.float())
    hyper = {name: value.float() for name, value in make_hyper().items()}
    fit = METHOD.fit(replace(task, data=data, hyper=hyper))
    assert fit.state["loc"].dtype == torch.float64
    torch.testing.assert_close(fit.state["loc"], fitted(4).state["loc"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("depth", [1, 3])
def test_hidden_layers_are_refused(depth: int) -> None:
    METHOD.check_network(13, Network(depth=0))
    with raises_user_error("network.depth"):
        METHOD.check_network(13, Network(depth=depth))
    with raises_user_error("network.depth"):
        METHOD.fit(replace(linear_task(METHOD, 1), network=Network(depth=depth)))
