"""The practitioner's table: ratings derived from numbers."""

from __future__ import annotations

import pytest
from support.book_comparison import comparison

from bnnbench.suites.cinelli_book.comparison import book_seconds
from bnnbench.suites.cinelli_book.page import (
    count_statements,
    net_wins,
    practice_table,
    quality_rating,
    timing_rating,
    timings,
)


@pytest.mark.parametrize(
    ("fraction", "rating"), [(0.34, "Good"), (0.33, "OK"), (-0.33, "OK"), (-0.34, "Poor")]
)
def test_quality_follows_from_net_wins(fraction: float, rating: str) -> None:
    assert quality_rating(fraction) == rating
    net = net_wins(comparison())
    assert net["mc_dropout_x1"] == 1 and net["pbp"] == pytest.approx(1 / 5) and net["bbb_x1"] == -1
    assert set(net_wins(comparison(noise=20))) == {0}


def test_the_books_times_give_its_ratings() -> None:
    ratings = timings(book_seconds()).map(timing_rating)
    assert ratings.tolist() == ["OK", "Slow", "OK", "Very fast", "OK", "OK"]


def test_the_table_compares_the_books_ratings_with_ours() -> None:
    rows = {row[0]: row[1:] for row in practice_table(comparison()).rows}
    assert rows["PBP"] == (
        str(count_statements("pbp")), "Very hard", "+0.20", "OK", "Good", "0.0205", "Very fast",
        "Very fast",
    )  # fmt: skip
    assert rows["BBBx1"][0] == rows["BBBx2"][0] == str(count_statements("bbb"))
