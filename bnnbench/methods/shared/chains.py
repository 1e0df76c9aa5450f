"""The base class of methods that run several Markov chains over all weights of a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.constraints import Count
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.shared.chunking import evenly_spaced, network_outputs
from bnnbench.methods.shared.contract import DRAWS, Diagnosis, FitTask, Method, Posterior
from bnnbench.methods.shared.hmc.diagnostics import convergence_diagnostics, diagnose_predictions
from bnnbench.methods.shared.hmc.network import map_estimate, posterior_target
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

NOISE, WEIGHTS = "noise_precision", "prior_precision"


@dataclass(frozen=True, kw_only=True)
class ChainsMethod(Method):
    """Predicts with an equally weighted mixture of all kept networks of C chains.

    A posterior has the kept networks as `chain`, `[R, C K, P]`, ordered by chain, and sampled
    precisions, `[R, C K]`.

    Attributes:
        likelihood: the distribution of targets given the outputs, and its loss.
        chains: C.
        map_steps: full-batch steps of Adam, with `training.learning_rate`, that train the networks
            at which chains start.
    """

    likelihood: Likelihood = field(default_factory=Gaussian)
    chains: Count = 4
    map_steps: Count = 1000
    is_stochastic: ClassVar[bool] = False
    joint: ClassVar[str] = DRAWS

    def initial_networks(self, task: FitTask) -> Tensor:
        """Return a network with the usual initial weights for every chain, `[C, R, P]`."""
        networks = torch.stack([task.mlp.initial(task.streams) for _ in range(self.chains)])
        return networks.expand(-1, task.data.replicas, -1).contiguous()

    def trained(self, task: FitTask, networks: Tensor, factors: Tensor) -> Tensor:
        """Return MAP estimates, trained from the given networks `[C, R, P]`."""
        target = posterior_target(task.mlp, self.likelihood, task.data, task.hyper)
        return map_estimate(target, networks, factors, self.map_steps, task.training)

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Return at most `samples` kept networks, evenly spaced over all chains, `[S, R, P]`."""
        return evenly_spaced(samples, posterior.state["chain"].transpose(0, 1))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """Predict one mixture component per network."""
        networks = self.sample_weights(posterior, samples, streams)
        outputs = network_outputs(posterior.mlp, networks, inputs)
        if NOISE not in posterior.state:
            return self.likelihood.prediction(outputs, posterior.hyper)
        noise = 1 / evenly_spaced(samples, posterior.state[NOISE].T)[..., None]
        return Prediction(outputs.squeeze(3), torch.zeros_like(noise), noise)

    def diagnose(self, posterior: Posterior, inputs: Tensor, rows: Sequence[int]) -> Diagnosis:
        """Diagnose the predicted means, and compute R-hat of sampled precisions."""
        networks = posterior.state["chain"].transpose(0, 1)
        means = network_outputs(posterior.mlp, networks, inputs)[..., 0]
        diagnosis = diagnose_predictions(self._by_chain(means), rows)
        precisions = {
            f"r_hat_{name}": convergence_diagnostics(self._by_chain(value.T))["r_hat"]
            for name, value in posterior.state.items()
            if name in (NOISE, WEIGHTS)
        }
        return replace(diagnosis, summary={**diagnosis.summary, **precisions})

    def _by_chain(self, draws: Tensor) -> Tensor:
        """Return draws `[C K, ...]` of all chains as `[C, K, ...]`."""
        return torch.unflatten(draws, 0, (self.chains, -1))
