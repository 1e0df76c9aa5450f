"""The base class of methods that use the stacked minibatch trainer."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from bnnbench.methods.shared.chunking import predict_outputs
from bnnbench.methods.shared.contract import FitTask, Posterior
from bnnbench.methods.shared.minibatch import MinibatchMethod
from bnnbench.methods.shared.trainer import native_update_for, train
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction

MAX_DRAWN_WEIGHTS = 4_000_000  # per replica and call


@dataclass(frozen=True, kw_only=True)
class StochasticMethod(MinibatchMethod):
    """A method that is trained by minibatch steps and predicts with networks.

    Attributes:
        portable_prediction: class attribute, whether what follows native training uses neither
            sums nor functions of torch, which depend on the processor.
    """

    portable_prediction: ClassVar[bool] = True

    @property
    def native(self) -> bool:
        return native_update_for(self, torch.zeros(1)) is not None

    @property
    def portable(self) -> bool:
        return self.native and self.portable_prediction

    @abstractmethod
    def sample_weights(self, posterior: Posterior, samples: int, streams: Streams) -> Tensor:
        """Draw weights `[S, R, P]` from the fitted posterior."""

    def fit(self, task: FitTask) -> Posterior:
        return train(self, task)

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
        """Return `outputs`; override this if the posterior only exists at the end of the fit."""
        return self.outputs(posterior, inputs, samples, streams)
