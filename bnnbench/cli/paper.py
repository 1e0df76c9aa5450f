"""`bnnbench report --style paper`: a table and figures for a paper."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bnnbench.cli import report_options
from bnnbench.cli.report_errors import note_omitted_runs, report_write_errors
from bnnbench.notes import note

if TYPE_CHECKING:
    from bnnbench.results.read.run_filter import RunFilter


def paper_command(arguments: Namespace, run_filter: RunFilter, names: Mapping[str, str]) -> int:
    """Write the table and the figures of a paper and print, as the last line, their folder.

    Args:
        arguments: the parsed options of `bnnbench report`.
        run_filter: selection of runs and metrics; RMSE and log-likelihood if it has no metrics.
        names: printed names by method, data set or metric.

    Raises:
        UserError: if there are no scores, a name or the file is wrong, or nothing can be written.
        OSError: if the disk is full.
    """
    from bnnbench.experiment.engines.local import available_cores
    from bnnbench.report.paper.latex_numbers import PADDED, SIUNITX
    from bnnbench.report.paper.layout import PAGE_HEIGHT, PAGE_WIDTH
    from bnnbench.report.paper.paper_table import check_distinct_names, paper_table
    from bnnbench.report.paper.paper_writer import write_paper
    from bnnbench.report.report_folder import ReportFolder
    from bnnbench.results.metric_table import printed_in
    from bnnbench.results.read.configurations import without_duplicates
    from bnnbench.results.read.run_filter import RunFilter, filter_runs
    from bnnbench.results.read.run_tables import require_scores
    from bnnbench.results.reference.joined_runs import with_reference_runs

    metrics = run_filter.metrics_or(printed_in("figures"))
    # With reference results, --methods selects from these too.
    first = replace(run_filter, methods=()) if arguments.reference else run_filter
    every = report_options.read_filtered_runs(
        arguments.path, None, first, arguments.published_values, arguments.others
    )
    require_scores(every)
    runs = without_duplicates(every)
    if arguments.reference:
        joined = with_reference_runs(runs, arguments.reference, metrics)
        runs = filter_runs(joined, RunFilter(run_filter.methods, run_filter.datasets))
    note_omitted_runs(runs)
    report_options.check_renames(names, runs)
    mine = report_options.find_mine(arguments.mine, runs) if arguments.mine else ""
    table = paper_table(runs, metrics, run_filter, names, mine)
    check_distinct_names(table)
    output_dir = arguments.output_dir
    report = ReportFolder(output_dir) if output_dir else ReportFolder.below(arguments.path)
    numbers = SIUNITX if arguments.siunitx else PADDED
    with report_write_errors(arguments.path, output_dir):
        layout = write_paper(table, report, numbers, arguments.error_bars, available_cores())
    if not layout.fits_width:
        note(
            f"the table is about {layout.inches:.1f} inches wide, but a page is only "
            f"{PAGE_WIDTH:g}: choose fewer --methods, --datasets or --metric, or shorter names."
        )
    if not layout.fits_height:
        note(
            f"the table is about {layout.height:.1f} inches high, but a page is only "
            f"{PAGE_HEIGHT:g}, with the caption: choose fewer --methods or one --metric."
        )
    print(f"paper: {report.root / 'paper.tex'}")
    return 0
