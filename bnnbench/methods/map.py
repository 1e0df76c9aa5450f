"""MAP: the network that is most probable under a Gaussian prior, found by Adam.

Book, section 2.6.3 and eq. 2.45: the usual network with weight decay, kept as the baseline
that knows the noise of the observations and nothing of its own uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP, forward
from bnnbench.optim import Rule, adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction


@dataclass(frozen=True, kw_only=True)
class MAP(StochasticMethod):
    """Minimises the mean negative log-likelihood plus `prior_precision / (2 N) ||w||^2`.

    Predicts one Gaussian per point; nothing is sampled, so `training.samples` and
    `evaluation.samples` change nothing.

    Attributes:
        prior_precision: of the weights, biases included, standardised units; None is searched.
    """

    prior_precision: float | None = None
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)

    @property
    def draws(self) -> bool:
        return False

    @property
    def point_estimate(self) -> bool:
        return True

    def init(self, task: FitTask) -> State:
        loc = task.mlp.initial(task.streams).expand(task.data.replicas, -1).clone()
        return {"loc": loc, "loc_first": torch.zeros_like(loc), "loc_second": torch.zeros_like(loc)}

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        return ()

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        gradient = gradients(mlp, self.likelihood, state["loc"][None], hyper, batch)[0]
        return self.descend(state, gradient, training, hyper, batch)

    def rule(self) -> Rule | None:
        return Rule("map", ("loc", "loc_first", "loc_second"))

    def descend(
        self, state: State, gradient: Tensor, training: Training, hyper: Hyper, batch: Batch
    ) -> State:
        """Adam's step on `loc`, once the prior's part is added to the loss's gradient."""
        decay = hyper["prior_precision"] / batch.counts
        total = torch.addcmul(gradient, decay, state["loc"])
        return adam_on("loc", state, total, batch.unbias, training)

    def networks(self, posterior: Posterior) -> Tensor:
        """Weights of the networks that predict, `[S, R, P]`."""
        return posterior.state["loc"][None]

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """The networks in turn: there is nothing random about them."""
        networks = self.networks(posterior)
        return networks[torch.arange(samples, device=networks.device) % len(networks)]

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One component per network."""
        outputs = self.training_outputs(posterior, inputs, samples, streams)
        return self.likelihood.prediction(outputs, posterior.hyper)

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """One sample per network."""
        outputs = [forward(posterior.mlp, w[None], inputs)[0] for w in self.networks(posterior)]
        return torch.cat(outputs)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """`prior_precision / 2 ||w||^2`, averaged over the networks."""
        squares = self.networks(posterior).square().sum(2).mean(0)
        return 0.5 * posterior.hyper["prior_precision"][:, 0] * squares
