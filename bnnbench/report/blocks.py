"""Building blocks of report pages and the formatting of their numbers.

Every renderer supports every block.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from string import Formatter
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pandas as pd

from bnnbench.constraints import check_choice
from bnnbench.notes import decimals_of
from bnnbench.report.sections import check_sections
from bnnbench.results.read.run_filter import RunFilter
from bnnbench.results.read.run_tables import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas.core.groupby import DataFrameGroupBy

MISSING = "–"  # noqa: RUF001 (an en dash marks a missing value in print)


def format_number(value: float, form: str) -> str:
    """`value` formatted by `form`, or a dash if it is not finite."""
    return format(value, form) if math.isfinite(value) else MISSING


def format_z(z: float) -> str:
    """A signed difference in standard errors. Negative zero is printed as `+0.0`."""
    return format_number(z, "+z.1f")


def plus_minus(mean: float, error: float = math.nan) -> str:
    """`mean ± standard error`: the error to two significant digits, the mean to its decimals."""
    if not math.isfinite(mean):
        return MISSING
    # Equal scores can leave an error of a few units in the last place.
    if not (math.isfinite(error) and error > 1e-12 * abs(mean)):
        return f"{mean:.4g}"
    decimals = decimals_of(error)
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


def with_std(mean: float, std: float) -> str:
    """`mean (sd 0.62)`: the standard deviation to two significant digits, the mean to as many."""
    text = plus_minus(mean, std)
    return text.replace("± ", "(sd ") + ")" if "±" in text else text


def two_digits(size: float) -> str:
    """A spread or a distance to two significant digits: `0.10`, `3.0`, `12345`."""
    if not math.isfinite(size):
        return MISSING
    return f"{size:.{decimals_of(size)}f}" if size > 0 else "0"


def unit_suffix(target: str) -> str:
    """The bracketed unit at the end of a target's name, after a space, or an empty string."""
    unit = re.search(r"\[[^\]]*\]\s*$", target)
    return f" {unit.group().strip()}" if unit else ""


def count_range(counts: Collection[int]) -> str:
    """Return `20`, or `18 to 20` if the numbers differ."""
    few, many = min(counts), max(counts)
    return f"{few}" if few == many else f"{few} to {many}"


def describe_statistic(counts: Collection[int]) -> str:
    """Describe the numbers of a table, given each run's number of splits."""
    splits = count_range(counts)
    return f"mean ± standard error over {splits} splits" if splits != "1" else "value on one split"


def describe_scores(counts: Collection[int]) -> str:
    """Describe the scores of a table for its caption, given each run's number of splits."""
    return (
        f"{describe_statistic(counts)}; original units; log-likelihood = mean over test points of "
        "the log of the Monte Carlo average density"
    )


T = TypeVar("T")

ERROR_BARS = {"std": "standard deviation", "stderr": "standard error"}
"""Statistic over splits that error bars may show, and its name in captions."""


@dataclass(frozen=True)
class Style:
    """Options of a report.

    Attributes:
        error_bars: a key of `ERROR_BARS`.
        all_published: whether to list every published value on the data sets of the runs, not only
            those of the methods that ran.
        run_filter: the metrics to show and the order of methods and data sets.
        reference: the reference results to compare with, as for
            `reference.comparison.parse_reference`; empty for none.
        sections: names of sections to show besides the default ones (`report.sections`).
    """

    error_bars: str = "stderr"
    all_published: bool = False
    run_filter: RunFilter = field(default_factory=RunFilter)
    reference: str = ""
    sections: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("--error-bars", self.error_bars, tuple(ERROR_BARS))
        check_sections(self.sections)


@dataclass(frozen=True)
class Heading:
    """A heading. Level 1 is the title of the page."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Plain text."""

    text: str


@dataclass(frozen=True)
class ItemList:
    """A bullet list of plain text."""

    texts: tuple[str, ...]


Row = Mapping[Any, Any]
"""A row of a data frame, by column."""

Cell = str | Callable[[Row], str]
"""How a cell is printed: a function of the row, or a format string over its columns, such as
`{rmse_mean:.3f}`, in which numbers that are not finite become a dash."""


@dataclass(frozen=True)
class Column:
    """A column of a printed table.

    Attributes:
        title: the column heading.
        kind: `number` columns are right-aligned, `label` and `text` columns left-aligned; only
            `text` may wrap.
        cell: how its cells are printed, for `fill`.
    """

    title: str
    kind: Literal["number", "label", "text"] = "number"
    cell: Cell = ""


