"""`bnnbench predict`: predictions of new rows by the method of a run, with intervals."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.constraints import check_between, check_choice
from bnnbench.data.quoted_texts import split_texts
from bnnbench.near_names import with_known
from bnnbench.notes import note, one_line
from bnnbench.prediction.conformal import CALIBRATIONS
from bnnbench.types import UserError

if TYPE_CHECKING:
    import pandas as pd

    from bnnbench.data.own_table.read.text_file import ReadingSettings, TextFormat
    from bnnbench.prediction.final_model import FinalModel

SUMMARY = "predict new rows with the method of a run"

DESCRIPTION = """\
Predict the rows of a file with the method of a finished run.

The method is fitted to all rows of the run's data, with the median over splits of the
hyper-parameters that the search chose. The model is saved in the run's folder (weights as
safetensors, the rest as JSON) and reused. Columns are matched by name; their order does not matter,
and further columns are ignored.

The output has the number of each row; unchanged, the columns of FILE that the model does not use,
dates and the columns of dataset.time (or instead those of --id-columns); and, in units of the
target, the mean, the ends of the interval, the standard_deviation and its two parts: epistemic
(uncertainty of the model) and noise. The column outside_training_region marks rows with an unknown
category, outside the range of a feature, or farther from the nearest training row than 99 % of the
training rows are from theirs; it ignores the columns of dataset.time. FILE is read with the
settings of the run, unless options override them. A file written with -o has the format of FILE,
such as semicolons and decimal commas. If FILE contains the target, the predictions are scored.

The interval is Gaussian with this mean and standard deviation (with dataset.log_target, it is that
of a Gaussian of the logarithm), unless it is calibrated:

  isotonic    by isotonic regression on the run's out-of-fold predictions
  conformal   by split conformal prediction: a fifth of the rows is held out (whole groups with
              dataset.group, the latest rows with dataset.time), and the interval covers new rows
              of the same distribution with at least the given probability. This holds on average
              over rows: coverage is lower where the noise is large, unless the method predicts the
              noise. It is approximate after a search, which uses all rows. With dataset.time there
              is no guarantee

With --next N, the rows of FILE are a pool without labels, and the output is N rows, in the order in
which to label them: each has the largest epistemic variance once those above it are labelled.
"""

READING = {
    "separator": "column separator of a text file: auto, comma, semicolon, tab, bar or space",
    "decimal": "decimal mark of a text file: auto, . or a comma",
    "encoding": "encoding of a text file: auto or a Python codec",
    "sheet": "sheet of an Excel file",
}
"""Options that override a setting `dataset.NAME` of the run, and their descriptions."""

SIX_DIGITS = "%.6g"
"""Format of predictions; more digits would not be meaningful."""

EXAMPLES = """\
examples:
  bnnbench predict outputs/uci/houses/vadam/... new.csv
  bnnbench predict RUN new.csv --interval 0.95 --calibrate conformal -o predicted.csv
  bnnbench predict RUN new.csv --id-columns batch,plant -o predicted.csv
  bnnbench predict RUN --next 10 pool.csv
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("folder", metavar="RUN", type=Path, help="the folder of a finished run")
    parser.add_argument("file", metavar="FILE", type=Path, help="new rows: CSV, Excel, parquet")
    parser.add_argument(
        "--interval",
        type=float,
        default=0.9,
        metavar="LEVEL",
        help="probability of the interval (default: 0.9)",
    )
    parser.add_argument(
        "--calibrate",
        choices=CALIBRATIONS,
        default="none",
        help="how to calibrate the interval (default: none)",
    )
    parser.add_argument(
        "--next", type=int, metavar="N", help="print the N rows to label next, without intervals"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="CSV", help="output file (default: the terminal)"
    )
    for name, what in READING.items():
        parser.add_argument(f"--{name}", help=f"{what} (default: as in the run)")
    parser.add_argument(
        "--id-columns",
        metavar="A,B",
        type=split_texts,
        help="columns of FILE to copy to the output (default: those not used by the model, and "
        "dates)",
    )


