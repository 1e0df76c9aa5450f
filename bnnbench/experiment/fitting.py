"""What a method is fitted with and predicts by: settings, hyper-parameters, units."""

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
class Fitting:
    """What a fit and its predictions need beside data, values and random numbers.

    Attributes:
        method: what is fitted.
        network: the architecture.
        training: settings of the fits.
        samples: Monte Carlo weight samples of a prediction.
        device: `cpu` or `cuda`.
        seed: of everything random.
        in_target_units: by name, known precisions in the units of the target.
    """

    method: Method
    network: Network
    training: Training
    samples: int
    device: str
    seed: int
    in_target_units: Values = field(default_factory=dict)

    @property
    def dtype(self) -> torch.dtype:
        return getattr(torch, self.training.dtype)

    def converted(self, scaler: Scaler) -> list[dict[str, float]]:
        """Those precisions in the standardised units of each part that is trained on."""
        return [
            {name: value * scale**2 for name, value in self.in_target_units.items()}
            for scale in scaler.target_scale.tolist()
        ]


def fit_task(
    fitting: Fitting,
    data: TrainingSet,
    scaler: Scaler,
    values: Sequence[Values],
    epochs: int,
    streams: Streams,
    compiled: bool = False,
) -> FitTask:
    """What the method is given to fit, hyper-parameters in standardised units.

    Those that carry a value give way to `values`, of each group of replicas, and both to what is
    known in the units of the target.
    """
    per_replica: list[dict[str, float]] = [
        {**fitting.method.fixed(), **values[group], **converted}
        for group, converted in zip(data.groups, fitting.converted(scaler), strict=True)
    ]
    hyper = {
        name: data.inputs.new_tensor([[v[name]] for v in per_replica])
        for name in fitting.method.hyper_names
    }
    return FitTask(data, hyper, fitting.network, fitting.training, epochs, streams, compiled)


def predict(
    fitting: Fitting, posterior: Posterior, scaler: Scaler, inputs: Tensor, streams: Streams
) -> Prediction:
    """Predicts standardised inputs `[R, M, D]`, in original units and float64."""
    raw = fitting.method.predict(posterior, inputs, fitting.samples, streams)
    double = Prediction(raw.loc.double(), raw.epistemic.double(), raw.noise.double())
    return double.rescaled(*scaler.target_units())
