"""Runs of a sweep that can train as replicas of one stack."""

from __future__ import annotations

from collections.abc import Sequence

from bnnbench.experiment.run import Run


def stack_of(run: Run, sweep: Sequence[Run]) -> tuple[Run, ...]:
    """Return the runs that train in one stack with this one, itself included, in sweep order.

    Finished runs are included, so that the stack is the same as in an uninterrupted sweep. Scores
    differ from those of a run alone by rounding; its seconds are its part of the stack's.

    Args:
        run: the run.
        sweep: all runs of the sweep; may be empty.
    """
    # By folder: a sweep may contain the same run twice.
    stackable = {other.folder.root: other for other in sweep if _can_stack(run, other)}
    if run.folder.root not in stackable:
        return (run,)
    size = max(1, run.experiment.max_stack_size(len(stackable)))
    start = list(stackable).index(run.folder.root) // size * size
    return tuple(stackable.values())[start : start + size]


def _can_stack(run: Run, other: Run) -> bool:
    ours, theirs = run.experiment, other.experiment
    same = run.outputs == other.outputs and ours.units() == theirs.units()
    return same and type(ours) is type(theirs) and ours.can_stack_with(theirs)
