"""The base of every method that the stacked minibatch trainer trains."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.methods.shared.pieces import put_out
from bnnbench.methods.shared.trainer import Batch, Noise, State, known_rule, train
from bnnbench.nn import MLP
from bnnbench.optim import Rule
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, Prediction, UserError

DRAWN_ELEMENTS = 4_000_000  # weights of one replica drawn at once, however many are stacked


@dataclass(frozen=True, kw_only=True)
class StochasticMethod(Method):
    """A method that trains flat weights `[R, P]` by minibatch steps.

    Attributes:
        likelihood: what the outputs say about a target, and what a target then costs: where a
            method's docstring says negative log-likelihood, the loss chosen there stands for it.
        noise_precision: of the observations, standardised units; None is searched. Only with a
            likelihood that has it. A method that finds it by itself takes a word for that.
    """

    likelihood: Likelihood = field(default_factory=Gaussian)
    noise_precision: float | str | None = None
    records_objective: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        own = "noise_precision" in self.likelihood.hyper_names
        if self.noise_precision is not None and not own:
            raise UserError(
                f"method.noise_precision={self.noise_precision!r} does not go with "
                f"likelihood={self.likelihood.label}, which predicts the noise of each point."
            )

    @property
    def hyper_names(self) -> tuple[str, ...]:
        return (*self.likelihood.hyper_names, *self.own_hyper_names)

    @property
    def native(self) -> bool:
        return known_rule(self, torch.zeros(1)) is not None

    def share(self, index: int, batches: int) -> float:
        """Weight of the complexity cost in minibatch `index` of `batches`; averages to 1."""
        return 1.0

    @abstractmethod
    def init(self, task: FitTask) -> State:
        """Initial state, every tensor with the replica axis `R` first."""

    def hyper_of(self, state: State, hyper: Hyper) -> Hyper:
        """What networks in a state go by: the hyper-parameters given, unless one is learnt."""
        return hyper

    @abstractmethod
    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        """Everything random in one step, drawn before it."""

    @abstractmethod
    def update(
        self, mlp: MLP, training: Training, state: State, hyper: Hyper, batch: Batch, noise: Noise
    ) -> State:
        """One update of all replicas, with no host synchronisation."""

    def rule(self) -> Rule | None:
        """The step by a name that native code knows, if `update` is no other; None is none.

        Native code draws what `sample_noise` draws, which therefore may do nothing else.

        It counts for the class that says it alone: one derived from it says it again, or is
        stepped by `update`.
        """
        return None

    @abstractmethod
    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Weight samples `[S, R, P]` from the fitted posterior."""

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
        """What networks drawn from the posterior put out, `[S, R, M, O]`, as for `predict`."""
        replicas, rows, _ = inputs.shape
        outputs = inputs.new_empty(samples, replicas, rows, self.likelihood.outputs)
        # What a replica draws must not hang on how many are stacked with it.
        for part in outputs.split(max(1, DRAWN_ELEMENTS // posterior.mlp.n_weights)):
            weights = self.sample_weights(posterior, len(part), streams)
            put_out(posterior.mlp, weights, inputs, part)
        return outputs

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """The same in the midst of a fit, for recording the objective, `[S, R, M, O]`.

        A method overrides it whose posterior is there only once the fit is over.
        """
        return self.outputs(posterior, inputs, samples, streams)

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """What the objective adds to the loss of the whole training part, nats, `[R]`.

        Zero unless a method says otherwise. Only what records the objective asks for it.
        """
        return posterior.counts.new_zeros(len(posterior.counts))
