"""A run: an experiment and its folder, what is intact there, and what it still has to compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from pathlib import Path
from statistics import median_low
from typing import Any

from bnnbench.constraints import TrueOrFalse, check_choice, check_int
from bnnbench.cpp.library import library
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.kinds.base import (
    Experiment,
    HasPlan,
    HasSteps,
    Task,
    is_lockstep,
)
from bnnbench.experiment.store.provenance import code_version_of, describe_other_code
from bnnbench.experiment.store.record import Record, code_versions_of
from bnnbench.experiment.store.run_folder import FIGURE_FORMATS, Done, RunFolder
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.identity import digest
from bnnbench.notes import join_words
from bnnbench.types import UserError


@dataclass(frozen=True)
class Run:
    """An experiment with the settings of its execution.

    Attributes:
        experiment: resolved and checked.
        outputs: folder of all runs.
        config: the composed configuration.
        workers: number of processes.
        resume: whether finished units are kept; otherwise they are computed again.
        figures: format of the figures, a key of `FIGURE_FORMATS`.
        engine: settings of the engine that computes its units.
    """

    experiment: Experiment
    outputs: Path
    config: Mapping[str, Any]
    workers: int = 1
    resume: bool = True
    figures: str = "png"
    engine: EngineSettings = field(default_factory=Local)

    def __post_init__(self) -> None:
        check_int("workers", self.workers)
        TrueOrFalse()("resume", self.resume)
        check_choice("figures", self.figures, tuple(FIGURE_FORMATS))

    @cached_property  # reads all data, and progress needs it twice a second
    def record(self) -> Record:
        """The record of the run, for `record.json`."""
        experiment = self.experiment
        identity = experiment.identity()
        labels = {"experiment": experiment.label, "protocol": self.protocol}
        metadata = {**labels, **experiment.metadata()}
        versions = (code_version_of(experiment),)
        return Record(experiment.kind, digest(identity), metadata, identity, versions)

    @property
    def protocol(self) -> str:
        """The label of the chosen protocol; empty if there is none."""
        return str(self.config.get("protocol", {}).get("label", ""))

    @cached_property
    def folder(self) -> RunFolder:
        """The folder that the settings of the run determine."""
        parts = (self.experiment.label, *self.experiment.path_parts())
        return RunFolder.named(self.outputs, parts, self.record.digest)

    @property
    def store(self) -> UnitStore:
        """The units on disk."""
        return UnitStore(self.folder)

    def unfinished_units(self) -> list[str]:
        """Return the requested units that are not finished."""
        return [unit for unit in self.experiment.units() if not self.store.finished(unit)]

    def tasks(self, units: Sequence[str]) -> list[Task]:
        """Return the tasks that compute these units.

        A group is computed as a whole, in the same stack as in an uninterrupted run.
        """
        if not units:
            return []
        done = self.folder.finished()
        # Units of an earlier, completed command were in other groups.
        names = self.experiment.units()
        fresh = [u for u in names if u in units or not done or u not in done.units]
        groups = self.experiment.groups(fresh)
        store = UnitStore(RunFolder(self.folder.root.absolute()))
        return [Task(self.experiment, store, group) for group in groups if set(group) & set(units)]

    def complete(self) -> bool:
        """Whether all requested units are in the tables of the run."""
        done = self.folder.finished()
        return done is not None and set(self.experiment.units()) <= set(done.units)

    def progress(self) -> float:
        """Return the finished fraction of the requested units."""
        experiment, store = self.experiment, self.store
        parts = [experiment.progress(unit, store) for unit in experiment.units()]
        return sum(parts) / len(parts)

    def steps(self) -> tuple[int, int]:
        """Return the finished and the total number of steps of the requested units."""
        experiment, store = self.experiment, self.store
        counts = [experiment.count_steps(unit, store) for unit in experiment.units()]
        return sum(done for done, _ in counts), sum(total for _, total in counts)

    def cost(self) -> float:
        """Estimate the seconds that all units take; one each where nothing is known.

        If this version of the code has finished units, the median of their measured seconds, as
        this machine would take them, replaces the estimate; of two, the lower one, since the first
        may have loaded modules.
        """
        experiment, units = self.experiment, self.experiment.units()
        if not isinstance(experiment, HasSteps):
            return float(len(units))
        measured = [
            experiment.seconds_taken(unit, self.store) for unit in units if self._is_of_code(unit)
        ]
        known = [seconds for seconds in measured if seconds is not None]
        if not known:
            return experiment.cost(self.workers)
        groups = len(experiment.groups(units))
        parallel = 1 if is_lockstep(experiment) else min(self.workers, groups)
        return median_low(known) * len(units) / parallel

    def _is_of_code(self, unit: str) -> bool:
        """Whether this code version computed a unit, with native code if it is available now."""
        (now,), native = self.record.code_versions, library().code is not None
        return not any(
            describe_other_code(code, now) or code.get("native", native) != native
            for code in self.store.codes(unit)
        )

    def warnings(self) -> tuple[str, ...]:
        """Return what the user should know before it runs: sentences without a full stop."""
        return self.experiment.warnings() if isinstance(self.experiment, HasPlan) else ()


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
