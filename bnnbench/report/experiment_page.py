"""Pages of experiments with known answers: results, figures, and claims checked against them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    ItemList,
    Paragraph,
    Section,
    SectionFunction,
    Style,
    Table,
    label_columns,
    number_columns,
)
from bnnbench.report.claims_table import claims_data, claims_table
from bnnbench.report.formatting import format_number, plus_minus
from bnnbench.report.run_page import FigureFunctions, RunPage
from bnnbench.results.answers import ANSWERS, CLAIMS, read_answers
from bnnbench.results.claims import Claim, Statement, check_claims
from bnnbench.results.reader import Runs
from bnnbench.results.settings import describe_setting, distinguishing_settings, format_value

NUMBER_FORMAT = ".5g"
"""Format of numbers without a standard error."""

Draw = Callable[[RunFolder], Figure]
"""Draws a figure from the files of a run."""

DrawFunction = TypeVar("DrawFunction", bound=Callable[..., Figure])


class Figures(dict[str, Draw]):
    """Figures of a run, each a decorated function whose name is the figure's.

    ```python
    figures = Figures(read_run)


    @figures("Errors against the number of factors evaluated. Bands: 10 % to 90 % quantiles")
    def error_against_work(run: SavedTables) -> Figure: ...
    ```

    Attributes:
        captions: captions by name.
    """

    def __init__(self, read: Callable[[RunFolder], Any]) -> None:
        """Declare no figure yet.

        Args:
            read: reads what the figures show from a run's files.
        """
        super().__init__()
        self.captions: dict[str, str] = {}
        self._read = read

    def __call__(self, caption: str) -> Callable[[DrawFunction], DrawFunction]:
        """Return a decorator that adds a figure and leaves its function as it is."""

        def add(function: DrawFunction) -> DrawFunction:
            name = function.__name__
            self[name] = lambda folder: function(self._read(folder))
            self.captions[name] = caption
            return function

        return add


@dataclass(frozen=True)
class ExperimentPage:
    """The page of an experiment with known answers.

    Attributes:
        kind: the kind of experiment.
        title: heading of the table and the section.
        caption: plain text that explains the numbers and their units.
        figures: functions that draw figures, by name in snake case.
        captions: captions of the figures, by figure name.
        statements: `Claims` of the source, or tuples of text, section and rule.
        read_evidence: reads what the rules check from a run's files.
        notes: remarks to print below the table.
    """

    kind: str
    title: str
    caption: str
    figures: Mapping[str, Draw] = field(default_factory=dict)
    captions: Mapping[str, str] = field(default_factory=dict)
    statements: Sequence[Statement] = ()
    read_evidence: Callable[[RunFolder], Any] = read_answers
    notes: Callable[[RunFolder], list[str]] = lambda folder: []

    def claims(self, folder: RunFolder) -> list[Claim]:
        """Check the statements against a run."""
        return check_claims(self.statements, self.read_evidence(folder))


def make_run_page(page: ExperimentPage) -> RunPage:
    """The page of one run: its answers, figures and `claims.csv`, with one note per claim."""
    return RunPage(
        page.kind,
        partial(_write, page),
        lambda folder: answers_table(read_answers(folder), page.title, page.caption),
        lambda folder: [*page.notes(folder), *map(verdict, page.claims(folder))],
        figures=partial(_figures, page),
        captions=page.captions,
    )


def _figures(page: ExperimentPage, folder: RunFolder) -> FigureFunctions:
    return {name: partial(draw, folder) for name, draw in page.figures.items()}


def _write(page: ExperimentPage, folder: RunFolder) -> None:
    if page.statements:
        claims = claims_data(page.claims(folder))
        write_text(folder.table(CLAIMS), claims.to_csv(index=False))


def verdict(claim: Claim) -> str:
    """One line with a claim, its verdict and the evidence."""
    return f"{claim.verdict}: {claim.text} ({claim.source}): {claim.evidence}"


def answers_table(answers: pd.DataFrame, title: str = "", caption: str = "") -> Table:
    """The answers as a printed table, without empty columns.

    Args:
        answers: from `read_answers`.
        title: printed above the table.
        caption: printed below the table.
    """
    optional = [name for name in ("exact", "published") if answers[name].notna().any()]
    with_setting = bool(answers["setting"].ne("").any())
    labels = ("quantity", "approximation", *(("setting",) if with_setting else ()))
    rows = tuple(
        (
            *(str(row[label]) for label in labels),
            _value(row),
            *(format_number(row[name], NUMBER_FORMAT) for name in optional),
        )
        for row in answers.to_dict("records")
    )
    columns = (*label_columns(*labels), *number_columns("value", *optional))
    return Table(columns, rows, title=title, caption=caption)


def _value(row: Mapping[Any, Any]) -> str:
    """The value, with its standard error if there is one."""
    if row["standard_error"] > 0:
        return plus_minus(row["value"], row["standard_error"])
    return format_number(row["value"], NUMBER_FORMAT)


def make_section(pages: Sequence[ExperimentPage]) -> SectionFunction:
    """Return a report section on every run of these kinds."""

    def section(runs: Runs, style: Style) -> Section | None:
        blocks = [block for page in pages for block in _run_blocks(page, runs)]
        return Section(tuple(blocks)) if blocks else None

    return section


def _run_blocks(page: ExperimentPage, runs: Runs) -> Iterator[Block]:
    """Yield a heading, answers, figures and claims for each run of a kind."""
    table = runs.tables.get(page.kind, pd.DataFrame())
    if table.empty:
        return
    settings = list(table["settings"])
    names = distinguishing_settings(settings)
    values = [[own.get(name, "") for name in names] for own in settings]
    suffixes = _file_suffixes(values, list(table.index))
    for run, own, suffix in zip(table.index, settings, suffixes, strict=True):
        folder = runs.folders[run]
        differences = ", ".join(describe_setting(name, own.get(name)) for name in names)
        answers = read_answers(folder)
        yield Heading(f"{page.title}: {differences}" if differences else page.title)
        yield Paragraph(page.caption)
        yield answers_table(answers)
        yield DataFile(f"{page.kind}_{ANSWERS}{suffix}", answers)
        for name, draw in page.figures.items():
            caption = page.captions.get(name, name.replace("_", " "))
            yield FigureBlock(f"{page.kind}_{name}{suffix}", caption, partial(draw, folder))
        if notes := page.notes(folder):
            yield ItemList(tuple(notes))
        if claims := page.claims(folder):
            yield claims_table(claims)
            yield DataFile(f"{page.kind}_{CLAIMS}{suffix}", claims_data(claims))


def _file_suffixes(values: Sequence[Sequence[Any]], runs: Sequence[str]) -> list[str]:
    """Suffixes of the file names of each run: its distinguishing settings, or its digest.

    Args:
        values: of the distinguishing settings, one row per run.
        runs: the digests of the runs.
    """
    if len(runs) == 1:
        return [""]
    names = [re.sub(r"[^\w.]+", "_", "_".join(map(format_value, row))) for row in values]
    distinct = len({*names}) == len(names) and all(names)
    return [f"_{name}" for name in (names if distinct else runs)]
