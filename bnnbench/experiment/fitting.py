"""Settings of fits and predictions, and the conversion of units around a method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.preprocessing import Scaler
from bnnbench.random_streams import Streams
from bnnbench.settings import Network, Training
from bnnbench.types import Prediction, TrainingSet

Values = Mapping[str, float]


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit and its predictions, without data, hyper-parameters and random numbers.

    Attributes:
        method: the method to fit.
        network: the architecture.
        training: settings of the fits.
        samples: Monte Carlo weight samples of a prediction.
        device: `cpu` or `cuda`.
        seed: of all random numbers.
        fixed_original_units: fixed precisions in original units, by name.
    """

    method: Method
    network: Network
    training: Training
    samples: int
    device: str
    seed: int
    fixed_original_units: Values = field(default_factory=dict)

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self.training.dtype)

    def fixed_standardised(self, scaler: Scaler) -> list[dict[str, float]]:
        """Convert the fixed precisions to the standardised units of each training part."""
        return [
            {name: value * scale**2 for name, value in self.fixed_original_units.items()}
            for scale in scaler.target_scale.tolist()
        ]


def fit_task(
    fitting: FitSettings,
    data: TrainingSet,
    scaler: Scaler,
    values: Sequence[Values],
    epochs: int,
    streams: Streams,
    compiled: bool = False,
) -> FitTask:
    """Assemble the task of a method, with hyper-parameters in standardised units.

    `values`, given for each group of replicas, override the method's own values; fixed precisions
    override both.
    """
    per_replica: list[dict[str, float]] = [
        {**fitting.method.fixed_hyper(), **values[group], **fixed}
        for group, fixed in zip(data.groups, fitting.fixed_standardised(scaler), strict=True)
    ]
    hyper = {
        name: data.inputs.new_tensor([[v[name]] for v in per_replica])
        for name in fitting.method.hyper_names
    }
    return FitTask(data, hyper, fitting.network, fitting.training, epochs, streams, compiled)


def predict(
    fitting: FitSettings, posterior: Posterior, scaler: Scaler, inputs: Tensor, streams: Streams
) -> Prediction:
    """Predict for standardised inputs `[R, M, D]`, in original units and float64."""
    raw = fitting.method.predict(posterior, inputs, fitting.samples, streams)
    double = Prediction(raw.loc.double(), raw.epistemic.double(), raw.noise.double())
    return double.rescaled(*scaler.target_units())
