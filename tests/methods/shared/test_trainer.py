"""Defaults of stochastic methods."""

from __future__ import annotations

import pytest
import torch
from support.methods import METHODS, Case, class_of, takes_likelihood
from support.quick import slow_except
from support.user_errors import raises_user_error

from bnnbench.checking.small_fits import small_task, training_set
from bnnbench.likelihoods import Heteroscedastic
from bnnbench.methods.map import MAP
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.random_streams import Streams

WITH_LIKELIHOOD = [option for option in METHODS if takes_likelihood(class_of(option))]


@pytest.mark.parametrize("option", slow_except(WITH_LIKELIHOOD, "bbb", "sgld", "svgd"))
def test_heteroscedastic_networks_have_no_noise_precision(option: str) -> None:
    config = Case(option).method
    with raises_user_error("method.noise_precision", "likelihood"):
        type(config)(**{**vars(config), "likelihood": Heteroscedastic(), "noise_precision": 3})


def test_the_default_complexity_is_zero() -> None:
    method, data = MAP(label="map"), training_set()
    posterior = method.fit(small_task(method, data))
    streams = Streams([1, 2], data.groups)
    assert (method.complexity(posterior, streams) > 0).all()
    added = StochasticMethod.complexity(method, posterior, streams)
    assert torch.equal(added, torch.zeros(data.replicas).double())
