"""MAP: a single network with weight decay, trained by Adam.

Book, section 2.6.3 and eq. 2.45. A baseline without epistemic uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from bnnbench.methods.shared.contract import FitTask, Posterior, State
from bnnbench.methods.shared.gradients import gradients
from bnnbench.methods.shared.minibatches import Batch, Noise
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.nn import MLP, forward
from bnnbench.optim import NativeUpdate, adam_entries, adam_on, adam_state
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper


@dataclass(frozen=True, kw_only=True)
class MAP(StochasticMethod):
    """Minimises the mean negative log-likelihood plus `prior_precision / (2 N) ||w||^2`.

    Predicts one Gaussian per point; nothing is sampled, so `training.samples` and
    `evaluation.samples` have no effect. Methods with several networks derive from this class.
    """

    identity_name = "bnnbench.methods.map.MAP"
    family = "map"

    @property
    def is_stochastic(self) -> bool:
        return False

    @property
    def point_estimate(self) -> bool:
        return True

    @property
    def n_networks(self) -> int:
        """Number of networks of a replica, whose weights are concatenated in `loc`, `[R, M P]`."""
        return 1

    def n_parameters(self, mlp: MLP) -> int:
        return self.n_networks * mlp.n_weights

    def init(self, task: FitTask) -> State:
        initial = torch.cat([self.initial_weights(task) for _ in range(self.n_networks)], 1)
        return adam_state("loc", initial.expand(task.data.replicas, -1).clone())

    def initial_weights(self, task: FitTask) -> Tensor:
        """Draw the weights of one network, `[R or 1, P]`."""
        return task.mlp.initial(task.streams)

    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        gradient = self.gradient(mlp, state, hyper, batch)
        return adam_on("loc", state, gradient, batch.bias_correction, training)

    def gradient(self, mlp: MLP, state: State, hyper: Hyper, batch: Batch) -> Tensor:
        """Return the gradient of loss and prior, `[R, M P]`."""
        of_loss = self.loss_gradient(mlp, state, hyper, batch).transpose(0, 1).flatten(1)
        return torch.addcmul(of_loss, hyper["prior_precision"] / batch.counts, state["loc"])

    def loss_gradient(self, mlp: MLP, state: State, hyper: Hyper, batch: Batch) -> Tensor:
        """Return the gradient of the loss, `[M, R, P]`."""
        return gradients(mlp, self.likelihood, self.by_network(state["loc"]), hyper, batch)

    def native_update(self) -> NativeUpdate | None:
        return NativeUpdate("map", adam_entries("loc"), members=self.n_networks)

    def by_network(self, flat: Tensor) -> Tensor:
        """Reshape `[R, M P]` into `[M, R, P]`."""
        return torch.unflatten(flat, 1, (self.n_networks, -1)).transpose(0, 1)

    def networks(self, posterior: Posterior) -> Tensor:
        """Return the weights of the networks, `[M, R, P]`."""
        return self.by_network(posterior.state["loc"])

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Cycle through the networks; nothing is random."""
        networks = self.networks(posterior)
        return networks[torch.arange(samples, device=networks.device) % len(networks)]

    def outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return one sample per network."""
        outputs = [forward(posterior.mlp, w[None], inputs)[0] for w in self.networks(posterior)]
        return torch.cat(outputs)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return `prior_precision / 2 ||w||^2`, averaged over the networks."""
        squares = self.networks(posterior).square().sum(2).mean(0)
        return 0.5 * posterior.hyper["prior_precision"][:, 0] * squares
