"""Published values that a reader brings: a CSV file with the columns of `published_uci.csv`."""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from bnnbench.data.own_table.text_file import AUTO, SEPARATORS, writing_of
from bnnbench.results.choice import check_known
from bnnbench.results.metrics import BY_KEY
from bnnbench.results.published import with_stderr
from bnnbench.types import UserError

NEEDED = ("method", "dataset", "metric", "mean")
NUMBERS = ("mean", "error", "n_splits")
TEXTS = ("error_kind", "source", "year", "splits", "confidence", "seen_in")
KINDS = ("stderr", "std")

NEGATIVE = ("nll", "negative_log_likelihood", "neg_log_likelihood")
"""What papers print for the log-likelihood with its sign turned."""

HINT = "has a negative log-likelihood: write log_likelihood and turn the sign of its mean"

EXAMPLE = "method,dataset,metric,mean,error,error_kind,n_splits,source,year"


def read_beside(path: Path) -> pd.DataFrame:
    """The values of a file.

    Args:
        path: of a CSV with the columns `NEEDED` and any of the others: `mean` in original units,
            its `error` with the `error_kind` stderr or std (over `n_splits`), and whose it is.

    Returns:
        A row each, under `NEEDED`, `NUMBERS` and `TEXTS`, with `stderr`, missing where none is
        known, and `decimals`, those of the mean as it is written.

    Raises:
        UserError: if it cannot be read as that.
    """
    texts = _read(path)
    _refuse(path, texts["metric"].str.lower().isin(NEGATIVE), HINT)
    check_known(f"--beside: {path}, column metric", list(texts["metric"]), BY_KEY)
    found = {name: pd.to_numeric(texts[name], errors="coerce") for name in NUMBERS}
    rows = texts.assign(**found)
    for name in NEEDED:
        _refuse(path, texts[name] == "", f"has no {name}")
    for name in NUMBERS:
        _refuse(path, (texts[name] != "") & ~np.isfinite(rows[name]), f"has no number for {name}")
    given = texts["error"] != ""
    _refuse(path, rows["error"] < 0, "has a negative error")
    kind = "needs an error_kind for its error, stderr or std"
    _refuse(path, given & ~rows["error_kind"].isin(KINDS), kind)
    few = given & (rows["error_kind"] == "std") & ~(rows["n_splits"] >= 1)
    _refuse(path, few, "needs n_splits for its std, the number of splits that it is over")
    return with_stderr(rows).assign(decimals=texts["mean"].map(_decimals))


def _read(path: Path) -> pd.DataFrame:
    """The cells as text, under every column; those that the file lacks are empty.

    How it is written is found out as of a reader's own table; numbers come with a decimal point.
    """
    try:
        writing = writing_of(path, AUTO, AUTO, AUTO)
        rows = pd.read_csv(
            path, sep=SEPARATORS[writing.separator], dtype=str, keep_default_na=False,
            encoding=writing.encoding,
        )  # fmt: skip
        if not isinstance(rows.index, pd.RangeIndex):  # pandas takes what is too many for names
            raise ValueError(f"its rows have more cells than its first line, read as {writing}")
    except UserError as error:  # in words of such a table's setting
        raise UserError(f"--beside: {str(error).removeprefix('dataset.path: ')}") from None
    except (OSError, ValueError) as error:  # a folder, no text, ragged rows, nothing in it
        reason = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
        raise UserError(f"--beside: {path} cannot be read as CSV ({reason}).") from None
    rows.columns = rows.columns.str.strip()
    missing = [name for name in NEEDED if name not in rows]
    unknown = [name for name in rows if name not in (*NEEDED, *NUMBERS, *TEXTS)]
    if missing or unknown:
        wrong = f"lacks the column {missing[0]}" if missing else f"has a column {unknown[0]!r}"
        raise UserError(f"--beside: {path} {wrong}; its first line is like {EXAMPLE}.")
    if rows.empty:
        raise UserError(f"--beside: {path} has no rows.")
    every = dict.fromkeys((*NEEDED, *NUMBERS, *TEXTS))
    cells = rows.reindex(columns=list(every), fill_value="").apply(lambda texts: texts.str.strip())
    if writing.decimal == ".":
        return cells
    points = {name: cells[name].map(partial(_with_point, writing.thousands)) for name in NUMBERS}
    return cells.assign(**points)


def _with_point(thousands: str | None, number: str) -> str:
    return (number.replace(thousands, "") if thousands else number).replace(",", ".")


def _decimals(number: str) -> int:
    """How many a number has as it is written: three in `0.063` and in `6.3e-2`."""
    exponent = Decimal(number).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _refuse(path: Path, wrong: pd.Series, words: str) -> None:
    """Names the first line of which something is wrong.

    Raises:
        UserError: if there is one.
    """
    if wrong.any():
        line = int(np.argmax(wrong.to_numpy())) + 2  # from 1, after the line of columns
        raise UserError(f"--beside: line {line} of {path} {words}.")
