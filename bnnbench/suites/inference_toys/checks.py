"""Sources and parts of the checks of claims that several toys share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from bnnbench.results.claims.claims import CheckResult, all_hold

BOOK, LECTURE = "Cinelli et al. (2021)", "Alvarez's lecture"
"""Names of sources."""

Check = Callable[..., CheckResult]


def combine(results: Iterable[CheckResult]) -> CheckResult:
    """Combine the decisions, as `all_hold`, and the evidence of cases."""
    holds, evidence = zip(*results, strict=True)
    return all_hold(holds), "; ".join(evidence)


def for_every(cases: Callable[[Any], Iterable[tuple[Any, ...]]]) -> Callable[[Check], Check]:
    """Return a decorator that turns the check of one case into a check of all cases of a run.

    Args:
        cases: returns the positional arguments of the check in each case of a run.
    """

    def decorate(check: Check) -> Check:
        @wraps(check)
        def check_all(run: Any, **arguments: Any) -> CheckResult:
            return combine(check(*case, **arguments) for case in cases(run))

        return check_all

    return decorate
