"""Writes the report over many runs, with the sections to show that apply to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType

from bnnbench.discovery import plugins
from bnnbench.experiment.store.run_folder import FIGURE_FORMATS
from bnnbench.files import write_text
from bnnbench.forks import run_both
from bnnbench.report.blocks import (
    Block,
    DataFile,
    FigureBlock,
    Heading,
    ItemList,
    Paragraph,
    SectionFunction,
    Style,
)
from bnnbench.report.figures.plotting import save_and_inline
from bnnbench.report.renderers import html, latex, markdown, terminal
from bnnbench.report.report_folder import ReportFolder
from bnnbench.report.run_output import run_details
from bnnbench.report.run_page import RunDetails
from bnnbench.report.sections import (
    calibration,
    curves,
    divergence_orders,
    hidden_sections,
    information_criteria,
    interval_coverage,
    leaderboard,
    objective,
    proper_scores,
    ranking,
    reference_results,
    results,
    scores,
    significance,
    spread,
    time_against_score,
    verdict,
)
from bnnbench.results.glossary import TERMS
from bnnbench.results.metric_table import printed_in
from bnnbench.results.read.configurations import without_duplicates
from bnnbench.results.read.readable_runs import use_readable
from bnnbench.results.read.run_tables import Runs, require_scores

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SECTIONS: Mapping[str, SectionFunction] = {
    "verdict": verdict.section,
    "scores": scores.section,
    "differences": significance.section,
    "results": results.section,
    "ranks": ranking.section,
    "time": time_against_score.section,
    "reference": reference_results.section,
    "orders": divergence_orders.section,
    "spread": spread.section,
    "calibration": calibration.section,
    "intervals": proper_scores.section,
    "objective": objective.section,
    "curves": curves.section,
    "coverage": interval_coverage.section,
    "criteria": information_criteria.section,
    "published": leaderboard.section,
}
"""The generic sections by name, in the order in which they are printed.

`report.sections` does not name `reference` and `published`: options of their own ask for them.
"""

FOR_ANY_KIND = ("intervals",)
"""Sections on saved predictions, which any run may have. The others are on scores of splits."""

NOT_SHOWN = (
    "Not shown: {}. Show those that apply to these runs with bnnbench report --sections NAME,NAME, "
    "or --sections all."
)

MIN_PARALLEL_RUNS = 50
"""From this number of runs on, collecting run details takes longer than starting a process."""


def section_functions(runs: Runs, style: Style) -> Iterator[SectionFunction]:
    """The generic sections to show, then those of the suites that present some of the runs."""
    hidden = hidden_sections(style.sections)
    for name, section in SECTIONS.items():
        if name not in hidden and (len(runs.scored) or name in FOR_ANY_KIND):
            yield section
    for page in plugins("page", runs.experiments):
        yield from getattr(page, "SECTIONS", ())


def build_sections(runs: Runs, style: Style) -> list[Block]:
    """Return the blocks of every section to show that applies to the runs.

    Generic sections count identical configurations once; suites name their own. The last paragraph
    names the generic sections that are not shown.

    Raises:
        UserError: if none applies.
    """
    distinct, generic = without_duplicates(runs), set(SECTIONS.values())
    blocks = [
        block
        for section in section_functions(runs, style)
        for block in section(distinct if section in generic else runs, style)
    ]
    if not blocks:
        require_scores(runs)
    if blocks and runs.notes:
        blocks.insert(0, ItemList(runs.notes))
    hidden = hidden_sections(style.sections)
    if hidden and len(runs.scored):
        blocks += [Heading("Further sections"), Paragraph(NOT_SHOWN.format(", ".join(hidden)))]
    return blocks


def write_report(
    runs: Runs, style: Style | None = None, output_dir: Path | None = None, processes: int = 1
) -> ReportFolder:
    """Write pages (HTML, Markdown, LaTeX), tables (CSV) and figures (PNG, PDF) on all runs.

    Args:
        runs: from `read_runs`.
        style: options of the report.
        output_dir: the folder to write to; by default `report` in the folder of the runs.
        processes: number of processes that work in parallel.

    Raises:
        UserError: if no section applies to the runs.
    """
    report = ReportFolder(output_dir) if output_dir else ReportFolder.below(runs.path)
    blocks, details = _build(runs, style or Style(), report.root, processes)
    write_text(report.page, f"{markdown.page(blocks)}\n{markdown.SEE_GLOSSARY}\n")
    write_text(report.glossary, f"# Glossary\n\n{markdown.glossary(TERMS)}\n")
    write_text(report.latex, latex.paper(blocks))
    for block in blocks:
        if isinstance(block, DataFile):
            write_text(report.table(block.name), block.table.to_csv(index=False))
    figures = save_and_inline(_figures(blocks), report.figure, FIGURE_FORMATS["both"], processes)
    count = len(runs.folders)
    title = f"{runs.path.resolve().name}, {count} run{'s' * (count != 1)}"
    write_text(report.html, html.page(title, blocks, figures, details))
    return report


def _build(
    runs: Runs, style: Style, root: Path, processes: int = 1
) -> tuple[list[Block], list[RunDetails]]:
    """Return the blocks of all sections, and the details of all runs."""
    return run_both(
        lambda: build_sections(runs, style),
        lambda: list(run_details(runs, root)),
        processes if len(runs.folders) >= MIN_PARALLEL_RUNS else 1,
    )


def _figures(blocks: Iterable[Block]) -> dict[str, Callable[[], Figure]]:
    return {block.name: block.draw for block in blocks if isinstance(block, FigureBlock)}


def write_readable(
    runs: Runs, style: Style, output_dir: Path | None = None, processes: int = 1
) -> tuple[Runs, ReportFolder]:
    """Write the report like `write_report`, without runs that turn out to be damaged.

    Returns:
        The runs that it contains, and its folder.
    """

    def probe(one: Runs) -> None:
        save_and_inline(_figures(_build(one, style, Path())[0]))

    return use_readable(
        runs, lambda chosen: write_report(chosen, style, output_dir, processes), probe
    )


def verdict_lines(runs: Runs, style: Style | None = None) -> Iterator[RenderableType]:
    """The verdict in words for a terminal."""
    return terminal.render(verdict.verdict_blocks(without_duplicates(runs), style or Style()))


def results_table(runs: Runs, style: Style | None = None) -> terminal.Grid:
    """The main results as a table for a terminal of 80 columns, grouped by data set."""
    metrics = (style or Style()).run_filter.metrics_or(printed_in("terminal"))
    table = without_duplicates(runs).scored
    return terminal.Grid(list(results.result_tables(table, metrics).values()))
