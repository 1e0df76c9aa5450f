"""Runs the jobs of a command line and collects their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar

from bnnbench.cli.exit_codes import describe_failure, ignore_closed_pipe
from bnnbench.config.sweep import JobList
from bnnbench.notes import note, status_message
from bnnbench.types import DuplicateConfiguration, UserError

if TYPE_CHECKING:
    from bnnbench.config.instantiate import Config
    from bnnbench.experiment.run import Run
    from bnnbench.experiment.run_folder import RunFolder

T = TypeVar("T")

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
        failure: message and exit code of a machine failure, which ends a sweep.
        finished: the folders of finished runs.
        planned_seconds: the estimated time of each run whose plan was printed.
        pipe_closed: whether the reader of the plans is gone.
        noted: warnings that were printed already.
    """

    dry_run: bool = False
    is_sweep: bool = False
    errors: list[UserError] = field(default_factory=list)
    skipped: list[UserError] = field(default_factory=list)
    failure: tuple[str, int] | None = None
    finished: list[RunFolder] = field(default_factory=list)
    planned_seconds: list[float] = field(default_factory=list)
    pipe_closed: bool = False
    noted: set[str] = field(default_factory=set)

    def run(self, jobs: JobList) -> None:
        """Run all jobs; each of them is checked before the first one starts."""
        self.is_sweep = jobs.is_sweep
        with status_message(_status_text(jobs)):
            checked = [
                self.collect_errors(partial(build_run, job.resolved, job.overrides))
                for job in jobs.jobs
            ]
            runs = [run for run in checked if run is not None and not self.failure]
            import_module("bnnbench.run_all")
        self.execute(runs)

    def execute(self, runs: Sequence[Run]) -> None:
        """Compute what is missing of runs and print their results, or print their plans."""
        for run in runs:
            self._note_warnings(run.warnings())
        if self.dry_run:
            for run in runs:
                self.collect_errors(partial(self._show_plan, run))
            return
        from bnnbench.run_all import run_all

        self.collect_errors(partial(run_all, runs, self._show, self._record, note))

    def collect_errors(self, work: Callable[[], T]) -> T | None:
        """Return what `work` returns; record its error, if it raises one.

        Returns:
            None after an error, and without doing the work after one that ends a sweep.
        """
        if self.failure or self.pipe_closed:
            return None
        try:
            return work()
        except UserError as error:
            self._record(error)
        except Exception as error:
            if self.dry_run and isinstance(error, BrokenPipeError):
                self.pipe_closed = True  # the output goes to `head`; nothing was started
                return None
            self.failure = describe_failure(error)
            if self.failure is None:
                raise
        return None

    def _record(self, error: UserError) -> None:
        skip = isinstance(error, DuplicateConfiguration) and self.is_sweep
        (self.skipped if skip else self.errors).append(error)

    def _show_plan(self, run: Run) -> None:
        from bnnbench.cli.plan import show_plan

        self.planned_seconds.append(show_plan(run))

    def _show(self, folder: RunFolder) -> None:
        from bnnbench.cli.result_table import show_run

        self.finished.append(folder)
        try:
            show_run(folder)
        except BrokenPipeError:  # the results are on disk; the sweep continues
            ignore_closed_pipe()

    def _note_warnings(self, warnings: Sequence[str]) -> None:
        """Print each warning once per process."""
        for warning in warnings:
            if warning not in self.noted:
                self.noted.add(warning)
                note(f"{warning}.")

    def finish(self) -> int:
        """Print a summary and return the exit code: 1 if no run has any scores.

        Raises:
            UserError: if a job was refused, or none ran.
            BrokenPipeError: if the reader of the plans is gone, which ends the command silently.
        """
        if self.pipe_closed:
            raise BrokenPipeError
        if self.failure:
            note(self.failure[0])
            return self.failure[1]
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
        from bnnbench.cli.result_table import all_diverged_message

        what = "the run" if len({*self.finished}) == 1 else "every run"
        message = all_diverged_message(what, self.finished)
        if message:
            note(message)
        return int(bool(message))


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


def build_run(config: Callable[[], Config], overrides: Sequence[str]) -> Run:
    """Build the run of one job.

    Args:
        config: returns its resolved configuration.
        overrides: of the job.

    Raises:
        UserError: for anything that is wrong with it.
    """
    from bnnbench.config.assemble import build, reject_unused_overrides

    run = build(config())
    keys = [word.lstrip("+~").partition("=")[0] for word in overrides]
    reject_unused_overrides(type(run.experiment), run.config["experiment"], keys)
    return run


def _status_text(jobs: JobList) -> str:
    """Return what happens first; an experiment does not necessarily read the default data set."""
    if jobs.is_sweep:
        return f"checking {len(jobs.jobs)} run{'s' * (len(jobs.jobs) > 1)}"
    (job,) = jobs.jobs
    if any(word.startswith("experiment=") for word in job.overrides):
        return f"preparing {job.chosen_name('experiment', 'label')}"
    return f"reading {job.chosen_name('dataset', 'name')}"
