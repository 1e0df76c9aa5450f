"""`bnnbench predict`: new rows by the method of a run, with intervals."""

from __future__ import annotations

import math
import sys
from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.checks import check_between
from bnnbench.cli.endings import note
from bnnbench.types import UserError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from bnnbench.cli.fitted import Fitted
    from bnnbench.data.own_table.text_file import Writing
    from bnnbench.experiment.run_folder import RunFolder

DESCRIPTION = """\
Predict the rows of a file by the method of a finished run.

The method is fitted once more, to all rows of the run's data, with the median over splits of the
values that the search chose; the model is kept in the run's folder (weights as safetensors, words
as JSON) and used again. Columns are found by name; more of them, in any order, do no harm.

Written are the number of each row of the file, its columns that the model does not use, as they are
(keys, names; --keep says which), and, in the target's unit: mean, the interval's ends,
standard_deviation, and its two parts, epistemic (what the method is unsure of) and noise. -o writes
a file as that of the rows is written: with semicolons and decimal commas, if it has them.

The interval is that of a Gaussian with this mean and deviation, unless it is calibrated:

  isotonic    by the run's out-of-fold predictions: what was promised, as often as it came true
  conformal   by rows that the model is not fitted to (a fifth): at least the level of new rows
              like those of the table are inside, whatever the method (split conformal)
"""

EXAMPLES = """\
examples:
  bnnbench predict outputs/uci/houses/vadam/... new.csv
  bnnbench predict RUN new.csv --interval 0.95 --calibrate conformal -o predicted.csv
  bnnbench predict RUN new.csv --keep batch --keep plant -o predicted.csv
"""

CALIBRATIONS = ("none", "isotonic", "conformal")


def add_parser(subparsers: Any) -> None:
    """Adds `predict`, which sets `run`, a function of the parsed arguments."""
    parser = subparsers.add_parser(
        "predict",
        help="predict new rows by the method of a run",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="RUN", type=Path, help="the folder of a finished run")
    parser.add_argument("file", metavar="FILE", type=Path, help="new rows: CSV, Excel, parquet")
    parser.add_argument(
        "--interval", type=float, default=0.9, metavar="LEVEL", help="its level (default: 0.9)"
    )
    parser.add_argument(
        "--calibrate", choices=CALIBRATIONS, default="none", help="the interval (default: none)"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="CSV", help="where to write (default: the terminal)"
    )
    parser.add_argument(
        "--keep",
        action="append",
        metavar="COLUMN",
        help="a column of FILE to write beside the predictions; may be given more than once "
        "(default: all that the model does not use)",
    )
    parser.set_defaults(run=run)


def run(arguments: Any) -> int:
    """Predicts, and says what it thinks of the rows."""
    check_between("--interval", arguments.interval, 0, 1)
    if arguments.output is not None and arguments.output.is_dir():
        raise UserError(f"--output must be a file, and {arguments.output} is a folder.")
    from bnnbench.cli.fitted import fitted_model
    from bnnbench.cli.run_at import run_at
    from bnnbench.data.own_table.reading import as_written, read_frame, writing_like

    folder = run_at(arguments.folder)
    frame, found = read_frame(arguments.file, "auto", "auto", "auto", None)
    if not len(frame):
        raise UserError(f"{arguments.file} has no rows to predict.")
    if found:
        note(f"{arguments.file.name}: {found}.")
    for name in arguments.keep or ():
        if name not in frame:
            raise UserError(
                f"--keep: {arguments.file} has no column {name!r}; its columns are "
                f"{', '.join(map(str, frame))}."
            )
    fitted = fitted_model(folder, certain=arguments.calibrate == "conformal")
    predicted, remarks = predict_frame(
        fitted, folder, frame, arguments.file.name, arguments.interval, arguments.calibrate
    )
    for remark in remarks:
        note(f"{remark}.")
    writing = writing_like(arguments.file)
    kept = kept_columns(frame, fitted, arguments.keep)
    if len(kept.columns):
        kept = as_written(arguments.file, frame, writing)[list(kept)]
    write(beside(kept, predicted), arguments.output, writing)
    return 0


def kept_columns(frame: pd.DataFrame, fitted: Fitted, asked: Sequence[str] | None) -> pd.DataFrame:
    """The columns of a file that are written beside its predictions.

    Args:
        frame: its rows.
        fitted: the model.
        asked: names; None is all that the model does not use.
    """
    used = {one.column for one in fitted.encodings}
    names = [name for name in frame if name not in used] if asked is None else dict.fromkeys(asked)
    return frame[list(names)]


