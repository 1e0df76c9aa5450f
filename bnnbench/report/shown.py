"""What a page that readers open says of a single run: short, for there may be hundreds of them.

Charts are numbers, which the page's script draws when somebody looks.
"""

from __future__ import annotations

from dataclasses import dataclass

from bnnbench.report.section import Table


@dataclass(frozen=True)
class Series:
    """Points of a chart.

    Attributes:
        name: in the legend.
        x: across.
        y: up, as many.
        error: half the length of each point's bar; none if empty.
        joined: whether they are a line.
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
        title: stands above, and says what the points are.
        x: what is across, with its unit.
        y: what is up.
        series: the points.
        diagonal: whether the line y = x is drawn.
    """

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    diagonal: bool = False


@dataclass(frozen=True)
class Shown:
    """What a run shows of itself.

    Attributes:
        table: its numbers.
        notes: sentences that belong below.
        tables: further ones.
        charts: figures.
    """

    table: Table
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
