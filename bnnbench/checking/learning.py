"""Check that training reduces the error on a noisy curve."""

from __future__ import annotations

import torch

from bnnbench.checking.checks import Check
from bnnbench.checking.small_fits import SEEDS, MethodUnderTest, network_of
from bnnbench.methods.shared.contract import FitTask
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import TrainingSet


def training_reduces_the_error(subject: MethodUnderTest) -> str | None:
    """Compare the squared error before and after training.

    The number of rows suffices to distinguish mean and noise; methods that are not trained by
    minibatches get fewer rows because they are slower. The prior is narrow enough to sample
    networks from a posterior over all weights.
    """
    method = subject.method
    if not method.trains_network:
        return None
    least = 0 if method.linear_only else 1  # one sweep over a linear model almost converges
    rows, epochs = (400, 60) if isinstance(method, StochasticMethod) else (60, 20)
    data = _many_rows(rows)
    before, after = (_error_after(subject, data, passes) for passes in (least, epochs))
    if after < 0.5 * before:
        return None
    return (
        f"the squared error must fall by half, but it is {before:.3g} after {least} epochs and "
        f"{after:.3g} after {epochs}"
    )


def _error_after(subject: MethodUnderTest, data: TrainingSet, epochs: int) -> float:
    known = subject.task(data).hyper
    hyper = {name: 10 * v if name == "prior_precision" else v for name, v in known.items()}
    training = Training(batch_size=100, samples=3, dtype="float64")
    streams = Streams(SEEDS[:1], (0,), dtype=torch.float64)
    network = network_of(subject.method, 10)
    task = FitTask(data, hyper, network, training, epochs, streams)
    loc = subject.method.predict(subject.method.fit(task), data.inputs, 50, streams).mean()
    return (loc - data.targets).square().mean().item()


def _many_rows(rows: int) -> TrainingSet:
    generator = torch.Generator().manual_seed(3)
    inputs = torch.randn(1, rows, 2, generator=generator, dtype=torch.float64, device="cpu")
    noise = 0.1 * torch.randn(1, rows, generator=generator, dtype=torch.float64, device="cpu")
    return TrainingSet(inputs, inputs[..., 0].sin() + noise, (rows,), (0,))


LEARNING: Check[MethodUnderTest] = Check(
    "training reduces the error",
    training_reduces_the_error,
    "In `update`, step against the gradient of the batch's mean loss plus that of the prior over "
    "the number of rows, `hyper['prior_precision'] / batch.counts * loc`: "
    "`return adam_on('loc', state, gradient, batch.bias_correction, training)`",
)
