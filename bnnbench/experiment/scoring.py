"""Scores of a prediction, and the flat arrays that are saved of a split."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from bnnbench.methods.shared.contract import Posterior
from bnnbench.metrics import METRICS
from bnnbench.types import Prediction, Split, Table

Scored = tuple[dict[str, float], dict[str, np.ndarray]]


def score(
    table: Table,
    split: Split,
    rows: np.ndarray,
    prediction: Prediction,
    replica: int,
    diverged: bool,
) -> Scored:
    """Scores the prediction of some rows of a split: the only place that reads test targets.

    Returns:
        Every metric (NaN if diverged), and the flat arrays for `predictions.npz`, in original
        units.
    """
    one = _replica(prediction, replica, len(rows))
    targets = torch.from_numpy(table.targets[rows])[None].to(one.loc.device)
    real = torch.ones_like(targets, dtype=torch.bool)
    scores = {
        name: math.nan if diverged else metric(one, targets, real).item()
        for name, metric in METRICS.items()
    }
    return scores, flat(table, split, rows, prediction, replica)


def objective(posterior: Posterior, split: Split, replica: int) -> dict[str, np.ndarray]:
    """One replica's trace as flat arrays; none where the fit kept none."""
    curves = {
        name: curve[:, replica].double().cpu().numpy() for name, curve in posterior.trace.items()
    }
    if not curves:
        return {}
    epochs = len(curves["loss"])
    return {"split": np.full(epochs, split.index), "epoch": np.arange(1, epochs + 1), **curves}


def _replica(prediction: Prediction, replica: int, rows: int) -> Prediction:
    """One replica's real rows, its axis kept."""
    shape = prediction.loc.shape
    whole = (prediction.loc, prediction.epistemic.expand(shape), prediction.noise.expand(shape))
    return Prediction(*(part[:, replica : replica + 1, :rows] for part in whole))


def flat(
    table: Table, split: Split, rows: np.ndarray, prediction: Prediction, replica: int
) -> dict[str, np.ndarray]:
    """What is saved of a prediction of some rows of the table; one input is saved too."""
    one = _replica(prediction, replica, len(rows))
    return {
        "split": np.full(len(rows), split.index),
        "row": rows,
        "target": table.targets[rows],
        **({"input": table.inputs[rows, 0]} if table.inputs.shape[1] == 1 else {}),
        **({} if table.truth is None else {"truth": table.truth[rows]}),
        **moments(one),
    }


def components(
    split: Split, rows: np.ndarray, prediction: Prediction, replica: int
) -> dict[str, np.ndarray]:
    """The predictive mixtures of some rows of a split, float32, in the units of the prediction.

    Returns:
        `split` and `row`, `[M]`; `loc`, `[M, S]`, and the variances `epistemic` and `noise`, `[M,
        1]` each where all components share them, else `[M, S]`.
    """
    one = _replica(prediction, replica, len(rows))
    parts = {"loc": one.loc, "epistemic": one.epistemic, "noise": one.noise}
    columns = {name: part[:, 0].T.float().cpu().numpy() for name, part in parts.items()}
    for name in ("epistemic", "noise"):
        if (columns[name] == columns[name][:, :1]).all():
            columns[name] = columns[name][:, :1]
    return {"split": np.full(len(rows), split.index), "row": rows, **columns}


def diagnosis(split: Split, points: Mapping[str, Tensor], replica: int) -> dict[str, np.ndarray]:
    """What a method says of each test point `[R, M]` as flat arrays; none where it says nothing."""
    if not points:
        return {}
    rows = len(split.test)
    own = {name: values[replica, :rows].cpu().numpy() for name, values in points.items()}
    return {"split": np.full(rows, split.index), "row": split.test, **own}


def moments(prediction: Prediction) -> dict[str, np.ndarray]:
    """Of a prediction of one replica, `[M]` each, in its units."""
    found = {
        "mean": prediction.mean(),
        "epistemic_variance": prediction.epistemic_variance(),
        "noise_variance": prediction.noise_variance(),
    }
    return {name: tensor[0].cpu().numpy() for name, tensor in found.items()}
