"""Claims declared above the functions that check them."""

from __future__ import annotations

import math
from collections.abc import Callable

import pandas as pd
import pytest
from scipy.stats import binom, binomtest
from support.decisions import settled
from support.pairs import pairwise_results

from bnnbench.results.claims.claims import (
    NOT_JUDGED,
    OURS,
    CheckResult,
    Claims,
    NotTestable,
    TooFew,
    all_hold,
    check_better,
    check_claims,
    compare_together,
    count_outcomes,
    decide_by_splits,
    is_majority,
    is_significant_majority,
    most_hold,
    share_interval,
    undecided_share,
    why_not_judged,
)
from bnnbench.results.compare.power import splits_needed
from bnnbench.results.compare.undecided import NEVER, NO_SPREAD, Decision, Undecided


def declared() -> Claims:
    claims = Claims()

    @claims("positive", source="1", rule="above 0", limit=0)
    @claims("large", source="2", rule="above 10", limit=10)
    def is_above(number: int, limit: int) -> CheckResult:
        return number > limit, f"{number}"

    @claims("even", source="3", rule="divisible by 2, unless it is 0")
    def is_even(number: int) -> CheckResult:
        if number == 0:
            raise NotTestable("zero")
        return number % 2 == 0, f"remainder {number % 2}"

    claims("huge", source="4", rule="above 100", limit=100)(is_above)
    assert is_above(3, 2) == (True, "3")  # the function is unchanged
    return claims


def test_claims_are_in_the_order_of_the_file() -> None:
    results = check_claims(declared(), 12)
    assert [(claim.text, claim.source, claim.rule) for claim in results] == [
        ("positive", "1", "above 0"),
        ("large", "2", "above 10"),
        ("even", "3", "divisible by 2, unless it is 0"),
        ("huge", "4", "above 100"),
    ]
    assert [claim.verdict for claim in results] == [*["confirmed"] * 3, "contradicted"]


def test_claims_are_about_their_data() -> None:
    claims = Claims()

    @claims("of two sets", source="1", rule="true", data=("mnist", "fashion_mnist"))
    @claims("of any set", source="1", rule="true")
    def holds(number: int) -> CheckResult:
        return True, ""

    def verdicts(data: str | None) -> list[tuple[str, str]]:
        results = check_claims(claims, 0, theirs=0, data=data)
        assert {claim.theirs for claim in results} == {"confirmed: "}
        return [(claim.verdict, claim.evidence) for claim in results]

    assert verdicts("digits") == [
        (NOT_JUDGED, "about mnist and fashion_mnist, not digits"),
        ("confirmed", ""),
    ]
    for data in ("mnist", None):
        assert verdicts(data) == [("confirmed", ""), ("confirmed", "")]


def test_a_check_without_results_is_not_judged() -> None:
    even = check_claims(declared(), 0, theirs=0)[2]
    assert (even.verdict, even.evidence, even.theirs) == (NOT_JUDGED, "zero", "")
    assert why_not_judged(check_claims(declared(), 12)) == []


def test_claims_that_are_not_judged_are_grouped_by_reason() -> None:
    claims = Claims()

    @claims("first.", source="1", rule="true")
    @claims("second", source="2", rule="true")
    @claims("about others", source="3", rule="true", data=("mnist",))
    @claims("our own", source=OURS, rule="true")
    def holds(number: int) -> CheckResult:
        return True, ""

    found = check_claims(claims, 0, data="digits", differ="experiment.theta 1 instead of 2")
    assert [claim.verdict for claim in found] == [*[NOT_JUDGED] * 3, "confirmed"]
    assert why_not_judged(found) == [
        "Not judged on these settings (experiment.theta 1 instead of 2): first; second.",
        "Not judged (about mnist, not digits): about others.",
    ]


