"""`bnnbench run`: composes the jobs of a command line and runs every one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bnnbench.cli.exit_codes import suppress_closed_pipe
from bnnbench.cli.help import SHOWN, describe_choices, help_columns
from bnnbench.discovery import use_config_dir
from bnnbench.notes import note, status_message
from bnnbench.types import DuplicateConfiguration, UserError

if TYPE_CHECKING:
    from bnnbench.config.compose import JobList
    from bnnbench.experiment.run.run import Run
    from bnnbench.experiment.store.run_folder import RunFolder

SUMMARY = "run a method on a data set"

DESCRIPTION = """\
Run a method on a data set under the standard 20-split protocol. The same command resumes an
interrupted run, and prints the results of a finished one again; with resume=false it runs again.
"""

EXAMPLES = """\
examples:
  bnnbench run                                    vadam on boston
  bnnbench run method=bbb dataset=yacht           the full protocol
  bnnbench run protocol=trial method=mc_dropout   a short test, not for results
  bnnbench run splits=5 search.iterations=10      five splits, a shorter search
  bnnbench run -m method=vadam,bbb dataset=boston,yacht
                                                  a sweep over all combinations
  bnnbench run method=bbb divergence=renyi divergence.alpha=2
                                                  a divergence other than KL
  bnnbench run search=none method.noise_precision=10 method.prior_precision=1
                                                  fixed hyper-parameters
  bnnbench run method=bbb likelihood=heteroscedastic loss=beta
                                                  input-dependent noise, a robust loss
  bnnbench run dataset=csv dataset.path=my.csv dataset.target=price
                                                  your own table
  bnnbench run experiment=linear_regression       compare with an exact posterior
  bnnbench run experiment=gp_toy                  a sweep over divergences and depths

on a cluster, where device and training.compile must be given explicitly:
  bnnbench run -m seed=0,1 engine=slurm engine.partition=cpu device=cpu training.compile=never
  bnnbench run engine=slurm engine.gpus=1 engine.minutes=60 device=cuda training.compile=never
  bnnbench run engine=dask engine.address=tcp://HOST:8786 device=cpu training.compile=never
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    for names, text in {
        ("--help", "-h"): "show this help message and exit",
        ("--multirun", "-m"): "run all combinations of values that are separated by commas",
        ("--dry-run",): "print the plan and its estimated time, run nothing",
        ("--resolve",): "with --cfg, replace references to other settings by their values",
    }.items():
        parser.add_argument(*names, action="store_true", help=text)
    parser.add_argument("--cfg", "-c", choices=["job"], help="print the configuration, run nothing")
    parser.add_argument(
        "--package", "-p", metavar="SECTION", help="with --cfg, print only this section"
    )
    parser.add_argument(
        "--config-dir", "-cd", metavar="DIR", help="a folder with your own YAML files"
    )
    parser.add_argument(
        "settings", nargs="*", metavar="KEY=VALUE", help="options and settings; see below"
    )
    parser.set_defaults(format_help=parser.format_help)


def run(arguments: Namespace) -> int:
    """Run the jobs of a command line and return the exit code.

    Raises:
        UserError: for any mistake in the configuration.
    """
    from bnnbench.config.compose import (
        compose_jobs,
        config_text,
        group_options,
        initialise_hydra,
        setting_values,
    )
    from bnnbench.config.overrides import prepare_overrides

    if arguments.cfg and arguments.multirun:
        raise UserError("--multirun and --cfg cannot be combined; give one of them.", "--cfg")
    if arguments.resolve and not arguments.cfg:
        raise UserError("--resolve needs --cfg job.", "--resolve")
    overrides = prepare_overrides(arguments.settings, arguments.multirun)
    use_config_dir(arguments.config_dir)
    with initialise_hydra(arguments.config_dir):
        if arguments.help:
            values = setting_values(overrides, SHOWN)
            choices = describe_choices(group_options(), values, help_columns())
            print(f"{arguments.format_help()}\n{choices}")
            return 0
        if arguments.cfg:
            print(config_text(overrides, arguments.package, arguments.resolve), end="")
            return 0
        jobs = compose_jobs(overrides, arguments.multirun)
    runner = SweepRunner(arguments.dry_run, jobs.is_sweep)
    runner.run(jobs)
    return runner.finish()


MAX_MESSAGES = 3
"""Maximum number of printed errors; further ones are counted."""


