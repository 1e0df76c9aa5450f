"""The base class of methods that use the stacked minibatch trainer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.shared.chunking import predict_outputs
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.trainer import Batch, Noise, State, native_update_for, train
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction, UserError

MAX_DRAWN_WEIGHTS = 4_000_000  # per replica and call


@dataclass(frozen=True, kw_only=True)
class StochasticMethod(Method):
    """A method that trains flat weights `[R, P]` by minibatch steps.

    Attributes:
        likelihood: the distribution of targets given the outputs, and its loss. Docstrings of
            methods say "negative log-likelihood" for whichever loss is configured.
        noise_precision: of the observations, standardised units; None is searched. Only valid for a
            likelihood that has it. Methods that learn it accept a string instead.
        portable_prediction: class attribute, whether what follows native training uses neither
            sums nor functions of torch, which depend on the processor.
    """

    likelihood: Likelihood = field(default_factory=Gaussian)
    noise_precision: float | str | None = None
    records_objective: ClassVar[bool] = True
    portable_prediction: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        has_noise_precision = "noise_precision" in self.likelihood.hyper_names
        if self.noise_precision is not None and not has_noise_precision:
            raise UserError(
                f"method.noise_precision={self.noise_precision!r} cannot be combined with "
                f"likelihood={self.likelihood.label}, which predicts the noise of each point.",
                setting="method.noise_precision",
                code="likelihood",
            )

    @property
    def hyper_names(self) -> tuple[str, ...]:
        return (*self.likelihood.hyper_names, *self.own_hyper_names)

    @property
    def native(self) -> bool:
        return native_update_for(self, torch.zeros(1)) is not None

    @property
    def portable(self) -> bool:
        return self.native and self.portable_prediction

    def kl_weight(self, index: int, batches: int) -> float:
        """Return the weight of the complexity term in minibatch `index` of `batches`; mean 1."""
        return 1.0

    @abstractmethod
    def init(self, task: FitTask) -> State:
        """Return the initial state; the replica axis `R` comes first in every tensor."""

    def effective_hyper(self, state: State, hyper: Hyper) -> Hyper:
        """Return the hyper-parameters in effect for a state: the given ones, or learned values."""
        return hyper

    @abstractmethod
    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        """Draw all random numbers of one step."""

    @abstractmethod
    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        """Update all replicas once, without host synchronisation."""

    def native_update(self) -> NativeUpdate | None:
        """Describe `update` for the native trainer, or return None to train with `update`.

        The native trainer replays the random numbers requested by `sample_noise`, which must
        therefore have no other effect.

        Not inherited: a subclass that does not override this method is trained with `update`.
        """
        return None

    @abstractmethod
    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Draw weights `[S, R, P]` from the fitted posterior."""

    def fit(self, task: FitTask) -> Posterior:
        return train(self, replace(task, outputs=self.likelihood.outputs))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        outputs = self.outputs(posterior, inputs, samples, streams)
        return self.likelihood.prediction(outputs, posterior.hyper)

    def outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return the outputs of networks drawn from the posterior, `[S, R, M, O]`."""
        replicas, rows, _ = inputs.shape
        outputs = inputs.new_empty(samples, replicas, rows, self.likelihood.outputs)
        # The limit is per replica: a replica's samples must not depend on the size of its stack.
        for part in outputs.split(max(1, MAX_DRAWN_WEIGHTS // posterior.mlp.n_weights)):
            weights = self.sample_weights(posterior, len(part), streams)
            predict_outputs(posterior.mlp, weights, inputs, part)
        return outputs

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return `outputs` during a fit, for recording the objective.

        Override this if the posterior is only available at the end of the fit.
        """
        return self.outputs(posterior, inputs, samples, streams)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return the objective's complexity term for the whole training part, nats, `[R]`.

        Zero by default. Only used for recording the objective.
        """
        return posterior.counts.new_zeros(len(posterior.counts))
