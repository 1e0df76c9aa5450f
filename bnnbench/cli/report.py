"""`bnnbench report`: one page of tables and figures over all finished runs."""

from __future__ import annotations

from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.cli import wanted
from bnnbench.cli.endings import note
from bnnbench.cli.reporting import say_left_out, writing
from bnnbench.discovery import suites
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.results.choice import Choice
    from bnnbench.results.reader import Runs

DESCRIPTION = """\
Gather every finished run at or below PATH into tables and figures, written to PATH/report:

  report.html         a page to open in a browser, one file: figures, tables that sort, published
                      results beside ours, a page on every run
  results.md          the same as text, with links to figures and tables
  results.csv         one row per run, every metric at full precision
  results.tex         the tables in LaTeX (booktabs, longtable)
  glossary.md         what every number is, with its formula
  comparisons.csv     every pair of methods, by the correlated t-test
  calibration.csv     coverage, calibration error and sharpness, before and after recalibration
  rmse, log_likelihood (.png, .pdf)
                      one panel per data set, one bar per run, published values as diamonds,
                      both with the same kind of error
  comparison_* (.png, .pdf)
                      which run beats which, of at most 20
  ranks.csv, ranks (.png, .pdf)
                      mean ranks over data sets, and which of them are not told apart
  time_against_score.csv, time_* (.png, .pdf)
                      scores against the seconds of a split, and the runs that nobody beats
  curves.csv, sigma.csv, curves*, sigma (.png, .pdf)
                      only with runs on made data of one input: mean and bands along it, inside
                      the training data and outside; targets inside k deviations
  orders.csv, orders*, boxes_*, means_*, objectives (.png, .pdf)
                      scores against the order of a family of divergences, spread over splits by
                      depth, objectives by epoch: where there are such runs
  published.csv       with --published all or --beside: every value that stands beside, and ours
  criteria.csv        BIC, AIC and HQC of runs that scored their training part

Runs that have not finished are left out; so are damaged ones, each of which is named. Nothing is
trained again, so ask as often as you like. With --style paper it writes instead

  paper.tex           one compact table (booktabs), the best in bold by the correlated t-test
  paper_* (.pdf)      a figure for each metric, as wide as a column or two, fonts embedded
  paper.csv           the same at full precision

Where the runs of a suite are there, the report adds what its publication says beside ours:

"""

EXAMPLES = """\
examples:
  bnnbench report                       every run below outputs
  bnnbench report outputs/uci           one experiment
  bnnbench report --error stderr        error bars show standard errors
  bnnbench report --published all       beside every value on record for these data sets
  bnnbench report --methods vadam,pbp --datasets yacht,boston --metric crps
  bnnbench report --beside mine.csv     beside values that you bring
  bnnbench report --style paper --methods mine,vadam --name mine="Ours" --name boston=Boston
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
        help="what the figures' error bars show over the splits: std, the standard deviation, "
        "says how much one split differs from another; stderr, the standard error, says how "
        "well the mean is known (default: std, with --style paper stderr). Tables always give "
        "mean ± stderr.",
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
    wanted.add_arguments(parser)
    parser.set_defaults(run=run)


def run(given: Namespace) -> int:
    """Does what the words of the command line ask for."""
    names, choice = wanted.names_of(given.name), wanted.choice_of(given)
    if given.style == "paper":
        from bnnbench.cli.paper import paper_command

        if given.published != "like" or given.refresh:
            raise UserError("--published all and --refresh go with a report, not --style paper.")
        return paper_command(
            given.path, choice, names, given.error or "stderr", given.to, given.beside
        )
    if names:
        raise UserError("--name goes with --style paper.")
    return report_command(
        given.path,
        given.error or "std",
        given.to,
        given.refresh,
        published=given.published,
        choice=choice,
        beside=given.beside,
    )


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
    choice: Choice | None = None,
    beside: Path | None = None,
) -> int:
    """Writes the report, prints its table and, last, the page to open.

    Args:
        path: an outputs folder, or any folder inside one.
        error: what the figures' error bars show.
        to: where to write; `path/report` if not given.
        refresh: first rewrite what each run shows of itself.
        labels: of the folders in `path` whose runs are gathered; all of them if not given.
        published: which published values stand in it, a key of `section.PUBLISHED`.
        choice: of which runs, and what; all of them if not given.
        beside: a file of published values that stand in it, too.

    Raises:
        UserError: if `path` holds no finished run, a name or the file is wrong, or the report
            cannot be written there.
        OSError: if the disk is full.
    """
    # Slow to import (pandas, matplotlib), and `bnnbench --help` needs none of it.
    from joblib import cpu_count

    from bnnbench.cli.console import stdout
    from bnnbench.report.overview import results_table, write_report
    from bnnbench.report.section import Style
    from bnnbench.results.choice import Choice

    style = Style(error, published, choice or Choice())
    runs = wanted.gathered(path, labels, style.choice, beside)
    say_left_out(runs)
    with writing(path, to):
        if refresh:
            rewrite_pages(runs, cpu_count())
            runs = wanted.gathered(path, labels, style.choice, beside)
        for sentence in runs.mended:
            note(sentence)
        report = write_report(runs, style, to, cpu_count())
    if len(runs.scored):
        stdout().print(results_table(runs, style))
    print(f"report: {report.html}")
    return 0
