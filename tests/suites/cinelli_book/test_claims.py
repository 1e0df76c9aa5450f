"""The book's claims, on numbers that confirm them and numbers that refute them."""

from __future__ import annotations

import math

import pandas as pd
from support.book_comparison import book_table, comparison, selected
from support.pairs import pairwise_results

from bnnbench.results.claims.claims import NOT_JUDGED, Claim, check_claims
from bnnbench.results.compare.outcomes import mirrored
from bnnbench.suites.cinelli_book.comparison import (
    STATEMENTS,
    TIME,
    BookRuns,
    book_runs,
    book_seconds,
    claims,
)

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
        {"strength": {"mc_dropout_x10": 7}}
    ],
    "MCDOx1 performs best overall.": [{"strength": {"pbp": 7}}],
    "MCDOx10 performs second best.": [{"strength": {"pbp": 5.5}}],
    "PBP performs third best.": [{"strength": {"bbb_x1": 7}}, {"strength": {"pbp": 2.5}}],
}

UNDECIDED = {
    "BBBx2 performs better than Vadam on average.": {"vadam": 3},
    "MCDOx1 performs slightly but consistently better than MCDOx10.": {"mc_dropout_x10": 6},
    "MCDOx1 performs best overall.": {"pbp": 6},
    "MCDOx10 performs second best.": {"pbp": 5},
    "PBP performs third best.": {"pbp": 3},
}
"""Strengths with a tie, which neither confirms nor refutes a claim."""

SLIGHT = "MCDOx1 performs slightly but consistently better than MCDOx10."


def test_every_statement_can_hold_fail_and_lack_its_runs() -> None:
    assert set(REFUTED) == {text for text, _, _ in STATEMENTS}
    assert {c.verdict for c in check_claims(STATEMENTS, CONFIRMED)} == {"confirmed"}
    for text, changes in REFUTED.items():
        for change in changes:
            assert claim(comparison(**change), text).verdict == "contradicted", text
    for text, strength in UNDECIDED.items():
        assert claim(comparison(strength=strength), text).verdict == "undecided", text
    table = book_table({"boston": {"mc_dropout_x1": 1}, "yacht": {"vadam": 1}})
    lone = book_runs(table, pairwise_results({}))
    assert lone is not None
    assert {c.verdict for c in check_claims(STATEMENTS, lone)} == {NOT_JUDGED}


def test_differences_that_are_not_significant_leave_a_claim_undecided() -> None:
    """All means differ in one direction, in either pair order, but the splits do not suffice."""
    slight = comparison(noise=20)
    assert set(slight.pairs["outcome"]) == {"undecided"}
    evidence = (
        "significantly better in 0, worse in 0 of 2; better mean in 2 (1 data set, 20 of 20 splits "
        "shared)"
    )
    for pairs in (slight.pairs, mirrored(slight.pairs)):
        found = claim(BookRuns(slight.runs, pairs), SLIGHT)
        assert found.verdict == "undecided" and found.evidence.startswith(f"{evidence}; ")
        assert found.evidence.endswith(" splits would decide")


def test_a_rank_is_not_refuted_by_chance() -> None:
    """PBP has the best means, so the three claims about ranks are false, but not significantly."""
    slight = comparison(strength={"pbp": 7}, noise=20)
    ranks = [text for text in REFUTED if text.endswith(("overall.", "second best.", "third best."))]
    assert {claim(slight, text).verdict for text in ranks} == {"undecided"}


def test_one_significant_difference_does_not_outweigh_a_mean_that_is_worse() -> None:
    clear = comparison()
    opposite = comparison(strength={"mc_dropout_x1": 5, "mc_dropout_x10": 6}, noise=20)
    mixed = [
        book.pairs[book.pairs["metric"] == metric]
        for book, metric in ((clear, "rmse"), (opposite, "log_likelihood"))
    ]
    found = claim(BookRuns(clear.runs, pd.concat(mixed)), SLIGHT)
    assert found.verdict == "undecided"
    assert found.evidence.startswith(
        "significantly better in 1, worse in 0 of 2; better mean in 1 "
    )


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
