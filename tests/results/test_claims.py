"""Claims declared above the functions that check them."""

from __future__ import annotations

from bnnbench.results.claims import CheckResult, Claims, NotTestable, check_claims


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
