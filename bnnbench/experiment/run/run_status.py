"""The status of a run: what is intact on disk, and what it still has to compute."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bnnbench.cpp.library import library
from bnnbench.experiment.kinds.base import Task
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.code_version import describe_other_code
from bnnbench.experiment.store.record import code_versions_of
from bnnbench.experiment.store.run_folder import Done
from bnnbench.notes import join_words
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


@dataclass(frozen=True)
class RunStatus:
    """The status of a run.

    Attributes:
        run: the run.
        done: the mark of a run whose tables contain all requested units.
        files: damaged files of the run.
        units: finished units with damaged files.
        other_code: descriptions of other code versions that worked on existing units.
        all_other: whether the run is finished and this version computed none of its units.
    """

    run: Run
    done: Done | None = None
    files: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    other_code: tuple[str, ...] = ()
    all_other: bool = False

    @property
    def intact(self) -> bool:
        """Whether there is nothing to do."""
        return self.done is not None and not self.files and not self.units

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
            messages.append(f"finished {when:%Y-%m-%d %H:%M}, nothing run")
        if self.other_code:
            what = "this run" if self.all_other else "part of this run"
            messages.append(
                f"{what} was computed with {join_words(self.other_code)}; add resume=false to run "
                "it again"
            )
        return messages


def run_status(run: Run) -> RunStatus:
    """Compare the files of a run with their checksums and its code with that of its record."""
    if not run.resume:
        return RunStatus(run)
    mark, store = run.folder.finished(), run.store
    done = mark if run.complete() else None
    files = run.folder.damaged(mark.files) if mark else []
    finished = [unit for unit in run.experiment.units() if store.finished(unit)]
    units = tuple(unit for unit in finished if not store.intact(unit))
    (now,) = run.record.code_versions
    known = [*(done.units if done else ()), *store.units(), *store.started()]
    codes = [describe_other_code(old, now) for old in code_versions_of(store, known)]
    other_code = tuple(dict.fromkeys(filter(None, codes)))
    whole = done is not None and all(codes)
    return RunStatus(run, done, tuple(files), units, other_code, whole)


@dataclass(frozen=True)
class Work:
    """What a run still has to compute.

    Attributes:
        units: unfinished, damaged, or to be repeated.
        discarded: those of them that have files.
        tasks: groups of units that contain them.
    """

    units: tuple[str, ...]
    discarded: tuple[str, ...]
    tasks: tuple[Task, ...]


def plan_work(run: Run, status: RunStatus) -> Work:
    """Return what a run still has to compute, after checking that its tables can be written."""
    check_can_add_units(run)
    library()  # compiled before processes are forked
    discarded = status.units if run.resume else run.experiment.units()
    units = tuple(dict.fromkeys([*run.unfinished_units(), *discarded]))
    return Work(units, discarded, tuple(run.tasks(units)))