@pytest.mark.parametrize(
    ("needed", "words"),
    [
        (Undecided(7), "about 7 repetitions"),
        (Undecided(7, "splits"), "about 7 splits"),
        (Undecided(1000), "about 1,000 repetitions"),
        (Undecided(1001), "more than 1,000 repetitions"),
        (NO_SPREAD, "at least 2 repetitions"),
        (Undecided(10, has_spread=False), "at least 10 repetitions"),
        (NEVER, "no number of repetitions"),
    ],
)
@pytest.mark.parametrize("is_raised", [True, False])
def test_an_undecided_claim_says_what_would_decide(
    needed: Undecided, words: str, is_raised: bool
) -> None:
    claims = Claims()

    @claims("unclear", source="1", rule="significant")
    def unclear(number: int) -> CheckResult:
        if is_raised:
            raise TooFew("p 1", needed)
        return needed, "p 1"

    (found,) = check_claims(claims, 1, theirs=1)
    assert found.verdict == "undecided" and found.theirs.startswith("undecided: p 1; ")
    assert found.evidence.startswith("p 1; ") and words in found.evidence


def test_a_check_that_decides_nothing_is_undecided() -> None:
    claims = Claims()

    @claims("unclear", source="1", rule="significant")
    def unclear(number: int) -> CheckResult:
        return None, f"p {number}"

    (found,) = check_claims(claims, 1, theirs=2)
    assert (found.verdict, found.evidence, found.theirs) == ("undecided", "p 1", "undecided: p 2")


Y, N, U = True, False, None


@pytest.mark.parametrize(
    ("decisions", "all_of_them", "most"),
    [
        ([Y, Y, Y, Y], Y, Y),
        ([Y, Y, Y, U], U, Y),
        ([Y, Y, Y, N], N, Y),
        ([Y, Y, U, U], U, U),
        ([Y, Y, U, N], N, U),
        ([Y, Y, N, N], N, N),  # whatever the others would be
        ([U, U, U, U], U, U),
        ([N, U, U, U], N, U),
        ([N], N, N),
    ],
)
def test_several_decisions_are_combined(
    decisions: list[bool | None], all_of_them: bool | None, most: bool | None
) -> None:
    assert all_hold(decisions) is all_of_them and most_hold(decisions) is most


def test_several_open_decisions_need_the_largest_number() -> None:
    few, many = Undecided(3), Undecided(9)
    for combine in (all_hold, most_hold):
        assert combine([few, many, True]) == many
        assert combine([few, NEVER]) == NEVER
        assert combine([many, NO_SPREAD]) == NO_SPREAD
        assert combine([few, None]) is None  # without a number
    assert all_hold([few, False]) is False and most_hold([True, True, True, few]) is True


@pytest.mark.parametrize(
    ("combine", "expected", "needed"),
    [
        (all_hold, {3: Y, 9: Y}, 9),
        (all_hold, {3: N, 9: Y}, 3),
        (all_hold, {3: Y, 9: N}, 9),
        (most_hold, {3: Y, 5: Y, 9: Y, 40: N}, 9),
        (most_hold, {3: N, 5: N, 9: Y, 40: Y}, 5),
    ],
)
def test_open_decisions_need_the_number_that_decides_first(
    combine: Callable[[list[Decision]], Decision], expected: dict[int, bool], needed: int
) -> None:
    parts: list[Decision] = [Undecided(n, expected=holds) for n, holds in expected.items()]
    assert combine(parts) == Undecided(needed)


@pytest.mark.parametrize(
    ("count", "total", "expected"),
    [(4, 4, Y), (3, 4, Y), (2, 4, U), (1, 4, N), (0, 4, N), (5, 8, U), (1, 1, Y), (0, 1, N)],
)
def test_three_quarters_of_a_count_decide(count: int, total: int, expected: bool | None) -> None:
    assert settled(is_majority(count, total)) is expected


@pytest.mark.parametrize(("count", "total"), [(0, 4), (3, 10), (15, 18), (10, 10)])
def test_the_interval_of_a_share_is_exact(count: int, total: int) -> None:
    expected = binomtest(count, total).proportion_ci(0.95, method="exact")
    assert share_interval(count, total) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(
    ("count", "total", "limits"),
    [(0, 10, [0.1]), (15, 18, [0.75]), (6, 12, [0.25, 0.75]), (8, 13, [0.5]), (1, 9, [0.25])],
)
def test_the_number_that_decides_a_share_has_the_power(
    count: int, total: int, limits: list[float]
) -> None:
    """Of draws with the observed share, 80 % have an interval without the limits, no fewer do."""
    share = count / total

    def power(size: int) -> float:
        intervals = {k: share_interval(k, size) for k in range(size + 1)}
        decisive = [
            k for k, (low, high) in intervals.items()
            if all(low > one if share > one else high < one for one in limits)
        ]  # fmt: skip
        return float(binom.pmf(decisive, size, share).sum())

    needed = undecided_share(count, total, "draws", *limits)
    assert power(int(needed.needed)) >= 0.8
    if len(limits) == 1:
        assert power(int(needed.needed) - 1) < 0.8


