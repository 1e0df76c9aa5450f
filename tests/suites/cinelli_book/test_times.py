"""Running times compared with the book's."""

from __future__ import annotations

import math

from support.blocks import figures
from support.book_comparison import TOTAL, book_table, selected

from bnnbench.suites.cinelli_book.page import (
    relative_times,
    running_times,
    times_blocks,
    times_figure,
)


def test_running_times_are_compared_with_the_books() -> None:
    found = selected(book_table({"boston": {"pbp": 2, "vadam": 30}, "yacht": {"vadam": 7}}))
    pbp, vadam, lone = running_times(found).to_dict("records")
    assert (pbp["seconds"], pbp["book_seconds"], pbp["speedup"]) == (2, 16, 8)
    assert (vadam["relative_to_pbp"], vadam["book_relative_to_pbp"]) == (15, 2214 / 16)
    assert math.isnan(lone["relative_to_pbp"]) and lone["book_relative_to_pbp"] == 1291 / 10
    times = relative_times(running_times(found))
    (axes,) = times_figure(times).axes
    assert axes.get_yscale() == "log"
    assert [(bar.get_y(), bar.get_height()) for bar in axes.patches] == [(1, 14)]
    assert axes.lines[0].get_ydata().tolist() == [2214 / 16]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["boston"]
    without = selected(book_table({"yacht": {"vadam": 7}}))
    assert relative_times(running_times(without)).empty
    assert not figures(times_blocks(without))


def test_a_time_shared_by_all_splits_has_no_error() -> None:
    found = selected(book_table({"boston": TOTAL}, total_seconds_stderr=1e-17))
    assert running_times(found)["stderr"].isna().all()
