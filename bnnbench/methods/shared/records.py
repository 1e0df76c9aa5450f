"""Records of a fit after epochs and steps: the objective, and copies of the weights."""

from __future__ import annotations

import torch
from torch import Tensor

from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.minibatches import MinibatchMethod

TRACE_SAMPLES = 3
"""Weight samples per epoch. Costs at most a tenth of the training time; the noise is small because
the loss is averaged over the whole training part. Biased only for Rényi divergences estimated from
samples."""


class Trace:
    """The objective of one fit by epoch; empty unless the task has `trace_streams`.

    The objective is `loss + complexity` (the negative ELBO, for variational methods), both in nats
    per training row, for standardised targets. `loss` is averaged over rows and `TRACE_SAMPLES`
    weight samples (or the networks of a point estimate); `complexity` is the method's complexity
    term divided by the number of rows.
    """

    def __init__(self, method: MinibatchMethod, task: FitTask) -> None:
        self._method, self._task = method, task
        self._points: list[tuple[Tensor, Tensor]] = []

    def record(self, posterior: Posterior) -> None:
        """Add one epoch, without waiting for the device."""
        method, task = self._method, self._task
        if task.trace_streams is None:
            return
        inputs, targets = task.data.inputs, task.data.targets
        outputs = method.training_outputs(posterior, inputs, TRACE_SAMPLES, task.trace_streams)
        values = method.likelihood.value(outputs, targets, posterior.hyper).mean(0)
        real = torch.arange(values.shape[1], device=values.device) < posterior.counts
        counts = posterior.counts[:, 0]
        loss = torch.where(real, values, 0).sum(1) / counts
        self._points.append((loss, method.complexity(posterior, task.trace_streams) / counts))

    def curves(self) -> dict[str, Tensor]:
        """Return `loss` and `complexity`, `[epochs, R]` each, or an empty dictionary."""
        if not self._points:
            return {}
        loss, complexity = zip(*self._points, strict=True)
        return {"loss": torch.stack(loss), "complexity": torch.stack(complexity)}


class Snapshots:
    """Copies of the weights after selected steps of a fit.

    Args:
        steps: increasing step numbers, from 1.
        initial: `[R, P]`, the initial weights.

    Attributes:
        steps: as given.
        copies: `[K, R, P]`; NaN for steps after the last one.
    """

    def __init__(self, steps: range, initial: Tensor) -> None:
        self.steps = steps
        self.copies = initial.new_full((len(steps), *initial.shape), torch.nan)
        self._new: list[int] = []

    def record(self, step: int, weights: Tensor) -> None:
        """Copy the weights if this step is selected."""
        if step in self.steps:
            index = self.steps.index(step)
            self.copies[index] = weights
            self._new.append(index)

    def end_epoch(self, alive: Tensor, before: Tensor) -> None:
        """Replace this epoch's copies of replicas that are not `alive` `[R]` by `before`."""
        for index in self._new:
            self.copies[index] = torch.where(alive[:, None], self.copies[index], before)
        self._new.clear()

    @property
    def weights(self) -> Tensor:
        """`[R, K, P]`."""
        return self.copies.transpose(0, 1)
