"""`bnnbench report`: tables and figures of all finished runs on one page."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.cli import reporting
from bnnbench.cli.reporting import REFERENCE_OPTION, note_omitted_runs, report_write_errors
from bnnbench.discovery import built_in_suites
from bnnbench.notes import note
from bnnbench.report.sections import FURTHER_SECTIONS
from bnnbench.system import available_cores
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.report.blocks import Style
    from bnnbench.results.read.run_filter import RunFilter
    from bnnbench.results.read.run_tables import Runs

SUMMARY = "collect finished runs in tables and figures"

DESCRIPTION = """\
Collect every finished run at or below PATH, and below MORE, in tables and figures, written to
PATH/report. It shows the verdict, scores, paired differences, a table, time against score,
calibration, and the sections of a publication for its own runs:

  report.html         a self-contained page for the browser: the verdict, figures, differences to
                      any baseline, sortable tables, published results, a page for every run
  results.md          the same as text, with links to figures and tables
  results.csv         one row per run, all metrics at full precision
  results.tex         the tables in LaTeX (booktabs, longtable)
  glossary.md         definitions and formulas of all columns
  comparisons.csv     every pair of methods, by the correlated t-test
  calibration.csv     coverage, calibration error and sharpness, before and after recalibration
  rmse, log_likelihood (.png, .pdf)
                      means and intervals, best first, one panel per data set; published values as
                      diamonds
  difference_* (.png, .pdf)
                      paired differences to the best run, with intervals of the correlated t-test
  time_against_score.csv, time_* (.png, .pdf)
                      scores against seconds per split, and the Pareto front
  reference_comparison.csv, reference_* (.png, .pdf)
                      with --with reference: each run and the reference results of its track, ranks,
                      and scores against CPU time relative to a reference fit
  published.csv       with --all-published or --published-values: all published values and ours
  published_splits.csv
                      with --all-published: our runs and published scores of the same splits

Further sections, with --sections NAME,NAME or --sections all:

  ranks       ranks.csv, ranks: mean ranks over data sets, and which methods do not differ
              significantly
  orders      orders.csv, orders*: scores against the order of a family of divergences
  spread      boxes_*: scores over splits, by divergence and depth
  intervals   proper_scores.csv, intervals.csv: scores of intervals, quantiles and tails, PIT
              histograms; conformal intervals
  objective   objectives: objectives by epoch, of runs that saved them
  curves      curves.csv, curves*: for synthetic data with one input, mean and bands inside and
              outside the training range
  coverage    sigma.csv, sigma: for the same data, targets within k standard deviations
  criteria    criteria.csv: BIC, AIC and HQC of runs that scored their training rows

Unfinished runs are left out, and so are damaged ones, which are named. Nothing is trained, so a
report can be written at any time. With --style paper the command writes instead

  paper.tex           one compact table (booktabs), the best in bold by the correlated t-test;
                      with --mine, marks of means that are significantly better or worse than mine
  paper_* (.pdf)      a figure for each metric, one or two columns wide, with embedded fonts
  paper.csv           the same at full precision

For runs of a suite, the report also compares with its publication:

"""

EXAMPLES = """\
examples:
  bnnbench report                       all runs below outputs
  bnnbench report outputs/uci           one experiment
  bnnbench report outputs ../theirs     runs of several folders; the report is in outputs/report
  bnnbench report --open                open report.html in the browser
  bnnbench report --sections ranks,spread
                                        also show these sections
  bnnbench report --sections all        show every section
  bnnbench report --error-bars std      error bars show standard deviations
  bnnbench report --all-published       compare with all published values on these data sets
  bnnbench report --with reference      compare with reference results, with a Pareto plot
  bnnbench report --methods vadam,pbp --datasets yacht,boston --metric crps
  bnnbench report --published-values mine.csv
  bnnbench report --style paper --methods mine,vadam --rename mine="Ours" --rename boston=Boston
  bnnbench report --style paper --mine vadam --siunitx
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    found = built_in_suites()
    width = max((len(suite.name) for suite in found), default=0)
    lines = (f"  {suite.name:{width}}  {suite.summary}\n" for suite in found)
    parser.description = DESCRIPTION + "".join(lines)
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=Path,
        default=Path("outputs"),
        help="the outputs folder, or any folder inside it (default: outputs)",
    )
    parser.add_argument(
        "others", metavar="MORE", nargs="*", type=Path, help="further folders of runs"
    )
    parser.add_argument(
        "--error-bars",
        choices=("std", "stderr"),
        default="stderr",
        help="in figures: stderr, the standard error of the mean over splits; std, their standard "
        "deviation (default: stderr). Tables always show mean ± stderr.",
    )
    parser.add_argument(
        "--all-published",
        action="store_true",
        help="compare with all published values on the data sets of the runs, not only with those "
        "of the same methods, in a table for each data set and score",
    )
    parser.add_argument("--with", dest="reference", default="", **REFERENCE_OPTION)
    parser.add_argument(
        "--sections",
        metavar="NAME,NAME",
        type=reporting.split_names,
        default=(),
        help=f"also show these sections: {', '.join(FURTHER_SECTIONS)}; all: every section",
    )
    parser.add_argument(
        "--output-dir",
        metavar="DIR",
        type=Path,
        help="write the report to this folder (default: PATH/report)",
    )
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="also draw the figures (PNG and PDF) of every run again",
    )
    parser.add_argument("--open", action="store_true", help="open report.html in the browser")
    reporting.add_arguments(parser)


