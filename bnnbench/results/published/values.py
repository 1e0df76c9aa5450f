"""Published test results, and which of them a run is compared with.

`values.csv` lists each number with its paper and where it was read (`seen_in`). The column `metric`
says which of our scores it is: papers call several of them log-likelihood. Deep ensembles have
`log_likelihood_gaussian`, since Lakshminarayanan et al. (2017, section 2.4) approximate the mixture
by one Gaussian. `splits.csv` has the scores of single splits. The user's file has the columns of
`values.csv`. All are in original units. Published settings follow the protocol except as
`methods.toml` says.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.data.own_table.read.file_kinds import open_text
from bnnbench.data.own_table.read.text_file import SEPARATORS, ReadingSettings, detect_format
from bnnbench.near_names import check_known_names
from bnnbench.results.method_facts import is_of_user, trains_network
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.published.protocol import (
    divergence_difference,
    has_protocol,
    missing_splits,
    noise_differences,
    published_settings,
    relevant_settings,
    settings_differing_from,
)
from bnnbench.results.settings import ABSENT, describe_settings
from bnnbench.types import UserError

PUBLIC = "public"
"""Value of the column `splits` for means over the public splits; others are `own` or `unknown`."""

REQUIRED_COLUMNS = ("method", "dataset", "metric", "mean")
NUMBER_COLUMNS = ("mean", "error", "n_splits")
TEXT_COLUMNS = ("error_kind", "source", "year", "splits", "confidence", "seen_in")
ERROR_KINDS = ("stderr", "std")

NEGATIVE_METRICS = ("nll", "negative_log_likelihood", "neg_log_likelihood")
"""Names of the log-likelihood with the opposite sign, common in papers."""

EXAMPLE = "method,dataset,metric,mean,error,error_kind,n_splits,source,year"


@dataclass(frozen=True)
class Published:
    """One published mean over splits.

    Attributes:
        mean: in original units.
        stderr: its standard error, NaN if unknown.
        splits: number of splits, NaN if unknown.
        method: the paper's name of the method.
        paper: authors and year.
        by_user: whether the user provided it; then at most its number of splits is known.
    """

    mean: float
    stderr: float
    splits: float
    method: str
    paper: str
    by_user: bool = False

    @property
    def std(self) -> float:
        """The standard deviation over splits."""
        return self.stderr * math.sqrt(self.splits)

    @property
    def source(self) -> str:
        """The paper and its name of the method."""
        return f"{self.paper}: {self.method}"


Values = Mapping[tuple[str, str, str], Published]
"""Published values by data set, metric and name of the method."""


@cache
def _table(name: str) -> pd.DataFrame:
    with files(__package__).joinpath(f"{name}.csv").open("rb") as file:
        return pd.read_csv(file, dtype={"fingerprint": str})


@cache
def published_means() -> pd.DataFrame:
    """Return the published means of our methods and their competitors, and of later methods.

    Returns:
        The columns of `values.csv`, and `stderr`, the standard error: for standard
        deviations (`error_kind` std) the error divided by the square root of `n_splits`; missing if
        the paper gives none or one that rounds to zero.
    """
    return with_stderr(_table("values"))


def published_splits() -> pd.DataFrame:
    """Return all published scores of single splits, in original units.

    Each has the fingerprint of its test rows, as in the `splits.csv` of a run. A score that was not
    published is missing; `coverage_90` is the fraction of targets in central 90 % intervals.
    `methods.toml` says where they are from.
    """
    return _table("splits")


def with_stderr(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the column `stderr`."""
    scale = np.where(rows["error_kind"] == "std", np.sqrt(rows["n_splits"]), 1.0)
    # A printed error of 0.00 was rounded, so it is unknown.
    known = rows["error_kind"].isin(("stderr", "std")) & (rows["error"] > 0)
    return rows.assign(stderr=(rows["error"] / scale).where(known))


def values_by_key(rows: pd.DataFrame, by_user: bool = False) -> Values:
    """Return published values from rows with `stderr`; of equal keys the last one.

    `by_user` means that they are those of `read_user_published`.
    """
    return {
        (row["dataset"], row["metric"], row["method"]): Published(
            row["mean"],
            row["stderr"],
            row["n_splits"],
            row["method"],
            f"{row['source']} {row['year']}".strip() or "user",
            by_user,
        )
        for row in rows.to_dict("records")
    }


