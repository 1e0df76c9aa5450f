"""How a run stands before it is asked for: finished, damaged, or made by other code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from bnnbench.experiment.code import changes
from bnnbench.experiment.record import Record, read_record
from bnnbench.experiment.run import Run
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


def standing(run: Run) -> list[str]:
    """What whoever asks for a run must know before: that it is finished, that its code differs."""
    sentences = []
    done = run.folder.finished() if run.resume and run.complete() else None
    broken = [f"{name} is written anew" for name in run.damaged_files()] if run.resume else []
    broken += [f"{unit} is run again" for unit in run.damaged_units()] if run.resume else []
    if broken:
        sentences.append(f"{run.folder.root} holds damaged files: {', '.join(broken)}")
    elif done:
        when = datetime.fromisoformat(done.finished).astimezone()
        sentences.append(f"finished {when:%Y-%m-%d %H:%M}, nothing run")
    if run.resume and (done or run.store.units()):
        (now,) = run.record.codes
        differing = [file for code in codes_before(run) for file in changes(code, now)]
        if differing:
            files = ", ".join(dict.fromkeys(differing))
            sentences.append(
                f"{files} changed since {'it was' if done else 'some of it was'} run; "
                "--force runs it again"
            )
    return sentences
