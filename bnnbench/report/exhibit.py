"""How a run that leaves answers is shown: numbers beside exact ones, figures, claims judged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import write_text
from bnnbench.report.claims_table import claims_data, claims_table
from bnnbench.report.numbers import number, plus_minus
from bnnbench.report.page import Drawings, Page
from bnnbench.report.section import (
    Block,
    Data,
    Drawing,
    Heading,
    Items,
    Paragraph,
    Section,
    SectionOf,
    Style,
    Table,
    numbers,
    words,
)
from bnnbench.results.answers import ANSWERS, CLAIMS, read_answers
from bnnbench.results.claims import Check, Claim, checked
from bnnbench.results.reader import Runs
from bnnbench.results.settings import spoken, telling, written

DIGITS = ".5g"
"""Of numbers that have no error."""

Draw = Callable[[RunFolder], Figure]
"""Makes a figure from the files of a run."""


@dataclass(frozen=True)
class Exhibit:
    """What runs of one kind show.

    Attributes:
        kind: of experiment.
        title: heading of table and section.
        caption: plain text, what the numbers are and in which units.
        figures: by name, words joined by strokes: the report calls them so.
        statements: what the source says: text, section and the check that judges it.
        given: what the checks look at, made from a run's files.
        notes: further sentences that belong below the table.
    """

    kind: str
    title: str
    caption: str
    figures: Mapping[str, Draw] = field(default_factory=dict)
    statements: tuple[tuple[str, str, Check[Any]], ...] = ()
    given: Callable[[RunFolder], Any] = read_answers
    notes: Callable[[RunFolder], list[str]] = lambda folder: []

    def claims(self, folder: RunFolder) -> list[Claim]:
        """The statements with their verdicts on a run."""
        return checked(self.statements, self.given(folder))


def page_of(exhibit: Exhibit) -> Page:
    """The page of one run: its figures and `claims.csv`, its answers, and a line per claim."""
    return Page(
        exhibit.kind,
        partial(_write, exhibit),
        lambda folder: answers_table(read_answers(folder), exhibit.title, exhibit.caption),
        lambda folder: [*exhibit.notes(folder), *map(verdict, exhibit.claims(folder))],
        drawings=partial(_drawings, exhibit),
    )


def _drawings(exhibit: Exhibit, folder: RunFolder) -> Drawings:
    return {name: partial(draw, folder) for name, draw in exhibit.figures.items()}


def _write(exhibit: Exhibit, folder: RunFolder) -> None:
    if exhibit.statements:
        found = claims_data(exhibit.claims(folder))
        write_text(folder.table(CLAIMS), found.to_csv(index=False))


def verdict(claim: Claim) -> str:
    """One line of what a source says and what the run says to it."""
    return f"{claim.verdict}: {claim.text} ({claim.source}): {claim.evidence}"


def answers_table(answers: pd.DataFrame, title: str = "", caption: str = "") -> Table:
    """The answers as a printed table; columns that would be empty are left out.

    Args:
        answers: of `read_answers`.
        title: stands above.
        caption: stands below.
    """
    optional = [name for name in ("exact", "published") if answers[name].notna().any()]
    with_setting = bool(answers["setting"].ne("").any())
    heads = ("quantity", "approximation", *(("setting",) if with_setting else ()))
    rows = tuple(
        (
            *(str(row[head]) for head in heads),
            _value(row),
            *(number(row[name], DIGITS) for name in optional),
        )
        for row in answers.to_dict("records")
    )
    return Table((*words(*heads), *numbers("value", *optional)), rows, title=title, caption=caption)


def _value(row: Mapping[Any, Any]) -> str:
    """A number as its error has it; without one, to as many digits as what stands beside it."""
    if row["standard_error"] > 0:
        return plus_minus(row["value"], row["standard_error"])
    return number(row["value"], DIGITS)


def section_of(exhibits: Sequence[Exhibit]) -> SectionOf:
    """The section of a report that shows every run of these kinds."""

    def section(runs: Runs, style: Style) -> Section | None:
        blocks = [block for one in exhibits for block in _shown(one, runs)]
        return Section(tuple(blocks)) if blocks else None

    return section


def _shown(exhibit: Exhibit, runs: Runs) -> Iterator[Block]:
    """One heading, answers, figures and claims for each run of a kind."""
    table = runs.tables.get(exhibit.kind, pd.DataFrame())
    if table.empty:
        return
    settings = list(table["settings"])
    apart = telling(settings)
    marks = _marks([[own.get(name, "") for name in apart] for own in settings], list(table.index))
    for run, own, mark in zip(table.index, settings, marks, strict=True):
        folder = runs.folders[run]
        more = ", ".join(spoken(name, own.get(name)) for name in apart)
        answers = read_answers(folder)
        yield Heading(f"{exhibit.title}: {more}" if more else exhibit.title)
        yield Paragraph(exhibit.caption)
        yield answers_table(answers)
        yield Data(f"{exhibit.kind}_{ANSWERS}{mark}", answers)
        for name, draw in exhibit.figures.items():
            text = f"{exhibit.title}: {name.replace('_', ' ')}"
            yield Drawing(f"{exhibit.kind}_{name}{mark}", text, partial(draw, folder))
        if notes := exhibit.notes(folder):
            yield Items(tuple(notes))
        if found := exhibit.claims(folder):
            yield claims_table(found)
            yield Data(f"{exhibit.kind}_{CLAIMS}{mark}", claims_data(found))


def _marks(values: Sequence[Sequence[Any]], runs: Sequence[str]) -> list[str]:
    """What the file names of each run end in: the values that tell it apart, or its digest.

    Args:
        values: of the settings that tell the runs apart, a row per run.
        runs: their digests.
    """
    if len(runs) == 1:
        return [""]
    words = [re.sub(r"[^\w.]+", "_", "_".join(map(written, row))) for row in values]
    known = len({*words}) == len(words) and all(words)
    return [f"_{mark}" for mark in (words if known else runs)]
