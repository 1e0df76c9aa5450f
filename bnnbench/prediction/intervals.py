"""Predictions of new rows by a final model, with intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from bnnbench.types import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bnnbench.experiment.run_folder import RunFolder
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
        `noise` (standard deviations), in units of the target; and warnings.

    Raises:
        UserError: if a column is missing, or there are no data to calibrate with.
    """
    import numpy as np
    import pandas as pd

    from bnnbench.data.own_table.new_rows import encode_rows
    from bnnbench.results.calibration import total_deviation

    inputs, warnings = encode_rows(frame, fitted.encodings, name)
    found = fitted.saved.model.predict(inputs)
    deviation = total_deviation(found)
    low, high = _interval_ends(fitted, folder, level, calibrate)
    columns = {
        "row": np.arange(1, len(inputs) + 1),
        "mean": found["mean"],
        "lower": found["mean"] + low * deviation,
        "upper": found["mean"] + high * deviation,
        "standard_deviation": deviation,
        "epistemic": np.sqrt(found["epistemic_variance"]),
        "noise": np.sqrt(found["noise_variance"]),
    }
    return pd.DataFrame(columns), warnings


def _interval_ends(
    fitted: FinalModel, folder: RunFolder, level: float, calibrate: str
) -> tuple[float, float]:
    """Return the ends of the interval, in predictive standard deviations from the mean."""
    import numpy as np
    from scipy.special import ndtri

    if calibrate == "conformal":
        half = conformal_half_width(fitted.saved.scores, level)
        return -half, half
    levels = np.array([(1 - level) / 2, (1 + level) / 2])
    if calibrate == "isotonic":
        from bnnbench.results.calibration import isotonic, pit_values
        from bnnbench.results.run_files import read_out_of_fold

        held = read_out_of_fold(folder)
        if held is None:
            raise UserError(
                f"{folder.root} has no out-of-fold predictions to calibrate with; run it again "
                "with evaluation.out_of_fold=true, or use --calibrate conformal.",
                "--calibrate",
                "no_out_of_fold",
            )
        levels = isotonic(pit_values(held)).inverse(levels)
    low, high = ndtri(levels)
    return float(low), float(high)


def conformal_half_width(scores: np.ndarray, level: float) -> float:
    """Return half the width, in predictive deviations, that covers a new row with `level`.

    This is the `ceil((n + 1) level)`-th smallest of `n` held-out distances, since every rank of a
    new row is equally likely (Vovk, Gammerman & Shafer 2005; Lei et al. 2018, eq. 3).

    Raises:
        UserError: if there are too few rows for the level.
    """
    place = math.ceil((len(scores) + 1) * level)
    if place > len(scores):
        raise UserError(
            f"--interval must be at most {len(scores) / (len(scores) + 1):.3f} with "
            f"{len(scores)} held-out rows, not {level:g}.",
            "--interval",
            "few_rows",
        )
    return float(sorted(scores)[place - 1])