@dataclass(frozen=True)
class TableBlock:
    """A printed table.

    Attributes:
        columns: from left to right.
        rows: formatted cells.
        name: identifies parts of one long table, such as the results by data set. The LaTeX and
            terminal renderers join parts with the same name under row groups; LaTeX skips tables
            without a name.
        group: the heading of this part's rows.
        title: printed above the table.
        caption: plain text that explains the numbers.
        runs: the digest of the run of each row, for renderers that link to run pages.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    name: str = ""
    group: str = ""
    title: str = ""
    caption: str = ""
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class FigureBlock:
    """A figure.

    Attributes:
        name: the stem of its file names.
        caption: plain text. It explains bands, error bars and markers.
        draw: returns the figure. Reports without figures never call it.
    """

    name: str
    caption: str
    draw: Callable[[], Figure]


@dataclass(frozen=True)
class DataFile:
    """A table at full precision, written as `<name>.csv`.

    Attributes:
        name: the stem of the file name.
        table: the rows. The index is not written.
        text: precedes the link to the file.
    """

    name: str
    table: pd.DataFrame
    text: str = "Data at full precision:"


Block = Heading | Paragraph | ItemList | TableBlock | FigureBlock | DataFile


SectionFunction = Callable[[Runs, Style], Iterable[Block]]
"""Yields the blocks of a section of a report; none if it does not apply to the runs."""


def label_columns(*titles: str) -> tuple[Column, ...]:
    """Columns of short text, which is never wrapped."""
    return tuple(Column(title, "label") for title in titles)


def number_columns(*titles: str) -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(Column(title) for title in titles)


def columns(
    labels: Mapping[str, Cell], numbers: Mapping[str, Cell], texts: Mapping[str, Cell] | None = None
) -> tuple[Column, ...]:
    """Columns for `fill`: how the cells are printed, by title."""
    return (
        *(Column(title, "label", cell) for title, cell in labels.items()),
        *(Column(title, "number", cell) for title, cell in numbers.items()),
        *(Column(title, "text", cell) for title, cell in (texts or {}).items()),
    )


def score(metric: str) -> Cell:
    """Cells with mean and standard error of a metric; a dash if the row has none."""
    return with_stderr(f"{metric}_mean", f"{metric}_stderr")


def with_stderr(mean: str, stderr: str = "") -> Cell:
    """Cells with the number in a column and its standard error, by default in `<mean>_stderr`."""
    return lambda row: plus_minus(
        row.get(mean, math.nan), row.get(stderr or f"{mean}_stderr", math.nan)
    )


def mean_and_stderr(groups: DataFrameGroupBy) -> pd.DataFrame:
    """Return the means of groups and, in columns `<name>_stderr`, their standard errors."""
    return groups.mean().join(groups.sem().add_suffix("_stderr"))


class _CellFormatter(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, float) and not math.isfinite(value):
            return MISSING
        return format(value, format_spec)


def fill(
    columns: Sequence[Column], rows: pd.DataFrame | Iterable[Row], **options: Any
) -> TableBlock:
    """A table with a row for each row of a data frame.

    Args:
        columns: with their `cell`.
        rows: of the data.
        options: further fields of `TableBlock`.
    """
    records = rows.to_dict("records") if isinstance(rows, pd.DataFrame) else rows
    form = _CellFormatter().vformat
    cells = tuple(
        tuple(form(c.cell, (), row) if isinstance(c.cell, str) else c.cell(row) for c in columns)
        for row in records
    )
    return TableBlock(tuple(columns), cells, **options)


def tables_by_dataset(
    title: str, statement: str, columns: Sequence[Column], rows: pd.DataFrame
) -> Iterator[Block]:
    """A title and a statement, then a table for each data set, in order of first appearance."""
    yield Heading(title)
    yield Paragraph(statement)
    for name, own in rows.groupby("dataset", sort=False):
        yield Heading(str(name), 3)
        yield fill(columns, own)


def numbered_name(name: str, number: int) -> str:
    """The name of the figure with this number, from 1: `orders`, `orders_2`, ..."""
    return name if number == 1 else f"{name}_{number}"


def even_chunks(items: Sequence[T], max_size: int) -> list[Sequence[T]]:
    """Split a sequence into the fewest chunks of at most `max_size`, of nearly equal size.

    Nine panels with room for eight are split 4 + 5, because a figure of one panel looks oversized.
    """
    chunks = -(-len(items) // max_size)
    ends = [round(k * len(items) / chunks) for k in range(chunks + 1)] if chunks else []
    return [items[start:end] for start, end in pairwise(ends)]
