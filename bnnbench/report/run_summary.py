"""A compact summary of one run for the HTML report, which may contain hundreds of runs.

Charts are stored as numbers. The page's script draws them when the reader opens the run.
"""

from __future__ import annotations

from dataclasses import dataclass

from bnnbench.report.blocks import Table


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

    table: Table
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
