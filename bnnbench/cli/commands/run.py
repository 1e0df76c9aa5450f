"""`bnnbench run`: parses its arguments, which are those of Hydra, and runs every job."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.cli.exit_codes import Parser, ignore_closed_pipe
from bnnbench.config.compose import JobList, compose_jobs, initialise_hydra
from bnnbench.config.overrides import prepare_overrides
from bnnbench.discovery import make_importable
from bnnbench.notes import note, status_message
from bnnbench.types import DuplicateConfiguration, UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run
    from bnnbench.experiment.run_folder import RunFolder

DRY_RUN = "--dry-run"

INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")

OPTIONS: Mapping[tuple[str, ...], Mapping[str, Any]] = {
    ("--help", "-h"): {"action": "store_true", "help": "all settings, with examples"},
    ("--hydra-help",): {"action": "store_true", "help": "help of Hydra"},
    ("--version",): {"action": "store_true", "help": "print the version"},
    ("--cfg", "-c"): {"choices": ["job", "hydra", "all"], "help": "print the configuration"},
    ("--resolve",): {"action": "store_true", "help": "with --cfg, resolve interpolations"},
    ("--package", "-p"): {"help": "with --cfg, print only this section"},
    ("--run", "-r"): {"action": "store_true", "help": "run one job"},
    ("--multirun", "-m"): {"action": "store_true", "help": "run all combinations of values"},
    ("--config-path", "-cp"): {"help": "a folder instead of configs"},
    ("--config-name", "-cn"): {"help": "a file instead of run.yaml"},
    ("--config-dir", "-cd"): {"help": "a folder with your own YAML files"},
    ("--experimental-rerun",): {"help": "a pickled configuration to run again"},
    ("--info", "-i"): {"const": "all", "nargs": "?", "choices": INFO, "help": "about Hydra"},
}
"""The options that `bnnbench run` shares with Hydra."""

EXCLUSIVE_OPTIONS = ("run", "multirun", "cfg", "info")
"""Options that exclude each other."""

JOB_OPTIONS = ("run", "multirun", "config_dir", "overrides")
"""Options that are handled without Hydra's own application."""


def run_command(arguments: Sequence[str]) -> int:
    """Run the jobs of a command line and return the exit code.

    Raises:
        UserError: for any mistake in the configuration.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises errors instead of exiting
    words = hydra_arguments([word for word in arguments if word != DRY_RUN])
    given = option_parser().parse_args(words)
    config_dir = given.config_dir if given.config_dir and os.path.isdir(given.config_dir) else None
    if config_dir is not None:
        make_importable([Path(config_dir).resolve(), Path.cwd()])
    runner = SweepRunner(dry_run=DRY_RUN in arguments)
    jobs = None
    if not _needs_hydra_app(given):
        with initialise_hydra(config_dir):
            jobs = compose_jobs(given.overrides, given.multirun)
    if jobs is not None:
        runner.run(jobs)
        return runner.finish()
    from bnnbench.config.hydra_app import run_hydra_app

    run_hydra_app(words, config_dir, runner.run)
    return runner.finish()


def option_parser() -> ArgumentParser:
    """Return the parser of options and overrides."""
    parser = Parser(prog="bnnbench run", add_help=False)
    for names, settings in OPTIONS.items():
        parser.add_argument(*names, **settings)
    parser.add_argument("overrides", nargs="*")
    return parser


def hydra_arguments(words: Sequence[str]) -> list[str]:
    """Return the arguments in the form that Hydra expects: options first, then quoted overrides.

    Raises:
        UserError: for anything that Hydra would misread.
    """
    given = _parse_options(words)
    others = list(words)
    for override in given.overrides:
        others.remove(override)
    if others[-1:] in (["--info"], ["-i"]):  # or it would take the first override for its value
        others.append(given.info)
    return [*others, *prepare_overrides(given.overrides, given.multirun)]


def _parse_options(words: Sequence[str]) -> Namespace:
    """Separate the options from the overrides, in any order.

    Raises:
        UserError: if an option is unknown, lacks its value or excludes another.
    """
    given = option_parser().parse_args(list(words))
    exclusive = [name for name in EXCLUSIVE_OPTIONS if getattr(given, name) not in (None, False)]
    if len(exclusive) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in exclusive[:2])
        raise UserError(f"{first} and {second} cannot be combined; give one of them.", second)
    if given.resolve and not (given.cfg or given.help):
        raise UserError("--resolve needs --cfg job.", "--resolve")
    return given


def _needs_hydra_app(given: Namespace) -> bool:
    """Whether an option asks for help or information, or names a folder that does not exist."""
    if given.config_dir is not None and not os.path.isdir(given.config_dir):
        return True  # Hydra reports it
    others = (value for name, value in vars(given).items() if name not in JOB_OPTIONS)
    return any(value not in (None, False) for value in others)


MAX_MESSAGES = 3
"""Errors of jobs that are printed; the others are counted."""


@dataclass
class SweepRunner:
    """Runs the jobs of a command line and collects their errors.

    Attributes:
        dry_run: whether to print plans instead of running.
        is_sweep: whether to skip duplicates instead of refusing them.
        errors: of jobs; a sweep continues with the others.
        skipped: duplicates among the combinations of a sweep.
        finished: the folders of finished runs.
        planned_seconds: the estimated time of each run whose plan was printed.
    """

    dry_run: bool = False
    is_sweep: bool = False
    errors: list[UserError] = field(default_factory=list)
    skipped: list[UserError] = field(default_factory=list)
    finished: list[RunFolder] = field(default_factory=list)
    planned_seconds: list[float] = field(default_factory=list)

    def run(self, jobs: JobList) -> None:
        """Run all jobs, or print their plans; each is checked before the first one starts."""
        self.is_sweep = jobs.is_sweep
        with status_message(_status_text(jobs)):
            from bnnbench.config.assemble import build_runs
            from bnnbench.run_all import run_all

            runs = build_runs(jobs.jobs, self._record)
        note_warnings(runs)
        if not self.dry_run:
            run_all(runs, self._show, self._record, note)
            return
        from bnnbench.cli.plan import show_plan

        self.planned_seconds += map(show_plan, runs)

    def _record(self, error: UserError) -> None:
        skip = isinstance(error, DuplicateConfiguration) and self.is_sweep
        (self.skipped if skip else self.errors).append(error)

    def _show(self, folder: RunFolder) -> None:
        from bnnbench.cli.console import show_run

        self.finished.append(folder)
        try:
            show_run(folder)
        except BrokenPipeError:  # the results are on disk; the sweep continues
            ignore_closed_pipe()

    def finish(self) -> int:
        """Print a summary and return the exit code: 1 if no run has any scores.

        Raises:
            UserError: if a job was refused, or none ran.
        """
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
        if not self.finished:  # a plan was printed, or Hydra printed something
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
    """Return what happens first; an experiment does not necessarily read the default data set."""
    if jobs.is_sweep:
        return f"checking {len(jobs.jobs)} run{'s' * (len(jobs.jobs) > 1)}"
    (job,) = jobs.jobs
    if any(word.startswith("experiment=") for word in job.overrides):
        return f"preparing {job.chosen_name('experiment', 'label')}"
    return f"reading {job.chosen_name('dataset', 'name')}"
