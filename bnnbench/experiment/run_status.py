"""The status of a run before it is executed: finished, damaged, or computed by other code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bnnbench.experiment.code_version import changed_files
from bnnbench.experiment.record import Record, read_record
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import FIGURE_FORMATS, Done
from bnnbench.types import UserError


def check_can_add_units(run: Run) -> None:
    """Check that the new tables of a run will still contain all its earlier units.

    Raises:
        UserError: if units that are not requested now are missing in `work` or damaged there.
    """
    folder, requested = run.folder, set(run.experiment.units())
    done, stored = folder.finished(), run.store.units()
    lost = [unit for unit in (done.units if done else ()) if unit not in {*requested, *stored}]
    lost += [unit for unit in stored if unit not in requested and not run.store.intact(unit)]
    if lost:
        raise UserError(
            f"the files of {', '.join(lost)} in {folder.work} are missing or damaged, so nothing "
            f"can be added to this run; request these {run.experiment.unit_noun}s too, and they "
            "will be run again.",
            code="lost_units",
        )


def updated_record(run: Run) -> Record:
    """Return the record of a run that also lists the code versions of its existing units."""
    before = recorded_code_versions(run) if run.store.units() else []
    new = [version for version in run.record.code_versions if version not in before]
    return replace(run.record, code_versions=(*before, *new))


def recorded_code_versions(run: Run) -> list[Mapping[str, Any]]:
    """Return the code versions in the run's record on disk; none if it is missing or damaged."""
    try:
        return list(read_record(run.folder).code_versions)
    except UserError:
        return []


@dataclass(frozen=True)
class RunStatus:
    """The status of a run.

    Attributes:
        run: the run.
        done: the mark of a run whose tables contain all requested units.
        files: damaged files of the run.
        units: finished units with damaged files.
        missing_figures: requested figures that were drawn before and are missing.
        changed: source files that have changed since the existing units were computed.
    """

    run: Run
    done: Done | None = None
    files: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    missing_figures: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def intact(self) -> bool:
        """Whether there is nothing to do."""
        return (
            self.done is not None and not self.files and not self.units and not self.missing_figures
        )

    @property
    def needs_only_figures(self) -> Done | None:
        """The mark of a run that lacks only figures; None for any other run."""
        return self.done if self.missing_figures and not self.files and not self.units else None

    @property
    def messages(self) -> list[str]:
        """Messages for the user, before the run is executed."""
        messages = []
        repairs = [f"{name} will be written again" for name in self.files]
        repairs += [f"{unit} will be run again" for unit in self.units]
        if repairs:
            messages.append(f"{self.run.folder.root} contains damaged files: {', '.join(repairs)}")
        elif self.done:
            when = datetime.fromisoformat(self.done.finished).astimezone()
            drawn = f"; {', '.join(self.missing_figures)} drawn" if self.missing_figures else ""
            messages.append(f"finished {when:%Y-%m-%d %H:%M}, nothing run{drawn}")
        if self.changed:
            what = "this run" if self.done else "part of this run"
            files = ", ".join(self.changed)
            messages.append(
                f"{files} changed since {what} was computed; add resume=false to run it again"
            )
        return messages


def run_status(run: Run) -> RunStatus:
    """Compare the files of a run with their checksums and its code with that of its record."""
    if not run.resume:
        return RunStatus(run)
    done = run.folder.finished() if run.complete() else None
    files, units = tuple(run.damaged_files()), tuple(run.damaged_units())
    changed: list[str] = []
    if done or run.store.units():
        (now,) = run.record.code_versions
        changed = [file for old in recorded_code_versions(run) for file in changed_files(old, now)]
    figures = missing_figures(run, done)
    return RunStatus(run, done, files, units, figures, tuple(dict.fromkeys(changed)))


def missing_figures(run: Run, done: Done | None) -> tuple[str, ...]:
    """Return the missing files of the figures that the mark names, in the requested format."""
    expected = (
        run.folder.figure(name, suffix)
        for name in (done.figures if done else ())
        for suffix in FIGURE_FORMATS[run.figures]
    )
    return tuple(file.name for file in expected if not file.exists())
