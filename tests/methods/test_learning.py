"""What methods make of likelihoods and losses: noise learnt from the data, outliers ignored."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from support.methods import METHODS, Case, class_of, takes_likelihood
from torch import Tensor

from bnnbench.cli.configs import options
from bnnbench.methods.shared.contract import FitTask, Method
from bnnbench.methods.shared.kept_chain import KeptChain
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction, TrainingSet

# One of each class with a step that ends somewhere: a chain would be on its way for long.
OPTIONS = [
    option
    for class_, option in {class_of(option): option for option in reversed(METHODS)}.items()
    if takes_likelihood(class_) and "update" in vars(class_) and not issubclass(class_, KeptChain)
]
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
    """Of the training inputs themselves, by one replica."""
    data = TrainingSet(inputs[None], targets[None], (len(targets),), (0,))
    columns = {name: torch.full((1, 1), hyper[name]).double() for name in method.hyper_names}
    training = Training(batch_size=batch_size, samples=3, learning_rate=0.04, dtype="float64")
    streams = Streams([3], (0,), dtype=torch.float64)
    posterior = method.fit(FitTask(data, columns, network, training, epochs, streams))
    assert not posterior.diverged.any()
    return method.predict(posterior, data.inputs, 200, streams)


@pytest.mark.parametrize("option", ["bbb", "mc_dropout"])
def test_learnt_noise_follows_the_true_noise(option: str) -> None:
    """Its standard deviation grows eleven times from one end of the inputs to the other."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.linspace(-1.5, 1.5, 400).double()[:, None]
    scale = 0.2 * (0.8 * inputs[:, 0]).exp()
    targets = 0.5 * inputs[:, 0] + scale * torch.randn(400, generator=generator).double()
    prediction = fit_and_predict(
        Case(option, likelihood="heteroscedastic").method,
        inputs, targets, Network(width=20), 100, 50, prior_precision=1.0, dropout=0.002,
    )  # fmt: skip
    learnt = prediction.noise_variance()[0].sqrt()
    ratios = torch.stack([part.mean() for part in (learnt / scale).chunk(4)])
    assert ratios.min() > 0.75 and ratios.max() < 1.35
    assert np.corrcoef(learnt.log(), scale.log())[0, 1] > 0.95


@cache
def error_of_the_line(case: Case) -> float:
    """A line through 200 points, one in ten of them shifted by 4 standard deviations."""
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(200, 1, generator=generator).double()
    line = 0.7 * inputs[:, 0]
    targets = line + 0.3 * torch.randn(200, generator=generator).double()
    targets[::10] += 4
    hyper = {"noise_precision": 10.0, "prior_precision": 1.0, "dropout": 0.001}
    prediction = fit_and_predict(case.method, inputs, targets, Network(depth=0), 55, 50, **hyper)
    return (prediction.mean()[0] - line).square().mean().sqrt().item()


@pytest.mark.parametrize("likelihood", sorted(options("likelihood")))
@pytest.mark.parametrize("option", OPTIONS)
def test_robust_losses_ignore_gross_outliers(option: str, likelihood: str) -> None:
    off = error_of_the_line(Case(option, likelihood=likelihood))
    robust = [error_of_the_line(Case(option, likelihood=likelihood, loss=o)) for o in ROBUST]
    assert max(robust) < 0.12 < 0.3 < off
