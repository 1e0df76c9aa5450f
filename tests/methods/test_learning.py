"""Predicted noise of heteroscedastic networks, and robustness of losses to outliers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from support.methods import Case
from torch import Tensor

from bnnbench.config.configs import options
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction, TrainingSet

ROBUST = [name for name in sorted(options("loss")) if name != "nll"]


def fit_and_predict(
    method: Method,
    inputs: Tensor,
    targets: Tensor,
    network: Network,
    epochs: int,
    batch_size: int,
    **hyper: float,
) -> Prediction:
    """Fit one replica and predict the training inputs."""
    data = TrainingSet(inputs[None], targets[None], (len(targets),), (0,))
    columns = {name: torch.full((1, 1), hyper[name]).double() for name in method.hyper_names}
    training = Training(batch_size=batch_size, samples=3, learning_rate=0.04, dtype="float64")
    streams = Streams([3], (0,), dtype=torch.float64)
    posterior = method.fit(FitTask(data, columns, network, training, epochs, streams))
    assert not posterior.diverged.any()
    return method.predict(posterior, data.inputs, 200, streams)


@pytest.mark.slow
@pytest.mark.parametrize("option", ["bbb", "mc_dropout"])
def test_predicted_noise_follows_the_true_noise(option: str) -> None:
    """The true standard deviation grows by a factor of eleven over the range of the inputs."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.linspace(-1.5, 1.5, 400).double()[:, None]
    scale = 0.2 * (0.8 * inputs[:, 0]).exp()
    targets = 0.5 * inputs[:, 0] + scale * torch.randn(400, generator=generator).double()
    prediction = fit_and_predict(
        Case(option, likelihood="heteroscedastic").method,
        inputs, targets, Network(width=20), 100, 50, prior_precision=1.0, dropout=0.002,
    )  # fmt: skip
    learned = prediction.noise_variance()[0].sqrt()
    ratios = torch.stack([part.mean() for part in (learned / scale).chunk(4)])
    assert ratios.min() > 0.75 and ratios.max() < 1.35
    assert np.corrcoef(learned.log(), scale.log())[0, 1] > 0.95


@cache
def error_of_the_line(case: Case) -> float:
    """Return the RMSE for a line with 200 points, of which one in ten is an outlier."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(200, 1, generator=generator).double()
    line = 0.7 * inputs[:, 0]
    targets = line + 0.3 * torch.randn(200, generator=generator).double()
    targets[::10] += 4
    hyper = {"noise_precision": 10.0, "prior_precision": 1.0, "dropout": 0.001}
    prediction = fit_and_predict(case.method, inputs, targets, Network(depth=0), 55, 50, **hyper)
    return (prediction.mean()[0] - line).square().mean().sqrt().item()


@pytest.mark.slow
@pytest.mark.parametrize("likelihood", sorted(options("likelihood")))
@pytest.mark.parametrize("option", ["map", "vadam", "mc_dropout"])
def test_robust_losses_ignore_gross_outliers(option: str, likelihood: str) -> None:
    off = error_of_the_line(Case(option, likelihood=likelihood))
    robust = [error_of_the_line(Case(option, likelihood=likelihood, loss=o)) for o in ROBUST]
    assert max(robust) < 0.12 < 0.3 < off
