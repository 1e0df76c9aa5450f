"""`bnnbench report`: one page of tables and figures over all finished runs."""

from __future__ import annotations

import errno
from argparse import RawDescriptionHelpFormatter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.cli.endings import note
from bnnbench.discovery import suites
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.results.reader import Runs

DESCRIPTION = """\
Gather every finished run at or below PATH into tables and figures, written to PATH/report:

  results.md          a page to read: figures, tables, published results beside ours
  results.csv         one row per run, every metric at full precision
  results.tex         the tables for a paper (booktabs, longtable)
  comparisons.csv     every pair of methods, by the correlated t-test
  calibration.csv     coverage, calibration error and sharpness, before and after recalibration
  rmse, log_likelihood (.png, .pdf)
                      one panel per data set, one bar per run, published values as diamonds
  comparison_* (.png, .pdf)
                      which run beats which, of at most 20
  curves.csv, sigma.csv, curves*, sigma (.png, .pdf)
                      only with runs on made data of one input: mean and bands along it, inside
                      the training data and outside; targets inside k deviations
  orders.csv, orders*, boxes_*, means_*, objectives (.png, .pdf)
                      scores against the order of a family of divergences, spread over splits by
                      depth, objectives by epoch: where there are such runs
  published.csv       with --published all: every value on record for these data sets
  criteria.csv        BIC, AIC and HQC of runs that scored their training part

Runs that have not finished are left out; so are damaged ones, each of which is named. Nothing is
trained again, so ask as often as you like. Where the runs of a suite are there, it adds what its
publication says beside ours:

"""

EXAMPLES = """\
examples:
  bnnbench report                       every run below outputs
  bnnbench report outputs/uci           one experiment
  bnnbench report --error stderr        error bars show standard errors
  bnnbench report --published all       beside every value on record for these data sets
"""


def add_parser(subparsers: Any) -> None:
    """Adds `report`, which sets `run`, a function of the parsed arguments."""
    parser = subparsers.add_parser(
        "report",
        help="gather finished runs into tables and figures",
        description=DESCRIPTION + suites_described(),
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "path",
        metavar="PATH",
        nargs="?",
        type=Path,
        default=Path("outputs"),
        help="the folder runs were written to, or any folder inside it (default: outputs)",
    )
    parser.add_argument(
        "--error",
        choices=("std", "stderr"),
        default="std",
        help="what the figures' error bars show over the splits: std, the standard deviation, "
        "says how much one split differs from another; stderr, the standard error, says how "
        "well the mean is known (default: std). Tables always give mean ± stderr.",
    )
    parser.add_argument(
        "--published",
        choices=("like", "all"),
        default="like",
        help="which published values stand in the report: like, those of the methods that ran; "
        "all, every value on record for the data sets that ran, with what is known of their "
        "splits, a table for each data set and score (default: like)",
    )
    parser.add_argument(
        "--to", metavar="DIR", type=Path, help="write the report there (default: PATH/report)"
    )
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="also write the summary, calibration.csv and the figures (PNG and PDF) of every run "
        "anew, from its splits.csv, predictions.npz and out_of_fold.npz",
    )
    parser.set_defaults(
        run=lambda given: report_command(
            given.path, given.error, given.to, given.refresh, published=given.published
        )
    )


def say_left_out(runs: Runs) -> None:
    """Names the damaged runs, a sentence each, on standard error."""
    for sentence in runs.left_out:
        note(f"left out: {sentence}")


def rewrite_pages(runs: Runs, processes: int) -> None:
    """Writes anew what every run shows of itself; one that cannot be shown is named."""
    from bnnbench.report.pages import write_page

    for folder in runs.folders.values():
        try:
            page, done = write_page(folder, processes=processes), folder.finished()
        except UserError as error:
            note(f"not refreshed: {error}")
        else:
            if done:
                folder.mark(replace(done, page=folder.sums(page)))


def suites_described() -> str:
    """A line per suite."""
    found = suites()
    width = max((len(suite.name) for suite in found), default=0)
    return "".join(f"  {suite.name:{width}}  {suite.summary}\n" for suite in found)


def report_command(
    path: Path,
    error: str = "std",
    to: Path | None = None,
    refresh: bool = False,
    labels: Collection[str] | None = None,
    published: str = "like",
) -> int:
    """Writes the report, prints its table and, last, where it lies.

    Args:
        path: an outputs folder, or any folder inside one.
        error: what the figures' error bars show.
        to: where to write; `path/report` if not given.
        refresh: first rewrite what each run shows of itself.
        labels: of the folders in `path` whose runs are gathered; all of them if not given.
        published: which published values stand in it, a key of `section.PUBLISHED`.

    Raises:
        UserError: if `path` holds no finished run, or the report cannot be written there.
        OSError: if the disk is full.
    """
    # Slow to import (pandas, matplotlib), and `bnnbench --help` needs none of it.
    from joblib import cpu_count

    from bnnbench.cli.console import stdout
    from bnnbench.report.folder import ReportFolder
    from bnnbench.report.overview import results_table, write_report
    from bnnbench.report.section import Style
    from bnnbench.results.reader import read_runs

    style, runs = Style(error, published), read_runs(path, labels)
    say_left_out(runs)
    try:
        if refresh:
            rewrite_pages(runs, cpu_count())
            runs = read_runs(path, labels)
        for sentence in runs.mended:
            note(sentence)
        report = write_report(runs, style, to, cpu_count())
    except OSError as failure:
        place = to or path
        with suppress(OSError):  # where not a file has found room
            (to or ReportFolder.below(path).root).rmdir()
        if failure.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise UserError(
            f"cannot write the report to {place} ({failure.strerror}); "
            "choose a writable folder with --to DIR."
        ) from None
    if len(runs.scored):
        stdout().print(results_table(runs))
    print(f"report: {report.root}")
    return 0
