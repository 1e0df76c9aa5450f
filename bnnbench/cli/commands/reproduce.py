"""`bnnbench reproduce`: runs published experiments one after the other and reports on them."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bnnbench.discovery import SIZES, Sweep, built_in_suites, suites
from bnnbench.near_names import with_known
from bnnbench.notes import note, status_message
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run.run import Run

SMALL, ALL = "small", "all"
"""Names of the quick part of every suite, and of all suites."""

SUMMARY = "run published experiments, resumable, with reports"

DESCRIPTION = """\
Reproduce published experiments, each with its report. Finished runs are kept, so the same command
resumes after an interruption. To run them again, add resume=false.

  {small:18} the quick part of every suite (the default)
  {all:18} all suites in full
{suites}

`bnnbench list suite` also lists the suites of installed packages and of your project.
"""

EXAMPLES = """\
examples:
  bnnbench reproduce
  bnnbench reproduce all --dry-run
  bnnbench reproduce all outputs_dir=DIR
  bnnbench reproduce small seed=1 outputs_dir=again
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    lines = "\n".join(f"  {suite.name:18} {suite.description}" for suite in built_in_suites())
    parser.description = DESCRIPTION.format(small=SMALL, all=ALL, suites=lines)
    parser.add_argument(
        "name",
        metavar="NAME",
        nargs="?",
        default=SMALL,
        help=f"{SMALL}, {ALL} or a suite (default: {SMALL})",
    )
    parser.add_argument(
        "overrides",
        metavar="KEY=VALUE",
        nargs="*",
        help="settings of every run, as for `bnnbench run`",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="print the number of runs and their estimated time"
    )


def find_sweeps(name: str) -> list[Sweep]:
    """Return the sweeps of `bnnbench reproduce NAME`, in order.

    Raises:
        UserError: if the suite is unknown.
    """
    known = {suite.name: suite for suite in suites()}
    if "=" in name:
        raise UserError(
            f"{name} is a setting: write `bnnbench reproduce {SMALL} {name}`.", "NAME", "setting"
        )
    if name not in (SMALL, ALL, *known):
        names = with_known(name, (SMALL, ALL, *known))
        raise UserError(f"unknown suite {names}.", "NAME", "unknown_suite")
    chosen = [known[name]] if name in known else list(known.values())
    size = SIZES[0] if name == SMALL else SIZES[1]
    return [sweep for suite in chosen for sweep in suite.sweeps if size in sweep.sizes]


def run(arguments: Namespace) -> int:
    """Run and report all experiments; an error of one run does not stop the others.

    Returns:
        0, or 1 if all runs of an experiment diverged.

    Raises:
        UserError: at once, if a setting is wrong; in the end, if a run failed.
    """
    from bnnbench.cli.commands.report import write_and_show
    from bnnbench.cli.console import all_diverged_message, show_run
    from bnnbench.report import sections
    from bnnbench.report.blocks import Style
    from bnnbench.run_all import run_all

    sweeps = find_sweeps(arguments.name)
    for sweep in sweeps:  # reports mistakes that all runs share early
        _build_runs(sweep, arguments.overrides, max_jobs=1)
    runs = [_build_runs(sweep, arguments.overrides) for sweep in sweeps]
    if arguments.dry_run:
        from bnnbench.cli.plan import show_sweeps

        names = [" ".join((sweep.experiment, sweep.overrides)).strip() for sweep in sweeps]
        show_sweeps(list(zip(names, runs, strict=True)))
        return 0
    errors: list[UserError] = []
    run_all([run for some in runs for run in some], show_run, errors.append, note)
    style = Style(sections=(sections.ALL,))
    for report in _report_folders(sweeps, runs):
        write_and_show(report.path, style, report.output_dir, report.labels)
    messages = []
    for sweep, some in zip(sweeps, runs, strict=True):
        finished = [run.folder for run in some if run.complete()]
        what = f"every run of experiment={sweep.experiment}"
        messages.append(all_diverged_message(what, finished))
    diverged = " ".join(dict.fromkeys(filter(None, messages)))
    if errors:
        raise UserError(" ".join(filter(None, (*dict.fromkeys(map(str, errors)), diverged))))
    if diverged:
        note(diverged)
    return int(bool(diverged))


def _build_runs(sweep: Sweep, overrides: Sequence[str], max_jobs: int | None = None) -> list[Run]:
    """Build all runs of a sweep, or the first few.

    Raises:
        UserError: if a setting is wrong, with the name of the experiment.
    """
    from bnnbench.config.assemble import build_runs
    from bnnbench.config.compose import sweep_jobs

    words = [f"experiment={sweep.experiment}", *sweep.overrides.split(), *overrides]
    try:
        with status_message(f"checking every run of {sweep.experiment}"):
            return build_runs(sweep_jobs(words, max_jobs), unused_allowed=True)
    except UserError as error:
        message = f"experiment={sweep.experiment}: {error}"
        raise UserError(message, error.setting, error.code) from None


class Report(NamedTuple):
    """A report to write.

    Attributes:
        path: an outputs folder, or a folder in it.
        labels: of the experiments in `path` to include; None for all.
        output_dir: where it goes; None for the default.
    """

    path: Path
    labels: frozenset[str] | None = None
    output_dir: Path | None = None


def _report_folders(sweeps: Sequence[Sweep], runs: Sequence[Sequence[Run]]) -> list[Report]:
    """Return the reports on the runs of sweeps, each once."""
    from bnnbench.report.report_folder import ReportFolder

    whole = {sweep: suite for suite in suites() if suite.single_report for sweep in suite.sweeps}
    found: dict[Path, Report] = {}
    for sweep, some in zip(sweeps, runs, strict=True):
        if not sweep.report or not some:
            continue
        outputs, label = some[0].outputs, some[0].experiment.label
        if sweep not in whole:
            found[outputs / label] = Report(outputs / label)
            continue
        place = outputs / whole[sweep].name
        before = found.get(place, Report(outputs)).labels or frozenset()
        found[place] = Report(outputs, before | {label}, ReportFolder.below(place).root)
    return [one for place, one in found.items() if one.labels or place.is_dir()]
