"""Whole epochs of a stack in one call of native code, for methods whose step it knows by a rule.

The random numbers are those that the trainer draws step by step, so that a fit differs by
float32's rounding alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from bnnbench.methods.shared.chain import Chain
from bnnbench.methods.shared.contract import FitTask
from bnnbench.native.steps import Walk
from bnnbench.optim import Rule

NOISE_AT_ONCE = 4_000_000  # numbers: 16 MB of float32


def native_epochs(
    rule: Rule,
    shares: list[float],
    task: FitTask,
    state: dict[str, Tensor],
    alive: Tensor,
    chain: Chain,
) -> Iterator[tuple[dict[str, Tensor], Tensor]]:
    """The state after each epoch, and `[R]` which replicas are finite so far.

    Args:
        rule: the method's step.
        shares: of the complexity cost, for each minibatch of an epoch.
        task: what is fitted.
        state: where the replicas start.
        alive: `[R]`, which of them are finite.
        chain: is told of the weights.
    """
    mlp, data, streams, drawn = task.mlp, task.data, task.streams, rule.drawn(task.training)
    rows, minibatches, taken = data.inputs.shape[1], len(shares), 0
    at_once = max(1, NOISE_AT_ONCE // max(1, streams.size * drawn * mlp.n_weights))
    state = {name: value.clone() for name, value in state.items()}
    walk = Walk(rule, mlp, data, task.hyper, task.training, shares, state, alive)
    for epoch in range(task.epochs):
        before, were = {name: value.clone() for name, value in state.items()}, alive.clone()
        order = torch.argsort(streams.uniform(1, rows)[0], dim=1, stable=True)
        first = 0
        while first < minibatches:
            steps = int(min(at_once, minibatches - first, chain.until_next(taken)))
            noise = streams.normals(steps, drawn, mlp.n_weights) if drawn else None
            walk.take(epoch, first, steps, order, noise)
            first, taken = first + steps, taken + steps
            chain.after(taken, state["loc"])
        if not torch.equal(alive, were):
            for name, value in state.items():
                value.copy_(torch.where(alive[:, None], value, before[name]))
        chain.settle(alive, before["loc"])
        yield state, alive
