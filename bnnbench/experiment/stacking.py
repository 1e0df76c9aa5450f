"""Runs of a sweep that differ so little that they are replicas of one stack."""

from __future__ import annotations

from collections.abc import Sequence

from bnnbench.experiment.run import Run


def stack_of(run: Run, sweep: Sequence[Run]) -> tuple[Run, ...]:
    """The runs that are trained with this one, itself among them, in the order of the sweep.

    Finished runs count too: the stack is then the one of an uninterrupted sweep. A run's scores
    differ from those it has alone by rounding, and its seconds are its share of the stack's.

    Args:
        run: the run.
        sweep: all runs of the sweep, if it is part of one.
    """
    # By folder: a sweep may name one run twice.
    alike = {other.folder.root: other for other in sweep if _alike(run, other)}
    if run.folder.root not in alike:
        return (run,)
    room = max(1, run.experiment.stack_room(len(alike)))
    start = list(alike).index(run.folder.root) // room * room
    return tuple(alike.values())[start : start + room]


def _alike(run: Run, other: Run) -> bool:
    ours, theirs = run.experiment, other.experiment
    same = run.outputs == other.outputs and ours.units() == theirs.units()
    return same and type(ours) is type(theirs) and ours.stacks_with(theirs)