@cache
def published_values() -> Values:
    """Return the published means over the public splits; of equal keys the first one."""
    rows = published_means()
    return values_by_key(rows[rows["splits"] == PUBLIC][::-1])


def read_user_published(path: Path) -> pd.DataFrame:
    """Read the values of a file.

    Args:
        path: of a CSV file with `REQUIRED_COLUMNS` and any of the others: `mean` is in original
            units; `error` is a standard error or a standard deviation over `n_splits`, as
            `error_kind` says.

    Returns:
        All of these columns, with `stderr`, missing if unknown, and `decimals`, the number of
        decimals of the mean.

    Raises:
        UserError: if the file is invalid.
    """
    texts = _read(path)
    negative = texts["metric"].str.lower().isin(NEGATIVE_METRICS)
    hint = "has a negative log-likelihood; write log_likelihood and change the sign of the mean"
    _check_rows(path, negative, "metric", hint)
    check_known_names(f"--published-values: {path}, column metric", list(texts["metric"]), BY_KEY)
    numbers = {name: pd.to_numeric(texts[name], errors="coerce") for name in NUMBER_COLUMNS}
    rows = texts.assign(**numbers)
    for name in REQUIRED_COLUMNS:
        _check_rows(path, texts[name] == "", name, f"has no {name}")
    for name in NUMBER_COLUMNS:
        invalid = (texts[name] != "") & ~np.isfinite(rows[name])
        _check_rows(path, invalid, name, f"has an invalid number in column {name}")
    has_error = texts["error"] != ""
    _check_rows(path, rows["error"] < 0, "error", "has a negative error")
    unknown = has_error & ~rows["error_kind"].isin(ERROR_KINDS)
    _check_rows(path, unknown, "error_kind", "has an error without error_kind (stderr or std)")
    missing = has_error & (rows["error_kind"] == "std") & ~(rows["n_splits"] >= 1)
    _check_rows(path, missing, "n_splits", "has a std without n_splits, the number of splits")
    return with_stderr(rows).assign(decimals=texts["mean"].map(decimals))


def _read(path: Path) -> pd.DataFrame:
    """Return all columns as text, with decimal points; missing columns are empty.

    The format of the file is detected as for the user's tables.
    """
    try:
        file_format = detect_format(path, ReadingSettings())
        with open_text(path, file_format.encoding) as file:
            rows = pd.read_csv(
                file, sep=SEPARATORS[file_format.separator], dtype=str, keep_default_na=False
            )
        if not isinstance(rows.index, pd.RangeIndex):  # pandas makes extra cells the index
            raise ValueError(f"its rows have more cells than its first line, read as {file_format}")
    except UserError as error:  # about the setting of a table
        raise _file_error(str(error).removeprefix("dataset.path: "), "unreadable") from None
    except (OSError, ValueError) as error:  # a folder, a binary file, ragged rows, an empty file
        reason = getattr(error, "strerror", None) or str(error).strip().splitlines()[0]
        raise _file_error(f"{path} cannot be read as CSV ({reason}).", "unreadable") from None
    rows.columns = rows.columns.str.strip()
    known = dict.fromkeys((*REQUIRED_COLUMNS, *NUMBER_COLUMNS, *TEXT_COLUMNS))
    missing = [name for name in REQUIRED_COLUMNS if name not in rows]
    unknown = [name for name in rows if name not in known]
    if missing or unknown:
        problem = f"lacks the column {missing[0]}" if missing else f"has a column {unknown[0]!r}"
        raise _file_error(f"{path} {problem}; its first line must be like {EXAMPLE}.", "columns")
    if rows.empty:
        raise _file_error(f"{path} has no rows.", "no_rows")
    cells = rows.reindex(columns=list(known), fill_value="").apply(lambda texts: texts.str.strip())
    if file_format.decimal == ".":
        return cells
    converted = {
        name: cells[name].map(partial(_with_point, file_format.thousands))
        for name in NUMBER_COLUMNS
    }
    return cells.assign(**converted)


def _with_point(thousands: str | None, number: str) -> str:
    return (number.replace(thousands, "") if thousands else number).replace(",", ".")


def decimals(number: str) -> int:
    """Return the number of decimals: three in `0.063` and in `6.3e-2`."""
    exponent = Decimal(number).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _file_error(message: str, code: str) -> UserError:
    return UserError(f"--published-values: {message}", "--published-values", code)


