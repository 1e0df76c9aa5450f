"""Runs the jobs of a command line and collects their errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bnnbench.cli.exit_codes import ignore_closed_pipe
from bnnbench.config.sweep import JobList
from bnnbench.notes import note, status_message
from bnnbench.types import DuplicateConfiguration, UserError

if TYPE_CHECKING:
    from bnnbench.experiment.run import Run
    from bnnbench.experiment.run_folder import RunFolder

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
        from bnnbench.cli.result_table import show_run

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
        from bnnbench.cli.result_table import all_diverged_message

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
