"""The book's claims, on numbers that confirm them and numbers that refute them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from support.book_comparison import book_table, comparison, selected
from support.pairs import pairwise_results

from bnnbench.results.claims import Claim, check_claims
from bnnbench.suites.cinelli_book.claims import STATEMENTS, TIME, claims
from bnnbench.suites.cinelli_book.comparison import BookRuns, book_runs, book_seconds

CONFIRMED = comparison()


def claim(runs: BookRuns, text: str) -> Claim:
    (checked,) = check_claims([one for one in STATEMENTS if one[0] == text], runs)
    return checked


TEXTS = [text for text, _, _ in STATEMENTS]

REFUTED = {
    "PBP trains fastest.": [{"total": {"pbp": 35}}],
    "PBP is 34 times faster than the runner-up.": [
        {"total": {"pbp": 2.1}},
        {"total": {"pbp": 0.4}},
    ],
    "Without hyper-parameter search, PBP would be the slowest on average.": [
        {"fit": {"vadam": 11}}
    ],
    "BBBx2 is by far the slowest.": [{"total": {"vadam": 90}}, {"total": {"pbp": 109}}],
    "BBBx2, with twice the samples, takes 80 % longer than BBBx1.": [
        {"total": {"bbb_x2": 60 * 1.39}},
        {"total": {"bbb_x2": 60 * 2.61}},
    ],
    "Vadam takes 16 % longer than BBBx1.": [
        {"total": {"vadam": 60 * 1.07}},
        {"total": {"vadam": 60 * 1.33}},
    ],
    "Vadam trains faster than BBBx2.": [{"total": {"vadam": 109}}],
    "BBBx2 performs better than Vadam on average.": [{"strength": {"vadam": 3.5}}],
    "MCDOx1 takes 10 % longer than MCDOx10.": [
        {"total": {"mc_dropout_x1": 34 * 1.04}},
        {"total": {"mc_dropout_x1": 34 * 1.21}},
    ],
    "MCDOx1 performs slightly but consistently better than MCDOx10.": [
        {"strength": {"mc_dropout_x10": 7}},
        {"strength": {"mc_dropout_x10": 6}},
    ],
    # Ties do not count.
    "MCDOx1 performs best overall.": [{"strength": {"pbp": 7}}, {"strength": {"pbp": 6}}],
    "MCDOx10 performs second best.": [{"strength": {"pbp": 5.5}}, {"strength": {"pbp": 5}}],
    "PBP performs third best.": [{"strength": {"bbb_x1": 7}}, {"strength": {"pbp": 3}}],
}


def test_every_statement_can_fail() -> None:
    assert set(REFUTED) == set(TEXTS)


@pytest.mark.parametrize("text", TEXTS)
def test_a_claim_that_holds_is_confirmed(text: str) -> None:
    assert claim(CONFIRMED, text).verdict == "confirmed"


@pytest.mark.parametrize(("text", "change"), [(t, c) for t in REFUTED for c in REFUTED[t]])
def test_a_claim_that_fails_is_not_confirmed(text: str, change: dict[str, Any]) -> None:
    assert claim(comparison(**change), text).verdict == "not confirmed"


@pytest.mark.parametrize("text", TEXTS)
def test_a_claim_without_its_runs_is_not_tested(text: str) -> None:
    lone = book_runs(
        book_table({"boston": {"mc_dropout_x1": 1}, "yacht": {"vadam": 1}}), pairwise_results({})
    )
    assert lone is not None
    found = claim(lone, text)
    assert found.verdict == "not tested" and found.evidence.startswith("no data set has runs of ")


def test_consistent_small_differences_confirm_a_claim() -> None:
    """All t-tests are undecided, but all means differ in one direction, in either pair order."""
    text = "MCDOx1 performs slightly but consistently better than MCDOx10."
    slight = comparison(probability=0.6)
    evidence = "better mean in 2 of 2; t-tests won 0, lost 0 (1 data set, 20 of 20 splits shared)"
    assert (claim(slight, text).verdict, claim(slight, text).evidence) == ("confirmed", evidence)
    swapped = slight.pairs.rename(columns={"a": "b", "b": "a"})
    swapped["difference"] *= -1
    assert claim(BookRuns(slight.runs, swapped), text).evidence == evidence
    is_rmse = slight.pairs["metric"] == "rmse"
    mixed = slight.pairs.assign(difference=slight.pairs["difference"].where(is_rmse, 0))
    assert claim(BookRuns(slight.runs, mixed), text).verdict == "not confirmed"


def test_ratios_are_averaged_geometrically_over_complete_data_sets() -> None:
    totals = {
        "boston": {"bbb_x1": 1, "bbb_x2": 1.5},
        "yacht": {"bbb_x1": 10, "bbb_x2": 24},
        "wine": {"bbb_x2": 1e6},
    }
    found = selected(book_table(totals))
    text = "BBBx2, with twice the samples, takes 80 % longer than BBBx1."
    (checked,) = [c for c in claims(found) if c.text == text]
    book = math.sqrt(3279 / 1813 * 1634 / 1139)
    assert checked.evidence == f"BBBx2 {math.sqrt(1.5 * 2.4):.3g} (2 data sets)"
    assert checked.theirs == f"confirmed: BBBx2 {book:.3g} (2 data sets)"


def test_the_books_table_confirms_its_text() -> None:
    found = selected(book_table(book_seconds().to_dict("index")))
    timed = [c for c in claims(found) if c.source == TIME]
    assert {c.verdict for c in timed} == {"confirmed"}
    assert [c.theirs for c in timed] == [f"confirmed: {c.evidence}" for c in timed]


def test_only_claims_about_time_have_a_verdict_on_the_books_numbers() -> None:
    with_theirs = {c.text for c in claims(CONFIRMED) if c.theirs}
    assert with_theirs == {text for text, source, _ in STATEMENTS if source == TIME}