def _check_rows(path: Path, wrong: pd.Series, column: str, message: str) -> None:
    """Raise `UserError` about the first line in which a column is wrong, if there is one."""
    if wrong.any():
        line = int(np.argmax(wrong.to_numpy())) + 2  # from 1, after the header
        raise UserError(f"--published-values: line {line} of {path} {message}.", column)


UNPUBLISHED_METHODS = ("mc_dropout_x10",)
"""Methods of families with published values that have unpublished settings (here 40 final
epochs)."""

MINOR_SETTINGS = ("training.samples", "evaluation.samples", "search.objective")
"""Settings whose differences are reported but do not prevent a comparison."""


@dataclass(frozen=True)
class PublishedMethod:
    """A table of `methods.toml`, which describes the attributes."""

    compared_with: str = ""
    preset: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    likelihood: str = ""
    known_samples: bool = False
    undocumented: bool = False


def _read_methods() -> dict[str, PublishedMethod]:
    text = files(__package__).joinpath("methods.toml").read_text("utf-8")
    return {name: PublishedMethod(**row) for name, row in tomllib.loads(text).items()}


METHODS: Mapping[str, PublishedMethod] = _read_methods()
"""All published methods by their name there, best match first."""


@dataclass(frozen=True)
class Difference:
    """How a run differs from the settings of a published value.

    Attributes:
        description: all known differences, `epochs 5, samples 10`; empty if there are none.
        comparable: whether the two may be compared despite the differences.
        n_major: number of settings that prevent a comparison; fewer splits do not count.
        known: whether anything is known about the published settings.
    """

    description: str
    comparable: bool
    n_major: int
    known: bool = True


def difference(run: Mapping[str, Any], method: str) -> Difference:
    """Return how a run differs from the settings of a published method.

    `run` has the metadata of its record, its `settings` and its number of `splits`.
    """
    published = METHODS[method]
    if published.undocumented:
        return Difference("unknown", comparable=False, n_major=0, known=False)
    family = str(run["family"])
    settings = published_settings(published.preset or family, family, str(run["dataset"]))
    added = ("training.samples",) if published.known_samples else ()
    known = relevant_settings(settings, run, added)
    differing = settings_differing_from(run, {**known, **published.settings})
    if differing.get("likelihood", ABSENT) == published.likelihood:
        del differing["likelihood"]
    other, fewer = divergence_difference(run), missing_splits(run)
    n_major = len(other) + len(set(differing) - set(MINOR_SETTINGS))
    description = ", ".join([*describe_settings(differing), *other, *fewer])
    return Difference(description, not (n_major or fewer), n_major)


def counterpart(
    run: Mapping[Any, Any], metric: str, user_published: Values = MappingProxyType({})
) -> Published | None:
    """Return the published value to compare a run with, if there is one.

    A value from the user's file for the run's method takes precedence. Otherwise, the published
    networks have one hidden layer, a Gaussian likelihood and KL, so other runs match nothing. Of
    several values, the one whose settings are most like the run's is returned, one with unknown
    settings last, then the first of `METHODS`. `difference` tells whether the two are
    comparable. `run` has the metadata of its record, its `settings` and its number of `splits`.
    """
    if user_value := user_published.get((run["dataset"], metric, run["method"])):
        return user_value
    is_comparable = (
        has_protocol(run)
        and not is_of_user(run)
        and run["depth"] == int(trains_network(run))
        and not divergence_difference(run)
        and not noise_differences(run)
        and run["method"] not in UNPUBLISHED_METHODS
    )
    names = compared_methods(run["family"]) or compared_methods(run["method"])
    candidates = [
        value
        for name in (names if is_comparable else ())
        if (value := published_values().get((run["dataset"], metric, name)))
    ]

    def distance(value: Published) -> tuple[bool, int]:
        found = difference(run, value.method)
        return not found.known, found.n_major

    return min(candidates, key=distance, default=None)


def compared_methods(ours: str) -> list[str]:
    """Return the published methods that a family or a preset of ours is compared with."""
    return [name for name, method in METHODS.items() if ours and method.compared_with == ours]


def run_difference(run: Mapping[Any, Any], theirs: Published) -> Difference:
    """Return how a run differs from the settings of a published value, as far as known."""
    if not theirs.by_user:
        return difference(run, theirs.method)
    fewer = missing_splits(run, theirs.splits)  # empty if the number is NaN
    return Difference(", ".join(["unknown", *fewer]), comparable=not fewer, n_major=0, known=False)
