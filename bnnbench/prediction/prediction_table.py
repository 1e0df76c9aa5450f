"""The table of predictions: its columns, notes on its rows, and scores where targets are known."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from scipy.special import ndtri

from bnnbench.data.own_table.cells.numbers import MissingCodes, read_cells
from bnnbench.data.own_table.columns.encoding import NUMBER, Encoding, encode_rows, infer_encoding
from bnnbench.experiment.splits.fitting import moments
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.metrics import log_likelihood
from bnnbench.notes import quantity
from bnnbench.portable_math import numpy_defaults, total_deviation
from bnnbench.prediction.conformal import HELD_OUT_NOTES, conformal_half_width
from bnnbench.prediction.final_model import FinalModel
from bnnbench.prediction.model import Model, joined
from bnnbench.prediction.training_region import MAX_ROWS, describe_outside
from bnnbench.results.read.run_files import read_out_of_fold
from bnnbench.results.score.calibration import ends_from_mean, isotonic, pit_values
from bnnbench.results.score.run_notes import below_zero_note
from bnnbench.types import UserError

COLUMNS = ("mean", "lower", "upper", "standard_deviation", "epistemic", "noise")
"""Predictive means, ends of intervals, and standard deviations: all, due to the uncertainty of the
model, and of the noise. They are in units of the target."""


def prediction_table(*columns: np.ndarray, index: pd.Index | None = None) -> pd.DataFrame:
    """Return a table of `COLUMNS`, `[M]` each."""
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True)), index)


@numpy_defaults()
def predict_frame(
    fitted: FinalModel,
    folder: RunFolder,
    frame: pd.DataFrame,
    name: str,
    level: float,
    calibrate: str,
    scored: bool = False,
) -> tuple[pd.DataFrame, list[str]]:
    """Predict the rows of a frame.

    Args:
        fitted: the model; for `conformal` one with held-out rows.
        folder: of its run.
        frame: the rows; columns are matched by name.
        name: of the frame, for messages.
        level: probability of the interval.
        calibrate: one of `conformal.CALIBRATIONS`.
        scored: whether to score the rows that have a target.

    Returns:
        The columns `row` (from 1), `COLUMNS`, and `outside_training_region` (see
        `TrainingRegion`; also rows with an unknown category); and notes, a sentence each.

    Raises:
        UserError: if a column is missing, there are no data to calibrate with, or a prediction is
            not finite.
    """
    inputs, unknown, warnings = encode_rows(frame, fitted.encodings, name, fitted.missing_values)
    targets, problem = np.full(len(frame), np.nan), list[str]()
    if scored and fitted.target in frame:
        try:
            targets = _targets(fitted, frame)
        except UserError as error:
            problem = [f"{name}: no scores, since {error}".removesuffix(".")]
    model = fitted.saved.model
    found, log_density = _predictions(model, inputs, targets)
    *ends, notes = _interval_ends(fitted, folder, level, calibrate)
    table = prediction_table(
        found["mean"],
        *(found["mean"] + ends_from_mean(found, end) for end in ends),
        total_deviation(found),
        np.sqrt(found["epistemic_variance"]),
        np.sqrt(found["noise_variance"]),
    )
    check_all_finite(table.to_numpy().T, name)
    reasons = fitted.region.reasons(model.scaler, inputs)
    run = read_record(folder).metadata
    notes += below_zero_note(table["lower"].to_numpy(), run, level, f"the rows of {name}")
    notes += describe_outside(reasons, unknown, fitted.features, name)
    if np.isfinite(targets).any():
        notes.append(f"{name} {_scores(fitted, inputs, targets, table, level, log_density)}")
    table.insert(0, "row", np.arange(1, len(inputs) + 1))
    table["outside_training_region"] = reasons.any(1) | unknown
    return table, [*warnings, *_notes_on_run(fitted, calibrate), *notes, *problem]


def _interval_ends(
    fitted: FinalModel, folder: RunFolder, level: float, calibrate: str
) -> tuple[float, float, list[str]]:
    """Return the ends of the interval as standard normal scores (see `calibration`).

    Returns:
        Both ends, and notes on the limits of the calibration.
    """
    if calibrate == "conformal":
        about = fitted.saved.about
        groups = np.asarray(about["held_out_groups"])
        half = conformal_half_width(fitted.scores, groups, level)
        note = HELD_OUT_NOTES[about["held_out"]]
        return -half, half, [note] if note else []
    notes = []
    levels = np.array([(1 - level) / 2, (1 + level) / 2])
    if calibrate == "isotonic":
        held = read_out_of_fold(folder)
        if held is None:
            raise UserError(
                f"{folder.root} has no out-of-fold predictions to calibrate with; run it again "
                "with evaluation.out_of_fold=true, or use conformal calibration.",
                "--calibrate",
                "no_out_of_fold",
            )
        calibration = isotonic(pit_values(held))
        largest = 1 - 2 * max(calibration.ends[0], 1 - calibration.ends[1])
        if level > largest:
            notes = [
                f"the {len(held)} out-of-fold predictions calibrate intervals up to "
                f"{max(largest, 0):.3g}, so the ends for {level:g} are their outermost values"
            ]
        levels = calibration.inverse(levels)
    low, high = ndtri(levels)
    return float(low), float(high), notes


def _notes_on_run(fitted: FinalModel, calibrate: str) -> list[str]:
    notes = [f"the run was computed with {fitted.other_code}"] if fitted.other_code else []
    if fitted.coverage_note and calibrate == "none":
        notes.append(f"test rows of the run: {fitted.coverage_note.removesuffix('.')}")
    return notes


def check_all_finite(columns: Iterable[np.ndarray], name: str) -> None:
    """Raise `UserError` if a prediction is not a finite number."""
    wrong = np.flatnonzero(~np.isfinite([*columns]).all(0))
    if wrong.size:
        raise UserError(
            f"{name}: the prediction of data row {wrong[0] + 1} is not finite; correct its cells, "
            "which may be too large, or delete the folder of the model to fit it again.",
            code="not_finite",
        )


def _targets(fitted: FinalModel, frame: pd.DataFrame) -> np.ndarray:
    """Return the targets of the rows, `[M]`, not finite where there is none.

    Raises:
        UserError: if there are other cells than numbers.
    """
    codes = MissingCodes.of(fitted.missing_values)
    cells = read_cells(frame[[fitted.target]], codes)[fitted.target]
    unit = infer_encoding(cells).unit
    return np.array(Encoding(fitted.target, NUMBER, unit=unit).apply(cells)[0])


def _predictions(
    model: Model, inputs: np.ndarray, targets: np.ndarray
) -> tuple[dict[str, np.ndarray], float]:
    """Return the moments, see `Model.predict`, and the sum of the log-densities of the targets."""
    chunks, total, start = [], 0.0, 0
    for prediction in model.predictive(inputs):
        chunks.append(moments(prediction))
        some = targets[start : start + len(chunks[-1]["mean"])]
        start += len(some)
        known = np.isfinite([some, *chunks[-1].values()]).all(0)
        if known.any():
            values, real = torch.from_numpy(some)[None], torch.from_numpy(known)[None]
            total += known.sum() * log_likelihood(prediction, values, real).item()
    return joined(chunks), total


def _scores(
    fitted: FinalModel,
    inputs: np.ndarray,
    targets: np.ndarray,
    table: pd.DataFrame,
    level: float,
    log_density: float,
) -> str:
    """Return a clause with scores of the rows that have a target, given their log-density."""
    known = np.isfinite(targets)
    targets, rows = targets[known], table[known]
    inside = (rows["lower"] <= targets) & (targets <= rows["upper"])
    seen = fitted.region.among_rows(inputs[known])
    least = "at least " * (len(fitted.region.rows) == MAX_ROWS)  # of more, only some are kept
    also = f"; {least}{seen} of them have the inputs of a training row, which flatters the scores"
    rmse = np.sqrt(((targets - rows["mean"]) ** 2).mean())
    return (
        f"has {fitted.target} in {quantity(len(targets), 'row')}: RMSE {rmse:.4g}, log-likelihood "
        f"{log_density / len(targets):.4g} (mean over rows, original units), and "
        f"the {100 * level:g} % intervals contain {inside.sum()} of {len(targets)} targets"
        f"{also * bool(seen)}"
    )