@pytest.mark.parametrize(
    ("counts", "chance", "expected"),
    [
        ((8, 0), 0.5, Y),
        ((6, 0), 0.5, Y),
        ((5, 0), 0.5, U),  # too few
        ((6, 2), 0.5, U),  # three quarters, by chance
        ((15, 5), 0.5, Y),
        ((14, 6), 0.5, U),  # no three quarters
        ((0, 8), 0.5, N),
        ((5, 15), 0.5, N),
        ((2, 6), 0.5, U),
        ((8, 0, 8), 0.5, U),  # half are equal
        ((0, 0, 8), 0.5, U),
        ((8, 0), 0.8, U),
        ((0, 4), 0.8, N),
        ((0, 8), 0.1, U),
    ],
)
def test_a_majority_must_not_be_explained_by_chance(
    counts: tuple[int, ...], chance: float, expected: bool | None
) -> None:
    found = is_significant_majority(*counts, chance=chance)
    assert settled(found) is expected
    if isinstance(found, Undecided) and math.isfinite(found.needed):
        assert found.needed > counts[0] + counts[1]
        times = found.needed / (counts[0] + counts[1])
        many = [math.ceil(2 * times * count) for count in counts]
        assert settled(is_significant_majority(*many, chance=chance)) is not None


@pytest.mark.parametrize(
    ("a", "b", "noise", "expected"),
    [(2, 1, 0.1, Y), (1, 2, 0.1, N), (2, 1, 20, U), (1, 2, 20, U), (1, 1, 0.1, U)],
)
def test_better_scores_must_be_significant(
    a: float, b: float, noise: float, expected: bool | None
) -> None:
    pairs = pairwise_results({"a": a, "b": b}, noise=noise)
    found = check_better(pairs.assign(a=pairs["run_a"], b=pairs["run_b"]), "a", "b")
    assert found is not None and settled(found[0]) is expected
    assert check_better(pairs.assign(a=pairs["run_a"], b=pairs["run_b"]), "a", "c") is None


def test_splits_decide_if_enough_comparisons_become_significant() -> None:
    pairs = pairwise_results({"a": 2, "b": 1}, noise=20)
    rows = compare_together(pairs.assign(a=pairs["run_a"], b=pairs["run_b"]), ["a"], ["b"])
    needed = splits_needed(rows, 0.05 / len(rows))

    def majority(rows: pd.DataFrame) -> bool | None:
        return True if (rows["outcome"] == "better").mean() > 0.5 else None

    median = needed.sort_values().iloc[len(rows) // 2]
    assert decide_by_splits(rows, majority) == Undecided(median, "splits")
    assert decide_by_splits(rows.assign(outcome="better"), majority) is True
    assert decide_by_splits(rows, lambda rows: None) == Undecided(math.inf, "splits")


@pytest.mark.parametrize(("others", "better"), [(("b",), 2), (("b", "c"), 1), (("c",), 0)])
def test_comparisons_of_a_claim_are_corrected_together(
    others: tuple[str, ...], better: int
) -> None:
    """Two p-values are 0.01 and 0.024; with four comparisons only the first is significant."""
    pairs = pairwise_results({"a": 1, "b": 1, "c": 1})
    pairs = pairs[pairs["metric"].isin(["rmse", "log_likelihood"])]
    pairs = pairs.assign(a=pairs["run_a"], b=pairs["run_b"], p_value=1.0)
    own = (pairs["a"] == "a") & (pairs["b"] == "b")
    pairs.loc[own, "p_value"] = [0.01, 0.024]
    pairs.loc[own, "difference"] = [-1.0, 1.0]
    for names, rivals, word in ((["a"], others, "better"), (others, ["a"], "worse")):
        rows = compare_together(pairs, names, rivals)
        assert len(rows) == 2 * len(others)
        counts = [count_outcomes(rows, a, b)[word] for a in names for b in rivals]
        assert sum(counts) == better
    assert compare_together(pairs.iloc[:0], ["a"], ["b"]).empty
