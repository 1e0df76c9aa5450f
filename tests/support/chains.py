"""Variances of stochastic-gradient Markov chains for a linear model with a known posterior."""

from __future__ import annotations

import torch

from bnnbench.methods.shared.contract import FitTask
from bnnbench.methods.shared.sgmcmc import SGMCMC
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import TrainingSet
from support.linear_model import LAMBDA, TAU


def temperature(method: SGMCMC, rows: int, batch: int, chains: int) -> float:
    """Return the ratio of sampled to exact variances, averaged over the six weights.

    Each chain runs for 400 epochs, the default of a fit, with its own minibatches and noise.
    """
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, 5, generator=generator)
    noise = torch.randn(rows, generator=generator) / TAU**0.5
    targets = inputs @ torch.linspace(1, -1, 5) + noise
    groups = tuple(range(chains))
    data = TrainingSet(
        inputs.repeat(chains, 1, 1), targets.repeat(chains, 1), (rows,) * chains, groups
    )
    precisions = {"noise_precision": TAU, "prior_precision": LAMBDA}
    hyper = {name: torch.full((chains, 1), value) for name, value in precisions.items()}
    training = Training(batch_size=batch)
    task = FitTask(data, hyper, Network(depth=0), training, 400, Streams([*groups], groups))
    chain = method.fit(task).state["chain"].double()
    x = torch.cat([inputs, torch.ones(rows, 1)], 1).double()
    covariance = (TAU * x.T @ x + LAMBDA * torch.eye(6).double()).inverse()
    mean = TAU * covariance @ x.T @ targets.double()
    return ((chain - mean).square().mean((0, 1)) / covariance.diagonal()).mean().item()
