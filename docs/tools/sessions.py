"""What the commands of README and of the tutorial print, from stored runs.

The runs of the tutorial are stored by its commands and, in its folder,
`bnnbench reference add outputs --folder docs/results/tutorial`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice

from rich.console import Console
from stored_results import RESULTS, SCORES, reference_results

from bnnbench.report.blocks import Block, Style
from bnnbench.report.reference_summary import summary_blocks
from bnnbench.report.renderers.terminal import render
from bnnbench.report.sections.results import result_tables
from bnnbench.report.sections.verdict import verdict_blocks
from bnnbench.results.compare.significance import ROPE
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.reference.comparison import REFERENCE, compare_with_reference, with_table
from bnnbench.results.reference.results import read_reference_results, reference_runs

WIDTH = 88
"""Characters of a line."""

METRICS = [BY_KEY[key] for key in SCORES]


def printed(blocks: Iterable[Block]) -> str:
    """Return a block of code with what a terminal shows."""
    console = Console(file=io.StringIO(), width=WIDTH)
    for part in render(blocks):
        console.print(part, highlight=False)
    lines = "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())
    return f"```text\n{lines}\n```"


def compared(runs: Runs) -> Iterable[Block]:
    """Yield what `bnnbench compare --mine` prints about runs of one method."""
    (comparison,) = compare_with_reference(runs, REFERENCE, METRICS, ROPE).tracks
    return summary_blocks(comparison, METRICS)


def session() -> str:
    """Return parts of the output of `make run`, from reference runs with its settings."""
    runs = reference_runs(reference_results())
    rows = runs.scored[runs.scored["dataset"] == "boston"].reset_index().set_index("method")
    mine = rows.loc[["vadam", "mc_dropout"]].reset_index().set_index("run")
    both = with_table(runs, mine)
    best = with_table(runs, mine[mine["method"] == "mc_dropout"])
    (table,) = result_tables(mine, METRICS).values()
    table = replace(table, group="", caption="")
    text = printed([*verdict_blocks(both, Style()), table, *islice(compared(best), 4)])
    return re.sub("\n{2,}", "\n", text)


def tutorial() -> str:
    """Return what the comparison of the tutorial's method prints."""
    return printed(compared(reference_runs(read_reference_results(RESULTS / "tutorial"))))
