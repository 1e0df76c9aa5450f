"""Fits with fixed and given hyper-parameters, and the scores and arrays that a split saves."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bnnbench.constraints import check_between
from bnnbench.experiment.store.split_files import LOG_MEAN, LOG_VARIANCE
from bnnbench.log_normal import LogPrediction
from bnnbench.methods.shared.contract import FitTask, Method, Posterior
from bnnbench.metrics import SCORE_FUNCTIONS
from bnnbench.near_names import with_known
from bnnbench.preprocessing import Scaler, standardise
from bnnbench.random_streams import Streams
from bnnbench.settings import BATCH_SIZE, PRECISIONS, Network, Training
from bnnbench.types import Prediction, Split, Table, TrainingSet, UserError

Values = Mapping[str, float]

NOISE_STD = "noise_std"
"""Alternative to `noise_precision`, which is `noise_std ** -2`."""


def fixed_values(method: Method, fixed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fixed values, in standardised units, of the method's unset hyper-parameters.

    Raises:
        UserError: if a value is not positive.
    """
    if not isinstance(fixed, Mapping):
        raise UserError(
            f"the fixed hyper-parameters must be given by name, as in {{dropout: 0.05}}, not "
            f"{fixed!r}.",
            "fixed",
            "not_a_mapping",
        )
    return _checked("dataset.protocol.fixed", _only_unset(method, fixed))


def fixed_original_units(method: Method, fixed: Mapping[str, Any]) -> dict[str, float]:
    """Return the fixed precisions, in original units, of the method's unset hyper-parameters.

    Args:
        method: with all values that are set in standardised units.
        fixed: values by name, of `PRECISIONS` or `NOISE_STD`; None means not fixed.

    Raises:
        UserError: if a name has no such units or a value is not positive.
    """
    key = "protocol.fixed_original_units"
    for name in fixed:
        if name not in (*PRECISIONS, NOISE_STD):
            known = with_known(name, (*PRECISIONS, NOISE_STD))
            raise UserError(f"{key}: unknown name {known}.", key)
    values = _checked(key, fixed)
    if NOISE_STD in values:
        values = {"noise_precision": values.pop(NOISE_STD) ** -2, **values}
    return _only_unset(method, values)


def _only_unset(method: Method, values: Mapping[str, Any]) -> dict[str, Any]:
    unset = set(method.hyper_names) - method.fixed_hyper().keys()
    return {name: value for name, value in values.items() if name in unset}


def _checked(key: str, values: Mapping[str, Any]) -> dict[str, float]:
    specified = {name: value for name, value in values.items() if value is not None}
    for name, value in specified.items():
        check_between(f"{key}.{name}", value, 0)
    return {name: float(value) for name, value in specified.items()}


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
        searched_original_units: names of the searched precisions that are given in original units.
    """

    method: Method
    network: Network
    training: Training
    samples: int
    device: str
    seed: int
    fixed_original_units: Values = field(default_factory=dict)
    searched_original_units: tuple[str, ...] = ()

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = getattr(torch, self.training.dtype)
        return dtype

    def standardised(self, values: Values, scale: float) -> dict[str, float]:
        """Return the hyper-parameters of a fit in standardised units.

        Args:
            values: the searched ones; they override the method's own values. Fixed precisions
                override both.
            scale: standard deviation of the training targets, original units.
        """
        known = {**self.method.fixed_hyper(), **values, **self.fixed_original_units}
        in_units = {*self.fixed_original_units, *self.searched_original_units}
        return {n: value * scale**2 if n in in_units else value for n, value in known.items()}

    def with_batch_size(self, values: Values) -> FitSettings:
        """Return the settings with the batch size that is among the searched values, if any."""
        if BATCH_SIZE not in values:
            return self
        size = round(values[BATCH_SIZE])
        return replace(self, training=replace(self.training, batch_size=size))

    def for_trial(self, values: Values) -> FitSettings:
        """Return the settings of the fits of a search evaluation."""
        return replace(self.with_batch_size(values), method=self.method.search_method)


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

    `values` are given for each group of replicas (see `FitSettings.standardised`); each replica
    converts them with the scale of its own training targets.
    """
    per_replica = [
        fitting.standardised(values[group], scale)
        for group, scale in zip(data.groups, scaler.target_scale.tolist(), strict=True)
    ]
    hyper = {
        name: data.inputs.new_tensor([[v[name]] for v in per_replica])
        for name in fitting.method.hyper_names
    }
    return FitTask(data, hyper, fitting.network, fitting.training, epochs, streams, compiled)


def least_bytes(table: Table, network: Network, training: int, test: int) -> float:
    """Return the bytes of one step of one network, or of its predictions, whichever is more.

    Args:
        table: the data set.
        network: the architecture.
        training: weight samples in a step.
        test: weight samples of a prediction.
    """
    sizes: tuple[int, ...] = (table.inputs.shape[1], *network.widths, 1)
    weights = sum((inputs + 1) * units for inputs, units in pairwise(sizes))
    tested = max(len(split.test) for split in table.splits)
    return 4.0 * max(training * weights, test * tested)


def predict(
    fitting: FitSettings, posterior: Posterior, scaler: Scaler, inputs: Tensor, streams: Streams
) -> Prediction:
    """Predict for standardised inputs `[R, M, D]`, in original units and float64."""
    raw = fitting.method.predict(posterior, inputs, fitting.samples, streams)
    double = Prediction(raw.loc.double(), raw.epistemic.double(), raw.noise.double())
    return scaler.original_units(double)


Scored = tuple[dict[str, float], dict[str, np.ndarray]]


