"""The data of Minka's experiment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bnnbench.suites.inference_toys.clutter.model import ClutterModel, simulate


@pytest.fixture
def minka_model() -> Callable[..., ClutterModel]:
    """Return a function of the number of observations and the seed of the data."""
    return lambda count=20, seed=0: ClutterModel(simulate(count, 2.0, 0.5, 10.0, seed)[0])


@pytest.fixture
def model(minka_model: Callable[..., ClutterModel]) -> ClutterModel:
    return minka_model()
