"""The practitioner's table: words that follow from numbers."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from support.book_comparison import comparison, frame
from support.pairs import duels

from bnnbench.report.numbers import MISSING
from bnnbench.suites.cinelli_book.comparison import book_runs, book_seconds
from bnnbench.suites.cinelli_book.practice import (
    net_wins,
    practice_table,
    quality_word,
    statements,
    timing_word,
    timings,
)


@pytest.mark.parametrize(
    ("share", "word"), [(0.34, "Good"), (0.33, "OK"), (-0.33, "OK"), (-0.34, "Poor")]
)
def test_quality_follows_from_net_wins(share: float, word: str) -> None:
    assert quality_word(share) == word
    net = net_wins(comparison())
    assert net["mc_dropout_x1"] == 1 and net["pbp"] == pytest.approx(1 / 5) and net["bbb_x1"] == -1
    assert set(net_wins(comparison(sure=0.6))) == {0}


def test_timing_words_need_a_data_set_that_all_have_finished() -> None:
    gap = pd.DataFrame({"pbp": [1, math.nan], "vadam": [math.nan, 5]})
    assert set(timings(gap).map(timing_word)) == {MISSING}


def test_the_books_own_times_bear_out_its_words() -> None:
    words = timings(book_seconds()).map(timing_word)
    assert words.tolist() == ["OK", "Slow", "OK", "Very fast", "OK", "OK"]


def test_the_table_has_the_books_words_beside_ours() -> None:
    rows = {row[0]: row[1:] for row in practice_table(comparison()).rows}
    assert rows["PBP"] == (
        str(statements("pbp")), "Very hard", "+0.20", "OK", "Good", "0.0205", "Very fast",
        "Very fast",
    )  # fmt: skip
    assert rows["BBBx1"][0] == rows["BBBx2"][0] == str(statements("bbb"))


def test_without_opponents_there_is_no_word_on_quality() -> None:
    alone = book_runs(frame({"boston": {"pbp": 1.0}}), duels({}))
    assert alone is not None
    (row,) = practice_table(alone).rows
    assert row[3:5] == (MISSING, MISSING) and row[6:8] == ("1", "OK")
