"""The data of the experiment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bnnbench.suites.inference_toys.maths import simulate_line
from bnnbench.suites.inference_toys.noise_precision.model import Belief, LinearModel

MakeModel = Callable[..., LinearModel]


@pytest.fixture
def prior() -> Belief:
    return Belief(2.0, 1.0, 0.0, 1.0)


@pytest.fixture
def make_model(prior: Belief) -> MakeModel:
    """Return a function of the number of rows and the seed."""
    return lambda rows=20, seed=0: LinearModel(*simulate_line(rows, 0.8, 4.0, seed), prior)


@pytest.fixture
def model(make_model: MakeModel) -> LinearModel:
    return make_model()
