"""A linear-Gaussian problem with a known posterior, and a minibatch for hand-computed updates."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.minibatches import Batch
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Hyper, TrainingSet

TAU, LAMBDA, N = 4.0, 2.0, 40  # noise and prior precision, number of rows

ADAM_TO_CONVERGENCE = {"learning_rate": 0.05, "betas": (0.9, 0.999)}
"""Adam converges in 600 steps; with a smaller beta_2 it would drift away again by 0.001."""


def linear_data() -> TrainingSet:
    """Return N rows of two correlated inputs."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(1, N, 2, generator=generator, dtype=torch.float64)
    inputs[..., 1] += 0.5 * inputs[..., 0]
    noise = torch.randn(1, N, generator=generator, dtype=torch.float64)
    targets = inputs @ torch.tensor([1.0, -0.5]).double() + 0.3 + noise / TAU**0.5
    return TrainingSet(inputs, targets, (N,), (0,))


def design() -> Tensor:
    """Return the inputs with a column of ones, `[N, 3]`."""
    return torch.cat([linear_data().inputs[0], torch.ones(N, 1).double()], 1)


def exact_posterior() -> tuple[Tensor, Tensor]:
    """Return mean and precision of the conjugate posterior of `(w1, w2, bias)`."""
    x = design()
    precision = TAU * x.T @ x + LAMBDA * torch.eye(3).double()
    return torch.linalg.solve(precision, TAU * x.T @ linear_data().targets[0]), precision


def exact_log_evidence(prior: float = LAMBDA, noise: float = TAU) -> float:
    """Return the log marginal likelihood for two precisions."""
    covariance = torch.eye(N).double() / noise + design() @ design().T / prior
    law = MultivariateNormal(torch.zeros(N).double(), covariance)
    return law.log_prob(linear_data().targets[0]).item()


def make_hyper(**values: float) -> Hyper:
    """Return hyper-parameters of one replica; `values` override the two precisions."""
    hyper = {"noise_precision": TAU, "prior_precision": LAMBDA, **values}
    return {name: torch.full((1, 1), value).double() for name, value in hyper.items()}


def linear_task(method: StochasticMethod, epochs: int, **settings: object) -> FitTask:
    """Return the task of fitting the linear model, with full batches by default."""
    hyper = make_hyper(dropout=1e-12)
    training = Training(**{"batch_size": N, "dtype": "float64", "samples": 50, **settings})
    streams = Streams([1], (0,), dtype=torch.float64)
    hyper = {name: hyper[name] for name in method.hyper_names}
    return FitTask(linear_data(), hyper, Network(depth=0), training, epochs, streams)


@cache
def fit(method: StochasticMethod, epochs: int, **settings: object) -> Posterior:
    """Return the method's posterior for the linear model, cached."""
    return method.fit(linear_task(method, epochs, **settings))


def one_batch() -> Batch:
    """Return a batch of two of ten rows with one input, at step 2 with both betas 0.5."""
    half = torch.full((1, 1), 0.5).double()
    return Batch(
        inputs=torch.tensor([[[1.0], [3.0]]]).double(),
        targets=torch.tensor([[2.0, -1.0]]).double(),
        weights=torch.tensor([[0.5, 0.5]]).double(),
        counts=torch.tensor([[10.0]]).double(),
        steps_taken=torch.tensor([[1.0]]).double(),
        bias_correction=(1 / (1 - half), 1 / (1 - half**2)),
        kl_weight=torch.ones(1, 1).double(),
    )
