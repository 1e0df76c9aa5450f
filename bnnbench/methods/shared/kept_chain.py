"""The base of methods whose fit is one Markov chain, some of whose networks are kept."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.checks import check_between, check_int
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.mcmc_diagnostics import effective_sample_size
from bnnbench.methods.shared.pieces import put_out, spread
from bnnbench.methods.shared.stochastic import StochasticMethod
from bnnbench.methods.shared.trainer import train
from bnnbench.nn import forward
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

PROBES = 100  # training rows, at most, where the chain's predictions tell its effective size


@dataclass(frozen=True, kw_only=True)
class KeptChain(StochasticMethod):
    """Predicts the mixture of the kept networks with equal weights.

    Of more than `evaluation.samples` kept networks that many are used, evenly spaced along the
    chain.

    Attributes:
        prior_precision: of the weights, biases included, standardised units; None is searched.
        burn_in: share of a fit's epochs, from its start, whose networks are not kept.
        thinning: one network is kept in so many steps, counted back from the last, which is kept.
    """

    prior_precision: float | None = None
    burn_in: float = 0.5
    thinning: int = 5
    own_hyper_names: ClassVar[tuple[str, ...]] = ("prior_precision",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_between("method.burn_in", self.burn_in, 0, 1, low_included=True)
        check_int("method.thinning", self.thinning)

    @property
    def draws(self) -> bool:
        return False

    def steps(self, task: FitTask) -> int:
        """How many a fit takes."""
        return task.epochs * math.ceil(task.data.inputs.shape[1] / task.batch_size)

    def kept(self, task: FitTask) -> range:
        """The steps of a fit, counted from 1, after which the network is kept."""
        last = self.steps(task)
        return range(last, int(self.burn_in * last), -self.thinning)[::-1]

    def fit(self, task: FitTask) -> Posterior:
        task = replace(task, outputs=self.likelihood.outputs)
        posterior = train(self, task, self.kept(task))
        return replace(posterior, diagnostics=self._diagnostics(posterior, task))

    def training_outputs(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Tensor:
        """The chain's present network alone: one sample."""
        return forward(posterior.mlp, posterior.state["loc"][None], inputs)[0]

    def complexity(self, posterior: Posterior, streams: Streams) -> Tensor:
        """`prior_precision / 2 ||w||^2`: the objective is minus the log-posterior."""
        loc = posterior.state["loc"]
        return 0.5 * (posterior.hyper["prior_precision"] * loc.square()).sum(1)

    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """At most `samples` of the kept networks, evenly spaced."""
        return spread(samples, posterior.state["chain"].transpose(0, 1))

    def predict(
        self, posterior: Posterior, inputs: Tensor, samples: int, streams: Streams
    ) -> Prediction:
        """One component per network."""
        return self._prediction(posterior, self.sample_weights(posterior, samples, streams), inputs)

    def _prediction(self, posterior: Posterior, networks: Tensor, inputs: Tensor) -> Prediction:
        outputs = inputs.new_empty(len(networks), *inputs.shape[:2], self.likelihood.outputs)
        put_out(posterior.mlp, networks, inputs, outputs)
        return self.likelihood.prediction(outputs, posterior.hyper)

    @torch.no_grad()
    def _diagnostics(self, posterior: Posterior, task: FitTask) -> dict[str, Tensor]:
        """How many networks are kept, and how many independent ones they are worth.

        The latter is the median over training rows of the effective sample size of the mean
        predicted there: predictions, unlike weights, are what the chain is for.
        """
        chain, inputs = posterior.state["chain"].transpose(0, 1), task.data.inputs[:, :PROBES]
        sizes = effective_sample_size(self._prediction(posterior, chain, inputs).loc)
        padding = torch.arange(sizes.shape[1], device=sizes.device) >= posterior.counts
        median = sizes.masked_fill(padding, torch.nan).nanmedian(1).values
        kept = torch.full_like(median, len(chain))
        lost = posterior.diverged
        return {
            "kept_samples": kept.masked_fill(lost, torch.nan),
            "effective_samples": median.masked_fill(lost, torch.nan),
        }
