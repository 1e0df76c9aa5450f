"""Predictions of new rows by a final model, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bnnbench.prediction.held_out import HELD_OUT_NOTES
from bnnbench.types import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import pandas as pd

    from bnnbench.experiment.store.run_folder import RunFolder
    from bnnbench.prediction.final_model import FinalModel

CALIBRATIONS = ("none", "isotonic", "conformal")


def predict_frame(
    fitted: FinalModel,
    folder: RunFolder,
    frame: pd.DataFrame,
    name: str,
    level: float = 0.9,
    calibrate: str = "none",
) -> tuple[pd.DataFrame, list[str]]:
    """Predict the rows of a frame.

    Args:
        fitted: the model; for `conformal` one with held-out rows.
        folder: of its run.
        frame: the rows; columns are matched by name.
        name: of the frame, for messages.
        level: probability of the interval.
        calibrate: one of `CALIBRATIONS`.

    Returns:
        The columns `row` (from 1), `mean`, `lower`, `upper`, `standard_deviation`, `epistemic` and
        `noise` (standard deviations), in units of the target, and `outside_training_region` (see
        `TrainingRegion`; also rows with an unknown category); and warnings.

    Raises:
        UserError: if a column is missing, there are no data to calibrate with, or a prediction is
            not finite.
    """
    import numpy as np
    import pandas as pd

    from bnnbench.data.own_table.new_rows import encode_rows
    from bnnbench.experiment.store.record import read_record
    from bnnbench.portable_math import total_deviation
    from bnnbench.prediction.training_region import describe_outside
    from bnnbench.results.score.calibration import ends_from_mean
    from bnnbench.results.score.impossible_intervals import below_zero_note

    inputs, unknown, warnings = encode_rows(frame, fitted.encodings, name, fitted.missing_values)
    found = fitted.saved.model.predict(inputs)
    low, high, notes = _interval_ends(fitted, folder, level, calibrate)
    columns = {
        "row": np.arange(1, len(inputs) + 1),
        "mean": found["mean"],
        "lower": found["mean"] + ends_from_mean(found, low),
        "upper": found["mean"] + ends_from_mean(found, high),
        "standard_deviation": total_deviation(found),
        "epistemic": np.sqrt(found["epistemic_variance"]),
        "noise": np.sqrt(found["noise_variance"]),
    }
    check_all_finite(columns, name)
    reasons = fitted.region.reasons(fitted.saved.model.scaler, inputs)
    run = read_record(folder).metadata
    notes += below_zero_note(columns["lower"], run, level, f"the rows of {name}")
    notes += describe_outside(reasons, unknown, fitted.features, name)
    columns["outside_training_region"] = reasons.any(1) | unknown
    return pd.DataFrame(columns), [*warnings, *_notes_on_run(fitted, calibrate), *notes]


def _notes_on_run(fitted: FinalModel, calibrate: str) -> list[str]:
    notes = [f"the run was computed with {fitted.other_code}"] if fitted.other_code else []
    if fitted.coverage_note and calibrate == "none":
        notes.append(f"test rows of the run: {fitted.coverage_note.removesuffix('.')}")
    return notes


def check_all_finite(columns: Mapping[str, np.ndarray], name: str) -> None:
    """Raise `UserError` if a prediction is not a finite number."""
    import numpy as np

    wrong = np.flatnonzero(~np.isfinite([*columns.values()]).all(0))
    if wrong.size:
        raise UserError(
            f"{name}: the prediction of data row {wrong[0] + 1} is not finite; correct its cells, "
            "which may be too large, or delete the folder of the model to fit it again.",
            code="not_finite",
        )


def _interval_ends(
    fitted: FinalModel, folder: RunFolder, level: float, calibrate: str
) -> tuple[float, float, list[str]]:
    """Return the ends of the interval as standard normal scores (see `calibration`).

    Returns:
        Both ends, and notes on the limits of the calibration.
    """
    import numpy as np
    from scipy.special import ndtri

    if calibrate == "conformal":
        about = fitted.saved.about
        groups = np.asarray(about["held_out_groups"])
        half = conformal_half_width(fitted.scores, groups, level)
        note = HELD_OUT_NOTES[about["held_out"]]
        return -half, half, [note] if note else []
    notes = []
    levels = np.array([(1 - level) / 2, (1 + level) / 2])
    if calibrate == "isotonic":
        from bnnbench.results.read.run_files import read_out_of_fold
        from bnnbench.results.score.calibration import isotonic, pit_values

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


def conformal_half_width(scores: np.ndarray, groups: np.ndarray, level: float) -> float:
    """Return half the width, as a standard score, that covers a new row with `level`.

    Args:
        scores: absolute standard scores of the held-out targets, `[n]`.
        groups: their groups, `[n]`.
        level: probability of the interval.

    Raises:
        UserError: if there are too few groups for the level.
    """
    import numpy as np

    from bnnbench.results.score.conformal import conformal_radius

    radius = conformal_radius(scores, level, groups)
    if radius == np.inf:
        count = len(np.unique(groups))
        raise UserError(
            f"the probability of a conformal interval from {count} held-out rows or groups must "
            f"be at most {count / (count + 1):.3f}, not {level:g}; or use isotonic calibration.",
            "--interval",
            "few_rows",
        )
    return radius
