"""How each kind of experiment presents the results of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.blocks import Table
from bnnbench.report.run_summary import RunSummary
from bnnbench.results.reader import Runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FigureFunctions = Mapping[str, Callable[[], "Figure"]]
"""Functions that draw figures, by figure name."""


@dataclass(frozen=True)
class RunPage:
    """How runs of one kind of experiment are presented.

    Attributes:
        kind: the kind of experiment, as in `record.json`.
        write: derives summary tables from the other files of a run folder and writes them there.
        table: the main results of a run.
        notes: remarks to print below the table.
        report_tables: names of the tables from `write` that the report over many runs reads.
        figures: the figures that can be drawn from the files of a run.
        captions: captions of the figures, by figure name.
        summarise: returns the digest and summary of each run of a report, with or without charts,
            from data that is already loaded. None builds summaries from `table` and `notes`.
    """

    kind: str
    write: Callable[[RunFolder], None]
    table: Callable[[RunFolder], Table]
    notes: Callable[[RunFolder], list[str]]
    report_tables: tuple[str, ...] = ()
    figures: Callable[[RunFolder], FigureFunctions] = lambda folder: {}
    captions: Mapping[str, str] = field(default_factory=dict)
    summarise: Callable[[Runs, bool], Iterator[tuple[str, RunSummary]]] | None = None
