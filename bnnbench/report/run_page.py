"""How each kind of experiment presents a run: on its own page, and compactly in a report.

A report may contain hundreds of runs, so their charts are stored as numbers. The page's script
draws them when the reader opens the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.blocks import TableBlock
from bnnbench.results.read.run_tables import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Series:
    """A line or a set of points in a chart.

    Attributes:
        name: the legend entry.
        x: horizontal coordinates.
        y: vertical coordinates.
        error: half-lengths of the error bars; empty for none.
        joined: whether to connect the points by a line.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] = ()
    joined: bool = False


@dataclass(frozen=True)
class Chart:
    """A small figure.

    Attributes:
        title: the first part of the caption.
        x: label of the horizontal axis.
        y: label of the vertical axis.
        series: lines and points.
        diagonal: whether to draw the line y = x.
    """

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    diagonal: bool = False


@dataclass(frozen=True)
class RunSummary:
    """The results of one run.

    Attributes:
        table: its main results.
        notes: remarks to print below the table.
        tables: further tables.
        charts: small figures.
    """

    table: TableBlock
    notes: tuple[str, ...] = ()
    tables: tuple[TableBlock, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class RunDetails:
    """Details of one run.

    Attributes:
        name: the digest of the run, the target of links in the report.
        folder: path of the run folder relative to the report.
        summary: results and charts.
        settings: all settings that affect the results, by dotted name.
        environment: software and hardware that computed the results.
        started: start time, ISO 8601.
    """

    name: str
    folder: str
    summary: RunSummary
    settings: Mapping[str, str]
    environment: Mapping[str, str]
    started: str


FigureFunctions = Mapping[str, Callable[[], "Figure"]]
"""Functions that draw figures, by figure name."""


@dataclass(frozen=True)
class RunPage:
    """How runs of one kind of experiment are presented.

    Attributes:
        kind: the kind of experiment, as in `record.json`.
        table: the main results of a run.
        notes: remarks to print below the table.
        tables: names of the tables that `write` writes.
        write: derives tables from the other files of a run folder and writes them there. Reports do
            not read them.
        figures: the figures that can be drawn from the files of a run.
        captions: captions of the figures, by figure name.
        summarise: returns the digest and summary of each run of a report, with or without charts,
            from data that is already loaded. None builds summaries from `table` and `notes`.
    """

    kind: str
    table: Callable[[RunFolder], TableBlock]
    notes: Callable[[RunFolder], list[str]] = lambda folder: []
    tables: tuple[str, ...] = ()
    write: Callable[[RunFolder], None] = lambda folder: None
    figures: Callable[[RunFolder], FigureFunctions] = lambda folder: {}
    captions: Mapping[str, str] = field(default_factory=dict)
    summarise: Callable[[Runs, bool], Iterator[tuple[str, RunSummary]]] | None = None
