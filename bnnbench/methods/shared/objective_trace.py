"""The objective after every epoch, recorded on request while the stack trains.

A trace has random numbers of its own and stays on the device until the fit is over, so that
training with it gives the same numbers as training without.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.random_streams import Streams

TRACED_SAMPLES = 3
"""Weight samples behind a point: a tenth of the training time or less, and little noise, since the
loss averages over the whole training part. No bias either, but where the divergence itself is
estimated from samples by a biased formula (Rényi's)."""


class Traced(Protocol):
    """What a trace asks of a method; `StochasticMethod` says what each function is for."""

    @property
    def likelihood(self) -> Likelihood: ...

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor: ...

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor: ...


class Trace:
    """The curves of one fit: empty unless the task has streams for them.

    The objective of a method is `loss + complexity` (negative ELBO, for variational methods).
    Both are per data point of the training part, in nats of the standardised target: `loss` is the
    mean over points of the loss averaged over `TRACED_SAMPLES` weight samples (or the networks
    of a point estimate), and `complexity` the method's `complexity` over the number of points.
    """

    def __init__(self, method: Traced, task: FitTask) -> None:
        self._method, self._task = method, task
        self._points: list[tuple[Tensor, Tensor]] = []

    def record(self, posterior: Posterior) -> None:
        """Adds a point for every replica, without waiting for the device."""
        method, task = self._method, self._task
        if task.trace is None:
            return
        inputs, targets = task.data.inputs, task.data.targets
        outputs = method.training_outputs(posterior, inputs, TRACED_SAMPLES, task.trace)
        values = method.likelihood.value(outputs, targets, posterior.hyper).mean(0)
        real = torch.arange(values.shape[1], device=values.device) < posterior.counts
        counts = posterior.counts[:, 0]
        loss = torch.where(real, values, 0).sum(1) / counts
        self._points.append((loss, method.complexity(posterior, task.trace) / counts))

    def curves(self) -> dict[str, Tensor]:
        """`loss` and `complexity`, `[epochs, R]` each, or nothing."""
        if not self._points:
            return {}
        loss, complexity = zip(*self._points, strict=True)
        return {"loss": torch.stack(loss), "complexity": torch.stack(complexity)}
