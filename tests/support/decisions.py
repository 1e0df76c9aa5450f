"""Decisions without the number of repetitions that would make them."""

from __future__ import annotations

from bnnbench.results.compare.undecided import Decision, Undecided


def settled(decision: Decision) -> bool | None:
    """Return whether something holds; None if it is undecided."""
    return None if decision is None or isinstance(decision, Undecided) else bool(decision)
