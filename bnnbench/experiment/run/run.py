"""A run: an experiment and the folder that its settings determine, and the status of its files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    unit_progress,
    unit_steps,
)
from bnnbench.experiment.store.code_version import code_version_of, describe_other_code
from bnnbench.experiment.store.record import Record
from bnnbench.experiment.store.run_folder import FIGURE_FORMATS, RunFolder
from bnnbench.experiment.store.unit_store import UnitStore
from bnnbench.identity import digest


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
        parts = [unit_progress(experiment, unit, store) for unit in experiment.units()]
        return sum(parts) / len(parts)

    def steps(self) -> tuple[int, int]:
        """Return the finished and the total number of steps of the requested units."""
        experiment, store = self.experiment, self.store
        counts = [unit_steps(experiment, unit, store) for unit in experiment.units()]
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
