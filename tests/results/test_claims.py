"""Claims declared above the functions that check them."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest
from support.pairs import pairwise_results

from bnnbench.results.claims import (
    CheckResult,
    Claims,
    NotTestable,
    all_hold,
    check_better,
    check_claims,
    compare_together,
    count_outcomes,
    is_majority,
    is_significant_majority,
    most_hold,
    share_interval,
)


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

    assert verdicts("digits") == [("not tested", "other data: digits"), ("confirmed", "")]
    for data in ("mnist", None):
        assert verdicts(data) == [("confirmed", ""), ("confirmed", "")]


def test_a_check_without_results_is_not_tested() -> None:
    even = check_claims(declared(), 0, theirs=0)[2]
    assert (even.verdict, even.evidence, even.theirs) == ("not tested", "zero", "")


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


@pytest.mark.parametrize(
    ("count", "total", "expected"),
    [(4, 4, Y), (3, 4, Y), (2, 4, U), (1, 4, N), (0, 4, N), (5, 8, U), (1, 1, Y), (0, 1, N)],
)
def test_three_quarters_of_a_count_decide(count: int, total: int, expected: bool | None) -> None:
    assert is_majority(count, total) is expected


@pytest.mark.parametrize(("count", "total"), [(0, 4), (3, 10), (15, 18), (10, 10)])
def test_the_interval_of_a_share_is_exact(count: int, total: int) -> None:
    expected = binomtest(count, total).proportion_ci(0.95, method="exact")
    assert share_interval(count, total) == pytest.approx((expected.low, expected.high))


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
    assert is_significant_majority(*counts, chance=chance) is expected


@pytest.mark.parametrize(
    ("a", "b", "noise", "expected"),
    [(2, 1, 0.1, Y), (1, 2, 0.1, N), (2, 1, 20, U), (1, 2, 20, U), (1, 1, 0.1, U)],
)
def test_better_scores_must_be_significant(
    a: float, b: float, noise: float, expected: bool | None
) -> None:
    pairs = pairwise_results({"a": a, "b": b}, noise=noise)
    found = check_better(pairs.assign(a=pairs["run_a"], b=pairs["run_b"]), "a", "b")
    assert found is not None and found[0] is expected
    assert check_better(pairs.assign(a=pairs["run_a"], b=pairs["run_b"]), "a", "c") is None


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
