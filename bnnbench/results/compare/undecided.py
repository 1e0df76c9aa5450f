"""Open decisions, and how many repetitions would settle them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from bnnbench.results.compare.power import MAX_SPLITS

REPETITIONS = "repetitions"


@dataclass(frozen=True)
class Undecided:
    """An open decision. It is falsy, like None, which is an open decision without a number.

    Attributes:
        needed: how many repetitions would decide each open test with a probability of
            `power.POWER`, if the observed mean and standard deviation were the true ones; infinite
            if none would. All tests of a claim together are decided with a smaller probability.
        units: what is repeated.
        has_spread: whether the repetitions have a spread, from which `needed` is computed. If not,
            `needed` is the smallest number that has one, and more may be needed.
        expected: what would be decided; None if that is not known.
    """

    needed: float
    units: str = REPETITIONS
    has_spread: bool = True
    expected: bool | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        if math.isinf(self.needed):
            return f"if these numbers are exact, no number of {self.units} would decide"
        if not self.has_spread:
            reason = ", as one has no spread" if self.needed == NO_SPREAD.needed else ""
            return f"at least {self.needed:,.0f} {self.units} are needed{reason}"
        if self.needed > MAX_SPLITS:
            return f"more than {MAX_SPLITS:,} {self.units} would decide"
        return f"about {self.needed:,.0f} {self.units} would decide"


NEVER = Undecided(math.inf)
"""An open decision that no number of repetitions would settle."""

NO_SPREAD = Undecided(2, has_spread=False)
"""An open decision on fewer than two repetitions."""

Decision = bool | Undecided | None
"""Whether something holds. Undecided, or None if no number of repetitions is known."""


def _largest(decisions: Iterable[Decision]) -> Undecided | None:
    """Return the open decision that needs most; None if one has no number.

    Of several, those whose repetitions have no spread count, since nothing is known of the others.
    """
    found = [*decisions]
    numbered = [one for one in found if isinstance(one, Undecided)]
    if not numbered or None in found:
        return None
    without = [one for one in numbered if not one.has_spread]
    return max(without or numbered, key=lambda one: one.needed)


def decide_parts(
    parts: Iterable[Decision], decide: Callable[[Sequence[bool | None]], bool | None]
) -> Decision:
    """Return a decision that depends on several, or the smallest number that would make it.

    Args:
        parts: the decisions.
        decide: takes them, None for open ones, and returns the decision, None if it is open.
    """
    found = [*parts]
    numbers = {one.needed for one in found if isinstance(one, Undecided) and one.has_spread}
    for needed in (0, *sorted(numbers - {math.inf})):
        decision = decide([_with_repetitions(one, needed) for one in found])
        if decision is not None:
            return Undecided(needed, _units(found), expected=decision) if needed else decision
    return _largest(found)


def _with_repetitions(decision: Decision, repetitions: float) -> bool | None:
    """Return what a decision would be with so many repetitions; None if it would be open."""
    if not isinstance(decision, Undecided):
        return decision
    return decision.expected if decision.has_spread and decision.needed <= repetitions else None


def _units(decisions: Iterable[Decision]) -> str:
    return next(one.units for one in decisions if isinstance(one, Undecided))
