"""What the page of one run is: each kind of experiment has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.section import Table
from bnnbench.report.shown import Shown
from bnnbench.results.reader import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Drawings = Mapping[str, Callable[[], "Figure"]]
"""Figures by their names, each drawn when it is asked for."""


@dataclass(frozen=True)
class Page:
    """How runs of one kind are shown.

    Attributes:
        kind: of experiment.
        write: makes the tables that readers look at from the run's other files.
        table: the run's main numbers.
        notes: sentences that belong below it.
        read_back: names of the tables that `write` leaves and a report over many runs reads.
        drawings: the figures that the run's files can show.
        many: what each of the runs of a report shows in its page, by digest, made of what is read
            already, with or without charts; None makes it of `table` and `notes`.
    """

    kind: str
    write: Callable[[RunFolder], None]
    table: Callable[[RunFolder], Table]
    notes: Callable[[RunFolder], list[str]]
    read_back: tuple[str, ...] = ()
    drawings: Callable[[RunFolder], Drawings] = lambda folder: {}
    many: Callable[[Runs, bool], Iterator[tuple[str, Shown]]] | None = None
