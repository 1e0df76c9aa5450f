"""The book's claims, on numbers that confirm them and numbers that refute them."""

from __future__ import annotations

import math

from support.book_comparison import book_table, comparison, selected
from support.pairs import pairwise_results

from bnnbench.results.claims import Claim, check_claims
from bnnbench.suites.cinelli_book.claims import STATEMENTS, TIME, claims
from bnnbench.suites.cinelli_book.comparison import BookRuns, book_runs, book_seconds

CONFIRMED = comparison()


def claim(runs: BookRuns, text: str) -> Claim:
    (checked,) = check_claims([one for one in STATEMENTS if one[0] == text], runs)
    return checked


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


def test_every_statement_can_hold_fail_and_lack_its_runs() -> None:
    assert set(REFUTED) == {text for text, _, _ in STATEMENTS}
    assert {c.verdict for c in check_claims(STATEMENTS, CONFIRMED)} == {"confirmed"}
    for text, changes in REFUTED.items():
        for change in changes:
            assert claim(comparison(**change), text).verdict == "not confirmed", text
    table = book_table({"boston": {"mc_dropout_x1": 1}, "yacht": {"vadam": 1}})
    lone = book_runs(table, pairwise_results({}))
    assert lone is not None
    assert {c.verdict for c in check_claims(STATEMENTS, lone)} == {"not tested"}


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
    assert checked.evidence.endswith(f": BBBx2 {math.sqrt(1.5 * 2.4):.3g} (2 data sets)")
    assert checked.theirs.startswith("confirmed: ")
    assert checked.theirs.endswith(f": BBBx2 {book:.3g} (2 data sets)")


def test_the_books_table_confirms_its_text() -> None:
    found = selected(book_table(book_seconds().to_dict("index")))
    timed = [c for c in claims(found) if c.source == TIME]
    assert {c.verdict for c in timed} == {"confirmed"}
    assert [c.theirs for c in timed] == [f"confirmed: {c.evidence}" for c in timed]
