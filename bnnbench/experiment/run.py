"""A run: an experiment and the folder that its settings determine, and the status of its files."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from bnnbench.constraints import TrueOrFalse, check_choice, check_int
from bnnbench.experiment.base import (
    Experiment,
    HasPlan,
    HasSteps,
    Task,
    is_lockstep,
    unit_progress,
    unit_steps,
)
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.provenance import code_version_of, describe_other_code
from bnnbench.experiment.record import Record, read_record
from bnnbench.experiment.run_folder import FIGURE_FORMATS, Done, RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import digest
from bnnbench.notes import join_words
from bnnbench.types import UserError

TRIAL = "trial"
"""Label of the protocol whose runs are no results."""


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
        """`outputs/<label>/<path parts>-<digest>`."""
        *parents, last = self.experiment.path_parts()
        name = f"{last}-{self.record.digest}"
        return RunFolder(self.outputs.joinpath(self.experiment.label, *parents, name))

    @property
    def store(self) -> UnitStore:
        """The units on disk."""
        return UnitStore(self.folder)

    def task(self, group: tuple[str, ...]) -> Task:
        """Return the task that computes a group of units."""
        return Task(self.experiment, UnitStore(RunFolder(self.folder.root.absolute())), group)

    def unfinished_units(self) -> list[str]:
        """Return the requested units that are not finished."""
        return [unit for unit in self.experiment.units() if not self.store.finished(unit)]

    def complete(self) -> bool:
        """Whether all requested units are in the tables of the run."""
        done = self.folder.finished()
        return done is not None and set(self.experiment.units()) <= set(done.units)

    def progress(self) -> float:
        """Return the finished fraction of the requested units."""
        experiment, store = self.experiment, self.store
        parts = [unit_progress(experiment, unit, store) for unit in experiment.units()]
        return sum(parts) / len(parts)

    def steps(self) -> tuple[int, int]:
        """Return the finished and the total number of steps of the requested units."""
        experiment, store = self.experiment, self.store
        counts = [unit_steps(experiment, unit, store) for unit in experiment.units()]
        return sum(done for done, _ in counts), sum(total for _, total in counts)

    def cost(self) -> float:
        """Estimate the seconds that all units take; one each where nothing is known.

        If units are finished, the mean of their measured seconds replaces the estimate.
        """
        experiment, units = self.experiment, self.experiment.units()
        if not isinstance(experiment, HasSteps):
            return float(len(units))
        measured = [experiment.seconds_taken(unit, self.store) for unit in units]
        known = [seconds for seconds in measured if seconds is not None]
        if not known:
            return experiment.cost(self.workers)
        groups = len(experiment.groups(units))
        parallel = 1 if is_lockstep(experiment) else min(self.workers, groups)
        return sum(known) / len(known) * len(units) / parallel

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


def updated_record(run: Run) -> Record:
    """Return the record of a run that also lists the code versions of its existing units.

    A run with units of another protocol is no trial, also if some units are computed as one.
    """
    if not run.store.units():
        return run.record
    before = recorded_code_versions(run)
    new = [
        version
        for version in run.record.code_versions
        if all(describe_other_code(old, version) for old in before)
    ]
    metadata = {**run.record.metadata}
    if run.protocol == TRIAL:
        metadata["protocol"] = recorded_protocol(run)
    return replace(run.record, metadata=metadata, code_versions=(*before, *new))


def recorded_protocol(run: Run) -> str:
    """Return the protocol in the run's record on disk; its own if the record lacks it."""
    with suppress(UserError):
        return str(read_record(run.folder).metadata.get("protocol", run.protocol))
    return run.protocol


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
        missing_figures: requested figures of its page that are missing.
        other_code: descriptions of other code versions that computed existing units.
    """

    run: Run
    done: Done | None = None
    files: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    missing_figures: tuple[str, ...] = ()
    other_code: tuple[str, ...] = ()

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
        if self.other_code:
            what = "this run" if self.done else "part of this run"
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
    files = run.folder.damaged({**mark.files, **mark.page}) if mark else []
    finished = [unit for unit in run.experiment.units() if store.finished(unit)]
    units = tuple(unit for unit in finished if not store.intact(unit))
    other: list[str] = []
    if done or store.units():
        (now,) = run.record.code_versions
        other = [describe_other_code(old, now) for old in recorded_code_versions(run)]
    other_code = tuple(dict.fromkeys(filter(None, other)))
    missing = missing_figures(run, done)
    return RunStatus(run, done, tuple(files), units, missing, other_code)


def missing_figures(run: Run, done: Done | None) -> tuple[str, ...]:
    """Return the file names of the figures of a run's page that do not exist.

    Args:
        run: with the requested format.
        done: its mark; None if it is not finished.
    """
    figures = (
        run.folder.figure(name, suffix)
        for name in (done.figures if done else ())
        for suffix in FIGURE_FORMATS[run.figures]
    )
    return tuple(figure.name for figure in figures if not figure.exists())
