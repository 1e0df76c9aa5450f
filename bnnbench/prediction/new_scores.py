"""Scores of predictions of new rows whose targets are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from bnnbench.data.own_table.cells.numbers import MissingCodes, read_cells
from bnnbench.data.own_table.columns.encoding import NUMBER, Encoding, infer_encoding
from bnnbench.data.own_table.new_rows import encode_rows
from bnnbench.metrics import log_likelihood
from bnnbench.notes import quantity
from bnnbench.portable_math import numpy_defaults
from bnnbench.prediction.training_region import MAX_ROWS
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.prediction.final_model import FinalModel


@numpy_defaults()
def describe_scores(
    fitted: FinalModel, frame: pd.DataFrame, predicted: pd.DataFrame, name: str, level: float
) -> list[str]:
    """Return a sentence with scores of the rows that have a target; none if no row has one.

    Args:
        fitted: the model.
        frame: the rows.
        predicted: their predictions, from `predict_frame`, in the same order.
        name: of the frame, for the sentence.
        level: probability of the predicted interval.
    """
    target = fitted.target
    if target not in frame:
        return []
    cells = read_cells(frame[[target]], MissingCodes.of(fitted.missing_values))[target]
    try:
        unit = infer_encoding(cells).unit
        (targets,) = Encoding(target, NUMBER, unit=unit).apply(cells)
    except UserError as error:
        return [f"{name}: no scores, since {error}".removesuffix(".")]
    known = np.isfinite(targets)
    if not known.any():
        return []
    targets, rows = targets[known], predicted[known]
    inputs, _, _ = encode_rows(frame[known], fitted.encodings, name, fitted.missing_values)
    inside = (rows["lower"] <= targets) & (targets <= rows["upper"])
    seen = fitted.region.among_rows(inputs)
    least = "at least " * (len(fitted.region.rows) == MAX_ROWS)  # of more, only some are kept
    also = f"; {least}{seen} of them have the inputs of a training row, which flatters the scores"
    rmse = np.sqrt(((targets - rows["mean"]) ** 2).mean())
    return [
        f"{name} has {target} in {quantity(len(targets), 'row')}: RMSE {rmse:.4g}, log-likelihood "
        f"{_log_likelihood(fitted, inputs, targets):.4g} (mean over rows, original units), and "
        f"the {100 * level:g} % intervals contain {inside.sum()} of {len(targets)} targets"
        f"{also * bool(seen)}"
    ]


def _log_likelihood(fitted: FinalModel, inputs: np.ndarray, targets: np.ndarray) -> float:
    """Return the mean over rows of the log of the predictive density, original units."""
    total, start = 0.0, 0
    for prediction in fitted.saved.model.predictive(inputs):
        some = torch.from_numpy(targets[start : start + prediction.loc.shape[-1]])[None]
        real = torch.ones_like(some, dtype=torch.bool)
        total += some.shape[1] * log_likelihood(prediction, some, real).item()
        start += some.shape[1]
    return total / start
