"""Parts of the checks of claims that several toys share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from bnnbench.results.claims import CheckResult

Check = Callable[..., CheckResult]


def combine(results: Iterable[CheckResult], separator: str = "; ") -> CheckResult:
    """Return whether all results hold, and all evidence; None if some are untested and none fails.

    Args:
        results: of the cases.
        separator: between the evidence of two cases.
    """
    holds, evidence = zip(*results, strict=True)
    verdict = None if None in holds and False not in holds else all(holds)
    return verdict, separator.join(evidence)


def for_every(cases: Callable[[Any], Iterable[Any]]) -> Callable[[Check], Check]:
    """Return a decorator that turns `check(run, case, ...)` into a check of all cases.

    Args:
        cases: returns the cases of a run.
    """

    def decorate(check: Check) -> Check:
        @wraps(check)
        def check_all(run: Any, **arguments: Any) -> CheckResult:
            return combine(check(run, case, **arguments) for case in cases(run))

        return check_all

    return decorate
