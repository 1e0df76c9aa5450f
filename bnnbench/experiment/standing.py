"""How a run stands when it is asked for: finished, damaged, or made by other code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bnnbench.experiment.code import changes
from bnnbench.experiment.record import Record, read_record
from bnnbench.experiment.run import Run
from bnnbench.experiment.run_folder import FIGURES, Done
from bnnbench.types import UserError


def check_joinable(run: Run) -> None:
    """Refuses what would take units out of the run's tables.

    Raises:
        UserError: if units that nobody asks for now are in the tables and not in `work`, or there
            and damaged.
    """
    folder, asked = run.folder, set(run.experiment.units())
    done, there = folder.finished(), run.store.units()
    lost = [unit for unit in (done.units if done else ()) if unit not in {*asked, *there}]
    lost += [unit for unit in there if unit not in asked and not run.store.intact(unit)]
    if lost:
        raise UserError(
            f"{folder.root} has lost the pieces of {', '.join(lost)} from its folder "
            f"{folder.work.name}, so nothing can be added to it; ask for these "
            f"{run.experiment.unit_noun}s too, and they are run again."
        )


def recorded(run: Run) -> Record:
    """The run's record, with the codes of its units that are there already before its own."""
    before = codes_before(run) if run.store.units() else []
    own = [code for code in run.record.codes if code not in before]
    return replace(run.record, codes=(*before, *own))


def codes_before(run: Run) -> list[Mapping[str, Any]]:
    """The codes that made what is in the run's folder; none where nothing says so."""
    try:
        return list(read_record(run.folder).codes)
    except UserError:
        return []


@dataclass(frozen=True)
class Standing:
    """How a run stands; every checksum is compared once, to say so and to act on it.

    Attributes:
        run: the run.
        done: what its mark says, if all that was asked for is in its tables and may stay there.
        files: its own files that are damaged.
        units: the finished units that are damaged.
        undrawn: the figures that are wanted and not there, of those that were drawn before.
        changed: the files of code that differ from those that made what is there.
    """

    run: Run
    done: Done | None = None
    files: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    undrawn: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()

    @property
    def intact(self) -> bool:
        """Whether nothing is left to do."""
        return self.done is not None and not self.files and not self.units and not self.undrawn

    @property
    def drawable(self) -> Done | None:
        """The mark of a run that lacks figures and nothing else."""
        return self.done if self.undrawn and not self.files and not self.units else None

    @property
    def sentences(self) -> list[str]:
        """What whoever asks for the run must know before."""
        found = []
        broken = [f"{name} is written anew" for name in self.files]
        broken += [f"{unit} is run again" for unit in self.units]
        if broken:
            found.append(f"{self.run.folder.root} holds damaged files: {', '.join(broken)}")
        elif self.done:
            when = datetime.fromisoformat(self.done.finished).astimezone()
            drawn = f"; {', '.join(self.undrawn)} drawn" if self.undrawn else ""
            found.append(f"finished {when:%Y-%m-%d %H:%M}, nothing run{drawn}")
        if self.changed:
            found.append(
                f"{', '.join(self.changed)} changed since {'it' if self.done else 'some of it'} "
                "was run; --force runs it again"
            )
        return found


def standing(run: Run) -> Standing:
    """Compares what is there with its checksums and its code; of no use to a run made anew."""
    if not run.resume:
        return Standing(run)
    done = run.folder.finished() if run.complete() else None
    files, units = tuple(run.damaged_files()), tuple(run.damaged_units())
    changed: list[str] = []
    if done or run.store.units():
        (now,) = run.record.codes
        changed = [file for code in codes_before(run) for file in changes(code, now)]
    return Standing(run, done, files, units, undrawn(run, done), tuple(dict.fromkeys(changed)))


def undrawn(run: Run, done: Done | None) -> tuple[str, ...]:
    """The files of figures that this run is asked for, whose names its mark has, and lacks."""
    wanted = (
        run.folder.figure(name, suffix)
        for name in (done.figures if done else ())
        for suffix in FIGURES[run.figures]
    )
    return tuple(file.name for file in wanted if not file.exists())
