"""`bnnbench choose`: a small fair tournament on a table of one's own, and what to take from it."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.cli.endings import note
from bnnbench.cli.waiting import announced
from bnnbench.types import Redundant, UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run

METHODS = ("linear", "gp", "boosting", "pbp", "vadam", "mc_dropout", "deep_ensemble")
"""What takes part: simple things that a network has to beat, and networks."""

USUAL = (
    "splits=10",
    "search.iterations=10",
    "search.initial_points=5",
    # One more fit of every fold: five sixths of the time of methods without a search.
    "evaluation.out_of_fold=false",
)
"""Shorter than the protocol, the same for all."""

DESCRIPTION = """\
Find out which method suits a table: each is run on the same ten splits, with the same short search,
and the best by test log-likelihood is compared with the others by the correlated t-test.

  {methods}

take part (gp up to 2,000 rows). It is resumable like any run, ends in a recommendation in words and
writes a report. Then `bnnbench predict RUN NEW.csv` uses the one you choose. Folds are not fitted
once more after the search; `--calibrate isotonic` of `predict` and the report's recalibrated
intervals need that: evaluation.out_of_fold=true, which boosting takes six times as long for.
"""

EXAMPLES = """\
examples:
  bnnbench choose houses.csv --target price
  bnnbench choose visits.xlsx --target dose dataset.group=patient dataset.missing=impute
  bnnbench choose houses.csv --target price --methods linear,vadam splits=20
  bnnbench choose houses.csv --target price --dry-run      the plan and the time it takes
"""


def add_parser(subparsers: Any) -> None:
    """Adds `choose`, which sets `run`, a function of the parsed arguments."""
    parser = subparsers.add_parser(
        "choose",
        help="find out which method suits your table",
        description=DESCRIPTION.format(methods=", ".join(METHODS)),
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="the table: CSV, Excel, parquet")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="what to predict")
    parser.add_argument(
        "--methods", metavar="A,B", default=",".join(METHODS), help="who takes part"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be run and how long it takes"
    )
    parser.add_argument(
        "overrides",
        metavar="KEY=VALUE",
        nargs="*",
        help="settings for every run, as `bnnbench run` takes them",
    )
    parser.set_defaults(run=run)


def run(given: Any) -> int:
    """Chooses, or says what that would take."""
    runs = built(given.file, given.target, given.methods.split(","), given.overrides)
    return show_tournament(runs) if given.dry_run else choose(runs)


def show_tournament(runs: Sequence[Run]) -> int:
    """Prints who takes part on what, and for how long; writes nothing."""
    from bnnbench.cli.plan import seconds_left, show_total
    from bnnbench.experiment.sweep_progress import time_left

    experiment = runs[0].experiment
    plan = experiment.plan()
    print(f"{experiment.names()['dataset']}: {plan['table']}")
    print(f"splits: {plan['splits']}")
    names = [str(run.experiment.names()["method"]) for run in runs]
    width, seconds = max(map(len, names)), [seconds_left(run) for run in runs]
    for run, name, left in zip(runs, names, seconds, strict=True):
        print(f"  {name:{width}}  {'finished' if run.complete() else f'about {time_left(left)}'}")
    show_total(seconds)
    return 0


def choose(runs: Sequence[Run]) -> int:
    """Runs the methods, reports, and recommends.

    Returns:
        0, or 1 if every run diverged.
    """
    from bnnbench.cli.printing import without_numbers
    from bnnbench.cli.report import report_command
    from bnnbench.experiment.execution import execute
    from bnnbench.experiment.sweep_progress import SweepProgress
    from bnnbench.report.pages import page_writer
    from bnnbench.results.reader import read_runs
    from bnnbench.results.recommendation import coverages, recommendation

    for remark in runs[0].experiment.remarks():
        note(f"{remark}.")
    whole = SweepProgress(runs)
    folders = [execute(run, page_writer(run), whole, note) for run in runs]
    lost = without_numbers("every run", folders)
    if lost:
        note(lost)
        return 1
    place = folders[0].root.parents[1]
    report_command(place)
    finished = read_runs(place)
    found = recommendation(finished)
    for sentence in found.sentences(coverages(finished)):
        print(sentence)
    print(f"next: bnnbench predict {finished.folders[found.run].root} NEW.csv")
    return 0


def built(file: str, target: str, methods: Sequence[str], overrides: Sequence[str]) -> list[Run]:
    """The runs of those that can take part; the others are named.

    Args:
        file: the table.
        target: what to predict.
        methods: who is asked.
        overrides: settings for every run.

    Raises:
        UserError: if a setting is wrong, or fewer than two methods can take part.
    """
    from bnnbench.cli.build import build
    from bnnbench.cli.line import configs_of

    _check(methods, overrides)
    words = ["dataset=csv", f"dataset.path={file}", f"dataset.target={target}"]
    given = {word.partition("=")[0] for word in overrides}
    usual = [word for word in USUAL if word.partition("=")[0] not in given]
    outputs = [] if "outputs_dir" in given else ["outputs_dir=outputs/choose"]
    runs: list[Run] = []
    refused: list[str] = []
    lines = [[*words, *usual, *outputs, *overrides, f"method={method}"] for method in methods]
    with announced(f"reading {Path(file).name}"):
        for config in [config for line in lines for config in configs_of(line)]:
            try:
                runs.append(build(config))
            except Redundant:
                continue
            except UserError as error:
                if not runs and not refused:
                    raise  # what is wrong with the table is wrong for all
                refused.append(str(error))
    if len(runs) < 2:
        raise UserError(" ".join(["fewer than two methods can take part.", *refused]))
    for sentence in refused:
        note(f"left out: {sentence}")
    return runs


def _check(methods: Sequence[str], overrides: Sequence[str]) -> None:
    from bnnbench.cli.configs import options

    for method in methods:
        if method not in options("method"):
            raise UserError(
                f"--methods: there is no method {method!r}; see `bnnbench list method`."
            )
    for word in overrides:
        if "=" not in word:
            raise UserError(f"{word} is no setting: write KEY=VALUE.")
        if word.partition("=")[0] in ("method", "dataset"):
            raise UserError(f"{word}: choose has its own; use --methods, or `bnnbench run -m`.")
