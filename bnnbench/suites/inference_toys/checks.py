"""Sources and parts of the checks of claims that several toys share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from bnnbench.results.claims import CheckResult

BOOK, LECTURE = "Cinelli et al. (2021)", "Alvarez's lecture"
"""Names of sources."""

Check = Callable[..., CheckResult]


def combine(results: Iterable[CheckResult]) -> CheckResult:
    """Combine the verdicts (None if some are untested and none fails) and evidence of cases."""
    holds, evidence = zip(*results, strict=True)
    verdict = None if None in holds and False not in holds else all(holds)
    return verdict, "; ".join(evidence)


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
