"""`bnnbench recommend`: compares methods on a table and recommends one."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bnnbench.choice import (
    METHODS,
    comparable_runs,
    method_name,
    recommendation_of,
    run_in_time,
    within_budget,
)
from bnnbench.cli.reporting import NAMES
from bnnbench.constraints import check_between
from bnnbench.notes import note
from bnnbench.system import available_cores

if TYPE_CHECKING:
    from bnnbench.experiment.run.run import Run

LONG_SECONDS = 300.0
"""Above this estimate, a dry run says how to reduce the time."""

SUMMARY = "find out which method suits your table"

DESCRIPTION = """\
Find out which method suits a table. Each method runs on the same ten splits with the same short
search. The correlated t-test compares the method with the best test log-likelihood with each other
one, and the fastest method that is not significantly worse is recommended. By default the methods
are

  {methods}

(gp up to 2,000 rows). A method that cannot use a setting is left out, with a note. With
dataset.time, dataset.test or dataset.n_splits, all splits of the table are run. --minutes reduces
the splits, and then the methods, until the estimated time fits; on a slow or busy machine, more
methods may be left out later. The command is resumable, writes a report and prints a
recommendation; then predict new rows with `bnnbench predict RUN NEW.csv`. For
`predict --calibrate isotonic` and for recalibrated intervals in the report, add
evaluation.out_of_fold=true, which takes longer (boosting six times as long).
"""

EXAMPLES = """\
examples:
  bnnbench recommend houses.csv --target price
  bnnbench recommend houses.csv --target price --dry-run      the plan and its estimated time
  bnnbench recommend houses.csv --target price --minutes 10
  bnnbench recommend houses.csv --target price dataset.drop=id,street dataset.categorical=onehot
  bnnbench recommend visits.xlsx --target dose dataset.group=patient dataset.missing=impute
  bnnbench recommend load.csv --target load dataset.time=timestamp
  bnnbench recommend houses.csv --target price --methods linear,vadam/heteroscedastic splits=20
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = DESCRIPTION.format(methods=", ".join(METHODS))
    parser.add_argument("file", metavar="FILE", help="the table: CSV, Excel, parquet")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    text = "methods to compare, each METHOD or METHOD/LIKELIHOOD"
    parser.add_argument("--methods", **NAMES | {"default": METHODS, "help": text})
    parser.add_argument(
        "--minutes",
        type=float,
        help="time budget: run fewer splits and, if necessary, fewer methods",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the plan and its estimated time"
    )
    parser.add_argument(
        "overrides",
        metavar="KEY=VALUE",
        nargs="*",
        help="settings of every run, as for `bnnbench run`",
    )


def run(arguments: Namespace) -> int:
    """Compare the methods, or print the plan."""
    if arguments.minutes is not None:
        check_between("--minutes", arguments.minutes, 0)
    every = comparable_runs(
        arguments.file, arguments.target, arguments.methods, arguments.overrides
    )
    runs = within_budget(every, arguments.minutes)
    if arguments.dry_run:
        from bnnbench.run_all import report_slow_training

        report_slow_training(runs, note)
        show_plans(runs)
        print(f"next: {_without_dry_run(arguments)}")
        return 0
    return recommend(runs, arguments.minutes)


def _without_dry_run(arguments: Namespace) -> str:
    """Return the command line that runs what a dry run planned."""
    words = ["bnnbench", "recommend", arguments.file, "--target", arguments.target]
    if arguments.methods != METHODS:
        words += ["--methods", ",".join(arguments.methods)]
    if arguments.minutes is not None:
        words += ["--minutes", f"{arguments.minutes:g}"]
    return shlex.join([*words, *arguments.overrides])


def show_plans(runs: Sequence[Run]) -> None:
    """Print the data set, the methods and their estimated times; write nothing."""
    from bnnbench.cli.plan import show_total
    from bnnbench.experiment.kinds.base import HasPlan
    from bnnbench.experiment.run.progress import seconds_left, time_left

    experiment = runs[0].experiment
    assert isinstance(experiment, HasPlan)
    plan = experiment.plan()
    print(f"{experiment.metadata()['dataset']}: {plan['table']}")
    print(f"splits: {plan['splits']}")
    names, seconds = [method_name(run) for run in runs], [seconds_left(run) for run in runs]
    width = max(map(len, names))
    for run, name, left in zip(runs, names, seconds, strict=True):
        print(f"  {name:{width}}  {'finished' if run.complete() else f'about {time_left(left)}'}")
    show_total(seconds)
    if sum(seconds) > LONG_SECONDS:
        print("to take less time: --minutes 5, fewer --methods, or splits=3")


def recommend(runs: Sequence[Run], minutes: float | None = None) -> int:
    """Run the methods, write a report, and print a table of the methods and a recommendation.

    Args:
        runs: the runs of the methods.
        minutes: time budget.

    Returns:
        0, or 1 if every run diverged.
    """
    import pandas as pd

    from bnnbench.cli.commands.run import note_warnings
    from bnnbench.cli.console import all_diverged_message, stdout
    from bnnbench.cli.reporting import report_write_errors
    from bnnbench.report.blocks import Style
    from bnnbench.report.renderers.terminal import Prose, frame_grid
    from bnnbench.report.report_writer import write_readable

    note_warnings(runs)
    folders = run_in_time(runs, minutes)
    message = all_diverged_message("every run", folders)
    if message:
        note(message)
        return 1
    found = recommendation_of(folders)
    with report_write_errors(found.runs.path, None):
        _, report = write_readable(found.runs, Style(), None, available_cores())
    print(f"report: {report.html}")
    formats = dict(zip(found.table, ("{:.3f}", "{:.4g}", "{:.0%}", "{:.2g}", "{}"), strict=True))
    texts = {name: found.table[name].map(form.format) for name, form in formats.items()}
    console = stdout()
    console.print(frame_grid(pd.DataFrame(texts).reset_index(), ("method", "outcome")))
    for sentence in (
        "Scores are means over splits; seconds, with the search, are per split.",
        *found.sentences,
        "Coverage is an average over rows, also after `predict --calibrate conformal`; it may "
        "differ between parts of the table.",
    ):
        console.print(Prose(sentence))
    print(f"next: bnnbench predict {found.run.folder.root} NEW.csv")
    return 0
