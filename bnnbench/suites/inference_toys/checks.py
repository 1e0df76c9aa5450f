"""Parts of the checks of claims that several toys share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from bnnbench.results.claims import CheckResult

RunT = TypeVar("RunT")
CaseT = TypeVar("CaseT")
OthersT = ParamSpec("OthersT")


def combine(results: Iterable[CheckResult], separator: str = "; ") -> CheckResult:
    """Return whether all results hold, and all evidence; None if some are untested and none fails.

    Args:
        results: of the cases.
        separator: between the evidence of two cases.
    """
    holds, evidence = zip(*results, strict=True)
    verdict = None if None in holds and False not in holds else all(holds)
    return verdict, separator.join(evidence)


def for_every(
    cases: Callable[[Any], Iterable[CaseT]],
) -> Callable[
    [Callable[Concatenate[RunT, CaseT, OthersT], CheckResult]],
    Callable[Concatenate[RunT, OthersT], CheckResult],
]:
    """Return a decorator that turns the check of one case into a check of all.

    Args:
        cases: returns the cases of a run.
    """

    def decorate(
        check: Callable[Concatenate[RunT, CaseT, OthersT], CheckResult],
    ) -> Callable[Concatenate[RunT, OthersT], CheckResult]:
        @wraps(check)
        def check_all(run: RunT, *args: OthersT.args, **kwargs: OthersT.kwargs) -> CheckResult:
            return combine(check(run, case, *args, **kwargs) for case in cases(run))

        return check_all

    return decorate
