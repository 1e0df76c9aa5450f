"""`bnnbench reproduce`: every experiment of the sources, one after the other, under one view."""

from __future__ import annotations

from argparse import REMAINDER, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bnnbench.cli.endings import note
from bnnbench.cli.waiting import announced
from bnnbench.discovery import SIZES, Sweep, suites
from bnnbench.types import Redundant, UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run
    from bnnbench.experiment.run_folder import RunFolder

SMALL, ALL = "small", "all"
"""What is reproduced of every suite at once: the quick part, or everything."""

DESCRIPTION = """\
Reproduce published experiments, each with its report. Everything that is finished is left alone,
so the same command goes on after an interruption.

  {small:18} the quick part of every suite (the default)
  {all:18} every suite, whole
{suites}
"""

EXAMPLES = """\
examples:
  bnnbench reproduce
  bnnbench reproduce all --dry-run
  bnnbench reproduce all outputs_dir=DIR
  bnnbench reproduce small seed=1 outputs_dir=again
"""


def add_parser(subparsers: Any) -> None:
    """Adds `reproduce`, which sets `run`, a function of the parsed arguments."""
    lines = "\n".join(f"  {suite.name:18} {suite.summary}" for suite in suites())
    parser = subparsers.add_parser(
        "reproduce",
        help="run every published experiment, resumable, with its reports",
        description=DESCRIPTION.format(small=SMALL, all=ALL, suites=lines),
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
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
        nargs=REMAINDER,
        help="settings for every run, as `bnnbench run` takes them",
    )
    parser.add_argument("--force", action="store_true", help="run again what is finished")
    parser.add_argument(
        "--dry-run", action="store_true", help="print how many runs that is and how long they take"
    )
    parser.set_defaults(run=_reproduce)


def _reproduce(given: Namespace) -> int:
    from bnnbench.cli.words import DRY, FORCE, forced

    # After NAME every word is a setting to argparse.
    words = forced([*given.overrides, *([FORCE] if given.force else [])])
    settings = [word for word in words if word != DRY]
    return reproduce(given.name, settings, given.dry_run or len(settings) < len(words))


def sweeps_of(name: str) -> list[Sweep]:
    """What `bnnbench reproduce NAME` runs, in order.

    Raises:
        UserError: if there is no such suite.
    """
    offered = {suite.name: suite for suite in suites()}
    if "=" in name:
        raise UserError(f"{name} is a setting: write `bnnbench reproduce {SMALL} {name}`.")
    if name not in (SMALL, ALL, *offered):
        raise UserError(f"NAME must be one of {', '.join((SMALL, ALL, *offered))}, not {name!r}.")
    chosen = [offered[name]] if name in offered else list(offered.values())
    size = SIZES[0] if name == SMALL else SIZES[1]
    return [sweep for suite in chosen for sweep in suite.sweeps if size in sweep.sizes]


def words_of(sweep: Sweep, given: Sequence[str]) -> list[str]:
    """What its runs are composed with."""
    return [f"experiment={sweep.experiment}", *sweep.overrides.split(), *given]


@contextmanager
def speaking_of(experiment: str) -> Iterator[None]:
    """Names the experiment in what is wrong: a setting that one has no use for may suit others."""
    try:
        yield
    except UserError as error:
        raise UserError(f"experiment={experiment}: {error}") from None


def reproduce(name: str, given: Sequence[str], dry: bool = False) -> int:
    """Runs and reports all experiments; what one of them refuses does not stop the others.

    Args:
        name: of what is reproduced.
        given: settings for every run.
        dry: whether to print what would be run instead.

    Returns:
        0, or 1 if of one of them nothing is known, since all its runs diverged.

    Raises:
        UserError: if a setting is wrong, at once; in the end, if a run was refused.
    """
    from bnnbench.cli.printing import show_run, without_numbers
    from bnnbench.experiment.execution import execute, shared_engine
    from bnnbench.experiment.sweep_progress import SweepProgress
    from bnnbench.report.pages import page_writer

    sweeps = sweeps_of(name)
    for sweep in sweeps:
        _checked(sweep, given, most=1)  # a mistake that all runs share is said at once
    runs = [_checked(sweep, given) for sweep in sweeps]
    if dry:
        from bnnbench.cli.plan import show_sweeps

        names = [" ".join((sweep.experiment, sweep.overrides)).strip() for sweep in sweeps]
        show_sweeps(list(zip(names, runs, strict=True)))
        return 0
    whole = SweepProgress([run for some in runs for run in some])
    refused = []
    with shared_engine(whole.runs, whole, note) as engine:
        for run in whole.runs:
            try:
                show_run(execute(run, page_writer(run), whole, note, engine=engine))
            except UserError as error:
                refused.append(str(error))
    for gathered in _reported(sweeps, runs):
        _report(gathered)
    empty = [
        without_numbers(f"every run of experiment={sweep.experiment}", _folders(some))
        for sweep, some in zip(sweeps, runs, strict=True)
    ]
    lost = " ".join(dict.fromkeys(filter(None, empty)))
    if refused:
        raise UserError(" ".join(filter(None, (*dict.fromkeys(refused), lost))))
    if lost:
        note(lost)
    return int(bool(lost))


def _folders(runs: Sequence[Run]) -> list[RunFolder]:
    """Of those that are finished."""
    return [run.folder for run in runs if run.complete()]


def _checked(sweep: Sweep, given: Sequence[str], most: int | None = None) -> list[Run]:
    """Every run of a sweep, or the first few, built before the first of them starts.

    Raises:
        UserError: if a setting is wrong.
    """
    runs = []
    with speaking_of(sweep.experiment), announced(f"checking every run of {sweep.experiment}"):
        from bnnbench.cli.build import build
        from bnnbench.cli.line import configs_of

        for config in configs_of(words_of(sweep, given), most):
            with suppress(Redundant):  # a product of methods and divergences has such pairs
                runs.append(build(config))
    return runs


class Gathered(NamedTuple):
    """What one report is made of.

    Attributes:
        path: an outputs folder, or one in it.
        labels: of the folders in `path` whose runs it gathers; None for all.
        to: where it goes; None for the usual place.
    """

    path: Path
    labels: frozenset[str] | None = None
    to: Path | None = None


def _reported(sweeps: Sequence[Sweep], runs: Sequence[Sequence[Run]]) -> list[Gathered]:
    """The reports over some sweeps' runs, each once."""
    from bnnbench.report.folder import ReportFolder

    whole = {sweep: suite for suite in suites() if suite.together for sweep in suite.sweeps}
    found: dict[Path, Gathered] = {}
    for sweep, some in zip(sweeps, runs, strict=True):
        if not sweep.report or not some:
            continue
        outputs, label = some[0].outputs, some[0].experiment.label
        if sweep not in whole:
            found[outputs / label] = Gathered(outputs / label)
            continue
        place = outputs / whole[sweep].name
        before = found.get(place, Gathered(outputs)).labels or frozenset()
        to = ReportFolder.below(place).root
        found[place] = Gathered(outputs, before | {label}, to)
    return [one for place, one in found.items() if one.labels or place.is_dir()]


def _report(gathered: Gathered) -> None:
    from bnnbench.cli.report import report_command

    report_command(gathered.path, to=gathered.to, labels=gathered.labels)
