"""`bnnbench recommend`: compares methods on a table and recommends one."""

from __future__ import annotations

import shlex
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.cli.report_options import split_names
from bnnbench.constraints import check_between
from bnnbench.notes import note, status_message
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run
    from bnnbench.experiment.run_folder import RunFolder

METHODS = (
    *("linear", "gp", "boosting", "pbp", "vadam", "mc_dropout", "deep_ensemble"),
    "deep_ensemble/heteroscedastic",
)
"""Compared by default, `METHOD` or `METHOD/LIKELIHOOD`: simple baselines and networks."""

DEFAULT_OVERRIDES = (
    "protocol=auto",
    "splits=10",
    "search.iterations=10",
    "search.initial_points=5",
    # Saves another fit of every fold, 5/6 of the time of methods without a search.
    "evaluation.out_of_fold=false",
)
"""A shorter protocol, the same for all methods."""

SPLIT_SETTINGS = ("dataset.time", "dataset.test", "dataset.n_splits")
"""Settings that determine the number of splits; all of them are then run."""

OWN_OPTIONS = {
    "method": "--methods",
    "dataset": "FILE",
    "dataset.path": "FILE",
    "dataset.target": "--target",
}
"""Settings that arguments of this command replace."""

MIN_SPLITS = 3
"""Of the shortest comparison that `--minutes` chooses; a t-test needs as many."""

LONG_SECONDS = 300.0
"""From this estimate on, a dry run says how to take less time."""

SUMMARY = "find out which method suits your table"

