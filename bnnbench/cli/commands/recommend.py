"""`bnnbench recommend`: compares methods on a table and recommends one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.notes import note, status_message
from bnnbench.types import DuplicateConfiguration, UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run

METHODS = ("linear", "gp", "boosting", "pbp", "vadam", "mc_dropout", "deep_ensemble")
"""Compared by default: simple baselines and networks."""

DEFAULT_OVERRIDES = (
    "splits=10",
    "search.iterations=10",
    "search.initial_points=5",
    # Saves another fit of every fold, 5/6 of the time of methods without a search.
    "evaluation.out_of_fold=false",
)
"""A shorter protocol, the same for all methods."""

SUMMARY = "find out which method suits your table"

DESCRIPTION = """\
Find out which method suits a table. Each method runs on the same ten splits with the same short
search; the method with the best test log-likelihood is compared with the others by the correlated
t-test. The methods are by default

  {methods}

(gp up to 2,000 rows). The command is resumable, writes a report and prints a recommendation; then
predict new rows with `bnnbench predict RUN NEW.csv`. For `predict --calibrate isotonic` and for
recalibrated intervals in the report, add evaluation.out_of_fold=true, which takes longer (boosting
six times as long).
"""

EXAMPLES = """\
examples:
  bnnbench recommend houses.csv --target price
  bnnbench recommend visits.xlsx --target dose dataset.group=patient dataset.missing=impute
  bnnbench recommend houses.csv --target price --methods linear,vadam splits=20
  bnnbench recommend houses.csv --target price --dry-run      the plan and its estimated time
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = DESCRIPTION.format(methods=", ".join(METHODS))
    parser.add_argument("file", metavar="FILE", help="the table: CSV, Excel, parquet")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="what to predict")
    parser.add_argument(
        "--methods", metavar="A,B", default=",".join(METHODS), help="methods to compare"
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


def run(given: Namespace) -> int:
    """Compare the methods, or print the plan."""
    runs = comparable_runs(given.file, given.target, given.methods.split(","), given.overrides)
    return show_plans(runs) if given.dry_run else recommend(runs)


def show_plans(runs: Sequence[Run]) -> int:
    """Print the data set, the methods and their estimated times; write nothing."""
    from bnnbench.cli.plan import seconds_left, show_total
    from bnnbench.experiment.base import HasPlan
    from bnnbench.experiment.progress import time_left

    experiment = runs[0].experiment
    assert isinstance(experiment, HasPlan)
    plan = experiment.plan()
    print(f"{experiment.metadata()['dataset']}: {plan['table']}")
    print(f"splits: {plan['splits']}")
    names = [str(run.experiment.metadata()["method"]) for run in runs]
    width, seconds = max(map(len, names)), [seconds_left(run) for run in runs]
    for run, name, left in zip(runs, names, seconds, strict=True):
        print(f"  {name:{width}}  {'finished' if run.complete() else f'about {time_left(left)}'}")
    show_total(seconds)
    return 0


def recommend(runs: Sequence[Run]) -> int:
    """Run the methods, write a report and print a recommendation.

    Returns:
        0, or 1 if every run diverged.
    """
    from bnnbench.cli.commands.report import write_and_show
    from bnnbench.cli.commands.run import note_warnings
    from bnnbench.cli.console import all_diverged_message
    from bnnbench.results.reader import read_runs
    from bnnbench.results.recommendation import coverages, recommendation
    from bnnbench.run_all import run_all

    note_warnings(runs)
    folders = run_all(runs, say=note)
    message = all_diverged_message("every run", folders)
    if message:
        note(message)
        return 1
    place = folders[0].root.parents[1]
    write_and_show(place)
    finished = read_runs(place)
    found = recommendation(finished)
    for sentence in found.sentences(coverages(finished)):
        print(sentence)
    print(f"next: bnnbench predict {finished.folders[found.run].root} NEW.csv")
    return 0


def comparable_runs(
    file: str, target: str, methods: Sequence[str], overrides: Sequence[str]
) -> list[Run]:
    """Build the runs of the methods that work on this table, and print a note for the others.

    Args:
        file: the table.
        target: column to predict.
        methods: to compare.
        overrides: for every run.

    Raises:
        UserError: if a setting is wrong, or fewer than two methods can be compared.
    """
    from bnnbench.config.assemble import build_runs
    from bnnbench.config.compose import sweep_jobs

    _check(methods, overrides)
    words = ["dataset=csv", f"dataset.path={file}", f"dataset.target={target}"]
    given = {word.partition("=")[0] for word in overrides}
    defaults = [word for word in DEFAULT_OVERRIDES if word.partition("=")[0] not in given]
    outputs = [] if "outputs_dir" in given else ["outputs_dir=outputs/recommend"]
    lines = [[*words, *defaults, *outputs, *overrides, f"method={method}"] for method in methods]
    errors: list[UserError] = []

    def leave_out(error: UserError) -> None:
        if (error.setting or "").startswith("dataset"):
            raise error  # about the table, so it concerns all methods
        if not isinstance(error, DuplicateConfiguration):
            errors.append(error)

    with status_message(f"reading {Path(file).name}"):
        runs = build_runs((job for line in lines for job in sweep_jobs(line)), leave_out)
    if errors and not runs:
        raise errors[0]
    if len(runs) < 2:
        raise UserError(
            " ".join(["fewer than two methods can be compared.", *map(str, errors)]),
            "--methods",
            "too_few",
        )
    for error in errors:
        note(f"left out: {error}")
    return runs


def _check(methods: Sequence[str], overrides: Sequence[str]) -> None:
    from bnnbench.config.configs import options
    from bnnbench.config.suggestions import unknown_option

    known = list(options("method"))
    for method in methods:
        if method not in known:
            error = unknown_option("method", method, known)
            raise UserError(f"--methods: {error}", "--methods", error.code)
    for word in overrides:
        if "=" not in word:
            raise UserError(f"{word} is not a setting: write KEY=VALUE.", "KEY=VALUE", "syntax")
        if (key := word.partition("=")[0]) in ("method", "dataset"):
            raise UserError(
                f"{word} does not work here; use --methods and FILE, or `bnnbench run -m`.", key
            )
