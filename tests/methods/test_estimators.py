"""Methods that fit scikit-learn estimators, against the estimators' own predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import BayesianRidge
from support.tiny_runs import finished
from support.user_errors import raises_user_error

from bnnbench.methods.boosting import Boosting
from bnnbench.methods.gp import GP
from bnnbench.methods.linear import Linear
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.preprocessing import standardise
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction

RNG = np.random.default_rng(0)
COUNTS = (60, 45)
INPUTS = [RNG.normal(size=(n, 3)) for n in COUNTS]
TARGETS = [np.sin(x[:, 0]) + 0.5 * x[:, 1] + 0.1 * RNG.normal(size=len(x)) for x in INPUTS]
NEW = RNG.normal(size=(20, 3))


def predicted(method: Method) -> tuple[Prediction, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """Return predictions for two replicas, with inputs, targets and new inputs of each."""
    data, scaler = standardise(INPUTS, TARGETS, (0, 1), torch.device("cpu"), torch.float64)
    streams = Streams([1, 2], (0, 1), "cpu", torch.float64)
    task = FitTask(data, {}, Network(depth=0), Training(), 1, streams)
    new = scaler.inputs([NEW, NEW])
    posterior = method.fit(task)
    assert not posterior.diverged.any()
    given = [
        (data.inputs[r, :n].numpy(), data.targets[r, :n].numpy(), new[r].numpy())
        for r, n in enumerate(COUNTS)
    ]
    return method.predict(posterior, new, 1, streams), given


def test_linear_equals_scikit_learn() -> None:
    prediction, given = predicted(Linear(label="linear"))
    for r, (x, y, new) in enumerate(given):
        mean, deviation = BayesianRidge().fit(x, y).predict(new, return_std=True)
        np.testing.assert_allclose(prediction.loc[0, r], mean, rtol=1e-10)
        np.testing.assert_allclose(prediction.variance[0, r].sqrt(), deviation, rtol=1e-10)


def test_gp_equals_scikit_learn() -> None:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    method = GP(label="gp", kernel_rows=40)
    prediction, given = predicted(method)
    noise = prediction.noise[:, 0]
    for r, (x, y, new) in enumerate(given):
        some = np.linspace(0, len(x) - 1, 40).astype(int)
        start = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(np.full(3, 3.0), (0.1, 1e3), nu=2.5)
        kernel = GaussianProcessRegressor(start + WhiteKernel(0.1, (1e-4, 1e1)))
        fixed = kernel.fit(x[some], y[some]).kernel_
        whole = GaussianProcessRegressor(fixed, optimizer=None).fit(x, y)
        mean, deviation = whole.predict(new, return_std=True)
        np.testing.assert_allclose(prediction.loc[0, r], mean, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(prediction.variance[0, r].sqrt(), deviation, rtol=1e-5)
        np.testing.assert_allclose(noise[r], fixed.k2.noise_level)


def test_gp_has_a_maximum_number_of_rows(tiny: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert GP.max_rows == 2000
    monkeypatch.setattr(GP, "max_rows", 10)
    with raises_user_error("method", "too_many_rows"):
        tiny("method=gp")


def test_boosting_equals_scikit_learn() -> None:
    method = Boosting(label="boosting", quantiles=3, iterations=20, min_samples_leaf=5)
    prediction, given = predicted(method)
    for r, (x, y, new) in enumerate(given):
        theirs = [
            HistGradientBoostingRegressor(
                loss="quantile", quantile=level, max_iter=20, max_leaf_nodes=15,
                min_samples_leaf=5, early_stopping=False,
            ).fit(x, y).predict(new)
            for level in (1 / 6, 3 / 6, 5 / 6)
        ]  # fmt: skip
        np.testing.assert_allclose(prediction.loc[0, r], np.mean(theirs, 0), rtol=1e-10)
        extra = prediction.noise[0, r].numpy() - np.var(theirs, 0)
        assert np.ptp(extra) < 1e-10 and 1e-6 <= extra[0] <= 1
    assert not prediction.epistemic.any()


@pytest.mark.parametrize("method", ["linear", "gp"])
def test_network_settings_do_not_change_the_run(tiny: Any, method: str) -> None:
    one, other = (tiny(f"method={method}", f"network.width={w}") for w in (10, 20))
    assert one.folder.root == other.folder.root
    _, splits = finished(one)
    assert (splits["depth"] == 0).all() and splits["rmse"].notna().all()
