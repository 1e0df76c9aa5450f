"""Training lowers the error: a curve with noise, before and after enough passes over it."""

from __future__ import annotations

import torch

from bnnbench.checking.trial import SEEDS, Trial, network_of
from bnnbench.checking.verdicts import Check
from bnnbench.methods.shared.contract import FitTask
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import TrainingSet


def training_lowers_the_error(trial: Trial) -> str | None:
    """With rows enough to tell a mean from a noise of its own; one by one they take longer.

    And with a prior narrow enough to draw networks from a posterior over all weights.
    """
    method = trial.method
    if not method.trains_network:
        return None  # it takes no passes
    least = 0 if method.linear_only else 1  # the first sweep over a linear model is most of the way
    rows, epochs = (400, 60) if isinstance(method, StochasticMethod) else (60, 20)
    data = _many_rows(rows)
    before, after = (_error_after(trial, data, passes) for passes in (least, epochs))
    if after < 0.5 * before:
        return None
    return f"the squared error is {before:.3g} after {least} epochs and {after:.3g} after {epochs}"


def _error_after(trial: Trial, data: TrainingSet, epochs: int) -> float:
    known = trial.task(data).hyper
    hyper = {name: 10 * v if name == "prior_precision" else v for name, v in known.items()}
    training = Training(batch_size=100, samples=3, dtype="float64")
    streams = Streams(SEEDS[:1], (0,), dtype=torch.float64)
    network = network_of(trial.method, 10)
    task = FitTask(data, hyper, network, training, epochs, streams)
    loc = trial.method.predict(trial.method.fit(task), data.inputs, 50, streams).mean()
    return (loc - data.targets).square().mean().item()


def _many_rows(rows: int) -> TrainingSet:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(1, rows, 2, generator=generator, dtype=torch.float64)
    noise = 0.1 * torch.randn(1, rows, generator=generator, dtype=torch.float64)
    return TrainingSet(inputs, inputs[..., 0].sin() + noise, (rows,), (0,))


LEARNING: Check[Trial] = Check("training lowers the error", training_lowers_the_error)
