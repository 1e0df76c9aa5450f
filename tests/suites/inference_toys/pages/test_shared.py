"""Parts of the checks of claims that several toys share."""

from __future__ import annotations

from itertools import product

import pytest

from bnnbench.results.claims.claims import CheckResult
from bnnbench.suites.inference_toys.pages.shared import combine, for_every


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [((True, True), True), ((True, None), None), ((False, None), False), ((True, False), False)],
)
def test_all_cases_must_hold(verdicts: tuple[bool | None, ...], expected: bool | None) -> None:
    assert combine((verdict, "x") for verdict in verdicts) == (expected, "x; x")


def test_a_check_of_one_case_becomes_a_check_of_all() -> None:
    @for_every(lambda run: product([run], sorted(run)))
    def is_below(run: dict[str, int], name: str, limit: int) -> CheckResult:
        return run[name] < limit, f"{name} {run[name]}"

    assert is_below({"b": 2, "a": 1}, limit=2) == (False, "a 1; b 2")
