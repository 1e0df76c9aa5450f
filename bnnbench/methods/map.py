"""MAP: a single network with weight decay, trained by Adam.

Book, section 2.6.3 and eq. 2.45. A baseline without epistemic uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import Batch, Noise, State
from bnnbench.nn import MLP, forward
from bnnbench.optim import NativeUpdate, adam_on
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction


@dataclass(frozen=True, kw_only=True)
class MAP(StochasticMethod):
    """Minimises the mean negative log-likelihood plus `prior_precision / (2 N) ||w||^2`.

    Predicts one Gaussian per point; nothing is sampled, so `training.samples` and
    `evaluation.samples` have no effect.
    """

    @property
    def is_stochastic(self) -> bool:
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

    def native_update(self) -> NativeUpdate | None:
        return NativeUpdate("map", ("loc", "loc_first", "loc_second"))

    def descend(
        self, state: State, gradient: Tensor, training: Training, hyper: Hyper, batch: Batch
    ) -> State:
        """Add the gradient of the prior to that of the loss, and update `loc` by Adam."""
        decay = hyper["prior_precision"] / batch.counts
        total = torch.addcmul(gradient, decay, state["loc"])
        return adam_on("loc", state, total, batch.bias_correction, training)

    def networks(self, posterior: Posterior) -> Tensor:
        """Return the weights of the predicting networks, `[S, R, P]`."""
        return posterior.state["loc"][None]

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Cycle through the networks; nothing is random."""
        networks = self.networks(posterior)
        return networks[torch.arange(samples, device=networks.device) % len(networks)]

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one mixture component per network."""
        outputs = self.training_outputs(posterior, inputs, samples, streams)
        return self.likelihood.prediction(outputs, posterior.hyper)

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return one sample per network."""
        outputs = [forward(posterior.mlp, w[None], inputs)[0] for w in self.networks(posterior)]
        return torch.cat(outputs)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return `prior_precision / 2 ||w||^2`, averaged over the networks."""
        squares = self.networks(posterior).square().sum(2).mean(0)
        return 0.5 * posterior.hyper["prior_precision"][:, 0] * squares