DESCRIPTION = """\
Find out which method suits a table. Each method runs on the same ten splits with the same short
search; the method with the best test log-likelihood is compared with the others by the correlated
t-test. The methods are by default

  {methods}

(gp up to 2,000 rows); a method that cannot use a setting is left out and named. With dataset.time,
dataset.test or dataset.n_splits, all splits of the table are run. --minutes reduces the splits, and
then the methods, until the estimated time fits. The command is resumable, writes a report and
prints a recommendation; then predict new rows with `bnnbench predict RUN NEW.csv`. For
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
    parser.add_argument("--target", required=True, metavar="COLUMN", help="what to predict")
    parser.add_argument(
        "--methods",
        metavar="A,B",
        type=split_names,
        default=METHODS,
        help="methods to compare, each METHOD or METHOD/LIKELIHOOD",
    )
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


def run(given: Namespace) -> int:
    """Compare the methods, or print the plan."""
    if given.minutes is not None:
        check_between("--minutes", given.minutes, 0)
    runs = comparable_runs(given.file, given.target, given.methods, given.overrides)
    if given.minutes is not None:
        runs = within_budget(runs, 60 * given.minutes)
    if given.dry_run:
        show_plans(runs)
        print(f"next: {_without_dry_run(given)}")
        return 0
    return recommend(runs, given.minutes)


def _without_dry_run(given: Namespace) -> str:
    """Return the command line that runs what a dry run planned."""
    words = ["bnnbench", "recommend", given.file, "--target", given.target]
    if given.methods != METHODS:
        words += ["--methods", ",".join(given.methods)]
    if given.minutes is not None:
        words += ["--minutes", f"{given.minutes:g}"]
    return shlex.join([*words, *given.overrides])


def show_plans(runs: Sequence[Run]) -> None:
    """Print the data set, the methods and their estimated times; write nothing."""
    from bnnbench.cli.plan import seconds_left, show_total
    from bnnbench.experiment.base import HasPlan
    from bnnbench.experiment.progress import time_left

    experiment = runs[0].experiment
    assert isinstance(experiment, HasPlan)
    plan = experiment.plan()
    print(f"{experiment.metadata()['dataset']}: {plan['table']}")
    print(f"splits: {plan['splits']}")
    names, seconds = [_name(run) for run in runs], [seconds_left(run) for run in runs]
    width = max(map(len, names))
    for run, name, left in zip(runs, names, seconds, strict=True):
        print(f"  {name:{width}}  {'finished' if run.complete() else f'about {time_left(left)}'}")
    show_total(seconds)
    if sum(seconds) > LONG_SECONDS:
        print("to take less time: --minutes 5, fewer --methods, or splits=3")


def _name(run: Run) -> str:
    """Return the method of a run, as `--methods` names it."""
    from bnnbench.config.assemble import DEFAULTS

    metadata = run.experiment.metadata()
    method, likelihood = str(metadata["method"]), metadata["likelihood"]
    return method if likelihood == DEFAULTS["likelihood"] else f"{method}/{likelihood}"


def within_budget(runs: Sequence[Run], seconds: float) -> list[Run]:
    """Return the same runs with fewer splits, or only the fastest ones, and print a note.

    Args:
        runs: of experiments on splits.
        seconds: for all of them together, by their estimates.

    Raises:
        UserError: if even two methods take longer on `MIN_SPLITS` splits.
    """
    from bnnbench.cli.plan import seconds_left
    from bnnbench.experiment.progress import time_left

    def total(chosen: Sequence[Run]) -> float:
        return sum(map(seconds_left, chosen))

    most = len(runs[0].experiment.units())
    least = min(MIN_SPLITS, most)
    for count in range(most, least - 1, -1):
        chosen = [_with_splits(run, count) for run in runs]
        if total(chosen) <= seconds:
            break
    if count < most:
        note(f"--minutes: {count} of {most} splits")
    chosen.sort(key=seconds_left)
    while total(chosen) > seconds and len(chosen) > 2:
        slowest = chosen.pop()
        note(f"--minutes: left out {_name(slowest)} ({time_left(seconds_left(slowest))})")
    if total(chosen) > seconds:
        raise UserError(
            f"--minutes: even {_name(chosen[0])} and {_name(chosen[1])} take about "
            f"{time_left(total(chosen))} on {least} splits; allow more minutes or choose faster "
            "--methods.",
            "--minutes",
            "too_short",
        )
    return chosen


def _with_splits(run: Run, count: int) -> Run:
    """Return a run of only the first of its splits."""
    from bnnbench.experiment.split_plan import SplitPlan

    experiment = run.experiment
    assert isinstance(experiment, SplitPlan)
    splits = [split.index for split in experiment.requested.values()][:count]
    return replace(
        run,
        experiment=replace(experiment, splits=splits),
        config={**run.config, "splits": splits},
    )


def recommend(runs: Sequence[Run], minutes: float | None = None) -> int:
    """Run the methods, write a report and print a recommendation.

    Args:
        runs: the runs of the methods.
        minutes: after which no further method is started, once two are finished.

    Returns:
        0, or 1 if every run diverged.
    """
    from bnnbench.cli.commands.report import write_and_show
    from bnnbench.cli.commands.run import note_warnings
    from bnnbench.cli.console import all_diverged_message
    from bnnbench.results.labels import labels
    from bnnbench.results.reader import read_runs
    from bnnbench.results.recommendation import coverage_by_deviation, recommendation, sentences

    note_warnings(runs)
    folders = _run_in_time(runs, minutes)
    message = all_diverged_message("every run", folders)
    if message:
        note(message)
        return 1
    place = folders[0].root.parents[1]
    write_and_show(place)
    finished = read_runs(place)
    best = recommendation(finished)
    coverage = coverage_by_deviation(finished, best.best)
    for sentence in sentences(best, labels(finished.scored), coverage):
        print(sentence)
    print(
        "Coverage is an average over rows, also after `predict --calibrate conformal`; it may "
        "differ between parts of the table."
    )
    print(f"next: bnnbench predict {finished.folders[best.best].root} NEW.csv")
    return 0


def _run_in_time(runs: Sequence[Run], minutes: float | None) -> list[RunFolder]:
    from bnnbench.run_all import run_all

    if minutes is None:
        return run_all(runs, say=note)
    end = time.monotonic() + 60 * minutes
    folders: list[RunFolder] = []
    for run in runs:
        if len(folders) < 2 or time.monotonic() < end or run.complete():
            folders += run_all([run], say=note)
        else:
            note(f"--minutes: the time is over; left out {_name(run)}")
    return folders


def comparable_runs(
    file: str, target: str, methods: Sequence[str], overrides: Sequence[str]
) -> list[Run]:
    """Build the runs of the methods that work on this table, and print a note for the others.

    Args:
        file: the table.
        target: column to predict.
        methods: to compare, each `METHOD` or `METHOD/LIKELIHOOD`.
        overrides: for every run.

    Raises:
        UserError: if a setting is wrong, or fewer than two methods can be compared.
    """
    from bnnbench.config.assemble import build_run
    from bnnbench.config.compose import single_job

    _check(methods, overrides)
    given = {word.partition("=")[0] for word in overrides}
    if methods == METHODS and "likelihood" in given:
        methods = [method for method in METHODS if "/" not in method]
    shared = [
        *("dataset=csv", f"dataset.path={file}", f"dataset.target={target}"),
        *(word for word in _defaults(given) if word.partition("=")[0] not in given),
        *overrides,
    ]
    runs: list[Run] = []
    errors: list[UserError] = []
    with status_message(f"reading {Path(file).name}"):
        for name in methods:
            method, _, likelihood = name.partition("/")
            chosen = [f"method={method}", *([f"likelihood={likelihood}"] if likelihood else [])]
            try:
                runs.append(build_run(single_job([*shared, *chosen])))
            except UserError as error:
                if (error.setting or "").startswith("dataset") or error.code == "several_jobs":
                    raise  # about the table or the command line, so it concerns all methods
                errors.append(error)
    if errors and not runs:
        raise errors[0]
    if len(runs) < 2:
        raise UserError(
            " ".join(["fewer than two methods can be compared.", *map(str, errors)]),
            "--methods",
            "too_few",
        )
    for left_out in errors:
        note(f"left out: {left_out}")
    return runs


def _defaults(given: Collection[str]) -> list[str]:
    """Return the default settings, given the keys of those that the user chose."""
    own_count = any(key in given for key in SPLIT_SETTINGS)
    defaults = ["splits=all" if own_count and w == "splits=10" else w for w in DEFAULT_OVERRIDES]
    return [*defaults, "outputs_dir=outputs/recommend"]


def _check(methods: Sequence[str], overrides: Sequence[str]) -> None:
    from bnnbench.config.configs import options
    from bnnbench.config.suggestions import unknown_option

    for name in methods:
        for group, option in zip(("method", "likelihood"), name.split("/", 1), strict=False):
            if option not in (known := list(options(group))):
                unknown = unknown_option(group, option, known)
                raise UserError(f"--methods: {unknown}", "--methods", unknown.code)
    for word in overrides:
        if "=" not in word:
            raise UserError(f"{word} is not a setting: write KEY=VALUE.", "KEY=VALUE", "syntax")
        if instead := OWN_OPTIONS.get(key := word.partition("=")[0]):
            raise UserError(f"{word} does not work here; use {instead}.", key)