def run(arguments: Namespace) -> int:
    """Write the predictions, and print notes on the rows."""
    check_between("--interval", arguments.interval, 0, 1)
    if arguments.output is not None and arguments.output.is_dir():
        raise UserError(f"--output must be a file, but {arguments.output} is a folder.", "--output")
    if arguments.next is not None and (arguments.interval, arguments.calibrate) != (0.9, "none"):
        raise UserError(
            "--next prints no intervals; leave out --interval and --calibrate.",
            "--next",
            "no_intervals",
        )
    from bnnbench.data.own_table.columns.encoding import CATEGORIES
    from bnnbench.data.own_table.read.table_file import as_written, format_of, read_frame
    from bnnbench.experiment.store.run_folder import find_run
    from bnnbench.prediction.final_model import load_or_fit, reading_settings
    from bnnbench.prediction.next_rows import next_rows
    from bnnbench.prediction.prediction_table import predict_frame

    folder = find_run(arguments.folder)
    how = new_rows_settings(arguments, reading_settings(folder))
    try:
        frame, found = read_frame(arguments.file, how)
    except UserError as error:
        raise naming_options(error) from None
    if not len(frame):
        raise UserError(f"{arguments.file} has no rows to predict.", "FILE", "no_rows")
    if found:
        note(f"{arguments.file.name}: {found}.")
    for name in arguments.id_columns or ():
        if name not in frame:
            raise UserError(
                f"--id-columns: {arguments.file} has no column {with_known(name, frame)}.",
                "--id-columns",
            )
    writing = format_of(arguments.file, how)
    written = as_written(arguments.file, frame, writing, how)
    fitted = load_or_fit(folder, conformal=arguments.calibrate == "conformal")
    words = [e.column for e in fitted.encodings if e.kind == CATEGORIES and e.column in frame]
    rows = frame.assign(**{name: written[name].where(frame[name].notna()) for name in words})
    name, ids = arguments.file.name, id_columns(written, fitted, arguments.id_columns)
    if arguments.next is None:
        level, calibrate = arguments.interval, arguments.calibrate
        predicted, warnings = predict_frame(
            fitted, folder, rows, name, level, calibrate, scored=True
        )
    else:
        predicted, warnings = next_rows(fitted, rows, name, arguments.next)
        ids = ids.iloc[predicted["row"] - 1].reset_index(drop=True)
    for warning in warnings:
        note(f"{warning}.")
    write_predictions(join_columns(ids, predicted), arguments.output, writing)
    return 0


def new_rows_settings(arguments: Namespace, how: ReadingSettings) -> ReadingSettings:
    """Return the settings to read new rows: those of the run, overridden by options.

    The sheet is ignored for a file without sheets, and so is the line number of the names.
    """
    from bnnbench.data.own_table.read.table_file import EXCEL
    from bnnbench.data.own_table.read.text_file import AUTO, SEPARATORS

    given = {name: value for name in READING if (value := getattr(arguments, name)) is not None}
    for name, available in (("separator", (AUTO, *SEPARATORS)), ("decimal", (AUTO, ".", ","))):
        if name in given:
            check_choice(f"--{name}", given[name], available)
    if arguments.file.suffix.lower() not in EXCEL:
        how = replace(how, sheet=None)
    return replace(how, header=bool(how.header), **given)


def naming_options(error: UserError) -> UserError:
    """Replace settings of the data set by options in an error of the reader, and return it."""
    pattern, option = rf"dataset\.({'|'.join(READING)})", r"--\1"
    text = re.sub(pattern, option, str(error)).replace("\"--decimal=','\"", "--decimal=,")
    return UserError(text, re.sub(pattern, option, error.setting or "") or None, error.code)


def id_columns(
    frame: pd.DataFrame, fitted: FinalModel, names: Sequence[str] | None
) -> pd.DataFrame:
    """Return the columns that are copied to the output.

    Args:
        frame: the rows of the file.
        fitted: the model.
        names: of the columns; None for dates, times and all that the model does not use.
    """
    from bnnbench.data.own_table.columns.encoding import DATES

    dated = {*fitted.time, *(one.column for one in fitted.encodings if one.kind == DATES)}
    used = {one.column for one in fitted.encodings} - dated
    if names is None:
        names = [name for name in frame if name not in used]
    return frame[list(names)]


def join_columns(ids: pd.DataFrame, predicted: pd.DataFrame) -> pd.DataFrame:
    """Return row numbers, copied columns and predictions; renames copies whose names clash."""
    import pandas as pd

    unique: list[str] = []
    for name in map(str, ids):
        taken = {*predicted, *unique, *(ids if name in predicted else ())}
        while name in taken:
            name += " (given)"
        unique.append(name)
    ids = ids.set_axis(unique, axis=1)
    return pd.concat([predicted[["row"]], ids, predicted.drop(columns="row")], axis=1)


def write_predictions(predicted: pd.DataFrame, output: Path | None, writing: TextFormat) -> None:
    """Write predictions to a file, or to standard output if `output` is None.

    Args:
        predicted: the table.
        output: the file.
        writing: its format.
    """
    if output is None:
        text = predicted.to_csv(index=False, float_format=SIX_DIGITS)
        if sys.stdout.isatty():  # FILE may contain escape sequences
            text = "".join(f"{one_line(line)}\n" for line in text.splitlines())
        sys.stdout.write(text)
        return
    from bnnbench.data.own_table.read.text_file import SEPARATORS
    from bnnbench.files import is_device, write_bytes

    separator = " " if writing.separator == "space" else SEPARATORS[writing.separator]
    text = predicted.to_csv(
        index=False, sep=separator, decimal=writing.decimal, float_format=SIX_DIGITS
    )
    write_bytes(output, text.encode(writing.encoding))
    if not is_device(output):
        print(f"predictions: {output}")