def beside(kept: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Numbers of rows, what was kept, predictions; what has the name of one of these gives way."""
    import pandas as pd

    free = [name if name not in predicted else f"{name} (given)" for name in kept]
    kept = kept.set_axis(free, axis=1)
    return pd.concat([predicted[["row"]], kept, predicted.drop(columns="row")], axis=1)


def predict_frame(
    fitted: Fitted,
    folder: RunFolder,
    frame: pd.DataFrame,
    name: str,
    level: float = 0.9,
    calibrate: str = "none",
) -> tuple[pd.DataFrame, list[str]]:
    """Predictions of the rows of a frame.

    Args:
        fitted: the model; for `conformal` one that was fitted without some rows.
        folder: of its run.
        frame: the rows, columns by name.
        name: of them, for messages.
        level: of the interval.
        calibrate: one of `CALIBRATIONS`.

    Returns:
        A row each with `row` (from 1), `mean`, `lower`, `upper`, `standard_deviation`,
        `epistemic` and `noise` (standard deviations), in the target's unit; and what should be
        said of it, a sentence each.

    Raises:
        UserError: if a column is missing, or the calibration has nothing to learn from.
    """
    import numpy as np
    import pandas as pd

    from bnnbench.data.own_table.new_rows import inputs_of
    from bnnbench.results.calibration import total_deviation

    inputs, remarks = inputs_of(frame, fitted.encodings, name)
    found = fitted.kept.model.predict(inputs)
    deviation = total_deviation(found)
    low, high = _ends(fitted, folder, level, calibrate)
    columns = {
        "row": np.arange(1, len(inputs) + 1),
        "mean": found["mean"],
        "lower": found["mean"] + low * deviation,
        "upper": found["mean"] + high * deviation,
        "standard_deviation": deviation,
        "epistemic": np.sqrt(found["epistemic_variance"]),
        "noise": np.sqrt(found["noise_variance"]),
    }
    return pd.DataFrame(columns), remarks


def _ends(fitted: Fitted, folder: RunFolder, level: float, calibrate: str) -> tuple[float, float]:
    """Of the interval, in predictive standard deviations from the mean."""
    import numpy as np
    from scipy.special import ndtri

    if calibrate == "conformal":
        half = conformal_half_width(fitted.kept.scores, level)
        return -half, half
    levels = np.array([(1 - level) / 2, (1 + level) / 2])
    if calibrate == "isotonic":
        from bnnbench.results.calibration import ranks
        from bnnbench.results.recalibration import isotonic
        from bnnbench.results.run_files import read_held_out

        held = read_held_out(folder)
        if held is None:
            raise UserError(
                f"{folder.root} kept no out-of-fold predictions to learn from; run it with "
                "evaluation.out_of_fold=true, or use --calibrate conformal."
            )
        levels = isotonic(ranks(held)).inverse(levels)
    low, high = ndtri(levels)
    return float(low), float(high)


def conformal_half_width(scores: np.ndarray, level: float) -> float:
    """Half the width, in predictive deviations, that holds new rows with probability `level`.

    The `ceil((n + 1) level)`-th smallest of `n` held-out distances: a new row is as likely to take
    any place among them (Vovk, Gammerman & Shafer 2005; Lei et al. 2018, eq. 3).

    Raises:
        UserError: if there are too few for the level.
    """
    place = math.ceil((len(scores) + 1) * level)
    if place > len(scores):
        raise UserError(
            f"--interval: {len(scores)} held-out rows make intervals of up to "
            f"{len(scores) / (len(scores) + 1):.3f} certain, not of {level:g}."
        )
    return float(sorted(scores)[place - 1])


def write(predicted: pd.DataFrame, output: Path | None, writing: Writing) -> None:
    """Writes predictions whole, to a file or to the terminal.

    Args:
        predicted: a row each.
        output: the file; None is the terminal.
        writing: of a file, so that what could read the rows can read it.
    """
    if output is None:
        predicted.to_csv(sys.stdout, index=False, float_format="%.6g")
        return
    from bnnbench.data.own_table.text_file import SEPARATORS
    from bnnbench.files import write_atomically

    separator = " " if writing.separator == "space" else SEPARATORS[writing.separator]
    text = predicted.to_csv(index=False, sep=separator, decimal=writing.decimal)
    write_atomically(output, lambda file: file.write(text.encode(writing.encoding)))
    print(f"predictions: {output}")