def run(arguments: Namespace) -> int:
    """Write the report that the parsed arguments ask for."""
    names = reporting.parse_renames(arguments.rename)
    from bnnbench.results.read.run_filter import Condition, RunFilter

    where = tuple(map(Condition.parse, arguments.where))
    run_filter = RunFilter(
        arguments.methods, arguments.datasets, arguments.metric, where, arguments.trials
    )
    if arguments.style == "paper":
        for option in ("all_published", "refresh", "open", "sections"):
            if getattr(arguments, option):
                name = f"--{option.replace('_', '-')}"
                raise UserError(f"{name} does not work with --style paper; leave it out.", name)
        return paper_command(arguments, run_filter, names)
    for option in ("rename", "mine", "siunitx"):
        if getattr(arguments, option):
            raise UserError(f"--{option} needs --style paper.", f"--{option}")
    from bnnbench.cli.console import open_in_browser
    from bnnbench.report.blocks import Style

    sections = arguments.sections
    style = Style(
        arguments.error_bars, arguments.all_published, run_filter, arguments.reference, sections
    )
    values, refresh = arguments.published_values, arguments.refresh
    page = write_and_show(
        arguments.path, style, arguments.output_dir, None, values, refresh, arguments.others
    )
    if arguments.open:
        open_in_browser(page)
    return 0


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
    from bnnbench.report.paper.latex_cells import PADDED, SIUNITX
    from bnnbench.report.paper.latex_table import PAGE_HEIGHT, PAGE_WIDTH
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
    every = reporting.read_filtered_runs(
        arguments.path, None, first, arguments.published_values, arguments.others
    )
    require_scores(every)
    runs = without_duplicates(every)
    if arguments.reference:
        joined = with_reference_runs(runs, arguments.reference, metrics)
        runs = filter_runs(joined, RunFilter(run_filter.methods, run_filter.datasets))
    note_omitted_runs(runs)
    reporting.check_renames(names, runs)
    mine = reporting.find_mine(arguments.mine, runs) if arguments.mine else ""
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


def refresh_runs(runs: Runs, processes: int) -> None:
    """Rewrite the page of every run; print a note if that is impossible."""
    from bnnbench.report.run_output import write_page

    for folder in runs.folders.values():
        for error in write_page(folder, processes=processes, again=True):
            note(f"not refreshed: {error}")


def write_and_show(
    path: Path,
    style: Style | None = None,
    output_dir: Path | None = None,
    labels: Collection[str] | None = None,
    published_values: Path | None = None,
    refresh: bool = False,
    others: Sequence[Path] = (),
) -> Path:
    """Write the report; print its verdict, its table and, last, the page, which is returned.

    Args:
        path: an outputs folder, or any folder inside one.
        style: what it shows; the default sections of all runs if not given.
        output_dir: where to write; `path/report` if not given.
        labels: of the experiments to include; all of them if not given.
        published_values: a file of further published values.
        refresh: whether to rewrite summary and figures of each run first.
        others: further folders of runs.

    Raises:
        UserError: if `path` contains no finished run, a name or the file is wrong, or the report
            cannot be written.
        OSError: if the disk is full.
    """
    # Slow to import (pandas, matplotlib), and not needed for `bnnbench --help`.
    from bnnbench.cli.console import stdout
    from bnnbench.report.blocks import Style
    from bnnbench.report.report_writer import results_table, verdict_lines, write_readable
    from bnnbench.results.read.configurations import without_duplicates

    style = style or Style()
    read = partial(
        reporting.read_filtered_runs,
        *(path, labels, style.run_filter, published_values, others),
    )
    runs = read()
    note_omitted_runs(without_duplicates(runs))
    with report_write_errors(path, output_dir):
        if refresh:
            refresh_runs(runs, available_cores())
            runs = read()
        known = len(runs.skipped)
        runs, report = write_readable(runs, style, output_dir, available_cores())
    for message in runs.skipped[known:]:
        note(f"left out: {message}")
    if len(runs.scored):
        console = stdout()
        for line in verdict_lines(runs, style):
            console.print(line)
        console.print(results_table(runs, style))
    print(f"report: {report.html}")
    return report.html
