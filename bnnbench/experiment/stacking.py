"""Runs of a sweep that differ in their divergence alone are replicas of one stack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bnnbench.experiment.plan import Plan


def row_of(plan: Plan, sweep: Sequence[Plan]) -> tuple[Plan, ...]:
    """The runs that are fitted with this one, itself among them, in the order of the sweep.

    On a GPU that is every run of the sweep that can be; on the CPU as many as fill a stack, so none
    where the run's own splits do. Finished runs count too: the stack is then the one of an
    uninterrupted sweep. A run's scores differ from those it has alone by rounding, and its seconds
    are its share of the stack's.

    Args:
        plan: the run.
        sweep: all runs of the sweep, if it is part of one.
    """
    # Each searches for itself, and its folds fill a stack.
    if plan.iterations or plan.evaluation.out_of_fold:
        return (plan,)
    # By folder: a sweep may name one run twice.
    alike = {other.folder.root: other for other in sweep if _alike(plan, other)}
    if plan.folder.root not in alike:
        return (plan,)
    room = len(alike) if plan.lockstep else max(1, plan.stack // len(plan.groups[0]))
    start = list(alike).index(plan.folder.root) // room * room
    return tuple(alike.values())[start : start + room]


def stacked(row: Sequence[Plan], each: int) -> Plan:
    """A plan that fits `each` replicas of every run of a row, run after run."""
    first, *others = row
    if not others:
        return first
    method = first.method.together([other.method for other in others], each)
    assert method is not None  # `row_of` asked before
    return replace(first, method=method)


def _alike(plan: Plan, other: Plan) -> bool:
    return _common(plan) == _common(other) and plan.method.together([other.method], 1) is not None


def _common(plan: Plan) -> tuple[Any, ...]:
    """What runs of a row share, besides what `together` compares."""
    apart = ("method", "divergence")
    identity = {key: value for key, value in plan.identity.items() if key not in apart}
    return (
        plan.data,
        plan.splits,
        identity,
        plan.experiment,
        plan.outputs,
        plan.likelihood,
        plan.loss,
    )
