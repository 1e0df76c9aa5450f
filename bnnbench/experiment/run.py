"""A run: an experiment and the folder that its settings determine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bnnbench.checks import check_bool, check_choice, check_int
from bnnbench.experiment.base import Experiment, Member
from bnnbench.experiment.code_version import code_version_of
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.record import Record
from bnnbench.experiment.run_folder import FIGURE_FORMATS, RunFolder
from bnnbench.experiment.unit_store import UnitStore
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
        check_bool("resume", self.resume)
        check_choice("figures", self.figures, tuple(FIGURE_FORMATS))

    @cached_property  # reads all data, and progress needs it twice a second
    def record(self) -> Record:
        """The record of the run, for `record.json`."""
        experiment = self.experiment
        identity = experiment.identity()
        metadata = {"experiment": experiment.label, **experiment.metadata()}
        versions = (code_version_of(experiment),)
        return Record(experiment.kind, digest(identity), metadata, identity, versions)

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

    @property
    def member(self) -> Member:
        """The run as a member of a stack, with an absolute path."""
        return Member(self.experiment, UnitStore(RunFolder(self.folder.root.absolute())))

    def unfinished_units(self) -> list[str]:
        """Return the requested units that are not finished."""
        return [unit for unit in self.experiment.units() if not self.store.finished(unit)]

    def damaged_units(self) -> list[str]:
        """Return the requested, finished units whose files do not match their checksums."""
        units = [unit for unit in self.experiment.units() if self.store.finished(unit)]
        return [unit for unit in units if not self.store.intact(unit)]

    def damaged_files(self) -> list[str]:
        """Return the files of a complete run that do not match their checksums."""
        done = self.folder.finished()
        return self.folder.damaged({**done.files, **done.page}) if done else []

    def complete(self) -> bool:
        """Whether all requested units are in the tables of the run."""
        done = self.folder.finished()
        return done is not None and set(self.experiment.units()) <= set(done.units)

    def progress(self) -> float:
        """Return the finished fraction of the requested units."""
        parts = [self.experiment.progress(unit, self.store) for unit in self.experiment.units()]
        return sum(parts) / len(parts)

    def steps(self) -> tuple[int, int]:
        """Return the finished and the total number of steps of the requested units."""
        counts = [self.experiment.steps(unit, self.store) for unit in self.experiment.units()]
        return sum(done for done, _ in counts), sum(total for _, total in counts)