@dataclass
class SweepRunner:
    """Runs the jobs of a command line and collects their errors.

    Attributes:
        dry_run: whether to print plans instead of running.
        is_sweep: whether to skip duplicates instead of refusing them.
        errors: of jobs; a sweep continues with the others.
        skipped: duplicates among the combinations of a sweep.
        finished: the folders of finished runs.
        in_table: folders whose results are printed in one table at the end of a sweep.
        planned_seconds: the estimated time of each run whose plan was printed.
    """

    dry_run: bool = False
    is_sweep: bool = False
    errors: list[UserError] = field(default_factory=list)
    skipped: list[UserError] = field(default_factory=list)
    finished: list[RunFolder] = field(default_factory=list)
    in_table: list[RunFolder] = field(default_factory=list)
    planned_seconds: list[float] = field(default_factory=list)

    def run(self, jobs: JobList) -> None:
        """Run all jobs, or print their plans; each is checked before the first one starts."""
        with status_message(_status_text(jobs)):
            from bnnbench.config.assemble import build_runs
            from bnnbench.run_all import report_slow_training, run_all

            runs = build_runs(jobs.jobs, self._record)
        note_warnings(runs)
        if not self.dry_run:
            run_all(runs, self._show, self._record, note)
            return
        from bnnbench.cli.plan import show_plan

        report_slow_training(runs, note)
        self.planned_seconds += map(show_plan, runs)

    def _record(self, error: UserError) -> None:
        skip = isinstance(error, DuplicateConfiguration) and self.is_sweep
        (self.skipped if skip else self.errors).append(error)

    def _show(self, folder: RunFolder) -> None:
        from bnnbench.cli.console import show_run
        from bnnbench.experiment.store.record import read_record
        from bnnbench.experiment.store.split_files import KIND

        self.finished.append(folder)
        if self.is_sweep and read_record(folder).kind == KIND:
            self.in_table.append(folder)
            return
        with suppress_closed_pipe():  # the results are on disk; the sweep continues
            show_run(folder)

    def finish(self) -> int:
        """Print a summary and return the exit code: 1 if no run has any scores.

        Raises:
            UserError: if a job was refused, or none ran.
        """
        if self.in_table:
            from bnnbench.cli.console import show_sweep

            with suppress_closed_pipe():
                show_sweep(self.in_table)
        if self.errors:
            raise join_errors(self.errors)
        if self.skipped and not (self.finished or self.planned_seconds):
            raise self.skipped[0]
        if len(self.skipped) == 1:
            note("skipped 1 combination that duplicates another")
        elif self.skipped:
            note(f"skipped {len(self.skipped)} combinations that duplicate others")
        if len(self.planned_seconds) > 1:
            from bnnbench.cli.plan import show_total

            show_total(self.planned_seconds)
        if not self.finished:  # plans were printed
            return 0
        from bnnbench.cli.console import all_diverged_message

        what = "the run" if len({*self.finished}) == 1 else "every run"
        message = all_diverged_message(what, self.finished)
        if message:
            note(message)
        return int(bool(message))


def note_warnings(runs: Iterable[Run]) -> None:
    """Print the warnings of runs before they start, each once."""
    for warning in dict.fromkeys(text for run in runs for text in run.warnings()):
        note(f"{warning}.")


def join_errors(errors: Sequence[UserError]) -> UserError:
    """Join the errors of several jobs into one, with the setting and code that all of them share.

    Each message appears once, and at most `MAX_MESSAGES` of them.
    """
    messages = list(dict.fromkeys(map(str, errors)))
    more = len(messages) - MAX_MESSAGES
    rest = [f"{more} more not shown."] if more > 0 else []
    settings, codes = {error.setting for error in errors}, {error.code for error in errors}
    return UserError(
        " ".join([*messages[:MAX_MESSAGES], *rest]),
        settings.pop() if len(settings) == 1 else None,
        codes.pop() if len(codes) == 1 else None,
    )


def _status_text(jobs: JobList) -> str:
    """Return the first status message; not every experiment reads the default data set."""
    if jobs.is_sweep:
        return f"checking {len(jobs.jobs)} run{'s' * (len(jobs.jobs) > 1)}"
    (job,) = jobs.jobs
    if any(word.startswith("experiment=") for word in job.overrides):
        return f"preparing {job.chosen_name('experiment', 'label')}"
    return f"reading {job.chosen_name('dataset', 'name')}"
