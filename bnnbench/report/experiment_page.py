"""Pages of experiments with known answers: results, figures, and claims checked against them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.store.answer_tables import ANSWERS
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.report import blocks
from bnnbench.report.blocks import format_number, plus_minus
from bnnbench.report.claims_table import claims_blocks, claims_data, claims_notes
from bnnbench.report.run_page import RunPage
from bnnbench.results.claims.claims import Claim, Statement, check_claims
from bnnbench.results.claims.saved_run import CLAIMS, SourceSettings, read_answers
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.settings import describe_setting, distinguishing_settings, format_value

NUMBER_FORMAT = ".5g"
"""Format of numbers without a standard error."""

MAX_SUFFIX = 100
"""Characters of a suffix of a file name."""

Draw = Callable[[RunFolder], Figure]
"""Draws a figure from the files of a run."""

DrawFunction = TypeVar("DrawFunction", bound=Callable[..., Figure])


class Figures(dict[str, Draw]):
    """Figures of a run, each a decorated function whose name is the figure's.

    ```python
    figures = Figures(read_run)


    @figures("Errors against the number of factors evaluated. Bands: 10 % to 90 % quantiles")
    def error_against_work(run: SavedRun) -> Figure: ...
    ```

    Attributes:
        read: reads what the figures show, and claims check, from a run's files.
        captions: captions by name.
    """

    def __init__(self, read: Callable[[RunFolder], Any] = read_answers) -> None:
        super().__init__()
        self.captions: dict[str, str] = {}
        self.read = read

    def __call__(self, caption: str) -> Callable[[DrawFunction], DrawFunction]:
        """Return a decorator that adds a figure and leaves its function as it is."""

        def add(function: DrawFunction) -> DrawFunction:
            name = function.__name__
            self[name] = lambda folder: function(self.read(folder))
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
        figures: the figures, which know how to read a run's files.
        statements: `Claims` of the source, or tuples of text, section and rule.
        read_evidence: reads what the claims check, if that is not what the figures show.
        theirs: the same from the source's own numbers, if it prints any.
        notes: remarks to print below the table.
        data_of: returns the name of a run's data set, as claims name those of the source.
        settings: says which settings of a run differ from those of the source.
    """

    kind: str
    title: str
    caption: str
    figures: Figures
    statements: Sequence[Statement] = ()
    read_evidence: Callable[[RunFolder], Any] | None = None
    theirs: Any = None
    notes: Callable[[RunFolder], list[str]] = lambda folder: []
    data_of: Callable[[RunFolder], str | None] = lambda folder: None
    settings: SourceSettings = field(default_factory=SourceSettings)

    def claims(self, folder: RunFolder) -> list[Claim]:
        """Check the statements against a run."""
        evidence = (self.read_evidence or self.figures.read)(folder)
        data, differ = self.data_of(folder), self.settings.differences(folder)
        return check_claims(self.statements, evidence, self.theirs, data, differ)


def make_run_page(page: ExperimentPage) -> RunPage:
    """The page of one run: its answers, figures and `claims.csv`, with one note per verdict."""
    return RunPage(
        page.kind,
        lambda folder: answers_table(read_answers(folder), page.title, page.caption),
        lambda folder: [*page.notes(folder), *claims_notes(page.claims(folder))],
        (CLAIMS,) if page.statements else (),
        partial(_write, page),
        figures=lambda folder: {name: partial(f, folder) for name, f in page.figures.items()},
        captions=page.figures.captions,
    )


def _write(page: ExperimentPage, folder: RunFolder) -> None:
    if page.statements:
        claims = claims_data(page.claims(folder))
        write_text(folder.table(CLAIMS), claims.to_csv(index=False))


def answers_table(answers: pd.DataFrame, title: str = "", caption: str = "") -> blocks.TableBlock:
    """The answers as a printed table, without empty columns."""
    optional = [name for name in ("exact", "published") if answers[name].notna().any()]
    labels = ["quantity", "approximation", *(["setting"] if answers["setting"].any() else [])]
    heads = blocks.columns(
        {name: f"{{{name}}}" for name in labels},
        {"value": _value, **{name: partial(_known, name) for name in optional}},
    )
    return blocks.fill(heads, answers, title=title, caption=caption)


def _value(row: blocks.Row) -> str:
    """The value, with its standard error if there is one."""
    if row["standard_error"] > 0:
        return plus_minus(row["value"], row["standard_error"])
    return format_number(row["value"], NUMBER_FORMAT)


def _known(name: str, row: blocks.Row) -> str:
    """Return a value, or nothing: rows that are exact have no exact value next to them."""
    return format_number(row[name], NUMBER_FORMAT) if pd.notna(row[name]) else ""


def make_section(pages: Sequence[ExperimentPage]) -> blocks.SectionFunction:
    """Return a report section on every run of these kinds."""

    def section(runs: Runs, style: blocks.Style) -> Iterator[blocks.Block]:
        for page in pages:
            yield from _run_blocks(page, runs)

    return section


def _run_blocks(page: ExperimentPage, runs: Runs) -> Iterator[blocks.Block]:
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
        yield blocks.Heading(f"{page.title}: {differences}" if differences else page.title)
        yield blocks.Paragraph(page.caption)
        yield answers_table(answers)
        yield blocks.DataFile(f"{page.kind}_{ANSWERS}{suffix}", answers)
        for name, draw in page.figures.items():
            caption = page.figures.captions[name]
            yield blocks.FigureBlock(f"{page.kind}_{name}{suffix}", caption, partial(draw, folder))
        if notes := page.notes(folder):
            yield blocks.ItemList(tuple(notes))
        if claims := page.claims(folder):
            yield from claims_blocks(claims, f"{page.kind}_{CLAIMS}{suffix}")


def _file_suffixes(values: Sequence[Sequence[Any]], runs: Sequence[str]) -> list[str]:
    """Suffixes of the file names of each run: its distinguishing settings, or its digest."""
    if len(runs) == 1:
        return [""]
    names = [re.sub(r"[^\w.]+", "_", "_".join(map(format_value, row))) for row in values]
    distinct = len({*names}) == len(names) and all(0 < len(name) <= MAX_SUFFIX for name in names)
    return [f"_{name}" for name in (names if distinct else runs)]
