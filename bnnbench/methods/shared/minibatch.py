"""The interface between the stacked minibatch trainer and the methods that it trains."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, NamedTuple

from torch import Tensor

from bnnbench.constraints import Between
from bnnbench.likelihoods.base import Likelihood
from bnnbench.likelihoods.gaussian import Gaussian
from bnnbench.methods.shared.contract import LEARNED, FitTask, Method, Posterior
from bnnbench.nn import MLP
from bnnbench.optim import NativeUpdate
from bnnbench.random_streams import Streams
from bnnbench.settings import Training
from bnnbench.types import Hyper, UserError

State = dict[str, Tensor]
Noise = tuple[Tensor, ...]


class Batch(NamedTuple):
    """One minibatch of every replica.

    Attributes:
        inputs: `[R, B, D]`.
        targets: `[R, B]`.
        weights: `[R, B]`, 1/(real rows of the batch), 0 on padding: sums to a batch mean.
        counts: training rows of each replica, `[R, 1]`.
        steps_taken: number of previous steps of each replica, `[R, 1]`.
        bias_correction: Adam's `1 / (1 - beta^t)` for both betas, t including this step, `[R, 1]`.
        kl_weight: weight of the complexity term, `[R, 1]`; 1 on average.
    """

    inputs: Tensor
    targets: Tensor
    weights: Tensor
    counts: Tensor
    steps_taken: Tensor
    bias_correction: tuple[Tensor, Tensor]
    kl_weight: Tensor


def check_noise_precision(likelihood: Likelihood, value: float | str | None) -> None:
    """Raise `UserError` for a noise precision of networks that predict the noise."""
    if value is not None and "noise_precision" not in likelihood.hyper_names:
        raise UserError(
            f"method.noise_precision={value!r} cannot be combined with "
            f"likelihood={likelihood.label}, which predicts the noise of each point.",
            setting="method.noise_precision",
            code="likelihood",
        )


@dataclass(frozen=True, kw_only=True)
class MinibatchMethod(Method):
    """A method that trains flat weights `[R, P]` by minibatch steps.

    Attributes:
        likelihood: the distribution of targets given the outputs, and its loss. Docstrings of
            methods say "negative log-likelihood" for whichever loss is configured.
        noise_precision: of the observations, standardised units; None is searched. Only valid for a
            likelihood that has it. Methods that learn it accept a string instead.
        prior_precision: of the weights, biases included, standardised units; None is searched.
    """

    likelihood: Likelihood = field(default_factory=Gaussian)
    noise_precision: Annotated[float | str | None, Between(0)] = None
    prior_precision: Annotated[float | str | None, Between(0)] = None
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)
    records_objective: ClassVar[bool] = True

    def check(self) -> None:
        check_noise_precision(self.likelihood, self.noise_precision)

    @property
    def hyper_names(self) -> tuple[str, ...]:
        names = (*self.likelihood.hyper_names, *self.own_hyper_names)
        return tuple(name for name in names if getattr(self, name) != LEARNED)

    def kl_weight(self, index: int, batches: int) -> float:
        """Return the weight of the complexity term in minibatch `index` of `batches`; mean 1."""
        return 1.0

    @abstractmethod
    def init(self, task: FitTask) -> State:
        """Return the initial state; the replica axis `R` comes first in every tensor."""

    def effective_hyper(self, state: State, hyper: Hyper) -> Hyper:
        """Return the hyper-parameters in effect for a state: the given ones, or learned values."""
        return hyper

    def sample_noise(self, mlp: MLP, batch: int, samples: int, streams: Streams) -> Noise:
        """Draw all random numbers of one step; none by default."""
        return ()

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
    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """Return the outputs of networks `[S, R, M, O]` during a fit, to record the objective."""

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """Return the objective's complexity term for the whole training part, nats, `[R]`.

        Zero by default. Only used for recording the objective.
        """
        return posterior.counts.new_zeros(len(posterior.counts))
