"""Which rows of a pool to label next, by the epistemic uncertainty of a final model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from bnnbench.constraints import check_int
from bnnbench.data.own_table.columns.encoding import encode_rows
from bnnbench.methods.shared.contract import COVARIANCE, DRAWS, MARGINALS
from bnnbench.portable_math import numpy_defaults
from bnnbench.prediction.final_model import FinalModel
from bnnbench.prediction.model import Model
from bnnbench.prediction.prediction_table import check_all_finite
from bnnbench.search.rows_to_label import choose_by_distance, choose_by_variance
from bnnbench.types import UserError

MAX_CANDIDATES = 2_000
"""Rows of a pool to choose from: those with the largest epistemic variance."""

VARIANCE_STATEMENT = (
    "label the rows from the top: score is a row's epistemic standard deviation, {unit}, "
    "once the rows above it are labelled"
)

MARGINALS_STATEMENT = (
    "label the rows from the top: score is a row's epistemic standard deviation, {unit}; "
    "rows may resemble each other, because method={method} predicts each row alone"
)

DISTANCE_STATEMENT = (
    "label the rows from the top: score is a row's distance, in standardised inputs, to the "
    "nearest training row or row above it, because method={} has no epistemic variance"
)


@numpy_defaults()
def next_rows(
    fitted: FinalModel, frame: pd.DataFrame, name: str, count: int
) -> tuple[pd.DataFrame, list[str]]:
    """Choose the rows of a pool to label next; equal pools give equal choices.

    The rows are chosen greedily by the epistemic variance given labels of those chosen before. A
    method that predicts each row alone gives the largest variances; one without epistemic variance,
    the rows farthest from the training rows.

    Args:
        fitted: the model.
        frame: the pool; columns are matched by name.
        name: of the frame, for messages.
        count: number of rows to choose.

    Returns:
        The columns `row` (from 1) and `score`, in the order of choice; and sentences: what the
        score is, and warnings.

    Raises:
        UserError: if a column is missing, the pool has fewer rows, or a prediction is not finite.
    """
    check_int("--next", count)
    if count > len(frame):
        raise UserError(
            f"{name} has {len(frame)} rows, fewer than the {count} to choose.",
            "--next",
            "few_rows",
        )
    inputs, _, warnings = encode_rows(frame, fitted.encodings, name, fitted.missing_values)
    model, region = fitted.saved.model, fitted.region
    method = model.fitting.method
    if method.point_estimate:
        pool, rows = region.standardised(model.scaler, inputs)
        chosen, scores = choose_by_distance(pool, rows, count)
        statement = DISTANCE_STATEMENT.format(method.label)
    else:
        fitted_scale = replace(model, scaler=replace(model.scaler, log=False))
        chosen, scores = _most_uncertain(fitted_scale, inputs, name, count)
        alone = method.joint == MARGINALS
        statement = MARGINALS_STATEMENT if alone else VARIANCE_STATEMENT
        unit = "of the logarithm of the target" if model.scaler.log else "in units of the target"
        statement = statement.format(unit=unit, method=method.label)
    return pd.DataFrame({"row": chosen + 1, "score": scores}), [*warnings, statement]


def _most_uncertain(
    model: Model, inputs: np.ndarray, name: str, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return row indices and epistemic standard deviations, in the order of choice."""
    found = model.predict(inputs)
    check_all_finite(found.values(), name)
    order = np.argsort(-found["epistemic_variance"], kind="stable")
    candidates = np.sort(order[: max(MAX_CANDIDATES, count)])
    covariance = epistemic_covariance(model, inputs[candidates])
    chosen, variances = choose_by_variance(covariance, found["noise_variance"][candidates], count)
    return candidates[chosen], np.sqrt(variances)


def epistemic_covariance(model: Model, inputs: np.ndarray) -> np.ndarray:
    """Return the epistemic covariance of predictions, `[M, M]`, in units of the model's scaler.

    It is diagonal if the method predicts each row alone.

    Args:
        model: of a method with epistemic variance.
        inputs: `[M, D]`, original units, at most `CHUNK_ROWS` rows.
    """
    method = model.fitting.method
    if method.joint == COVARIANCE:
        rows = model.scaler.inputs([inputs])
        covariance = method.joint_covariance(model.posterior, rows)[0]
        return np.asarray(model.scaler.target_scale[0] ** 2 * covariance.cpu().numpy())
    (prediction,) = model.predictive(inputs)
    if method.joint == DRAWS:
        draws = prediction.loc[:, 0].double().cpu().numpy()
        within = prediction.epistemic.expand(prediction.loc.shape)[:, 0].mean(0)
        return np.cov(draws.T, bias=True).reshape(2 * [len(inputs)]) + np.diag(within.cpu().numpy())
    return np.diag(prediction.epistemic_variance()[0].double().cpu().numpy())