def score(
    table: Table,
    split: Split,
    rows: np.ndarray,
    prediction: Prediction,
    replica: int,
    diverged: bool,
) -> Scored:
    """Score the prediction of some rows of a split; no other function reads test targets.

    Returns:
        Every metric (all NaN if the fit diverged or one is not finite), and the flat arrays for
        `predictions.npz`, in original units.
    """
    one = _replica(prediction, replica, len(rows))
    targets = torch.from_numpy(table.targets[rows])[None].to(one.loc.device)
    real = torch.ones_like(targets, dtype=torch.bool)
    scores = {
        name: math.nan if diverged else metric(one, targets, real).item()
        for name, metric in SCORE_FUNCTIONS.items()
    }
    if not all(map(math.isfinite, scores.values())):
        scores = dict.fromkeys(scores, math.nan)
    return scores, prediction_arrays(table, split, rows, prediction, replica)


def objective_arrays(posterior: Posterior, split: Split, replica: int) -> dict[str, np.ndarray]:
    """Return the objective of one replica after every epoch; empty if it was not recorded."""
    curves = {
        name: curve[:, replica].double().cpu().numpy() for name, curve in posterior.trace.items()
    }
    if not curves:
        return {}
    epochs = len(curves["loss"])
    return {"split": np.full(epochs, split.index), "epoch": np.arange(1, epochs + 1), **curves}


def _replica(prediction: Prediction, replica: int, rows: int) -> Prediction:
    """Select one replica, without padding; its axis is kept."""
    shape = prediction.loc.shape
    whole = (prediction.loc, prediction.epistemic.expand(shape), prediction.noise.expand(shape))
    return type(prediction)(*(part[:, replica : replica + 1, :rows] for part in whole))


def prediction_arrays(
    table: Table, split: Split, rows: np.ndarray, prediction: Prediction, replica: int
) -> dict[str, np.ndarray]:
    """Return the arrays to save for a prediction; they include the input if there is only one."""
    one = _replica(prediction, replica, len(rows))
    return {
        "split": np.full(len(rows), split.index),
        "row": rows,
        "target": table.targets[rows],
        **({"input": table.inputs[rows, 0]} if table.inputs.shape[1] == 1 else {}),
        **({} if table.truth is None else {"truth": table.truth[rows]}),
        **moments(one),
    }


def fold_arrays(split: Split, means: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arrays to save for predictive means of the test rows, `[K, padded M]`."""
    rows = split.test
    columns = {f"fold_{k}": row[: len(rows)] for k, row in enumerate(means)}
    return {"split": np.full(len(rows), split.index), "row": rows, **columns}


def mixture_arrays(
    split: Split, rows: np.ndarray, prediction: Prediction, replica: int
) -> dict[str, np.ndarray]:
    """Return the predictive mixtures of some rows, float32, in the units of the prediction.

    Returns:
        `split` and `row`, `[M]`; `loc`, `[M, S]`; the variances `epistemic` and `noise`, `[M, 1]`
        if all components share them, else `[M, S]`.
    """
    one = _replica(prediction, replica, len(rows))
    parts = {"loc": one.loc, "epistemic": one.epistemic, "noise": one.noise}
    columns = {name: part[:, 0].T.float().cpu().numpy() for name, part in parts.items()}
    for name in ("epistemic", "noise"):
        if (columns[name] == columns[name][:, :1]).all():
            columns[name] = columns[name][:, :1]
    return {"split": np.full(len(rows), split.index), "row": rows, **columns}


def saved_prediction(table: Table, split: Split, mixture: Mapping[str, np.ndarray]) -> Prediction:
    """Return the prediction of one replica from `mixture_arrays`, original units and float64.

    Args:
        table: the data set.
        split: whose training part the method was fitted to.
        mixture: in standardised units.
    """
    parts = (torch.from_numpy(mixture[n].T[:, None]) for n in ("loc", "epistemic", "noise"))
    standardised = Prediction(*(part.double() for part in parts))
    return training_scaler(table, split).original_units(standardised)


def training_scaler(table: Table, split: Split) -> Scaler:
    """Return the scaler of the training part of a split, float64."""
    return standardise(table, [split.train], [0], torch.device("cpu"), torch.float64)[1]


def standardised_inputs(table: Table, split: Split) -> tuple[np.ndarray, np.ndarray]:
    """Return the standardised inputs of the training and the test part of a split."""
    scaler = training_scaler(table, split)
    train, test = (scaler.inputs([table.inputs[r]])[0] for r in (split.train, split.test))
    return train.numpy(), test.numpy()


def diagnosis_arrays(
    split: Split, points: Mapping[str, Tensor], replica: int
) -> dict[str, np.ndarray]:
    """Return a method's diagnostics of each test point, given as `[R, M]`; empty without any."""
    if not points:
        return {}
    rows = len(split.test)
    arrays = {name: values[replica, :rows].cpu().numpy() for name, values in points.items()}
    return {"split": np.full(rows, split.index), "row": split.test, **arrays}


def moments(prediction: Prediction) -> dict[str, np.ndarray]:
    """Return the predictive moments of one replica, `[M]` each, in the units of the prediction.

    If the logarithm of the target was fitted, its mean and variance are among them.
    """
    tensors = {
        "mean": prediction.mean(),
        "epistemic_variance": prediction.epistemic_variance(),
        "noise_variance": prediction.noise_variance(),
    }
    if isinstance(prediction, LogPrediction):
        tensors[LOG_MEAN], tensors[LOG_VARIANCE] = prediction.fitted_moments()
    return {name: tensor[0].cpu().numpy() for name, tensor in tensors.items()}
