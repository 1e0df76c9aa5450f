"""`bnnbench report --style paper`: a table and figures for a paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.cli import report_options
from bnnbench.cli.report_errors import note_omitted_runs, report_write_errors
from bnnbench.notes import note

if TYPE_CHECKING:
    from bnnbench.results.run_filter import RunFilter


def paper_command(
    path: Path,
    run_filter: RunFilter,
    names: Mapping[str, str],
    error_bars: str = "stderr",
    output_dir: Path | None = None,
    published_values: Path | None = None,
) -> int:
    """Write the table and the figures of a paper and print, as the last line, their folder.

    Args:
        path: an outputs folder, or any folder inside one.
        run_filter: selection of runs and metrics; RMSE and log-likelihood if it has no metrics.
        names: printed names by method, data set or metric.
        error_bars: `std` or `stderr`.
        output_dir: where to write; `path/report` if not given.
        published_values: a file of further published values.

    Raises:
        UserError: if there are no scores, a name or the file is wrong, or nothing can be written.
        OSError: if the disk is full.
    """
    from joblib import cpu_count

    from bnnbench.report.paper.layout import PAGE_WIDTH
    from bnnbench.report.paper.paper_table import paper_table
    from bnnbench.report.paper.paper_writer import write_paper
    from bnnbench.report.report_folder import ReportFolder
    from bnnbench.results.metrics import printed_in
    from bnnbench.results.reader import require_scores

    runs = report_options.read_filtered_runs(path, None, run_filter, published_values)
    require_scores(runs)
    report_options.check_renames(names, runs)
    note_omitted_runs(runs)
    table = paper_table(runs, run_filter.metrics_or(printed_in("figures")), run_filter, names)
    report = ReportFolder(output_dir) if output_dir else ReportFolder.below(path)
    with report_write_errors(path, output_dir):
        layout = write_paper(table, report, error_bars, cpu_count())
    if not layout.fits:
        note(
            f"the table is about {layout.inches:.1f} inches wide, but a page only "
            f"{PAGE_WIDTH:g}: choose fewer --methods, --datasets or --metric, or shorter names."
        )
    print(f"paper: {report.root / 'paper.tex'}")
    return 0
