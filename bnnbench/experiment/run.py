"""A run: an experiment in the folder that its settings give it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from bnnbench.checks import check_bool, check_choice, check_int
from bnnbench.experiment.base import Experiment, Member
from bnnbench.experiment.code import code_of
from bnnbench.experiment.engines.base import EngineSettings
from bnnbench.experiment.engines.local import Local
from bnnbench.experiment.record import Record
from bnnbench.experiment.run_folder import FIGURES, RunFolder
from bnnbench.experiment.unit_store import UnitStore
from bnnbench.identity import digest


@dataclass(frozen=True)
class Run:
    """What is run, where, and on how many cores.

    Attributes:
        experiment: resolved and checked.
        outputs: folder of all runs.
        config: the configuration as it was composed, for the record.
        workers: processes.
        resume: whether what is finished already is kept; otherwise it is done again.
        figures: a key of `FIGURES`, as what the figures of its page are written.
        engine: where its units are computed.
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
        check_choice("figures", self.figures, tuple(FIGURES))

    @cached_property  # reads the whole data, and progress asks twice a second
    def record(self) -> Record:
        """What its folder says of it."""
        experiment = self.experiment
        identity = experiment.identity()
        names = {"experiment": experiment.label, **experiment.names()}
        codes = (code_of(experiment),)
        return Record(experiment.kind, digest(identity), names, identity, codes)

    @cached_property
    def folder(self) -> RunFolder:
        """`outputs/<label>/<place>-<digest>`."""
        *above, last = self.experiment.place()
        name = f"{last}-{self.record.digest}"
        return RunFolder(self.outputs.joinpath(self.experiment.label, *above, name))

    @property
    def store(self) -> UnitStore:
        """Its units on disk."""
        return UnitStore(self.folder)

    @property
    def member(self) -> Member:
        """The run as a part of a stack, whose folder any process finds from anywhere."""
        return Member(self.experiment, UnitStore(RunFolder(self.folder.root.absolute())))

    def open_units(self) -> list[str]:
        """The units that were asked for and are not finished."""
        return [unit for unit in self.experiment.units() if not self.store.finished(unit)]

    def damaged_units(self) -> list[str]:
        """The finished units whose files are not as they were written."""
        units = [unit for unit in self.experiment.units() if self.store.finished(unit)]
        return [unit for unit in units if not self.store.intact(unit)]

    def damaged_files(self) -> list[str]:
        """The run's own files that are not as they were written; none of one that is not done."""
        done = self.folder.finished()
        return self.folder.damaged({**done.files, **done.page}) if done else []

    def complete(self) -> bool:
        """Whether all units that were asked for are in the run's tables."""
        done = self.folder.finished()
        return done is not None and set(self.experiment.units()) <= set(done.units)

    def share(self) -> float:
        """How much of what was asked for is done, from 0 to 1."""
        shares = [self.experiment.share(unit, self.store) for unit in self.experiment.units()]
        return sum(shares) / len(shares)

    def steps(self) -> tuple[int, int]:
        """Finished and total steps of the units that were asked for."""
        counts = [self.experiment.steps(unit, self.store) for unit in self.experiment.units()]
        return sum(done for done, _ in counts), sum(total for _, total in counts)
